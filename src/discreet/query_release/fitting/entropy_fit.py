"""A log-linear model of a whole universe, fitted to noisy marginal tables. Post-processing only.

The logarithm of the weights is a sum of effects: one number for each value of each attribute, for each pair
of values, and so on up to the tables that were measured. Effects are believed to be small, and smaller the
more attributes they are about; a few may be large (combinations that cannot occur), so the belief has heavy
tails. The fit is the most probable model given that belief and the noise, whose size is public.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from discreet.core.fixed import Array
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.tables import TableLayout
from discreet.query_release.fitting.junction import closure
from discreet.query_release.fitting.quasi_newton import minimise

_FREEDOM = 4.0  # degrees of freedom of the belief about one effect: a Student distribution
_SINGLE = 0.1  # precision of the effects of single values
_PAIRS = 1.0  # precision of the effects of pairs at strength 1
_ORDERS = 10.0  # how much more precise effects of one attribute more are
_STEP = math.sqrt(10.0)
_LIMITS = (1e-3, 1e3)  # of the strength
_SPLIT = 0.5  # extra variance of the copy that is fitted when the strength is chosen
_HELD = 0.1  # how hard the start is pulled to uniform
_START, _TRIAL, _FINAL = 300, 150, 400  # iterations
_STILL = 1e-9  # the part of its value that a step must gain


class NoisyTables(NamedTuple):
    """What was measured: integers, one a cell of the tables, with independent noise of one variance."""

    values: Array
    variance: float
    total: float


class LogLinear:
    """The model whose effects are over all subsets of some tables' attributes.

    Parameters
    ----------
    measured
        The tables.
    """

    def __init__(self, measured: Marginals) -> None:
        self.measured = measured
        listed = closure(measured.sets)
        self._effects = TableLayout(measured.universe.shape, listed)
        self._orders = np.repeat([len(axes) for axes in listed], np.diff(self._effects.offsets))
        sizes = np.diff(measured.tables.offsets)
        self._sizes = np.repeat(sizes, sizes)

    def fit(self, noisy: NoisyTables) -> Array:
        """Return weights over the universe."""
        if not self._orders.size:  # nothing but the total was measured
            return np.full(self.measured.universe.shape, noisy.total / self.measured.universe.size)
        effects = self._solve(noisy, self._start(noisy), self._strength(noisy), _FINAL)
        return self._weights(effects, noisy.total)

    def _weights(self, effects: Array, total: float) -> Array:
        """Return the weights of given effects."""
        return normalise(self._effects.adjoint(effects), total)[0]

    def _strength(self, noisy: NoisyTables) -> float:
        """Choose how strongly effects are believed to be small: by what predicts the measurements best.

        The noise is split in two: with z a fixed vector like more of it, noisy + a z and noisy - z / a have
        independent errors. One is fitted, the other says how good the fit is.
        """
        if self._orders.max() == 1:
            return 1.0
        extra = _like_noise(len(noisy.values)) * math.sqrt(noisy.variance)
        fitted = NoisyTables(
            noisy.values + math.sqrt(_SPLIT) * extra, noisy.variance * (1 + _SPLIT), noisy.total
        )
        held = noisy.values - extra / math.sqrt(_SPLIT)
        start = self._start(fitted)

        def loss(strength: float) -> float:
            weights = self._weights(self._solve(fitted, start, strength, _TRIAL), noisy.total)
            return float(np.square(self.measured.tables.of_array(weights) - held).sum())

        return _downhill(loss)

    def _start(self, noisy: NoisyTables) -> Array:
        """Return the effects of the weights nearest to uniform that nearly have the measured tables.

        The most entropy, less the squared misfit; convex, and quickly found from its dual.
        """
        tables = self.measured.tables
        held = _HELD * noisy.variance
        scale = 1 / np.sqrt(held + noisy.total / self._sizes)

        def dual(scaled: Array) -> tuple[float, Array]:
            effects = scaled * scale
            weights, logarithm = normalise(tables.adjoint(effects), noisy.total)
            value = noisy.total * logarithm - noisy.values @ effects + held / 2 * (effects @ effects)
            return float(value), (tables.of_array(weights) - noisy.values + held * effects) * scale

        found = minimise(dual, np.zeros(len(scale)), iterations=_START, still=_STILL) * scale
        start = np.zeros(len(self._orders))
        places = {axes: place for place, axes in enumerate(self._effects.wanted)}
        for place, axes in enumerate(self.measured.sets):
            if axes:
                self._effects.part(start, places[axes])[...] = tables.part(found, place)
        return start

    def _solve(self, noisy: NoisyTables, start: Array, strength: float, iterations: int) -> Array:
        """Return the effects that are the most probable given the noisy tables."""
        tables = self.measured.tables
        precision = np.where(self._orders == 1, _SINGLE, strength * _PAIRS * _ORDERS ** (self._orders - 2.0))
        scale = 1 / np.sqrt(precision + self._curvature(noisy))

        def misfit(scaled: Array) -> tuple[float, Array]:
            effects = scaled * scale
            weights, _ = normalise(self._effects.adjoint(effects), noisy.total)
            off = tables.of_array(weights) - noisy.values
            slope = tables.adjoint(off / noisy.variance)
            slope -= float((slope * weights).sum()) / noisy.total
            tails = 1 + precision * effects**2 / _FREEDOM
            value = off @ off / (2 * noisy.variance) + (_FREEDOM + 1) / 2 * np.log(tails).sum()
            pull = (_FREEDOM + 1) / _FREEDOM * precision * effects / tails
            return float(value), (self._effects.of_array(weights * slope) + pull) * scale

        return np.asarray(minimise(misfit, start / scale, iterations=iterations, still=_STILL) * scale)

    def _curvature(self, noisy: NoisyTables) -> Array:
        """Return roughly how fast the misfit grows with each effect: the squared count over the noise."""
        result = np.empty(len(self._orders))
        tables = self.measured.tables
        for place, axes in enumerate(self._effects.wanted):
            count, known = 0.0, 0.0
            for other, whole in enumerate(self.measured.sets):
                if set(axes) <= set(whole):
                    table = tables.part(noisy.values, other)
                    gone = tuple(k for k, axis in enumerate(whole) if axis not in axes)
                    information = tables.cells(axes) / tables.cells(whole) / noisy.variance
                    count = count + information * table.sum(axis=gone)
                    known += information
            counted = np.maximum(count / known, 0.0) + known**-0.5
            self._effects.part(result, place)[...] = known * counted**2
        return result


def total_of(measured: Marginals, values: Array) -> float:
    """Return the number of rows the noisy tables speak for, at least one: smaller tables know it better."""
    sums = np.add.reduceat(values.astype(np.float64), measured.tables.offsets[:-1])
    return max(1.0, float(np.average(sums, weights=1 / np.diff(measured.tables.offsets))))


def normalise(logarithms: Array, total: float) -> tuple[Array, float]:
    """Return weights with these logarithms, up to a constant, and a sum; and the logarithm of the old sum."""
    top = float(logarithms.max())
    weights = np.exp(logarithms - top)
    mass = float(weights.sum())
    weights *= total / mass
    return weights, top + math.log(mass)


def _downhill(loss: Callable[[float], float]) -> float:
    """Return a strength from which a step either way is worse, walking from 1."""
    best = loss(1.0)
    for step in (_STEP, 1 / _STEP):
        strength, moved = 1.0, False
        while _LIMITS[0] < strength * step < _LIMITS[1] and (found := loss(strength * step)) < best:
            best, strength, moved = found, strength * step, True
        if moved:
            return strength
    return 1.0


def _like_noise(count: int) -> Array:
    """Return a fixed vector that looks like independent standard normal draws."""
    words = np.frombuffer(hashlib.shake_256(b"split").digest(8 * count), dtype=np.uint64)
    return np.asarray(scipy.special.ndtri((words / 2.0**64) * (1 - 2.0**-40) + 2.0**-41))
