"""Marginals by way of parities: exact tables, identities in both directions, errors that hold."""

import itertools
import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from tests.unit.local.frequencies.test_oracles import at_most_exp
from tests.unit.local.test_client import walk

from discreet import local
from discreet.core.errors import BudgetExceeded, InvalidParameter, NoBound, Refused
from discreet.local import client
from discreet.local.collecting import open_collector
from discreet.local.laws.parities import BitRecords, ParityKernel, count_sets, find_set, list_sets
from discreet.noise import coins
from discreet.queries import Universe
from discreet.testing import unsafe_seeded

F = Fraction
FIVE = Universe([("a", ("no", "yes")), ("b", (0, 1)), ("c", (False, True)), ("d", (1, 0)), ("e", (0, 1))])


def make_codes(people, seed=1):
    """Five attributes that hang together."""
    rng = unsafe_seeded(seed)
    codes = np.stack([coins.bernoulli(p, people, rng) for p in (0.3, 0.5, 0.7, 0.2, 0.5)], axis=1).astype(int)
    codes[:, 1] |= codes[:, 0]
    codes[:, 4] ^= codes[:, 2] & codes[:, 3]
    return codes


def count_cells(codes, axes):
    table = np.zeros((2,) * len(axes))
    np.add.at(table, tuple(codes[:, axis] for axis in axes), 1)
    return table / len(codes)


@pytest.mark.parametrize("epsilon", [F(1, 2), F(1), F(4)], ids=float)
@pytest.mark.parametrize(("length", "width"), [(1, 1), (3, 2), (4, 4)])
def test_the_whole_table_keeps_the_claim_and_tells_every_parity(length, width, epsilon):
    kernel = ParityKernel.make(1 << length, epsilon, length, width)
    tables = [dict(kernel.law(value)) for value in range(1 << length)]
    assert all(sum(table.values()) == 1 and len(table) == kernel.size for table in tables)
    worst = max(a[report] / b[report] for a, b in itertools.permutations(tables, 2) for report in a)
    assert worst == kernel.ratio and at_most_exp(worst, epsilon)
    for value, table in enumerate(tables):
        for index, mask in enumerate(list_sets(length, width)):
            share = table[2 * index] + table[2 * index + 1]
            sign = (table[2 * index] - table[2 * index + 1]) / share / kernel.contrast
            assert share == F(1, kernel.sets) and sign == (-1) ** (value & mask).bit_count()


@pytest.mark.parametrize(("length", "width"), [(1, 1), (5, 2), (6, 6), (9, 3)])
def test_sets_are_found_without_a_list(length, width):
    listed = list(list_sets(length, width))
    assert listed == [find_set(length, index) for index in range(len(listed))]
    assert len(set(listed)) == len(listed) == count_sets(length, width)
    assert [mask.bit_count() for mask in listed] == sorted(mask.bit_count() for mask in listed)


def test_a_device_draws_from_the_same_table():
    universe = Universe([("a", ("no", "yes")), ("b", (0, 1)), ("c", (0, 1))])
    survey = local.FourierMarginals(epsilon=2, universe=universe, width=2)
    device = client.open_survey(survey.survey)
    assert device.kernel == survey.kernel and device.header == survey.header
    for record in universe.records():
        law = walk(lambda below, record=record: device.encode(record, below=below).code)
        assert law == dict(survey.kernel.law(survey.values.read(record)))


def test_columns_and_devices_draw_alike():
    survey, draws = local.FourierMarginals(epsilon=1, universe=FIVE, width=2), 30_000
    record = ("yes", 0, True, 0, 1)
    seen = Counter(r.code for r in survey.encode_many([record] * draws, rng=unsafe_seeded(2)))
    square = sum(
        (seen[c] - draws * float(p)) ** 2 / (draws * float(p))
        for c, p in survey.kernel.law(survey.values.read(record))
    )
    assert square < 29 + 7 * (2 * 29) ** 0.5


def test_marginals_are_near_the_truth_all_at_once():
    codes = make_codes(60_000)
    survey = local.FourierMarginals(epsilon=2, universe=FIVE, width=3, people=60_000)
    found = survey.estimate(survey.encode_many(codes, rng=unsafe_seeded(3)))
    off, said = 0.0, found.error(1e-6)
    for size in (1, 2, 3):
        for axes in itertools.combinations(range(5), size):
            names, true = [FIVE.names[axis] for axis in axes], count_cells(codes, axes)
            table, tidy = found.marginal(names), found.marginal(names, consistent=True)
            off = max(off, np.abs(table - true).max())
            assert table.sum() == pytest.approx(1) and tidy.min() >= 0 and tidy.sum() == pytest.approx(1)
            assert np.linalg.norm(tidy - true) <= np.linalg.norm(table - true) + 1e-12
            odd = sum(true[cell] for cell in np.ndindex(*true.shape) if sum(cell) % 2)
            assert abs(found.parity(names) - odd) <= said
            assert np.abs(table - true).max() < 6 * found.standard_error(names)
    assert said / 12 < off <= said <= survey.error(1e-6)
    assert found.share({"b": 1, "a": "yes"}) == found.marginal(["a", "b"])[1, 1]
    assert found.share({"d": 0}) == found.marginal(["d"])[1]
    assert found.standard_error(["a", "b", "c"]) == pytest.approx(survey.standard_error, rel=0.1)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_both_identities_and_what_they_do_to_errors(width):
    """Thesis equation 6.1 and its inverse, on all cells of a cube; 3**s - 1 over 2 against 1 - 2**-s."""
    subsets = [s for k in range(width + 1) for s in itertools.combinations(range(width), k)]
    for point in itertools.product((0, 1), repeat=width):
        wide = {s: int(all(point[i] for i in s)) for s in subsets}
        odd = {s: sum(point[i] for i in s) % 2 for s in subsets}
        for s in subsets:
            inside = [t for t in subsets if set(t) <= set(s)]
            assert odd[s] == sum((-2) ** (len(t) - 1) * wide[t] for t in inside if t)
            assert wide[s] == sum(F((-1) ** len(t) * (-1) ** odd[t], 2 ** len(s)) for t in inside)
    grows = sum(2 ** (len(t) - 1) for t in subsets if t)
    assert grows == (3**width - 1) // 2
    assert sum(F(1, 2**width) for t in subsets if t) == 1 - F(1, 2**width) < 1


def test_an_estimate_says_what_it_is_and_how_far_off():
    survey = local.FourierMarginals(epsilon=2, universe=FIVE, width=2)
    found = survey.estimate(survey.encode_many(make_codes(3000)))
    off = f"{found.error(0.05):.4g}"
    assert repr(found).startswith(
        f"<marginals of up to 2 of 5 attributes ± {off} (95 %, all at once), 3000 reports"
    )


def test_the_error_counts_every_set():
    survey = local.FourierMarginals(epsilon=1, universe=FIVE, width=2, people=100_000)
    log = 2 * np.log(2 * 15 * 2 / 0.05)
    contrast = float(survey.parities.contrast)
    each = 0.75 * np.sqrt(log * 15 / 100_000) / contrast
    assert each < survey.error(0.05) < 1.05 * each
    with pytest.raises(NoBound, match="smaller width"):
        local.FourierMarginals(epsilon=1, universe=FIVE, width=5, people=50).error(0.05)
    few = local.FourierMarginals(epsilon=1, universe=FIVE, width=5)
    found = few.estimate(few.encode_many(make_codes(3)))
    assert found.error(0.5) >= 1 - 2**-5


def test_what_is_no_such_survey_is_refused():
    with pytest.raises(InvalidParameter, match="two values each"):
        local.FourierMarginals(epsilon=1, universe=Universe([("a", (0, 1, 2))]), width=1)
    with pytest.raises(InvalidParameter, match="width"):
        local.FourierMarginals(epsilon=1, universe=FIVE, width=6)
    wide = Universe([(f"q{k}", (0, 1)) for k in range(40)])
    with pytest.raises(InvalidParameter, match="fewer attributes"):
        local.FourierMarginals(epsilon=1, universe=wide, width=6)
    text = local.FourierMarginals(epsilon=1, universe=FIVE, width=2).survey
    for change in (
        {"width": 2.0},
        {"width": 0},
        {"attributes": [["a", [0]]]},
        {"attributes": "a"},
        {"more": 1},
    ):
        survey = json.loads(text)
        with pytest.raises((Refused, InvalidParameter)):
            client.open_survey(json.dumps({**survey, "domain": {**survey["domain"], **change}}))
    survey = local.FourierMarginals(epsilon=1, universe=FIVE, width=2)
    assert open_collector(text) == survey
    found = survey.estimate(survey.encode_many(make_codes(100)))
    for names in ([], ["a", "b", "c"], ["a", "a"], ["z"], "a"):
        with pytest.raises(InvalidParameter):
            found.marginal(names)
    for conditions in ({}, {"a": 3}, {"z": 1}, ["a"]):
        with pytest.raises(InvalidParameter):
            found.share(conditions)
    batch = survey.encode_many(make_codes(4))
    torn = batch.to_bytes()[:-1] + b"\xff"
    with pytest.raises(Refused, match="no report of this survey"):
        survey.estimate(torn)


def test_sixty_two_attributes_fit_a_word():
    universe = Universe([(f"q{k}", (0, 1)) for k in range(62)])
    survey = local.FourierMarginals(epsilon=50, universe=universe, width=1)
    codes = np.zeros((6000, 62), dtype=int)
    codes[:, 61] = 1
    found = survey.estimate(survey.encode_many(codes))
    assert found.share({"q61": 1}) == pytest.approx(1) and found.share({"q0": 1}) == pytest.approx(0)
    device = client.open_survey(survey.survey)
    assert isinstance(device.domain, BitRecords)
    sent = (device.encode(codes[0].tolist()).code for _ in range(3000))  # one report of 62 is about the 1
    assert {code % 2 for code in sent} == {0, 1}
    with pytest.raises(InvalidParameter, match="62 attributes"):
        local.FourierMarginals(epsilon=1, universe=Universe([(f"q{k}", (0, 1)) for k in range(63)]), width=1)


def test_the_oracle_of_the_local_model_charges_it():
    survey = local.FourierMarginals(epsilon=1, universe=FIVE, width=2)
    with local.LocalOracle(epsilon=1, people=1).open([("yes", 1, True, 0, 1)]) as people:
        people.ask(survey, person=0)
        with pytest.raises(BudgetExceeded):
            people.ask(survey, person=0)
