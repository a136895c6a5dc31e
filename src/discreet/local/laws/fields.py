"""Arithmetic modulo a prime, for vectors that are written as whole numbers, digit by digit."""

from __future__ import annotations

from fractions import Fraction


def primes_around(odds: Fraction, *, most: int) -> list[int]:
    """Return the primes next to odds + 1 on either side, none above the one next to `most`."""
    middle = min(int(odds) + 1, most) + 1
    below = next((n for n in range(middle - 1, 1, -1) if is_prime(n)), 2)
    above = next(n for n in range(max(2, middle), 2 * middle + 2) if is_prime(n))
    return sorted({2, 3, below, above})


def is_prime(number: int) -> bool:
    """Tell whether a number is prime, by trial division: numbers here are small."""
    divisor = 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            return False
        divisor += 1
    return number > 1


def count_points(prime: int, dimension: int) -> int:
    """Return how many lines through 0 a space has: 1 + prime + prime^2 + ..."""
    return sum(int(prime**power) for power in range(dimension))


def to_digits(number: int, base: int, count: int) -> list[int]:
    """Return the digits of a number, the lowest first."""
    digits = []
    for _ in range(count):
        number, digit = divmod(number, base)
        digits.append(digit)
    return digits


def from_digits(digits: list[int], base: int) -> int:
    """Return the number with these digits, the lowest first."""
    number = 0
    for digit in reversed(digits):
        number = number * base + digit
    return number
