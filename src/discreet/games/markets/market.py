"""What is public of a market: goods and how many there are, bundles, and what they are worth for types."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterable, Mapping

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Fixed, Floats, Integers, fix_array
from discreet.games.common.reports import read_kinds

LARGEST = 1 << 22
_MOST_UNITS = 1 << 20


class Market(Fixed):
    """Goods, the bundles in which people want them, and what a bundle is worth for each type.

    Parameters
    ----------
    supply
        How many there are of each good, by its name.
    bundles
        What is in each bundle: how many of which goods. Nothing at all can always be had, and is not listed.
    types
        What a player may be.
    values
        For each type what each bundle is worth, between 0 and 1; None where it is not for sale to the type.
    """

    __slots__ = ("_digest", "bundles", "contents", "goods", "supply", "types", "values")

    def __init__(
        self,
        *,
        supply: Mapping[Hashable, int],
        bundles: Iterable[Mapping[Hashable, int]],
        types: Iterable[Hashable],
        values: Iterable[Iterable[checks.Number | None]],
    ) -> None:
        if type(supply) is not dict:
            raise InvalidParameter(
                name="supply", rule="a dictionary of goods", got=f"a {type(supply).__name__}"
            )
        self.goods: tuple[Hashable, ...] = read_kinds(supply=list(supply))
        self.supply: tuple[int, ...] = tuple(checks.integer(1, supply=many) for many in supply.values())
        known = {good: place for place, good in enumerate(self.goods)}
        self.bundles: tuple[tuple[tuple[Hashable, int], ...], ...] = ((), *_read_bundles(bundles, known))
        contents = np.zeros((len(self.bundles), len(known)), dtype=np.int64)
        for place, bundle in enumerate(self.bundles):
            for good, many in bundle:
                contents[place, known[good]] = many
        self.contents: Integers = fix_array(contents)
        self.types: tuple[Hashable, ...] = read_kinds(types=types)
        self.values: Floats = fix_array(_read_values(values, len(self.types), len(self.bundles)))
        text = repr((self.goods, self.supply, self.bundles, self.types)).encode()
        self._digest: bytes = hashlib.blake2b(text + self.values.tobytes(), digest_size=16).digest()

    def choose(self, prices: Floats) -> Integers:
        """Return the number of every type's favourite bundle at prices; nothing, if that is as good."""
        return np.asarray((self.values - self.contents @ prices).argmax(axis=1))

    def surplus(self, prices: Floats) -> Floats:
        """Return what the best bundle is worth for every type, less its price."""
        return np.asarray((self.values - self.contents @ prices).max(axis=1))

    @property
    def square_shift(self) -> int:
        """The square of how far two bundles, or one and nothing, are apart in L2 at most."""
        squares = (self.contents**2).sum(axis=1)
        return max(1, int((squares[:, None] + squares - 2 * (self.contents @ self.contents.T)).max()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Market) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __deepcopy__(self, memo: object) -> Market:
        return self

    def __repr__(self) -> str:
        return f"<market: {len(self.goods)} goods, {len(self.bundles) - 1} bundles, {len(self.types)} types>"


def _read_bundles(
    given: Iterable[Mapping[Hashable, int]], known: Mapping[Hashable, int]
) -> list[tuple[tuple[Hashable, int], ...]]:
    bundles = []
    for bundle in checks.several(bundles=given):
        if type(bundle) is not dict or not bundle:
            rule = "dictionaries: how many of which of the goods"
            raise InvalidParameter(name="bundles", rule=rule, got=f"a {type(bundle).__name__}")
        if any(good not in known for good in bundle):
            raise InvalidParameter(name="bundles", rule=f"of the goods {tuple(known)}", value=tuple(bundle))
        amounts = {good: checks.integer(1, bundles=many) for good, many in bundle.items()}
        if max(amounts.values()) > _MOST_UNITS:
            raise InvalidParameter(name="bundles", rule=f"of at most {_MOST_UNITS} units", got="larger ones")
        bundles.append(tuple(sorted(amounts.items(), key=lambda pair: known[pair[0]])))
    if not bundles or len(set(bundles)) < len(bundles):
        raise InvalidParameter(name="bundles", rule="different ones, at least one", value=len(bundles))
    return bundles


def _read_values(given: Iterable[Iterable[checks.Number | None]], types: int, bundles: int) -> Floats:
    rows = [checks.several(values=row) for row in checks.several(values=given)]
    if len(rows) != types or any(len(row) != bundles - 1 for row in rows) or types * bundles > LARGEST:
        rule = f"{types} rows of {bundles - 1} values"
        raise InvalidParameter(name="values", rule=rule, got="others")
    for value in (value for row in rows for value in row):
        if value is not None and checks.non_negative(values=value) > 1:
            raise InvalidParameter(name="values", rule="between 0 and 1", value=value, hint="Scale them")
    table = [[-math.inf if value is None else float(value) for value in row] for row in rows]
    return np.array([[0.0, *row] for row in table])
