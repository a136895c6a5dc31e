"""Standing questions of all analysts: opened at a price, answered as time goes on, over all lives.

What is kept is public: the question, and the noisy number of every period, each before it is told. Exact
counts are read again whenever a period is over, so nothing secret outlives a reading, and a restart costs
nothing.
"""

from __future__ import annotations

import datetime
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from discreet.core import checks
from discreet.core.errors import (
    ConversationClosed,
    EngineFailed,
    InvalidParameter,
    Refused,
)
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss
from discreet.core.rng import SYSTEM
from discreet.curator.amounts import Amounts
from discreet.curator.desks import Desk
from discreet.curator.failures import Failures
from discreet.curator.history import Quote
from discreet.curator.kept.keys import require_key
from discreet.curator.ledger.entries import Ticket
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.limits import require_periods
from discreet.curator.question_reader import QuestionReader
from discreet.curator.standing.standing_answer import StandingAnswer
from discreet.curator.standing.standing_noise import MOST_ROWS, PricedStanding, choose_noise
from discreet.curator.standing.standing_notes import StandingFacts, StandingNotes, list_entries, require_whole
from discreet.curator.standing.standing_question import StandingQuestion, read_standing
from discreet.curator.ticks import FairLock, Ticks
from discreet.data.plan.nodes import MIN_EPSILON
from discreet.data.pricing.question_plan import ColumnError
from discreet.data.table import Table

BETA = 0.05
"""With this probability a number is further off than its error."""


@dataclass(slots=True, eq=False)
class _Standing:
    """A question that is open in this life: what it is, its notes, and the errors that were worked out."""

    priced: PricedStanding
    notes: StandingNotes
    errors: list[float] = field(default_factory=list)

    def show(self, wanted: int) -> StandingAnswer:
        """Return the numbers of the first periods."""
        question, noise = self.priced.question, self.priced.noise
        while len(self.errors) < wanted:
            self.errors.append(noise.error(BETA, step=len(self.errors) + 1))
        return StandingAnswer(
            name=self.notes.facts.name,
            question=question.text,
            is_running=question.is_running,
            periods=question.periods[:wanted],
            values=tuple(noise.decode(self.notes.numbers[:wanted])),
            errors=tuple(self.errors[:wanted]),
            together=noise.error(BETA),
            left=len(question.periods) - len(self.notes.numbers),
        )


class StandingQuestions:
    """Opens, answers and lists standing questions.

    Parameters
    ----------
    table, ledger
        What they are about, and what pays and keeps their notes.
    reader
        What reads questions.
    engine
        Whoever has a turn in it may use the table's engine.
    failures
        How often the engine failed for whom.
    ticks
        When replies leave.
    require_open
        Raises once the curator is closed.
    count_rows
        Returns about how many rows there are, as far as that is public.
    """

    def __init__(
        self,
        table: Table,
        ledger: Ledger,
        *,
        reader: QuestionReader,
        engine: FairLock,
        failures: Failures,
        ticks: Ticks,
        require_open: Callable[[], None],
        count_rows: Callable[[], Fraction | None],
    ) -> None:
        self._table, self._ledger, self._reader, self._ticks = table, ledger, reader, ticks
        self._engine, self._failures = engine, failures
        self._require_open, self._count_rows = require_open, count_rows
        self._lock = threading.Lock()
        self._open: dict[int, _Standing] = {}
        self._known: dict[int, StandingFacts] = {}

    def plan(
        self, desk: Desk, text: str, *, epsilon: checks.Number, delta: checks.Number, study: str | None = None
    ) -> Quote:
        """Say what a standing question would be charged and how well it would be answered. No row is read."""
        with self._ticks.hold():
            self._require_open()
            priced = self._price(desk.name, text, epsilon, delta)
            if study is not None:
                self._ledger.require_study(checks.text(study=study))
            item = self._state(priced)
            cost = self._ledger.quote(desk.name, item, bought=priced.pair, study=study)
            refusal = self._ledger.find_refusal(desk.name, item, bought=priced.pair, study=study)
            return Quote("priced", (self._expect(priced),), cost, item, refusal=refusal)

    def open(
        self,
        desk: Desk,
        text: str,
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        study: str | None = None,
        key: str | None = None,
        insist: bool = False,
    ) -> str:
        """Charge for a standing question, and return what it is called. No row is read.

        Under the same key it is the same question again, charged once, in later lives too.
        """
        with self._ticks.hold():
            self._require_open()
            checks.instance(bool, insist=insist)
            priced, once = self._price(desk.name, text, epsilon, delta), require_key(key)
            require_whole(self._ledger)
            rows, error = self._count_rows(), priced.noise.error(BETA)
            if rows is not None and error >= rows and not insist:
                raise Refused(
                    what="a standing question",
                    why=f"its numbers would be off by {error:.4g}, of about {float(rows):.4g} rows; nothing "
                    "was charged",
                    way_out="Offer a larger epsilon, ask for fewer periods, or pass insist=True",
                )
            with desk.line.turn():
                if not self._ledger.has_key(desk.name, once):
                    had = [one.periods for one in self._look().values() if one.analyst == desk.name]
                    require_periods(had, len(priced.question.periods))
                return self._buy(desk, priced, study, once)

    def find_all(self, desk: Desk) -> dict[str, str]:
        """Return what an analyst's standing questions are called, each with its question."""
        with self._ticks.hold():
            self._require_open()
            return {one.name: one.text for one in self._look().values() if one.analyst == desk.name}

    def answer(self, desk: Desk, name: str, through: datetime.date | None = None) -> StandingAnswer:
        """Answer a standing question for all periods that are over, or through a day. It costs nothing more.

        Raises
        ------
        ConversationClosed
            Where she has none of that name, or where it cannot go on: it was opened under other
            declarations, or rows of the book were lost.
        Refused
            For a day that is not over.
        """
        with self._ticks.hold():
            self._require_open()
            require_whole(self._ledger)
            with desk.line.turn():
                standing = self._find(desk, checks.text(name=name))
                wanted = _count_wanted(standing.priced.question, through)
                if wanted > len(standing.notes.numbers):
                    self._measure(desk, standing, wanted)
                return standing.show(wanted)

    # How -----------------------------------------------------------------------------------------------

    def _price(self, who: str, text: str, epsilon: checks.Number, delta: checks.Number) -> PricedStanding:
        read = self._reader.read(who, text, epsilon=None, delta=None)
        question = read_standing(read.plan, read.tables)
        pair = ApproxLoss(checks.at_least(MIN_EPSILON, epsilon=epsilon), checks.delta(delta=delta))
        return PricedStanding(question, choose_noise(question, pair), pair)

    def _state(self, priced: PricedStanding) -> Guarantee:
        return Guarantee(priced.noise.loss, self._table.neighbours)

    def _expect(self, priced: PricedStanding) -> ColumnError:
        """Say how far off its numbers will be."""
        periods, noise = len(priced.question.periods), priced.noise
        error, last = noise.error(BETA), noise.error(BETA, step=periods)
        words = f"at most {last:.6g} at 95 % in the last of {periods} periods, {error:.6g} in all of them"
        return ColumnError(priced.question.plan.columns[0].name, error, words)

    def _buy(self, desk: Desk, priced: PricedStanding, study: str | None, key: str | None) -> str:
        """Charge, and write down what it is; under a key that was used, find what that stands for."""
        ticket, charge = Ticket(), Amounts()
        # A number for a name would tell how many others have opened. What cannot be written is not charged.
        facts = StandingFacts.of(secrets.token_hex(8), desk.name, priced)
        what, item = f"standing: {priced.question.text}", self._state(priced)
        try:
            number = self._ledger.reserve(
                desk.name, what, item, bought=priced.pair, ticket=ticket, study=study, key=key
            )
            charge |= self._ledger.entry(number).charge
            notes = StandingNotes(self._ledger, number)
            if not notes.is_begun:  # new, or cut short behind its charge: nothing was ever measured for it
                self._ledger.resume(number)  # whatever happens from here on, the charge stays
                notes.begin(facts)
                self._ledger.finish(number)
        except BaseException:
            if not self._ledger.void_unless_started(ticket):
                desk.history.note(what, "failed", charge)
            raise
        if ticket.number is not None:
            desk.history.note(what, "priced", charge)
        return notes.facts.name

    def _measure(self, desk: Desk, standing: _Standing, wanted: int) -> None:
        """Measure what is over and was not: each period once, ever. It is written down before it is told."""
        self._failures.require_few(desk.name)
        self._ledger.refresh()  # its owner may have retired it from another process
        self._ledger.require_kept()
        known = standing.notes.numbers
        with self._engine.turn():
            self._require_open()
            self._table.require_open()
            numbers = self._draw(standing, wanted)
        if numbers is None:
            self._failures.note(desk.name)
            raise EngineFailed
        try:
            standing.notes.keep(numbers[len(known) :])
        except BaseException:  # somebody else may have gone on with it: it is read again
            self._forget(standing)
            raise

    def _draw(self, standing: _Standing, wanted: int) -> list[int] | None:
        """Return noisy numbers; None where that fails, for whatever is said then may quote data."""
        try:
            counts = self._table.read_vector(standing.priced.question.plan).reveal()[:wanted]
            exact = np.array([min(count, MOST_ROWS) for count in counts], dtype=np.int64)
            return standing.priced.noise.measure(exact, standing.notes.numbers, SYSTEM)
        except Exception:  # the error we raise later keeps no link to it
            return None

    def _look(self) -> dict[int, StandingFacts]:
        """Return what is known of all standing questions, those that others opened meanwhile included."""
        for number in list_entries(self._ledger):
            if number not in self._known:
                notes = StandingNotes(self._ledger, number)
                if notes.is_begun:
                    self._known[number] = notes.facts
        return dict(self._known)

    def _find(self, desk: Desk, name: str) -> _Standing:
        """Return a standing question of an analyst, as it is now or was in an earlier life."""
        found = [n for n, one in self._look().items() if (one.name, one.analyst) == (name, desk.name)]
        if not found:
            raise ConversationClosed(
                "you have no standing question of that name: `standing` lists yours, by what they are called"
            )
        with self._lock:
            if found[0] not in self._open:
                self._open[found[0]] = self._restore(found[0])
            return self._open[found[0]]

    def _restore(self, number: int) -> _Standing:
        """Go on with a question that must mean what it meant."""
        notes = StandingNotes(self._ledger, number)
        facts = notes.facts
        try:
            priced = self._price(facts.analyst, facts.text, Fraction(facts.epsilon), Fraction(facts.delta))
        except (Refused, InvalidParameter):
            priced = None
        if priced is None or StandingFacts.of(facts.name, facts.analyst, priced) != facts:
            raise ConversationClosed(
                "this standing question was opened under other declarations of the table, or by another "
                "release. Open it again; what it cost stays charged"
            )
        return _Standing(priced, notes)

    def _forget(self, standing: _Standing) -> None:
        with self._lock:
            self._open = {number: one for number, one in self._open.items() if one is not standing}


def _count_wanted(question: StandingQuestion, through: datetime.date | None) -> int:
    wanted = over = question.count_over(datetime.datetime.now(tz=datetime.UTC).date())
    if through is not None:
        wanted = question.count_through(checks.exactly(datetime.date, through=through))
    if wanted > over:
        raise Refused(
            what=f"numbers through {through}",
            why="that period is not over: what still happens in it would never be counted",
            way_out="Leave the day out, for all periods that are over",
        )
    return wanted
