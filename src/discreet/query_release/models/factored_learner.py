"""From noisy tables to a factored model, and to the best guess of any one table. Post-processing only.

A model of all attributes cannot hold every measured set: its cliques would grow too large. What does not fit
is kept apart and used for the tables that contain it, with the model as the starting point.

The first guess of one attribute's counts is smoothed where neighbouring values may be alike. A spike is kept
as it was measured; the rest is smoothed with the width that an unbiased estimate of the squared error likes
best. Where no width helps, nothing is smoothed: an order that means nothing does no harm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from discreet.core.fixed import Array
from discreet.query_release.fitting.junction import Axes, JunctionTree, wide
from discreet.query_release.models.factored import FactoredModel, Grain, Target, coarsen, fit_model

Key = tuple[Axes, Grain]

SHORTEST = 16
"""Fewer values are not smoothed: there is little to gain."""

_STEPS, _LOCAL_STEPS = 250, 80  # of the quasi-Newton method: for the model, for one table
_LATEST, _LEFT = 8, 0.25  # last choices, the better of which tell how far the model is from what is left
_STIFF = 0.15  # the least ridge, in standard deviations of noise: with less the search chases empty cells
_FAINT = 1e-15  # the least probability a single table starts from
_WIDTHS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0, 14.0, 30.0, 1000.0)
_FAR = 3.5  # standard deviations of noise that make a spike
_HALF = 4  # values on either side that a spike is compared with
_FLOOR = 0.02  # the share of all rows that is spread evenly: no value is ruled out
_SWEEPS = 4
_REACH = 30  # widths: further off, a neighbour counts for nothing


class MeasuredTable(NamedTuple):
    """Released noisy counts over a set of attributes, at some grain, with their variance."""

    axes: Axes
    grain: Grain
    counts: Array
    variance: float


class _Known(NamedTuple):
    """All measurements of one set at one grain, as one."""

    counts: Array
    variance: float
    dispersion: float

    def with_(self, other: MeasuredTable) -> _Known:
        weight = self.variance / (self.variance + other.variance)
        mixed = self.counts + weight * (other.counts - self.counts)
        return _Known(mixed, self.variance * (1 - weight), self.dispersion)

    def target(self, key: Key) -> Target:
        ridge = max(self.variance / self.dispersion, _STIFF * math.sqrt(self.variance))
        return Target(*key, self.counts, ridge)


class Learner:
    """Learns from measurements. Public: it never meets the data.

    Parameters
    ----------
    shape
        The universe's shape.
    cells
        How many numbers the model's cliques may hold.
    singles
        Every attribute that matters, measured on its own.
    ordinal
        The axes along which neighbouring values may be alike.
    """

    def __init__(
        self, shape: Sequence[int], *, cells: int, singles: Sequence[MeasuredTable], ordinal: Iterable[int]
    ) -> None:
        self.shape, self.cells = tuple(shape), cells
        self.total = _total(singles)
        smooth = set(ordinal)
        self._base: dict[Axes, Array] = {}
        self._inside: dict[Key, _Known] = {}
        self._apart: dict[Key, _Known] = {}
        self._starts: dict[Key, Array] = {}
        for single in singles:
            guess = np.full(single.counts.shape, self.total / single.counts.size)
            if single.axes[0] in smooth:
                guess = first_guess(single.counts, math.sqrt(single.variance), self.total)
            self._base[single.axes] = np.log(guess / guess.sum())
            spread = dispersion(single, guess, self.total)
            self._inside[single.axes, single.grain] = _Known(single.counts, single.variance, spread)
        self._model: FactoredModel | None = None
        self._waiting: list[MeasuredTable] = []

    def add(self, batch: Iterable[MeasuredTable]) -> None:
        """Take note of new measurements; the model learns them when it is asked next."""
        self._waiting.extend(batch)

    def keep_apart(self, batch: Iterable[MeasuredTable]) -> None:
        """Take note of measurements that are for single tables only."""
        for one in batch:
            self._note(self._apart, one, 1.0)

    @property
    def model(self) -> FactoredModel:
        """The model that has learned all measurements it has room for."""
        if self._model is None:
            self._model = self._fit()
        if self._waiting:
            found = [(one, dispersion(one, self._expect(one), self.total)) for one in self._waiting]
            for one, spread in found:
                fits = (one.axes, one.grain) in self._inside or self._room(one.axes)
                self._note(self._inside if fits else self._apart, one, spread)
            self._waiting = []
            self._model = self._fit()
        return self._model

    def table(self, axes: Axes) -> Array:
        """Return the model's counts over a set."""
        return self.model.table(axes) * self.total

    def best_table(self, axes: Axes) -> Array:
        """Return the best guess of one table: the model's, moved by measurements that it has no room for."""
        expected = self.table(axes)
        own = self._list_own(axes)
        if not own:
            return expected
        targets = [
            known._replace(dispersion=self._spread(key, known, axes, expected)).target(key)
            for key, known in own.items()
        ]
        tree = JunctionTree(self.shape, (axes,), (-1,))
        base = np.log(np.maximum(expected / self.total, _FAINT))
        start = [np.zeros(target.counts.shape) for target in targets]
        model, _ = fit_model(tree, targets, total=self.total, base=[base], start=start, steps=_LOCAL_STEPS)
        return model.beliefs[0] * self.total

    def deviations(self, axes: Axes) -> Array:
        """Estimate the standard deviation of every cell of `best_table`.

        Without a measurement of its own a table misses the truth like those that were measured before; with
        one, the two sources of error are combined as independent ones.
        """
        expected = np.maximum(self.best_table(axes), 1e-3)
        key = (axes, ())
        known = self._apart.get(key) or self._inside.get(key)
        if known is None:
            seen = [k.dispersion for (a, _), k in self._inside.items() if len(a) > 1]
            return np.sqrt(expected * (float(np.median(seen)) if seen else 1.0))
        prior = expected * max(1.0, self._spread(key, known, axes, self.table(axes)))
        return np.asarray(np.sqrt(prior * known.variance / (prior + known.variance)))

    def gaps(self, axes: Axes) -> Array:
        """Estimate the variance of every cell that no release of the model itself can show.

        The model does not hold what was kept apart from it, nor what nobody told it of. A table without a
        measurement of its own is taken to depart from the model as the better of the last ones did that were
        chosen: those were the worst that were left.
        """
        if (axes, ()) in self._apart:
            return np.square(self.deviations(axes))
        expected = np.maximum(self.best_table(axes), 0.0)
        if any(set(axes) <= set(known) for known, _ in (*self._inside, *self._apart)):
            return np.zeros_like(expected)
        seen = [known.dispersion for (held, _), known in self._inside.items() if len(held) > 1]
        return np.asarray(expected * (float(np.quantile(seen[-_LATEST:], _LEFT)) if seen else 1.0))

    def precision(self, key: Key) -> float:
        """Return one over the variance with which a set is known at some grain; 0 if it is not."""
        known = self._inside.get(key) or self._apart.get(key)
        return 0.0 if known is None else 1.0 / known.variance

    def _list_own(self, axes: Axes) -> dict[Key, _Known]:
        return {key: known for key, known in self._apart.items() if set(key[0]) <= set(axes)}

    def _spread(self, key: Key, known: _Known, axes: Axes, expected: Array) -> float:
        gone = tuple(place for place, axis in enumerate(axes) if axis not in key[0])
        guess = coarsen(expected.sum(axis=gone), key[1])
        return dispersion(MeasuredTable(*key, known.counts, known.variance), guess, self.total)

    def _expect(self, one: MeasuredTable) -> Array:
        if self._model is None:
            self._model = self._fit()
        return coarsen(self._model.table(one.axes) * self.total, one.grain)

    def _room(self, axes: Axes) -> bool:
        sets = [key[0] for key in self._inside]
        return JunctionTree.over(self.shape, [*sets, axes]).cells <= self.cells

    def _note(self, kept: dict[Key, _Known], one: MeasuredTable, spread: float) -> None:
        key = one.axes, one.grain
        kept[key] = kept[key].with_(one) if key in kept else _Known(one.counts, one.variance, spread)

    def _fit(self) -> FactoredModel:
        tree = JunctionTree.over(self.shape, [axes for axes, _ in self._inside])
        base = [np.zeros(tree.table_shape(place)) for place in range(len(tree.cliques))]
        for axes, logits in self._base.items():
            home = int(tree.home(axes))  # type: ignore[arg-type]
            base[home] += wide(logits, axes, tree.cliques[home])
        targets = [known.target(key) for key, known in self._inside.items()]
        start = [self._starts.get(key, np.zeros(known.counts.shape)) for key, known in self._inside.items()]
        model, tables = fit_model(tree, targets, total=self.total, base=base, start=start, steps=_STEPS)
        self._starts = dict(zip(self._inside, tables, strict=True))
        return model


def dispersion(one: MeasuredTable, expected: Array, total: float) -> float:
    """Estimate how many times more than a sample's the counts vary around the expected ones; at least 1.

    Were the rows drawn from the expected table, its counts' variances would add up to the number of rows.
    """
    surplus = float(((one.counts - expected) ** 2).sum()) - one.counts.size * one.variance
    return max(1.0, surplus / total)


def _total(singles: Sequence[MeasuredTable]) -> float:
    """Return the number of rows that the tables agree on best; at least 1."""
    weights = [1.0 / (single.variance * single.counts.size) for single in singles]
    sums = [float(single.counts.sum()) for single in singles]
    return max(1.0, sum(w * s for w, s in zip(weights, sums, strict=True)) / sum(weights))


def first_guess(counts: Array, deviation: float, total: float) -> Array:
    """Return positive counts that add up to the total."""
    if len(counts) < SHORTEST:
        return np.full(len(counts), total / len(counts))
    noisy = np.asarray(counts, dtype=np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(noisy, _HALF, mode="reflect"), 2 * _HALF + 1)
    spikes = np.abs(noisy - np.median(windows, axis=1)) > 1.1 * _FAR * deviation
    guess = noisy
    for _ in range(_SWEEPS):
        guess = _smooth(noisy, ~spikes, deviation)
        found = spikes | (np.abs(noisy - guess) > _FAR * deviation)
        if bool((found == spikes).all()):
            break
        spikes = found
    guess = np.maximum(np.where(spikes, noisy, guess), _FLOOR * total / len(noisy))
    return np.asarray(guess * (total / guess.sum()))


def _smooth(noisy: Array, ordinary: Array, deviation: float) -> Array:
    """Average over neighbours that are no spikes, at the width of the least estimated error."""
    known, variance = int(ordinary.sum()), deviation * deviation
    best, result = known * variance, noisy
    for width in _WIDTHS if known else ():
        reach = min(len(noisy) - 1, math.ceil(_REACH * width))
        kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
        inside = slice(reach, reach + len(noisy))
        mass = np.maximum(np.convolve(ordinary.astype(np.float64), kernel)[inside], 1e-300)
        guess = np.convolve(np.where(ordinary, noisy, 0.0), kernel)[inside] / mass
        # Stein's unbiased estimate: how much of its own noise does each guess still carry?
        misfit = float((((noisy - guess) ** 2)[ordinary]).sum())
        risk = misfit + variance * (2 * float((1 / mass)[ordinary].sum()) - known)
        if risk < best:
            best, result = risk, guess
    return result
