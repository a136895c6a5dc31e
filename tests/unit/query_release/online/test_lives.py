"""Lives of a conversation: what is written down, and what becomes of what could not be."""

import numpy as np
import pytest

from discreet.core.errors import ConversationClosed
from discreet.core.neighbours import AddRemove
from discreet.queries.histogram import Histogram
from discreet.queries.query import ProductQuery
from discreet.queries.universe import Universe
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights
from discreet.testing import unsafe_seeded

CELLS = Universe([("a", range(64))])
DATA = Histogram.dense(CELLS, (np.arange(64) % 7) * 5000)


class Notes(list):
    """A journal on a disk that can be full."""

    full = False

    def read(self):
        return tuple(self)

    def append(self, note):
        if self.full:
            raise OSError("no space left")
        super().append(note)


def cell(place):
    return ProductQuery(CELLS, (0,), "cell", masks=[np.arange(64) == place])


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt])
def test_an_alarm_that_cannot_be_written_down_ends_the_life(delta, failure, monkeypatch):
    """Otherwise whoever asks sees alarm after alarm, and the next life knows of none of them."""
    mechanism = MultiplicativeWeights(
        universe=CELLS, epsilon=1, delta=delta, updates=20, neighbours=AddRemove("row")
    )
    notes, seen, number = Notes(), [], 0
    conversation = mechanism.open_kept(DATA, notes, rng=unsafe_seeded(3))
    while len(notes) < 3:  # the start, the use of the gate, and an answer
        conversation.ask(cell(number))
        number += 1
    notes.full = True
    if failure is KeyboardInterrupt:
        monkeypatch.setattr(conversation, "_measure", interrupt)
    for place in range(number, 64):
        try:
            conversation.ask(cell(place))
        except failure:
            seen.append(place)
        except ConversationClosed:
            break
    assert len(seen) == 1
    assert conversation.closed
    notes.full = False
    later = mechanism.open_kept(DATA, notes, rng=unsafe_seeded(4))
    # The answer that was written, the thresholds of one life, and the alarm that was seen.
    assert later.measured >= 1 + 1 + 1


def interrupt(*given):
    raise KeyboardInterrupt


def test_without_a_journal_an_interrupted_answer_ends_nothing(monkeypatch):
    mechanism = MultiplicativeWeights(
        universe=CELLS, epsilon=1, delta=0, updates=20, neighbours=AddRemove("row")
    )
    conversation = mechanism.open(DATA, rng=unsafe_seeded(3))
    with monkeypatch.context() as patch:
        patch.setattr(conversation, "_measure", interrupt)
        with pytest.raises(KeyboardInterrupt):
            for place in range(64):
                conversation.ask(cell(place))
    assert conversation.measured == 1
    conversation.ask(cell(63))
