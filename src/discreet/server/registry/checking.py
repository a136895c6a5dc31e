"""Checking a registry: whether it agrees with itself, with the book, and with the receipts that people kept.

Whoever reads a registry can do the first. What it says is then one story; that it is the true one, the book
or receipts must show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.curator.ledger.books.verification import SoundBook
from discreet.curator.ledger.events import DATA, WHOLE, Moved, Reserved
from discreet.curator.ledger.state import Account
from discreet.server.registry.decimals import write_time
from discreet.server.registry.figures import BudgetMeter, make_meter
from discreet.server.registry.view import STATES

Told = dict[str, Any]
_MOVING = ("spent", "total", "left", "burn", "people", "pace", "releases_total", "time")


@dataclass(frozen=True, slots=True)
class RegistryFinding:
    """What was found about one registry.

    Attributes
    ----------
    name
        The data set.
    wrong
        What does not agree; nothing where it is sound.
    checked
        What was looked at.
    """

    name: str
    wrong: tuple[str, ...]
    checked: tuple[str, ...]


def check_registry(
    told: Told, *, book: SoundBook | None = None, receipts: Iterable[Told] = ()
) -> RegistryFinding:
    """Return what is wrong with a registry.

    Parameters
    ----------
    told
        The registry, of the documented shape.
    book
        The book that it is about, if it is at hand.
    receipts
        What analysts kept, if they are.
    """
    kept = [one for one in receipts if one["ledger"] == told["ledger"]]
    wrong = [*_check_budget(told), *_check_sums(told), *_check_releases(told)]
    is_without = "delta" in (told["coordinates"] or ()) and "rho" not in told["coordinates"]
    checked = ["its sums, but for rhos, which are left out" if is_without else "its sums"]
    listed = [one for one in told["releases"] if one["receipt"]]
    if listed:
        checked.append(f"receipts among themselves ({len(listed)})")
    if book is not None:
        wrong += _check_book(told, book)
        checked.append(f"the book ({len(book.rows)} rows)")
    if kept:
        wrong += _check_kept(told, kept, book)
        checked.append(f"kept receipts ({len(kept)})")
    return RegistryFinding(told["name"], tuple(wrong), tuple(checked))


def _check_budget(told: Told) -> Iterator[str]:
    if told["questions"] is None:
        return
    for name, amount in told["budget"].items():
        if Fraction(told["opening"][name]) + Fraction(told["questions"][name]) != Fraction(amount):
            yield f"the opening and what is for questions do not add up to the budget's {name}"
    expected = _meter(told["questions"]).budget
    if {name: Fraction(amount) for name, amount in told["coordinates"].items()} != expected:
        if told["coordinates"].keys() == expected.keys():
            yield "the coordinates are not those of the budget for questions"


def _check_sums(told: Told) -> Iterator[str]:
    if told["audience"] == "public" and told["promise"] is not None:
        shown = [name for name in _MOVING if told[name] is not None]
        if shown or told["releases"] or told["course"] or any(one["spent"] for one in told["studies"]):
            yield "it shows what questions move, although that is promised to be hidden between analysts"
        return
    if told["spent"] is None:
        return
    spent, total = told["spent"], Fraction(told["total"])
    figures = [(spent, told["questions"])]
    if told["promise"] is not None:
        figures = [(one["spent"], _share(told, one)) for one in told["shares"] if one["spent"]]
    least = sum((_find_epsilon(one, budget) for one, budget in figures), Fraction(0))
    if Fraction(spent["epsilon"]) < least:
        yield f"the spent epsilon {spent['epsilon']} is less than its charges come to"
    if total < Fraction(told["opening"]["epsilon"]) + least:
        yield f"the total epsilon {told['total']} is less than the opening and all charges"
    if Fraction(told["left"]["epsilon"]) > max(Fraction(0), Fraction(told["questions"]["epsilon"]) - least):
        yield f"the epsilon left, {told['left']['epsilon']}, is more than the budget leaves"
    if Fraction(told["left"]["part"]) + Fraction(spent["part"]) > 1 + Fraction(1, 10**5):
        yield "the parts that are used and left add up to more than all"
    of_studies = [(one["spent"], told["questions"]) for one in told["studies"] if one["spent"]]
    for one, budget in of_studies:
        if Fraction(one["epsilon"]) < _find_epsilon(one, budget):
            yield f"the spent epsilon {one['epsilon']} of a study is less than its charges come to"
    for one, budget in [*figures, *of_studies] if told["promise"] is None else ():
        if _is_whole(one, budget) and Fraction(one["part"]) < _meter(budget).find_part(_amounts(one)):
            yield f"the part {one['part']} that is used is less than its charges come to"


def _check_releases(told: Told) -> Iterator[str]:
    releases, total = told["releases"], told["releases_total"]
    if total is None:
        return
    numbers = [one["number"] for one in releases]
    if numbers != list(range(total - 1, total - 1 - len(numbers), -1)) or bool(total) > bool(numbers):
        yield "releases are missing, or not in order"
    is_complete = len(releases) == total
    times = [one["time"] for one in releases]
    if times != sorted(times, reverse=True):
        yield "releases are not in the order of time"
    charged = [one for one in releases if one["state"] != "given back"]
    if is_complete and told["spent"] is not None and told["promise"] is None:
        yield from _check_charges(told, charged)
    kinds = sum(one["releases"] for one in told["mechanisms"])
    if is_complete and kinds != len(charged):
        yield f"{kinds} releases are counted by their noise, and {len(charged)} are listed"
    yield from _check_receipts(told, [one for one in releases if one["receipt"] is not None])


def _check_charges(told: Told, charged: list[Told]) -> Iterator[str]:
    for name, amount in told["spent"]["charged"].items():
        if name not in told["coordinates"]:  # a rho that nobody asked for
            continue
        found = sum((Fraction(one["cost"].get(name, 0)) for one in charged), Fraction(0))
        is_raised = told["recovered"] and Fraction(amount) > found
        if found != Fraction(amount) and not is_raised:
            yield f"releases add up to another {name} than is said to be charged"
        if any(name not in one["cost"] for one in charged) and not told["recovered"]:
            yield f"a release has no finite {name}, although a sum is told"


def _check_receipts(told: Told, listed: list[Told]) -> Iterator[str]:
    receipts = [one["receipt"] for one in listed]
    if len({one["book"] for one in receipts}) > 1:
        yield "receipts are of several books"
    if any(one["receipt"]["number"] != one["number"] for one in listed):
        yield "a receipt is of another release"
    if any(one["ledger"] != told["ledger"] for one in receipts):
        yield "a receipt is of another ledger"
    for field in ("place", "digest"):
        if len({one[field] for one in receipts}) != len(receipts):
            yield f"two receipts have the same {field}"


# Against the book ------------------------------------------------------------------------------------------


def _check_book(told: Told, book: SoundBook) -> Iterator[str]:
    account = book.state.accounts.get(("data", told["ledger"]))
    if account is None or told["questions"] is None:
        if (account is None) != (told["questions"] is None):
            yield "the book and the registry do not both know this data set"
        return
    opened = account.opened
    if (opened.epsilon, opened.delta) != tuple(Fraction(told["questions"][n]) for n in ("epsilon", "delta")):
        yield "the book has another budget for questions"
    if opened.neighbours != told["unit"]["declared"]:
        yield "the book is about other neighbours"
    if (opened.apart) != (told["promise"] is not None):
        yield "the book has another promise between analysts"
    uses = [(one.what, one.loss) for one in account.uses.values()]
    if uses[: len(told["uses"])] != [(one["what"], one["loss"]) for one in told["uses"]]:
        yield "other uses are noted in the book"
    if told["retired"] is not None and not account.retired:
        yield "the book does not say that it is retired"
    if told["releases_total"] is None:
        return
    count = len(account.records)
    if count < told["releases_total"]:
        yield f"the book has {count} entries, and the registry {told['releases_total']}"
    for one in told["releases"]:
        if one["number"] < count:
            yield from _check_entry(one, account, book)
    if told["spent"] is not None and told["promise"] is None:
        yield from _check_lines(told, account)


def _check_lines(told: Told, account: Account) -> Iterator[str]:
    """Compare what is said to be charged, in all and for each study, with the entries of the book by then.

    What a book that has gone on says was given back may have counted then: so it is at least that much.
    """
    lines = {WHOLE: told["spent"]} | {f"study:{one['name']}": one["spent"] for one in told["studies"]}
    records = [one for one in account.records.list_now()[: told["releases_total"]] if one.state != "voided"]
    charged = [charge for one in records for charge in one.reserved.charges if charge.kind == DATA]
    for line in sorted({WHOLE, *(one.line for one in charged if one.line.startswith("study:"))}):
        figures, own = lines.get(line), [one.amounts for one in charged if one.line == line]
        name = "the data set" if line == WHOLE else line.replace(":", " ")
        if figures is None:
            yield f"{name} is left out, and was charged in the book"
            continue
        for place, (coordinate, unit) in enumerate(account.coordinates(line)):
            least = unit * sum(one[place] or 0 for one in own)
            if any(one[place] is None for one in own):
                if coordinate not in figures["endless"]:
                    yield f"{name} was charged no finite {coordinate} in the book"
            elif Fraction(figures["charged"].get(coordinate, least)) < least:
                yield f"{name} was charged more {coordinate} in the book"


def _check_entry(told: Told, account: Account, book: SoundBook) -> Iterator[str]:
    """Compare a release with its entry. A book may have gone on: what was charged may be answered by now."""
    number = told["number"]
    record = account.records[number]
    entry = account.show(record)
    cost = {name: Fraction(amount) for name, amount in told["cost"].items()}
    charge = dict(entry.charge)
    is_back = told["state"] == "given back"
    if is_back != (record.state == "voided") and told["state"] != "charged":
        yield f"release {number} is {STATES[record.state]} in the book, and {told['state']} here"
    elif not is_back and any(charge.get(name) != amount for name, amount in cost.items()):
        yield f"release {number} cost something else in the book"
    elif not is_back and not set(charge) - {"rho"} <= set(cost):
        yield f"release {number} leaves out what it cost"
    if (told["time"], told["study"], told["loss"]) != (write_time(entry.time), entry.study, entry.loss):
        yield f"release {number} has another time, study or loss in the book"
    if told["receipt"] is not None and not _is_in(told["receipt"], book):
        yield f"the receipt of release {number} is not in the book"


def _is_in(receipt: Told, book: SoundBook) -> bool:
    """Tell whether a book has the row of a receipt, and whether that row is about its entry."""
    place = receipt["place"]
    if receipt["book"] != book.state.book["began"].book or not 1 <= place <= len(book.rows):
        return False
    row = book.rows[place - 1]
    event = row.event
    return (
        row.digest.hex() == receipt["digest"]
        and isinstance(event, Reserved | Moved)
        and (event.ledger, event.number) == (receipt["ledger"], receipt["number"])
    )


def _check_kept(told: Told, kept: list[Told], book: SoundBook | None) -> Iterator[str]:
    """Compare with receipts that analysts kept: whoever put back the book cannot have put back these."""
    known = {one["number"]: one["receipt"] for one in told["releases"]}
    for one in kept:
        number = one["number"]
        if book is not None:
            if not _is_in(one, book):
                yield f"a kept receipt of entry {number} is not in the book"
        elif number not in known and told["releases_total"] is not None and number >= told["releases_total"]:
            yield f"a kept receipt of entry {number} is of none that is listed"
        elif (
            known.get(number) is not None and known[number] != one and known[number]["place"] <= one["place"]
        ):
            yield f"a kept receipt of entry {number} is another one than is listed"


def _share(told: Told, line: Told) -> dict[str, str]:
    share = Fraction(line["share"])
    return {name: str(share * Fraction(amount)) for name, amount in told["questions"].items()}


def _meter(budget: dict[str, str]) -> BudgetMeter:
    return make_meter(Fraction(budget["epsilon"]), Fraction(budget["delta"]))


def _amounts(figures: Told) -> dict[str, Fraction]:
    return {name: Fraction(amount) for name, amount in figures["charged"].items()}


def _find_epsilon(figures: Told, budget: dict[str, str]) -> Fraction:
    """Return the least that charges can come to: a rho that is left out may make it less."""
    return _meter(budget).find_epsilon(_amounts(figures)) if _is_whole(figures, budget) else Fraction(0)


def _is_whole(figures: Told, budget: dict[str, str]) -> bool:
    """Tell whether all coordinates are there: rho is told to those who ask for it."""
    return set(figures["charged"]) | set(figures["endless"]) >= set(_meter(budget).budget)
