"""Streams whose memory tells more than their answers do."""

from __future__ import annotations

from typing import Any

from discreet.audit.museum.exhibit import Exhibit, Shown
from discreet.core.neighbours import Event
from discreet.streams.pan_private.looks import look_once
from discreet.streams.pan_private.pan_private_counter import PanPrivateCounter
from discreet.streams.tree_counter import TreeCounter

_BITS: dict[str, Any] = {"horizon": 2, "epsilon": 40, "delta": 0, "neighbours": Event()}

EXHIBITS = (
    Exhibit(
        name="counter-intruded",
        wrong="the answers of a tree counter are private, its memory is not: open blocks are exact",
        source="[DR14] Figure 12.1 with its state exposed",
        shown=Shown.on(
            tuple(Event().pairs((0, 1), 2)),
            lambda: TreeCounter(**_BITS),
            lambda: PanPrivateCounter(**_BITS),
            look_once(2, 1),
        ),
    ),
)
