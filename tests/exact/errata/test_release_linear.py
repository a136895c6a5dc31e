"""Counterexamples to [Roth10] Theorem 6, on releasing intervals."""

import itertools

import numpy as np
import pytest


def all_yes_questions(bits):
    """List the intervals that the printed search asks about when every answer is yes."""
    asked = []
    for start in range(1 << bits):
        low, high = start, (1 << bits) - 1
        while low < high:
            high = (low + high) // 2
            asked.append((start, high))
    return np.array(asked)


def affected(asked, one, other):
    """Count the questions whose answer moves when a point moves from one cell to another."""
    first, last = asked.T
    holds_one = (first <= one) & (one <= last)
    holds_other = (first <= other) & (other <= last)
    return int((holds_one != holds_other).sum())


def test_theorem_6_does_not_bound_the_number_of_questions():
    """The proof allows 4b / accuracy questions; a run of yes answers asks far more."""
    four, twelve = all_yes_questions(4), all_yes_questions(12)
    assert affected(four, 8, 12) == 19
    assert 19 > 4 * 4
    assert affected(twelve, 2048, 3072) == 4949
    assert 4949 > 4 * 12


def printed_intervals(counts, accuracy, noise):
    """Cut as printed, with the same error on every noisy mass; return the intervals."""
    before = np.concatenate([[0], np.cumsum(counts)]) / counts.sum()
    cuts, start = [], 0
    while start < len(counts):
        masses = before[start + 1 :] - before[start] + noise
        reached = np.flatnonzero(masses >= accuracy / 4 - 1e-12)
        stop = start + int(reached[0]) if len(reached) else len(counts) - 1
        cuts.append((start, stop))
        start = stop + 1
    return cuts


def printed_error(counts, accuracy):
    """Return the largest error of a range when every interval gets its points, accuracy / 4 of all."""
    published = np.zeros(len(counts))
    for _, stop in printed_intervals(counts, accuracy, 0.0):
        published[stop] += accuracy / 4  # anywhere in the interval: the error below is at its ends
    off = np.concatenate([[0.0], np.cumsum(counts / counts.sum() - published)])
    return max(abs(b - a) for a, b in itertools.combinations(off, 2))


def test_theorem_6_usefulness_fails_where_many_points_share_a_cell():
    counts = np.zeros(64, dtype=np.int64)
    counts[20] = 1000
    assert printed_error(counts, 0.2) == pytest.approx(0.95)
    assert printed_error(np.full(640, 16), 0.2) < 0.2  # spread out, it is as useful as promised


def test_theorem_6_there_are_more_intervals_than_the_proof_counts():
    """Noise within the proof's own margin, accuracy^2 / 8, cuts more than 4 / accuracy intervals."""
    accuracy = 0.5
    found = printed_intervals(np.full(256, 10), accuracy, accuracy**2 / 8)
    assert len(found) > 4 / accuracy
    assert (
        len(found) <= 1 / (accuracy / 4 - accuracy**2 / 8) + 1
    )  # what the cap of the repaired search allows
