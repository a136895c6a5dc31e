"""Shares: which lines of a budget a charge counts on, and what each may hold."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from discreet.accounting.charges import Charge
from discreet.accounting.composition import Item
from discreet.accounting.filters import Filter, make_filter
from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.core.neighbours import Neighbours
from discreet.curator.ledger.book import Book
from discreet.curator.ledger.events import ANALYST, DATA, WHOLE, Capped, Event, Opened
from discreet.curator.ledger.lines import Line, Offer, find_coordinates, find_offer
from discreet.curator.ledger.people import People, PeopleLine, open_once
from discreet.curator.ledger.state import Account

_ALL = "the data set's budget"
_LARGER_SHARE = "or ask the owner for a larger share, which is set once for a budget"
_NEXT_PERIOD = "or wait for the next period"
_WAY_OUT = "Give the budget a delta above 0, or ask for pure noise"
_OTHER_BUDGET = "or ask the owner for another budget: all that is asked of these data shares this one"


class Shares:
    """The lines of one data set's budget: of all, of analysts, of groups of them, of studies, of people.

    Parameters
    ----------
    book, name
        Where the budget is kept, and what it is called there. It is opened unless it is there already.
    epsilon, delta, neighbours, apart, people, pace
        As in `Ledger`.
    """

    def __init__(
        self,
        book: Book,
        name: str,
        *,
        epsilon: Fraction,
        delta: Fraction,
        neighbours: Neighbours,
        apart: bool,
        people: People | None,
        pace: tuple[Fraction, int] | None,
    ) -> None:
        self._book, self._name, self._apart, self._pace = book, name, apart, pace
        loss = ApproxLoss(epsilon, delta) if delta else PureLoss(epsilon)
        self.guarantee = Guarantee(loss, neighbours)
        self._budget = {"epsilon": epsilon, "delta": delta}
        self._filters: dict[Fraction, Filter] = {}  # of shares that are budgets of their own, made once
        self._whole = self._find_filter(Fraction(1))
        if people is not None and apart:
            raise self._not_apart("people", "What is left of their budget would show what others asked")
        if pace is not None and apart:
            raise self._not_apart("pace", "What is left of a period would show what others asked")
        self._people = None if people is None else PeopleLine(people, book, neighbours)
        wanted = Opened(
            kind=DATA,
            name=name,
            neighbours=repr(neighbours),
            coordinates=find_coordinates(self._whole),
            apart=apart,
            people=None if people is None else people.name,
            pace=pace,
            **self._budget,
        )
        book.write(lambda: open_once(book, wanted))

    @property
    def budget(self) -> dict[str, Fraction]:
        """The most that may be charged, coordinate by coordinate."""
        return self._whole.budget

    @property
    def is_apart(self) -> bool:
        """Whether shares are budgets of their own."""
        return self._apart

    @property
    def whole_epsilon(self) -> Fraction:
        """The epsilon of the whole budget."""
        return self._budget["epsilon"]

    @property
    def has_people(self) -> bool:
        """Whether charges count for people who are in several data sets."""
        return self._people is not None

    @property
    def _account(self) -> Account:
        return self._book.state.data(self._name)

    def _find_filter(self, share: Fraction) -> Filter:
        if share not in self._filters:
            part = {name: share * most for name, most in self._budget.items()}
            self._filters[share] = make_filter(**part, neighbours=self.guarantee.neighbours)
        return self._filters[share]

    # Giving them ---------------------------------------------------------------------------------------

    def cap_analyst(self, analyst: str, share: checks.Number) -> None:
        """Allow an analyst a share; where shares are apart, that much is set aside for her alone."""
        checks.text(analyst=analyst)
        part = checks.positive(share=share)

        def decide() -> Event:
            most = self._room_apart if self._apart else Fraction(1)
            if part > most:
                rule = f"at most {most}{': the rest is set aside' if most < 1 else ''}"
                raise InvalidParameter(name="share", rule=rule, value=share)
            if _of(analyst) in self._account.lines:
                raise InvalidParameter(name="analyst", rule="one without a share yet", value=analyst)
            own = self._find_filter(part) if self._apart else self._whole
            return Capped(self._name, _of(analyst), part, find_coordinates(own))

        self._book.write(decide)

    def cap_group(self, name: str, members: Iterable[str], share: checks.Number) -> None:
        """Allow several analysts a share together; what they spent before counts."""
        listed = tuple(sorted({checks.text(member=one) for one in checks.several(members=members)}))
        self._cap_several("group", name, share, members=listed)

    def require_group(self, name: str, members: Iterable[str], share: checks.Number) -> None:
        """Allow several analysts a share together, unless they have it; what they have stays as it is."""
        listed = tuple(checks.several(members=members))
        known = self._book.look(lambda: self._account.lines.get(f"group:{name}"))
        if known is None:
            self.cap_group(name, listed, share)
        elif (set(known.members), known.share) != (set(listed), checks.positive(share=share)):
            rule = "with the members and the share that it was registered with: both are set once"
            raise InvalidParameter(name=f"group {name}", rule=rule, got="others")

    def cap_study(self, name: str, share: checks.Number, purpose: str) -> None:
        """Allow a study a share, for a purpose."""
        self._cap_several("study", name, share, purpose=checks.text(purpose=purpose))

    def _cap_several(
        self,
        kind: str,
        name: str,
        share: checks.Number,
        *,
        members: tuple[str, ...] = (),
        purpose: str = "",
    ) -> None:
        if self._apart:
            raise self._not_apart(kind, "Give each analyst a share: nothing is shared between them")
        line, part = f"{kind}:{checks.text(name=name)}", checks.positive(share=share)
        if part > 1:
            raise InvalidParameter(name="share", rule="at most 1", value=share)

        def decide() -> Event:
            if line in self._account.lines:
                raise InvalidParameter(name="name", rule=f"of a {kind} that has no share yet", value=name)
            return Capped(self._name, line, part, find_coordinates(self._whole), members, purpose)

        self._book.write(decide)

    def _not_apart(self, name: str, hint: str) -> InvalidParameter:
        return InvalidParameter(name=name, rule="left out where shares are apart", got="given", hint=hint)

    def given_to(self, analyst: str) -> Fraction | None:
        """Return the share an analyst was allowed; None where none was."""
        capped = self._account.lines.get(_of(analyst))
        return None if capped is None else capped.share

    @property
    def _room_apart(self) -> Fraction:
        """The part of the budget that is not set aside, where shares are apart."""
        if any(self._account.sum(WHOLE).endless):  # shares were lost, and nobody knows how many
            return Fraction(0)
        return 1 - sum((capped.share for capped in self._account.lines.values()), Fraction(0))

    # Finding them --------------------------------------------------------------------------------------

    def find_lines(self, analyst: str, study: str | None = None) -> list[Line]:
        """Return the lines a charge of an analyst counts on, her own first."""
        account = self._account
        own = account.lines.get(_of(analyst))
        if study is not None:
            self.require_study(study)
        if self._apart:
            if own is None:
                raise InvalidParameter(name="analyst", rule="one with a share", value=analyst)
            return [self._line(own, f"the share of {analyst}", self._find_filter(own.share))]
        lines = [Line(account, _of(analyst), _ALL, _OTHER_BUDGET, self._whole, Fraction(1))]
        if own is not None:
            lines = [self._line(own, f"the share of {analyst}", self._whole)]
        lines += [
            self._line(capped, _say(capped), self._whole)
            for capped in account.lines.values()
            if analyst in capped.members
        ]
        if study is not None:
            asked = account.lines[f"study:{study}"]
            lines.append(self._line(asked, _say(asked), self._whole))
        if self._pace is not None:
            share, seconds = self._pace
            period = f"period:{self._book.now() // seconds}"
            words = f"what may be spent in {seconds} seconds"
            lines.append(Line(account, period, words, _NEXT_PERIOD, self._whole, share))
        return [*lines, self._all, *self.find_people()]

    def find_people(self) -> list[Line]:
        """Return the line of the people whose data these are, if they have one."""
        return [] if self._people is None else [self._people.find()]

    def require_study(self, study: str) -> None:
        """Raise unless a study is registered here."""
        if self._apart:
            raise self._not_apart("study", "Ask without it")
        if f"study:{study}" not in self._account.lines:
            raise InvalidParameter(name="study", rule="one that the owner registered", value=study)

    def _line(self, capped: Capped, words: str, own: Filter) -> Line:
        # Where shares are apart, the filter is that of the share.
        part = Fraction(1) if self._apart else capped.share
        return Line(self._account, capped.line, words, _LARGER_SHARE, own, part)

    @property
    def _all(self) -> Line:
        return Line(self._account, WHOLE, _ALL, _OTHER_BUDGET, self._whole, Fraction(1))

    def charge(self, lines: list[Line], item: Item, bought: ApproxLoss | None) -> list[Charge]:
        """Return the charge of an item on each line, or refuse it where it has no finite one."""
        charges = self.find_charges(lines, item, bought)
        if not charges:
            raise InvalidParameter(
                name="question", rule="one with a finite charge in this budget", got="none", hint=_WAY_OUT
            )
        return charges

    def find_charges(self, lines: list[Line], item: Item, bought: ApproxLoss | None) -> list[Charge]:
        """Return the charge of an item on each line; empty where it has no finite one on some line."""
        neighbours = self.guarantee.neighbours
        offers: dict[int, Offer] = {}
        charges = []
        for line in lines:
            if id(line.filter) not in offers:
                offers[id(line.filter)] = find_offer(line.filter, item, bought, neighbours)
            charges.append(line.choose(offers[id(line.filter)]))
        return [one for one in charges if one is not None] if None not in charges else []

    def tell_price(self, item: Item, bought: ApproxLoss | None) -> list[dict[str, str] | None]:
        """Return what an item costs in the whole budget, exactly, whatever was spent before."""
        offer = find_offer(self._whole, item, bought, self.guarantee.neighbours)
        return [
            None if one is None else {name: str(amount) for name, amount in one.amounts.items()}
            for one in offer
        ]

    def spent(self, analyst: str | None) -> Charge:
        """Return what is reserved or spent, by all or by one analyst."""
        nothing = self._whole.nothing
        if analyst is not None:
            known = _of(analyst) in self._account.sums
            return self.find_lines(analyst)[0].spent if known else nothing
        if not self._apart:
            return self._all.spent
        own = (self._line(one, "", self._find_filter(one.share)) for one in self._account.lines.values())
        return sum((line.spent for line in own), nothing)

    def left(self, analyst: str | None) -> dict[str, Fraction]:
        """Return what is left, 0 in a coordinate in which nothing more can be spent."""
        if self._apart and analyst is None:
            rest = self._room_apart
            lefts = [self._find_filter(rest).budget if rest else {}]
        else:
            lefts = [line.left for line in ([self._all] if analyst is None else self.find_lines(analyst))]
        return {name: min(left.get(name, Fraction(0)) for left in lefts) for name in self.budget}


def _of(analyst: str) -> str:
    """Return the name of an analyst's line."""
    return f"{ANALYST}{analyst}"


def _say(capped: Capped) -> str:
    """Return what the line of a group or a study is called."""
    kind, _, name = capped.line.partition(":")
    return f"the share of the {kind} {name}"
