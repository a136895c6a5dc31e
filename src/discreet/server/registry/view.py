"""The view: what a registry says of one data set, to anybody, or to its owner and auditors.

What anybody sees must break no promise between analysts. Under one, everything that a question moves is left
out: sums, times, entries, receipts, studies' use. What is shown then is a function of what the owner
registered, granted and noted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any, cast

from discreet import __version__
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.curator.ledger.books.receipts import Receipt
from discreet.curator.ledger.entry_records import EntryRecord
from discreet.curator.ledger.events import ANALYST, WHOLE
from discreet.curator.ledger.state import Account, LineSum
from discreet.server.registry.bodies import FORMAT, PAGE
from discreet.server.registry.burn import Burn, measure_use
from discreet.server.registry.decimals import write_down, write_time, write_up
from discreet.server.registry.figures import (
    Figures,
    list_metered,
    make_meter,
    name_noise,
    read_line,
    read_whole,
)
from discreet.server.registry.sources import AccountCopy, Audience, RegistrySource
from discreet.server.registry.words import (
    WHY_APART,
    WHY_NO_NAMES,
    WHY_NO_QUESTIONS,
    WHY_NO_RECEIPTS,
    explain_burn,
    explain_loss,
    explain_spent,
    explain_unit,
    explain_uses,
    is_known,
)

STATES = {"reserved": "charged", "started": "charged", "finished": "answered", "voided": "given back"}
"""What the states of an entry are called."""

_GROUP, _STUDY = "group:", "study:"


def write_registry(
    source: RegistrySource, audience: Audience, *, newest: int | None = PAGE
) -> dict[str, Any]:
    """Return the registry of a data set as plain values; `bodies` says what each means.

    Parameters
    ----------
    source
        What it is made from.
    audience
        Who will read it.
    newest
        How many releases are listed; all by default.
    """
    facts = source.facts
    loss = ApproxLoss(facts.epsilon, facts.delta) if facts.delta else PureLoss(facts.epsilon)
    uses = () if source.copy is None else source.copy.uses
    unknown = sum(not is_known(use.loss) for use in uses)
    told: dict[str, Any] = {
        "format": FORMAT,
        "made_by": f"discreet {__version__}",
        "name": facts.name,
        "ledger": source.schema.name,
        "purpose": facts.purpose,
        "audience": audience,
        "withheld": list(_withhold(source, audience)),
        "time": None,
        "unit": {
            "hidden": str(source.schema.neighbours),
            "declared": repr(source.schema.neighbours),
            "granularity": explain_unit(source.schema),
        },
        "guarantee": str(Guarantee(loss, source.schema.neighbours)),
        "promise": None if facts.promise is None else str(facts.promise),
        "budget": _pair(facts.epsilon, facts.delta),
        **_write_parts(source),
        **_NOTHING,
        "studies": [_write_study(one.name, one.share, one.purpose, None) for one in source.studies],
        "shares": _write_grants(source, audience),
        "uses": [
            {"what": use.what, "loss": use.loss, "known": is_known(use.loss), "time": None} for use in uses
        ],
        "words": [
            *explain_loss(facts.epsilon, facts.delta, source.schema.neighbours),
            *((explain_uses(unknown),) if unknown else ()),
        ],
    }
    retired = None if source.copy is None else source.copy.retired
    if retired is not None:
        told["retired"] = {"why": retired.why, "time": None}
    if source.is_apart and audience == "public":
        return told
    return told | _write_moving(source, audience, told, newest)


_NOTHING: dict[str, Any] = {
    "spent": None,
    "total": None,
    "left": None,
    "burn": None,
    "course": [],
    "retired": None,
    "recovered": None,
    "people": None,
    "pace": None,
    "mechanisms": [],
    "releases_total": None,
    "releases": [],
}


def _withhold(source: RegistrySource, audience: Audience) -> Iterable[str]:
    if audience == "owner":
        return
    if source.is_apart:
        yield WHY_APART
        return
    yield WHY_NO_NAMES if source.facts.publish_questions else WHY_NO_QUESTIONS
    if source.shares_book:
        yield WHY_NO_RECEIPTS


def _write_parts(source: RegistrySource) -> dict[str, Any]:
    """Say how the budget was divided when the data set was opened: what it says depends on no question."""
    if source.copy is None:
        return {"opening": None, "questions": None, "coordinates": None}
    facts, opened = source.facts, source.copy.account.opened
    budget = make_meter(opened.epsilon, opened.delta).budget
    return {
        "opening": _pair(facts.epsilon - opened.epsilon, facts.delta - opened.delta),
        "questions": _pair(opened.epsilon, opened.delta),
        "coordinates": {name: str(amount) for name, amount in budget.items()},
    }


def _write_grants(source: RegistrySource, audience: Audience) -> list[dict[str, Any]]:
    """Say what the owner set aside, largest first where names are left out: their order would tell them."""
    listed = source.grants
    if audience == "public":
        listed = tuple(sorted(listed, key=lambda grant: -grant[1]))
    return [
        {"kind": "analyst", "name": name if audience == "owner" else None, "share": str(share), "spent": None}
        for name, share in listed
    ]


# What questions move ---------------------------------------------------------------------------------------


def _write_moving(
    source: RegistrySource, audience: Audience, told: dict[str, Any], newest: int | None
) -> dict[str, Any]:
    copy, facts = source.copy, source.facts
    if copy is None:
        return {"time": write_time(source.now), "releases_total": 0, "recovered": False}
    account = copy.account
    whole = read_whole(account)
    use = measure_use(account, copy.records, source.now)
    total = facts.epsilon - account.opened.epsilon + whole.epsilon
    is_over = whole.part >= 1 or copy.retired is not None
    return {
        "time": write_time(source.now),
        "spent": write_figures(whole),
        "total": write_up(total),
        "left": {
            "epsilon": write_down(facts.epsilon - total),
            "part": write_down(max(Fraction(0), 1 - whole.part)),
        },
        "burn": None if use.burn is None else _write_burn(use.burn),
        "course": [
            {"time": write_time(one.time), "left": write_down(max(Fraction(0), one.left))}
            for one in use.course
        ],
        "retired": None
        if copy.retired is None
        else {"why": copy.retired.why, "time": write_time(copy.retired.time)},
        "recovered": _is_raised(copy, use.sums),
        "studies": _write_studies(source, account),
        "shares": _write_shares(source, account) if audience == "owner" else told["shares"],
        "people": _write_people(copy),
        "pace": _write_pace(account),
        "uses": [
            dict(one, time=write_time(use.time)) for one, use in zip(told["uses"], copy.uses, strict=True)
        ],
        "mechanisms": [{"noise": noise, "releases": count} for noise, count in sorted(use.noises.items())],
        "words": [
            *told["words"],
            explain_spent(total, facts.epsilon, facts.delta),
            explain_burn(use.burn, is_over=is_over),
        ],
        "releases_total": len(copy.records),
        "releases": write_releases(source, audience, newest=newest),
    }


def write_releases(
    source: RegistrySource, audience: Audience, *, newest: int | None = PAGE, before: int | None = None
) -> list[dict[str, Any]]:
    """List releases, the newest first: those with a number below `before`, or the last ones."""
    records = () if source.copy is None else source.copy.records
    last = len(records) if before is None else max(0, min(before, len(records)))
    first = 0 if newest is None else max(0, last - newest)
    receipts: Mapping[int, Receipt] = {}
    if first < last and (audience == "owner" or not source.shares_book):
        receipts = source.find_receipts(range(first, last))
    listed = [_write_release(source, audience, one, receipts) for one in records[first:last]]
    return listed[::-1]


def _write_release(
    source: RegistrySource, audience: Audience, record: EntryRecord, receipts: Mapping[int, Receipt]
) -> dict[str, Any]:
    entry = cast(AccountCopy, source.copy).account.show(record)
    is_owner = audience == "owner"
    receipt = receipts.get(entry.number)
    is_back = record.state == "voided"
    return {
        "number": entry.number,
        "time": write_time(entry.time),
        "state": STATES[record.state],
        "study": entry.study,
        "noise": name_noise(entry.loss),
        "loss": entry.loss,
        "cost": {} if is_back else {name: str(amount) for name, amount in entry.charge},
        "receipt": None if receipt is None else asdict(receipt),
        "analyst": entry.analyst if is_owner else None,
        "question": entry.what if is_owner or source.facts.publish_questions else None,
    }


def write_figures(figures: Figures) -> dict[str, Any]:
    """Return figures as plain values."""
    return {
        "epsilon": write_up(figures.epsilon),
        "part": write_up(figures.part),
        "charged": {name: str(amount) for name, amount in figures.charged.items()},
        "endless": list(figures.endless),
    }


def summarise_registry(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line of one data set in a list of them."""
    line = {name: told[name] for name in ("name", "purpose", "guarantee", "total", "left")}
    return line | {"retired": told["retired"] is not None}


def drop_rho(told: Any) -> Any:
    """Return plain values without rhos, which only those read who ask: but where nothing else is known."""
    if isinstance(told, dict):
        is_dropped = "epsilon" in told
        return {name: drop_rho(value) for name, value in told.items() if name != "rho" or not is_dropped}
    return [drop_rho(one) for one in told] if isinstance(told, list) else told


def _pair(epsilon: Fraction, delta: Fraction) -> dict[str, str]:
    return {"epsilon": str(epsilon), "delta": str(delta)}


def _write_burn(burn: Burn) -> dict[str, Any]:
    return {
        "since": write_time(burn.since),
        "days": write_up(burn.days),
        "epsilon": write_up(burn.epsilon),
        "part": write_up(burn.part),
        "ends": None if burn.ends is None else write_time(burn.ends),
    }


def _write_study(name: str, share: Fraction, purpose: str, account: Account | None) -> dict[str, Any]:
    spent = None
    if account is not None:
        meter = make_meter(account.opened.epsilon, account.opened.delta)
        spent = write_figures(read_line(account, f"{_STUDY}{name}", meter))
    return {"name": name, "share": str(share), "purpose": purpose, "spent": spent}


def _write_studies(source: RegistrySource, account: Account) -> list[dict[str, Any]]:
    """List studies as the owner registered them, and those that only the ledger knows."""
    known = {one.name: (one.share, one.purpose) for one in source.studies}
    for capped in account.lines.values():
        if capped.line.startswith(_STUDY):
            known.setdefault(capped.line.removeprefix(_STUDY), (capped.share, capped.purpose))
    return [_write_study(name, *facts, account) for name, facts in sorted(known.items())]


def _write_shares(source: RegistrySource, account: Account) -> list[dict[str, Any]]:
    """List what was set aside for whom, with what each has spent: for the owner."""
    metered = {line.name: line for line in list_metered(account)}
    whole = make_meter(account.opened.epsilon, account.opened.delta)
    shares = {f"{ANALYST}{name}": share for name, share in source.grants}
    shares |= {one.line: one.share for one in account.lines.values() if not one.line.startswith(_STUDY)}
    listed = []
    for line, share in sorted(shares.items()):
        is_group = line.startswith(_GROUP)
        if not _is_opened(account, line):
            figures = None
        elif line in metered:
            figures = metered[line].read(account, account.sum(line))
        else:
            figures = read_line(account, line, whole)
        listed.append(
            {
                "kind": "group" if is_group else "analyst",
                "name": line.removeprefix(_GROUP if is_group else ANALYST),
                "share": str(share),
                "spent": None if figures is None else write_figures(figures),
            }
        )
    return listed


def _is_opened(account: Account, line: str) -> bool:
    """Tell whether the ledger knows a line: a share is written there when its owner first asks."""
    return line in account.lines or (line in account.sums and not account.opened.apart)


def _write_people(copy: AccountCopy) -> dict[str, Any] | None:
    if copy.people is None:
        return None
    opened = copy.people.opened
    spent = read_line(copy.people, WHOLE, make_meter(opened.epsilon, opened.delta))
    return {"name": opened.name, **_pair(opened.epsilon, opened.delta), "spent": write_figures(spent)}


def _write_pace(account: Account) -> dict[str, Any] | None:
    pace = account.opened.pace
    return None if pace is None else {"share": str(pace[0]), "seconds": pace[1]}


def _is_raised(copy: AccountCopy, entries: Mapping[str, LineSum]) -> bool:
    """Tell whether a recovery raised what counts as spent above what the entries add up to."""
    return any(copy.account.sum(line).known != total.known for line, total in entries.items())
