"""The shape of a registry, for whoever reads one: over the wire, or from an export."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

FORMAT = "discreet-registry/1"
"""What this shape is called. A field never changes its meaning; another shape gets another name."""

PAGE = 1000
"""The most releases of one reply."""

Exact = Annotated[str, Field(pattern=r"^\d{1,600}(/\d{1,600})?$", description='An exact number, as "1/3".')]
Decimal = Annotated[
    str, Field(pattern=r"^\d{1,40}(\.\d{1,40})?(e-?\d{1,3})?$", description="A decimal, rounded outward.")
]
Moment = Annotated[
    str,
    Field(
        pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", description="A time, by a clock that never runs back."
    ),
]
Coordinates = dict[Literal["epsilon", "delta", "rho"], Exact]


class _Told(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class UnitBody(_Told):
    """Whom a guarantee protects, and from what."""

    hidden: str = Field(description="The change that is hidden, in words.")
    declared: str = Field(description="The same as the ledger has it.")
    granularity: str = Field(description="What one unit is.")


class PairBody(_Told):
    """A part of the budget."""

    epsilon: Exact
    delta: Exact


class SpentBody(_Told):
    """What a line has come to."""

    epsilon: Decimal = Field(description="Rounded up. It holds together with the whole delta of the budget.")
    part: Decimal = Field(
        description="The part of the budget for questions that is used, 0 to 1, rounded up."
    )
    charged: Coordinates = Field(description="Exact sums over all releases; rho where it was asked for.")
    endless: list[str] = Field(description="Coordinates in which a release has no finite loss.")


class LeftBody(_Told):
    """What can still be spent."""

    epsilon: Decimal = Field(description="Of the whole budget, rounded down.")
    part: Decimal = Field(description="The part of the budget for questions that is left, rounded down.")


class BurnBody(_Told):
    """How fast the budget is used."""

    since: Moment
    days: Decimal = Field(
        description="How long that is ago: 30 days, or less where it began later; 1 at least."
    )
    epsilon: Decimal = Field(description="Spent a day, rounded up.")
    part: Decimal = Field(description="Used a day, as a part of the budget for questions, rounded up.")
    ends: Moment | None = Field(description="When nothing is left at that rate; null where not in a century.")


class PointBody(_Told):
    """What was left at a moment."""

    time: Moment
    left: Decimal = Field(description="The part of the budget for questions, rounded down.")


class RetiredBody(_Told):
    """Why nothing more is answered."""

    why: str
    time: Moment | None


class StudyBody(_Told):
    """What questions are asked for."""

    name: str
    share: Exact = Field(description="The most of the budget for questions that it may use.")
    purpose: str
    spent: SpentBody | None


class ShareBody(_Told):
    """What is set aside for an analyst, or for several together."""

    kind: Literal["analyst", "group"]
    name: str | None = Field(description="Who; for the owner and auditors.")
    share: Exact
    spent: SpentBody | None = Field(description="For the owner and auditors.")


class PeopleBody(_Told):
    """One budget for the same people in several data sets."""

    name: str
    epsilon: Exact
    delta: Exact
    spent: SpentBody


class PaceBody(_Told):
    """The most that may be charged in any period."""

    share: Exact
    seconds: int


class UseBody(_Told):
    """A use of the data that is not charged here."""

    what: str
    loss: str
    known: bool = Field(description="False where nobody knows the loss, or where it is infinite.")
    time: Moment | None


class KindBody(_Told):
    """A kind of noise, and how often it was used."""

    noise: str
    releases: int


class RegistryReceipt(_Told):
    """The row of the book that proves a release: see docs/registry.md."""

    book: str
    ledger: str
    number: int
    place: int
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ReleaseBody(_Told):
    """One release."""

    number: int
    time: Moment
    state: Literal["charged", "answered", "given back"] = Field(
        description="What was given back was charged before any row was read for it, and costs nothing."
    )
    study: str | None
    noise: str
    loss: str = Field(description="In the accountant's own terms.")
    cost: Coordinates
    receipt: RegistryReceipt | None
    analyst: str | None = Field(description="For the owner and auditors.")
    question: str | None = Field(
        description="For the owner and auditors, or where the owner publishes questions."
    )


class RegistryBody(_Told):
    """What a data set is used for, and what that costs those whom it is about."""

    format: Literal["discreet-registry/1"]
    made_by: str
    name: str
    ledger: str = Field(description="What the data set is called in the book.")
    purpose: str
    audience: Literal["public", "owner"]
    withheld: list[str] = Field(description="What is not shown, and why.")
    time: Moment | None = Field(
        description="When this was so; null where nothing shown here changes with time."
    )
    unit: UnitBody
    guarantee: str
    promise: str | None = Field(description="What is hidden between analysts.")
    budget: PairBody = Field(description="Of all that will ever be answered.")
    opening: PairBody | None = Field(
        description="What the shared hypothesis cost, when the data set was opened; null before that."
    )
    questions: PairBody | None = Field(description="What is there for questions that are priced.")
    coordinates: Coordinates | None = Field(description="The same, coordinate by coordinate of the ledger.")
    spent: SpentBody | None = Field(description="On questions; the opening comes on top.")
    total: Decimal | None = Field(description="The epsilon of the opening and of all questions, rounded up.")
    left: LeftBody | None
    burn: BurnBody | None
    course: list[PointBody]
    retired: RetiredBody | None
    recovered: bool | None = Field(description="Whether more counts as spent than releases add up to.")
    studies: list[StudyBody]
    shares: list[ShareBody]
    people: PeopleBody | None
    pace: PaceBody | None
    uses: list[UseBody]
    mechanisms: list[KindBody]
    words: list[str]
    releases_total: int | None
    releases: list[ReleaseBody] = Field(description="The newest first.")


class SummaryBody(_Told):
    """One line of the list."""

    name: str
    purpose: str
    guarantee: str
    total: Decimal | None
    left: LeftBody | None
    retired: bool | None


class RegistryListBody(_Told):
    """All data sets of a server."""

    format: Literal["discreet-registry/1"]
    made_by: str
    datasets: list[SummaryBody]


def describe_schema() -> dict[str, Any]:
    """Return the documented schema of a registry, as JSON Schema."""
    return RegistryBody.model_json_schema()
