"""Agnostic learning and query release are one problem: each is solved with the other.

Whoever has answers to the error queries of all rules has a learner: the rule with the smallest answer. And
whoever has a learner finds the query on which a guess at the data errs most: label records 1 where they are
real and 0 where they come from the guess; the rule that foretells these labels best is that query.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.mechanism import Release
from discreet.core.rng import SYSTEM, Rng
from discreet.core.sensitive import Sensitive
from discreet.learning.pac.rule_learner import RuleLearner
from discreet.learning.pac.rules import LearnedRule, RuleClass, read_class
from discreet.local.frames import read_rows
from discreet.local.statistics.oracle import list_attributes
from discreet.queries.query import LinearQuery


def learn_by_answers(rules: RuleClass, answer: Callable[[LinearQuery], float]) -> LearnedRule:
    """Return the rule whose errors are answered to be the fewest, the first of several.

    It reads released answers alone, so it costs nothing more: those of a synopsis, or of an oracle of
    statistical queries. Its error is within twice that of the answers from the best rule's.

    Parameters
    ----------
    rules
        The class of rules.
    answer
        Gives the mean, or the count, of a query.
    """
    known = read_class(rules=rules)
    answers = [float(answer(known.rule(place).wrong)) for place in range(len(known))]
    return known.rule(int(np.argmin(answers)))


def find_distinguisher(
    learner: RuleLearner, records: Any, guess: Any, *, rng: Rng = SYSTEM
) -> Release[LearnedRule]:
    """Release the rule that best tells private records from a guess: the query that the guess errs on.

    The label of the learner's rules says which records are real; what its column holds is not looked at. A
    rule's errors are (real records it does not hold for) + (guessed ones it does), so the fewer, the more
    often it holds for real records and the less for the guess. A record is one of the labelled ones: the
    guarantee is the learner's.

    Parameters
    ----------
    learner
        Learns rules for records that are real and guessed together: `rows` counts both.
    records
        The private records.
    guess
        As many public ones, or another number.
    rng
        The source of randomness.
    """
    checks.exactly(RuleLearner, learner=learner)
    universe, label = learner.rules.universe, learner.rules.place
    attributes = list_attributes(universe)
    real = np.array(read_rows(attributes, Sensitive.wrap(records).reveal()))
    made = np.array(read_rows(attributes, guess))
    if not len(made):
        raise InvalidParameter(name="guess", rule="at least one record", got="none")
    real[:, label], made[:, label] = 1, 0
    values = [attribute.values for attribute in universe.attributes]
    rows = np.concatenate([real, made]).tolist()
    together = [tuple(each[code] for each, code in zip(values, row, strict=True)) for row in rows]
    return learner.release(together, rng=rng)
