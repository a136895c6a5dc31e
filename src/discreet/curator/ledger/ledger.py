"""The ledger: what was promised, reserved and spent, in exact numbers, in the order it happened.

Every question is quoted, reserved, started and finished. A reservation can be voided as long as no data were
touched; from the start on the charge stays, whatever comes out. Spending is a function of the entries alone.

A budget with a delta goes on in either of two ways: while the epsilons and deltas of all questions add up to
at most (epsilon, a tenth of delta), or while their rhos add up to at most what the rest of delta allows. Of
a transcript that ends within the first, the process stopped by the first alone says that it is off by at most
a tenth of delta, and of all others the process stopped by the second alone, by at most the rest. So a delta
never buys fewer answers than none, whatever noise each of them has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Literal

from discreet.accounting.composition import Item, price
from discreet.core import checks
from discreet.core.errors import AnswerLost, InternalError, InvalidParameter, KeyReused
from discreet.core.loss import ApproxLoss
from discreet.core.rng import SYSTEM
from discreet.curator.amounts import Amounts
from discreet.curator.ledger.book import SEPARATOR, require_storable
from discreet.curator.ledger.entries import NEXT, State, Ticket
from discreet.curator.ledger.entry_records import EntryRecord
from discreet.curator.ledger.events import Event, Given, Moved, Reserved, Retired, Used
from discreet.curator.ledger.journal import LedgerJournal
from discreet.curator.ledger.lines import Line
from discreet.curator.ledger.refusals import find_refusal, refuse_retired
from discreet.curator.ledger.view import LedgerView
from discreet.curator.limits import require_keys


class Ledger(LedgerView):
    """One budget for one data set, shares of it for analysts, and every charge against them.

    The data set's budget is an adaptive filter, so it holds for any number of analysts who choose their
    questions and prices after seeing all answers, and pool them. Built as `LedgerView` says.
    """

    # Shares --------------------------------------------------------------------------------------------

    def cap(self, analyst: str, share: checks.Number) -> None:
        """Allow an analyst a share of the budget; once, and never more than that."""
        self._shares.cap_analyst(analyst, share)

    def cap_group(self, name: str, members: Iterable[str], share: checks.Number) -> None:
        """Allow several analysts, who may pool what they learn, a share together; once."""
        self._shares.cap_group(name, members, share)

    def require_group(self, name: str, members: Iterable[str], share: checks.Number) -> None:
        """Allow a group its share, unless it has the same one already; it is never changed."""
        self._shares.require_group(name, members, share)

    def cap_study(self, name: str, share: checks.Number, *, purpose: str) -> None:
        """Allow a study a share of the budget; once. What is asked for it says so, and counts there too."""
        self._shares.cap_study(name, share, purpose)

    # A question ----------------------------------------------------------------------------------------

    def quote(
        self, analyst: str, item: Item, *, bought: ApproxLoss | None = None, study: str | None = None
    ) -> Amounts:
        """Return what an analyst would be charged for an item. Nothing is reserved.

        Raises
        ------
        InvalidParameter
            When it has no finite charge here, such as Gaussian noise against a budget without delta.
        """
        return self._book.look(lambda: self._told(analyst, study, item, bought))

    def find_refusal(
        self, analyst: str, item: Item, *, bought: ApproxLoss | None = None, study: str | None = None
    ) -> str | None:
        """Say why an item would be refused now, and by which line; None where it could be reserved."""

        def see() -> str | None:
            lines = self._shares.find_lines(analyst, study)
            refusal = find_refusal(self._account, lines, self._shares.charge(lines, item, bought))
            return None if refusal is None else str(refusal)

        return self._book.look(see)

    def fit(
        self, analyst: str, item: Item, *, bought: ApproxLoss | None = None, study: str | None = None
    ) -> Literal[0, 1, 2]:
        """Tell whether an item could be reserved now: 0 for no, 1 if that ends adding up pairs, 2 if not."""

        def see() -> Literal[0, 1, 2]:
            lines = self._shares.find_lines(analyst, study)
            charges = self._shares.find_charges(lines, item, bought)
            if not charges or self._account.retired or not all(map(Line.fits, lines, charges)):
                return 0
            return 1 if any(map(Line.ends_pairs, lines, charges)) else 2

        return self._book.look(see)

    def reserve(
        self,
        analyst: str,
        what: str,
        item: Item,
        *,
        bought: ApproxLoss | None = None,
        ticket: Ticket | None = None,
        study: str | None = None,
        key: str | None = None,
        request: str | None = None,
        question: str | None = None,
        plan: str | None = None,
        beside: bool = False,
    ) -> int:
        """Take an item's charge out of the budget before any data are touched, and return its number.

        Parameters
        ----------
        analyst, what
            Who asks, and what.
        item
            What it costs.
        bought
            A second true statement of what it costs: the pair that it was bought for.
        ticket
            What it can be given back by, should an interrupt come before its number is known.
        study
            What it is asked for: a study that the owner registered.
        key
            The analyst's own name for this question. The same question at the same price is charged once
            under the same key, ever, and has one number; but for one that was given back before its start.
        request
            The digest of what the key stands for, where it is not this question at this price.
        question, plan
            Digests by which its answer is found again: of the numbers that are asked for, and of their noise.
        beside
            Whether it is paid for beside this budget, and counts for the people in the data alone.

        Raises
        ------
        BudgetExceeded
            When it does not fit in the data set's budget or the analyst's share. Nothing is charged.
        KeyReused
            When the key came with another question before. Nothing is charged.
        """
        SYSTEM.require_alive()  # nobody pays for noise that is none
        given, loss = ticket or Ticket(), str(price(item)[0])
        known: list[int] = []  # not in the ticket: whoever holds that could give back what another reserved
        if key is not None and request is None:
            request = find_request(what, study, self._shares.tell_price(item, bought))

        def decide() -> Event | None:
            account = self._account
            use = None if key is None else self._require_use(analyst, key, request)
            if use is not None:
                if use.entry is None:
                    raise KeyReused
                known.append(use.entry)
                return None
            lines = self._shares.find_people() if beside else self._shares.find_lines(analyst, study)
            charges = self._shares.charge(lines, item, bought)
            refusal = find_refusal(account, lines, charges)
            if refusal is not None:
                raise refusal
            return Reserved(
                ledger=self._name,
                number=len(account.records),
                analyst=analyst,
                what=what,
                charges=tuple(map(Line.write, lines, charges)),
                loss=loss,
                time=self._book.now(),
                life=self._book.life,
                study=study,
                key=key,
                request=request,
                question=question,
                plan=plan,
                ticket=given,
            )

        self._book.write(decide)
        if known:
            return known[0]
        if given.number is None:
            raise InternalError("a reservation was written without a number")
        return given.number

    def start(self, number: int) -> None:
        """Mark that data are touched now: from here on the charge stays."""

        def see() -> None:
            self._book.require_process()
            self._require_next(self._find_record(number), "started")
            self._book.started.add((self._name, number))

        self._book.look(see)

    def take_over(self, number: int) -> None:
        """Begin again to answer what was charged in another life of this ledger, and not answered there."""

        def decide() -> Event | None:
            record = self._find_record(number)
            if record.reserved.life == self._book.life or self._state(record) != "started":
                raise InternalError(f"entry {number} is not left from another life")
            # Written down before data are touched: nobody can give the reservation back from then on.
            return Moved(self._name, number, "started")

        self._book.write(decide)

    def resume(self, number: int) -> None:
        """Go on with what was charged, in whatever life, and not answered: nothing was ever said of it.

        Where another process answers it meanwhile, `finish` returns what that one said.

        Raises
        ------
        AnswerLost
            Where rows of the book were lost: that it was answered may have been in one of them. And where it
            was given back meanwhile, or finished without an answer: nothing pays for another.
        """

        def decide() -> Event | None:
            record = self._find_record(number)
            if record.state == "voided" or (record.state == "finished" and record.answer is None):
                raise AnswerLost(
                    why="what was charged under this key was given back, or ended without an answer",
                    way_out="Ask again; where the key is still taken, under a new one",
                )
            is_left = record.reserved.life != self._book.life and self._state(record) == "started"
            if is_left and self._book.state.cuts:
                raise AnswerLost(
                    why="rows of the ledger were lost, and what was answered under this key may be in them",
                    way_out="Ask under a new key, which is charged anew",
                )
            return Moved(self._name, number, "started") if is_left else None

        self._book.write(decide)
        if self.entry(number).state == "reserved":
            self.start(number)

    def give(self, analyst: str, key: str, request: str, reply: bytes) -> bytes:
        """Keep the reply to a request that costs nothing under its key, for ever.

        Returns
        -------
        bytes
            What is to be sent: this reply, or the one that was kept before, if there was one.

        Raises
        ------
        KeyReused
            When the key came with another request before.
        Refused
            When the analyst has as much kept as one may.
        """
        digest = hashlib.sha256(reply).hexdigest()

        def decide() -> Event | None:
            account, use = self._account, self._require_use(analyst, key, request)
            if use is not None:
                if use.entry is not None:
                    raise KeyReused
                return None
            require_keys(*account.given_to.get(analyst, (0, 0)))
            return Given(
                ledger=self._name,
                number=sum(count for count, _ in account.given_to.values()),
                analyst=analyst,
                key=key,
                request=request,
                answer=digest,
                size=len(reply),
                time=self._book.now(),
            )

        if self._book.write(decide, reply) is None:
            return self.given(analyst, key) or reply
        return reply

    def finish(self, number: int, answer: bytes | None = None) -> bytes | None:
        """Mark that the answer is out, and keep it.

        Returns
        -------
        bytes
            What is to be sent: this answer, or the one that was kept before, if there was one.
        """
        digest = None if answer is None else hashlib.sha256(answer).hexdigest()

        def decide() -> Event | None:
            record = self._find_record(number)
            if record.state == "finished" and record.answer is not None and digest is not None:
                return None
            self._require_next(record, "finished")
            return Moved(self._name, number, "finished", digest)

        if self._book.write(decide, answer) is None:
            return self.answer(number)
        return answer

    def void(self, number: int) -> None:
        """Give a reservation back. Only possible before its start, and in the life that made it."""

        def decide() -> Event:
            self._require_next(self._find_record(number), "voided")
            return Moved(self._name, number, "voided")

        self._book.write(decide)

    def void_unless_started(self, ticket: Ticket) -> bool:
        """Give back what was reserved for a ticket; tell whether no data were touched for it.

        Nothing is given back where nothing was reserved, or where it was given back before.
        """

        def decide() -> Event | None:
            if ticket.number is None or self._state(self._find_record(ticket.number)) != "reserved":
                return None
            return Moved(self._name, ticket.number, "voided")

        self._book.write(decide)
        return ticket.number is None or self.entry(ticket.number).state == "voided"

    def note_use(self, what: str, loss: str) -> None:
        """Note a use of the data that is not charged here, such as one whose loss is not known."""
        use = checks.text(what=what), checks.text(loss=loss)
        self._book.write(lambda: Used(self._name, *use, time=self._book.now()))

    def refresh(self) -> None:
        """Take what other processes wrote in the same book: what is looked at is then as it is now."""
        self._book.refresh()

    def close(self) -> None:
        """Give the book back, where it is this ledger's own; nothing is charged from then on."""
        if self._own:
            self._book.close()

    def journal(self, name: str, *, alone: bool = False) -> LedgerJournal:
        """Return a list of notes that is kept with this ledger, for what must outlive the process.

        `alone` is for one that a single process goes on with: others are refused once it has.
        """
        if SEPARATOR in checks.text(name=name):
            raise InvalidParameter(name="name", rule="one line of text", value=name)
        return LedgerJournal(self._book, self._name, require_storable(name=name), alone=alone)

    def retire(self, why: str) -> None:
        """Answer nothing more from this data set, for ever."""
        checks.text(why=why)
        self._book.write(
            lambda: None if self._account.retired else Retired(self._name, why, time=self._book.now())
        )

    @property
    def is_retired(self) -> bool:
        """Whether nothing more is measured of the data set."""
        return self._book.look(lambda: bool(self._account.retired))

    def require_kept(self) -> None:
        """Raise once the data set is retired: for what was charged before, and would be measured now."""
        if self.is_retired:
            raise refuse_retired()

    # How -----------------------------------------------------------------------------------------------

    def _told(self, analyst: str, study: str | None, item: Item, bought: ApproxLoss | None) -> Amounts:
        """Return what the data set's budget, or a share that is apart, would be charged."""
        lines = self._shares.find_lines(analyst, study)
        charges = self._shares.charge(lines, item, bought)
        told = [charge for line, charge in zip(lines, charges, strict=True) if line.is_whole]
        return Amounts((told or charges)[0].amounts)

    def _require_next(self, record: EntryRecord, state: State) -> None:
        before = self._state(record)
        if state not in NEXT[before]:
            raise InternalError(f"entry {record.reserved.number} is {before} and cannot become {state}")


def find_request(what: str, study: str | None, cost: list[dict[str, str] | None]) -> str:
    """Return the digest of a question, which its key stands for: at another price it is another one."""
    return hashlib.sha256(json.dumps([study, what, cost], sort_keys=True).encode()).hexdigest()
