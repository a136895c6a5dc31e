"""Group privacy: what a guarantee for one unit says about several at once."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.core import checks
from discreet.core.loss import ApproxLoss, Loss, Pair, PureLoss, gaussian_delta, gaussian_pld, zcdp_delta
from discreet.core.losses.base import check_order, short
from discreet.core.parameters import checked, public
from discreet.core.rounding import above, down, exp_up, shorten_down, up


@checked
class GroupLoss(Loss):
    """The loss towards a group of `size` units, from the views of the loss towards one.

    Pure: size times epsilon. Approximate: every point (epsilon, delta) of the curve becomes
    (size epsilon, delta (1 + e^epsilon + ... + e^((size - 1) epsilon))). zCDP: size^2 times rho [BS16].
    Gaussian: size times mu [DRS22]. Rényi: a factor 3 in divergence for a factor 2 in the group at half
    the order, from order 2 on [Mir17].
    """

    loss: Loss = public(checks.instance, Loss)
    size: int = public(checks.integer, 1)

    def delta(self, epsilon: checks.Number) -> float:
        """Return the best of the approximate, the zCDP and the Gaussian statement."""
        e = checks.non_negative(epsilon=epsilon)
        step = e / self.size
        exponents = [up(step * i) for i in range(self.size)]
        factor = math.inf if exponents[-1] > 600 else sum(math.exp(x) for x in exponents) * (1 + 1e-13)
        single = self.loss.delta(step)
        best = above(single * factor) if single else 0.0
        rho, mass = self.zcdp(), self.loss.failure
        if mass == 0 and math.isfinite(rho):
            best = min(best, zcdp_delta(rho, down(e)))
        gaussian = self.gaussian()
        if gaussian is not None:
            best = min(best, gaussian_delta(*gaussian, e))
        return min(1.0, best)

    def renyi(self, order: checks.Number) -> float:
        """Return the best of the zCDP, the pure and the halving statement."""
        a = check_order(order)
        found = [a * self.zcdp() * (1 + 1e-15)]
        if self._pure() is not None:
            found.append(PureLoss(self._pure() or Fraction(0)).renyi(a))
        if a >= 2 and self.loss.failure == 0:
            halvings = (self.size - 1).bit_length()
            found.append(3.0**halvings * self.loss.renyi(a * 2**halvings) * (1 + 1e-15))
        return min(found)

    def zcdp(self) -> float:
        """Return size^2 rho; infinity where one unit's view leaves a failure mass."""
        pure = self._pure()
        bound = PureLoss(pure).zcdp() if pure is not None else math.inf
        rho = self.loss.zcdp()
        return min(
            bound, math.inf if math.isinf(rho) or self.loss.failure else up(self.size**2 * Fraction(rho))
        )

    def gaussian(self) -> tuple[Fraction, Fraction] | None:
        """Return size^2 mu^2 for continuous noise."""
        view = self.loss.gaussian()
        if view is None or view[0] != view[1]:
            return None
        return self.size**2 * view[0], self.size**2 * view[1]

    def pld(self, step: Fraction) -> Pair | None:
        """Return the Gaussian or the worst case."""
        gaussian = self.gaussian()
        if gaussian is not None:
            return gaussian_pld(*gaussian, step)
        pure = self._pure()
        if pure is not None:
            return PureLoss(pure).pld(step)
        worst = self._approximate()
        return None if worst is None else worst.pld(step)

    def exact_epsilon(self) -> Fraction | None:
        """Return size times the pure epsilon, or that of the approximate statement."""
        pure, worst = self._pure(), self._approximate()
        return pure if worst is None else worst.value

    @property
    def failure(self) -> float:
        """The failure mass after the factor of the approximate statement; 0 without one."""
        if self.loss.failure == 0:
            return 0.0
        worst = self._approximate()
        return 1.0 if worst is None else worst.failure

    def _pure(self) -> Fraction | None:
        value = self.loss.exact_epsilon()
        return None if value is None or self.loss.exact_failure() else self.size * value

    def _approximate(self) -> ApproxLoss | None:
        if not 0 < self.loss.failure < 1:
            return None
        value = self.loss.exact_epsilon()
        if value is None or value * self.size > 600:
            return None
        factors = sum(math.exp(up(value * i)) for i in range(self.size))
        mass = self.loss.failure * factors * (1 + 1e-12)
        return ApproxLoss(self.size * value, Fraction(mass)) if mass < 1 else None

    def __str__(self) -> str:
        together = self._together()
        if together is None:
            return f"{self.loss}, for groups of {self.size}"
        return f"{together} ({self.size} at once, {self.loss} each)"

    def _together(self) -> str | None:
        """Say what the whole group loses."""
        pure, view, worst = self._pure(), self.gaussian(), self._approximate()
        if pure is not None:
            return f"epsilon {short(pure)}"
        if view is not None:
            return f"Gaussian loss mu {math.sqrt(view[0]):.6g}"
        if worst is not None:
            return str(worst)
        return f"rho {self.zcdp():.6g} (zCDP)" if math.isfinite(self.zcdp()) else None


def member_budget(*, epsilon: Fraction, delta: Fraction, size: int) -> tuple[Fraction, Fraction]:
    """Return what one member may cost, so that a group of `size` costs no more than (epsilon, delta).

    A group of k loses at most k epsilon, at delta (1 + e^epsilon + ... + e^((k - 1) epsilon)).
    """
    if size == 1:
        return epsilon, delta
    each = shorten_down(epsilon / size, 12)
    if delta == 0:
        return each, delta
    powers = [exp_up(up(each * place)) for place in range(size)]
    if math.isinf(powers[-1]):  # beyond floats: none of delta is left for one, and none is needed
        return each, Fraction(0)
    factor = sum(map(Fraction, powers), Fraction(0))
    return each, shorten_down(delta / factor, 12)
