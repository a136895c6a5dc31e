"""Report a point of a finite geometry on the value's hyperplane rather than off it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.local.laws.fields import count_points, from_digits, primes_around, to_digits
from discreet.local.laws.kernel import Below, Kernel, toss
from discreet.local.laws.odds import bound_odds


@dataclass(frozen=True, slots=True)
class ProjectiveKernel(Kernel):
    """Values and reports are points of the projective space over a prime field.

    A report is likely for a value where the product of their vectors is 0. Every value has as many likely
    reports, and every two values share as many, which makes the estimates simple and their variance nearly
    the least there is [FNNT22].

    Points are vectors whose highest coordinate that is not 0 is 1, in the order of the numbers whose digits
    they are: with m digits below that 1, point (prime^m - 1) / (prime - 1) + v has the digits of v there.
    """

    inputs: int
    odds: Fraction
    prime: int
    dimension: int

    @classmethod
    def make(cls, inputs: int, epsilon: Fraction) -> ProjectiveKernel:
        """Return the table over the prime that makes the mean variance least."""
        odds = bound_odds(epsilon)
        tried = [cls.over(inputs, odds, prime) for prime in primes_around(odds, most=inputs)]
        return min(tried, key=cls.mean_variance)

    @classmethod
    def over(cls, inputs: int, odds: Fraction, prime: int) -> ProjectiveKernel:
        """Return the table over a prime, of the smallest space that has a point for each value."""
        dimension = 2
        while count_points(prime, dimension) < inputs:
            dimension += 1
        return cls(inputs, odds, prime, dimension)

    @property
    def size(self) -> int:
        """All points."""
        return count_points(self.prime, self.dimension)

    @property
    def likely(self) -> int:
        """How many points a hyperplane has."""
        return count_points(self.prime, self.dimension - 1)

    @property
    def shared(self) -> int:
        """How many points two hyperplanes have in common."""
        return count_points(self.prime, self.dimension - 2)

    @property
    def weight(self) -> Fraction:
        """The sum of the odds of all points."""
        return self.odds * self.likely + self.size - self.likely

    @property
    def ratio(self) -> Fraction:
        """The odds; where hyperplanes are single points they decide just as much."""
        return self.odds

    @property
    def inside(self) -> Fraction:
        """The probability of a point on the value's hyperplane."""
        return self.odds * self.likely / self.weight

    @property
    def other(self) -> Fraction:
        """The probability of a point on the hyperplane of one particular other value."""
        return (self.odds * self.shared + self.likely - self.shared) / self.weight

    def mean_variance(self) -> Fraction:
        """Return the variance of one person's part in an estimated count, averaged over all values."""
        yes, no = self.inside, self.other
        return (yes * (1 - yes) + (self.inputs - 1) * no * (1 - no)) / (self.inputs * (yes - no) ** 2)

    def point(self, index: int) -> list[int]:
        """Return the vector of a point, the lowest coordinate first."""
        below, first = 0, 0
        while first + self.prime**below <= index:
            first += self.prime**below
            below += 1
        digits = to_digits(index - first, self.prime, below)
        return [*digits, 1, *([0] * (self.dimension - below - 1))]

    def index(self, vector: list[int]) -> int:
        """Return the point that a vector other than 0 lies on."""
        below = max(place for place, digit in enumerate(vector) if digit)
        inverse = pow(vector[below], -1, self.prime)
        digits = [digit * inverse % self.prime for digit in vector[:below]]
        return count_points(self.prime, below) + from_digits(digits, self.prime)

    def law(self, value: int) -> Iterator[tuple[int, Fraction]]:
        """Yield every point."""
        its = self.point(value)
        for report in range(self.size):
            product = sum(a * b for a, b in zip(its, self.point(report), strict=True)) % self.prime
            yield report, (1 if product else self.odds) / self.weight

    def draw(self, value: int, below: Below) -> int:
        """Draw one point.

        All coordinates but one are free, that where the value's vector ends with a 1; it makes the product 0,
        or 1 for a point off the hyperplane, of which each has just one vector with that product.
        """
        its = self.point(value)
        free = self.prime ** (self.dimension - 1)
        likely = toss(self.inside, below)
        number = 1 + below(free - 1) if likely else below(free)
        pivot = max(place for place, digit in enumerate(its) if digit)
        vector = to_digits(number, self.prime, self.dimension - 1)
        vector.insert(pivot, 0)
        product = sum(a * b for a, b in zip(its, vector, strict=True))
        vector[pivot] = ((0 if likely else 1) - product) % self.prime
        return self.index(vector)
