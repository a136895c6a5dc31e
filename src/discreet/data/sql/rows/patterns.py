"""Patterns of text, matched in time that grows with the text and the pattern and in no other way.

`LIKE` has `%` and `_`. Regular expressions have characters, `.`, classes, groups, `|`, `^`, `$`, `*`, `+`,
`?` and `{m,n}`; whatever else a dialect knows is refused. They are run as a set of places that a match can
have reached, so no pattern takes long on any text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from discreet.data.sql.text import refuse

MAX_STATES = 400
MAX_REPEATS = 50
Test = Callable[[str], bool]
_CLASSES: dict[str, Test] = {
    "d": str.isdecimal,
    "w": lambda c: c.isalnum() or c == "_",
    "s": str.isspace,
}


def like(value: str, pattern: str, escape: str = "") -> bool:
    """Match `%` (any text) and `_` (any character), in time len(value) * len(pattern) for every pattern."""
    reachable = {0}
    literal = False
    for wanted in pattern:
        if escape and wanted == escape and not literal:
            literal = True
            continue
        if wanted == "%" and not literal:
            reachable = set(range(min(reachable), len(value) + 1)) if reachable else set()
        else:
            loose = wanted == "_" and not literal
            reachable = {i + 1 for i in reachable if i < len(value) and (loose or wanted == value[i])}
        literal = False
    return len(value) in reachable


@dataclass
class _Machine:
    """States: each a test of one character with the state after it, or ways on that read none."""

    tests: list[tuple[Test, int] | None] = field(default_factory=list)
    free: list[list[int]] = field(default_factory=list)
    anchors: dict[int, str] = field(default_factory=dict)

    def state(self) -> int:
        """Add a state."""
        if len(self.tests) >= MAX_STATES:
            raise refuse("a regular expression", f"it has more than {MAX_STATES} parts", "Use a shorter one")
        self.tests.append(None)
        self.free.append([])
        return len(self.tests) - 1


class Regexp:
    """A regular expression that finds a match anywhere in a text, or in the whole of it."""

    def __init__(self, pattern: str, *, fold: bool = False) -> None:
        self.pattern, self.fold = pattern, fold
        if pattern.startswith("(?i)"):
            self.pattern, self.fold = pattern[4:], True
        self._place = 0
        self._machine = _Machine()
        self._start, self._end = self._either()
        if self._place < len(self.pattern):
            raise self._refuse("a bracket is not opened")

    @property
    def size(self) -> int:
        """About how many steps a character takes."""
        return len(self._machine.tests)

    def found_in(self, text: str) -> bool:
        """Say whether it matches some part of a text."""
        if self.fold:
            text = text.lower()
        reached = self._follow({self._start}, 0, len(text))
        for place, character in enumerate(text):
            if self._end in reached:
                return True
            after = {self._start}
            for state in reached:
                test = self._machine.tests[state]
                if test is not None and test[0](character):
                    after.add(test[1])
            reached = self._follow(after, place + 1, len(text))
        return self._end in reached

    def _follow(self, states: set[int], place: int, length: int) -> set[int]:
        """Add the states that are reached without reading a character."""
        seen, rest = set(states), list(states)
        while rest:
            state = rest.pop()
            anchor = self._machine.anchors.get(state)
            if (anchor == "^" and place > 0) or (anchor == "$" and place < length):
                continue
            for other in self._machine.free[state]:
                if other not in seen:
                    seen.add(other)
                    rest.append(other)
        return seen

    def _refuse(self, why: str) -> Exception:
        return refuse("a regular expression", why, "Use characters, . [..] ( ) | * + ? {m,n} ^ $, LIKE or IN")

    def _peek(self) -> str:
        return self.pattern[self._place : self._place + 1]

    def _take(self) -> str:
        found = self._peek()
        self._place += 1
        return found

    def _either(self) -> tuple[int, int]:
        start, end = self._machine.state(), self._machine.state()
        while True:
            first, last = self._sequence()
            self._machine.free[start].append(first)
            self._machine.free[last].append(end)
            if self._peek() != "|":
                return start, end
            self._take()

    def _sequence(self) -> tuple[int, int]:
        start = end = self._machine.state()
        while self._peek() and self._peek() not in "|)":
            first, last = self._repeated()
            self._machine.free[end].append(first)
            end = last
        return start, end

    def _repeated(self) -> tuple[int, int]:
        begin = self._place
        first, last = self._one()
        stop = self._place
        least, most = self._count()
        if self._peek() and self._peek() in "*+?":
            raise self._refuse("a repetition is repeated")
        if (least, most) == (1, 1):
            return first, last
        return self._copies(begin, stop, least, most)

    def _count(self) -> tuple[int, int | None]:
        sign = self._peek()
        if sign and sign in "*+?":
            self._take()
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        if sign != "{":
            return 1, 1
        end = self.pattern.find("}", self._place)
        low, comma, high = self.pattern[self._place + 1 : end].partition(",")
        if end < 0 or not low.isdecimal() or (high and not high.isdecimal()) or len(low + high) > 6:
            raise self._refuse("a count is not understood")
        self._place = end + 1
        least = int(low)
        most = least if not comma else int(high) if high else None
        if max(least, most or 0) > MAX_REPEATS or (most is not None and most < least):
            raise self._refuse(f"counts go up to {MAX_REPEATS}")
        return least, most

    def _copies(self, begin: int, stop: int, least: int, most: int | None) -> tuple[int, int]:
        """Read a part again for each time it may stand there."""
        after = self._place
        start = end = self._machine.state()
        final = self._machine.state()
        for count in range(most if most is not None else least + 1):
            self._place = begin
            first, last = self._one()
            if self._place != stop:
                raise self._refuse("it is not understood")
            if count >= least:
                self._machine.free[end].append(final)
            self._machine.free[end].append(first)
            if most is None and count == least:
                self._machine.free[last].append(first)
            end = last
        self._machine.free[end].append(final)
        self._place = after
        return start, final

    def _one(self) -> tuple[int, int]:
        sign = self._take()
        if sign == "(":
            if self._peek() == "?":
                if self.pattern[self._place : self._place + 2] != "?:":
                    raise self._refuse("groups with ? are not known")
                self._place += 2
            found = self._either()
            if self._take() != ")":
                raise self._refuse("a bracket is not closed")
            return found
        if sign in ("^", "$"):
            return self._anchor(sign)
        if sign in ("*", "+", "?", "{", "}", "]"):
            raise self._refuse(f"{sign} stands where it says nothing")
        if sign == "[":
            return self._reading(self._bracket())
        if sign == ".":
            return self._reading(lambda _: True)
        return self._reading(self._escaped() if sign == "\\" else self._exactly(sign))

    def _anchor(self, sign: str) -> tuple[int, int]:
        start, end = self._machine.state(), self._machine.state()
        self._machine.anchors[start] = sign
        self._machine.free[start].append(end)
        return start, end

    def _reading(self, test: Test) -> tuple[int, int]:
        start, end = self._machine.state(), self._machine.state()
        self._machine.tests[start] = (test, end)
        return start, end

    def _exactly(self, wanted: str) -> Test:
        wanted = wanted.lower() if self.fold else wanted
        return lambda character: character == wanted

    def _escaped(self) -> Test:
        sign = self._take()
        if sign.lower() in _CLASSES:
            test = _CLASSES[sign.lower()]
            return test if sign.islower() else lambda character: not test(character)
        if not sign or sign.isalnum():
            raise self._refuse(f"\\{sign} is not known")
        return self._exactly(sign)

    def _bracket(self) -> Test:
        flipped = self._peek() == "^"
        self._place += flipped
        tests: list[Test] = []
        while self._peek() != "]" or not tests:
            sign = self._take()
            if not sign or (sign == "[" and self._peek() == ":"):
                raise self._refuse("a bracket is not closed, or names a class")
            if sign == "\\":
                tests.append(self._escaped())
            elif self._peek() == "-" and self.pattern[self._place + 1 : self._place + 2] not in ("]", ""):
                self._take()
                tests.append(self._between(sign, self._take()))
            else:
                tests.append(self._exactly(sign))
        self._take()
        return lambda character: any(test(character) for test in tests) != flipped

    def _between(self, low: str, high: str) -> Test:
        if not low <= high or high == "\\":
            raise self._refuse("a range goes up from one character to another")
        if not self.fold:
            return lambda character: low <= character <= high
        return lambda character: low <= character <= high or low <= character.upper() <= high
