"""Mechanisms, releases, conversations, guarantees and cards."""

import inspect
import os
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from discreet import AddRemove, Laplace, Replace, Sparse
from discreet.core import errors
from discreet.core.card import Tiny
from discreet.core.errors import (
    BudgetExceeded,
    ConversationClosed,
    DiscreetError,
    InvalidParameter,
    MissingExtra,
    NeighboursMismatch,
)
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.core.mechanism import Conversation, Interactive, Mechanism, Release
from discreet.core.neighbours import ROWS, Neighbours
from discreet.core.sensitive import Sensitive
from discreet.testing import unsafe_seeded


@dataclass(frozen=True, slots=True, repr=False)
class Echo(Mechanism):
    """Releases what it is given: for tests of the machinery only."""

    epsilon: Fraction
    neighbours: Neighbours

    @property
    def loss(self):
        return PureLoss(self.epsilon)

    def error(self, beta):
        return 10 * float(beta)

    def _draw(self, data, rng):
        return data


@dataclass(frozen=True, slots=True, repr=False)
class Twice(Interactive):
    """Answers two questions."""

    neighbours: Neighbours

    @property
    def loss(self):
        return PureLoss(1)

    def error(self, beta):
        return 0.0

    def _begin(self, data, rng):
        return TwiceTalk(self, data, rng)


class TwiceTalk(Conversation):
    def __init__(self, mechanism, data, rng):
        super().__init__(mechanism, rng)
        self._data = data

    def _answer(self, query, **public):
        answer = query(self._data.reveal())
        if self.asked == 1:
            self.close("two answers were given")
        return answer


ECHO = Echo(Fraction(1, 2), ROWS)


class TestRelease:
    def test_it_carries_everything(self):
        release = ECHO.release(7)
        assert (release.value, release.mechanism, release.unsafe_seeded) == (7, ECHO, False)
        assert release.guarantee == ECHO.guarantee
        assert release.error(0.1) == 1.0
        assert release.interval(0.9) == (6.0, 8.0)

    def test_wrapped_and_plain_data_are_the_same(self):
        assert ECHO.release(Sensitive(7)).value == ECHO.release(7).value

    def test_arrays_have_intervals(self):
        low, high = ECHO.release(np.array([1, 2])).interval(0.5)
        assert low.tolist() == [-4, -3]
        assert high.tolist() == [6, 7]

    @pytest.mark.parametrize("value", [True, "text", None, np.array(["a"]), np.bool_(True)])
    def test_other_values_have_none(self, value):
        with pytest.raises(InvalidParameter, match="interval"):
            ECHO.release(value).interval(0.9)

    @pytest.mark.parametrize("confidence", [0, 1, -1, 2, float("nan"), "0.9", True])
    def test_bad_confidence(self, confidence):
        with pytest.raises(InvalidParameter, match="confidence"):
            ECHO.release(1).interval(confidence)

    def test_it_reads_well(self):
        text = "7 ± 0.5 (95 %), epsilon 0.5 for adding or removing one row"
        assert repr(ECHO.release(7)) == text
        assert repr(ECHO.release(7, rng=unsafe_seeded(1))) == text + ", UNSAFE: seeded noise"
        assert repr(ECHO.release("flu")) == "Release('flu', epsilon 0.5 for adding or removing one row)"

    def test_an_array_is_printed_short_with_its_error(self):
        error = f"{ECHO.error(0.05):.4g}"
        assert repr(ECHO.release(np.array([1, 2]))).startswith(f"[1, 2] ± {error} (95 %, all at once), eps")
        long = repr(ECHO.release(np.arange(10**6)))
        assert long.startswith("[     0,      1,      2,      3, ...,")
        assert len(long) < 300
        texts = repr(ECHO.release(np.array(["a", "b"])))
        assert texts.startswith("Release(array(['a', 'b']")

    def test_html_is_escaped(self):
        assert "&lt;script&gt; &amp;" in ECHO.release("<script> &")._repr_html_()
        assert "<script>" not in ECHO.release("<script>")._repr_html_()

    def test_it_is_frozen(self):
        with pytest.raises(AttributeError):
            ECHO.release(1).value = 2


class TestMechanism:
    def test_repr_writes_parameters_as_a_person_would(self):
        assert repr(ECHO) == "Echo(epsilon=0.5, neighbours=AddRemove(unit='row'))"

    def test_incomplete_ones_cannot_be_made(self):
        class Half(Mechanism):
            def _draw(self, data, rng):
                return data

        with pytest.raises(TypeError, match="abstract"):
            Half()

    def test_seeded_and_system_noise(self):
        mechanism = Laplace(sensitivity=1, epsilon=1)
        assert (
            mechanism.release(1, rng=unsafe_seeded(3)).value
            == mechanism.release(1, rng=unsafe_seeded(3)).value
        )


class TestConversation:
    def test_it_answers_counts_and_closes(self):
        talk = Twice(ROWS).open([1, 2, 3])
        assert talk.guarantee == Twice(ROWS).guarantee
        assert not talk.unsafe_seeded
        assert repr(talk) == "<conversation Twice, 0 asked, open>"
        assert talk.ask(sum) == 6
        assert talk.ask(len) == 3
        assert talk.closed
        assert talk.asked == 2
        with pytest.raises(ConversationClosed, match="two answers were given"):
            talk.ask(sum)
        assert talk.asked == 2
        assert repr(talk) == "<conversation Twice, 2 asked, closed: two answers were given>"

    def test_the_first_reason_stays(self):
        talk = Twice(ROWS).open([])
        talk.close("enough")
        talk.close("other")
        with pytest.raises(ConversationClosed, match="enough"):
            talk.ask(sum)

    def test_leaving_the_block_closes_it(self):
        with Twice(ROWS).open([1]) as talk:
            assert talk.ask(len) == 1
        assert talk.closed
        words = "this conversation is closed: its owner ended it. Open a new one; it costs again"
        with pytest.raises(ConversationClosed, match=words):
            talk.ask(len)

    def test_seeds_are_marked(self):
        assert Twice(ROWS).open([], rng=unsafe_seeded(0)).unsafe_seeded

    def test_a_failing_question_is_not_counted(self):
        talk = Twice(ROWS).open([1])
        with pytest.raises(ZeroDivisionError):
            talk.ask(lambda data: 1 / 0)
        assert talk.asked == 0


class TestGuarantee:
    def test_it_reads_well(self):
        guarantee = Guarantee(PureLoss(1), Replace("user"))
        assert str(guarantee) == "epsilon 1 for changing one user"
        assert repr(guarantee) == "Guarantee(epsilon 1 for changing one user)"

    @pytest.mark.parametrize("bad", [(1, ROWS), (PureLoss(1), "rows"), (None, None)])
    def test_its_parts_are_checked(self, bad):
        with pytest.raises(InvalidParameter):
            Guarantee(*bad)

    def test_different_neighbours_do_not_mix(self):
        one, other = Guarantee(PureLoss(1), ROWS), Guarantee(PureLoss(1), Replace("row"))
        one.require_same_neighbours(Guarantee(PureLoss(2), AddRemove("row")))
        with pytest.raises(
            NeighboursMismatch, match=r"do not compose.* Build both with the same neighbours=$"
        ):
            one.require_same_neighbours(other)

    def test_implications(self):
        pure = Guarantee(PureLoss(1), ROWS)
        assert pure.implies(epsilon=1, delta=0)
        assert not pure.implies(epsilon=0.99, delta=0)
        assert pure.implies(epsilon=0.5, delta=0.3)
        weak = Guarantee(ApproxLoss(1, Fraction(1, 100)), ROWS)
        assert weak.implies(epsilon=1, delta=0.01)
        assert not weak.implies(epsilon=100, delta=0)
        assert weak.epsilon(0.01) == 1


class TestErrors:
    def test_all_are_ours(self):
        kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
        ours = [kind for kind in kinds if kind.__module__ == errors.__name__]
        assert len(ours) > 15
        assert [kind for kind in ours if not issubclass(kind, DiscreetError | Warning)] == []

    def test_messages_say_what_to_do(self):
        assert "asked epsilon 1, left epsilon 0.5" in str(
            BudgetExceeded(asked="epsilon 1", left="epsilon 0.5")
        )
        assert "pip install 'discreet[cli]'" in str(MissingExtra(package="rich", extra="cli"))
        assert isinstance(MissingExtra(package="rich", extra="cli"), ImportError)


class TestCard:
    def test_tiny_instances_run_both_kinds(self):
        rng = unsafe_seeded(0)
        assert Tiny(ECHO, ()).run(5, rng) == 5
        assert Tiny(ECHO, ()).run(np.array([1, 2]), rng) == (1, 2)
        assert Tiny(Twice(ROWS), (), script=lambda talk: talk.ask(sum)).run([1, 2], rng) == 3
        with pytest.raises(InvalidParameter, match="script"):
            Tiny(Twice(ROWS), ()).run([1], rng)

    def test_a_release_is_a_release(self):
        assert isinstance(ECHO.release(1), Release)


def test_nobody_sets_back_how_much_was_asked():
    talk = Twice(ROWS).open([1])
    talk.ask(len)
    with pytest.raises(AttributeError):
        talk.asked = 0
    assert talk.asked == 1


def test_a_forked_conversation_answers_in_one_process_only():
    conversation = Sparse(sensitivity=1, epsilon=1, delta=0, positives=1, threshold=0).open([10**6])
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            conversation.ask(lambda data: data[0])
            os.write(writer, b"answered")
        except ConversationClosed:
            os.write(writer, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 8) == b"refused"
    assert conversation.ask(lambda data: data[0])
