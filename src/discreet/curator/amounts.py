"""Parts of a budget: exact numbers, printed with as many digits as a person reads."""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting.charges import words


class Amounts(dict[str, Fraction]):
    """What is left, spent or charged of a budget, coordinate by coordinate.

    >>> Amounts(epsilon=Fraction(1, 3), delta=Fraction(0))
    {epsilon: 0.333333, delta: 0}
    """

    @property
    def paid(self) -> str:
        """What is charged, in words."""
        return words({name: amount for name, amount in self.items() if amount}) or "nothing"

    @property
    def there(self) -> str:
        """What is left, in words: what is used up is named, for that is why something does not fit."""
        return words(self) if any(self.values()) else "nothing"

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name}: {float(amount):.6g}" for name, amount in self.items()) + "}"
