"""Bars are for whoever asks, one at a time."""

import pytest

from discreet.core.progress import bars, track

pytest.importorskip("rich")


def test_no_bar_unless_wanted(capsys):
    assert list(track(range(3), total=3, label="counting")) == [0, 1, 2]
    assert "counting" not in capsys.readouterr().out


def test_a_bar_inside_another_is_not_shown(capsys):
    with bars(True):
        seen = []
        for outer in track(range(2), total=2, label="outer"):
            seen += [(outer, inner) for inner in track(range(2), total=2, label="inner")]
        assert list(track(range(1), total=1, label="after")) == [0]
    assert seen == [(0, 0), (0, 1), (1, 0), (1, 1)]
    shown = capsys.readouterr().out
    assert "outer" in shown
    assert "inner" not in shown
    assert "after" in shown


def test_a_bar_that_is_left_early_gives_way(capsys):
    with bars(True):
        for _ in track(range(9), total=9, label="first"):
            break
        assert list(track(range(1), total=1, label="second")) == [0]
    assert "second" in capsys.readouterr().out
