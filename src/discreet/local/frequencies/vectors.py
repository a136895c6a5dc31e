"""Vectors over a prime field for many people at once, and sums over hyperplanes by Fourier transforms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]


def split_digits(numbers: Whole, base: int, count: int) -> list[Whole]:
    """Return the digits of many numbers, the lowest first."""
    digits = []
    for _ in range(count):
        rest = numbers // base
        digits.append(numbers - rest * base)
        numbers = rest
    return digits


def join_digits(digits: list[Whole], base: int) -> Whole:
    """Return the numbers with these digits, the lowest first."""
    numbers = np.zeros_like(digits[0])
    for digit in reversed(digits):
        numbers = numbers * base + digit
    return numbers


def multiply(left: list[Whole], right: list[Whole], base: int) -> Whole:
    """Return the products of vectors, modulo the prime."""
    total = left[0] * right[0]
    for a, b in zip(left[1:], right[1:], strict=True):
        total = (total + a * b) % base
    return total % base


def normalise(vectors: list[Whole], base: int) -> Whole:
    """Return the points that vectors other than 0 lie on: see `ProjectiveKernel`."""
    inverses = np.array([pow(n, -1, base) if n else 0 for n in range(base)], dtype=np.int64)
    lead, first = np.zeros_like(vectors[0]), np.zeros_like(vectors[0])
    offset = 0
    for place, digit in enumerate(vectors):  # the highest one that is not 0 has the last word
        lead, first = np.where(digit, digit, lead), np.where(digit, offset, first)
        offset += base**place
    scale, points, power = inverses[lead], np.zeros_like(vectors[0]), 1
    for digit in vectors:
        points += digit * scale % base * power
        power *= base
    # The number of a vector has a leading 1 where a point has the count of all shorter ones.
    return points - first * (base - 1) - 1 + first


def transform_digits(numbers: NDArray[np.float64], base: int, count: int) -> NDArray[np.complex128]:
    """Return the Fourier transform over vectors of digits, as a flat array in the order of the numbers."""
    return np.fft.fftn(numbers.reshape((base,) * count)).reshape(-1)
