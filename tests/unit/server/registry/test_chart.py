"""The chart: inside its frame, falling, and dashed to where it leads."""

from fractions import Fraction

from tests.unit.server.registry.conftest import read, writing

from discreet.server.registry.chart import HEIGHT, WIDTH, draw_chart
from discreet.server.registry.view import write_registry


def draw(path, **changes):
    return draw_chart(write_registry(read(path), "public") | changes)


def test_nothing_charged_draws_nothing(tmp_path):
    with writing(tmp_path) as past:
        pass
    assert draw(past.path) is None


def test_shapes_stay_in_the_frame_and_fall(filled):
    chart = draw(filled)
    for x, y in (*chart.left, *chart.forecast, chart.now, *((one.x, one.y) for one in chart.labels)):
        assert 0 <= x <= WIDTH
        assert 0 <= y <= HEIGHT
    heights = [y for _, y in chart.left]
    assert heights == sorted(heights)
    assert [x for x, _ in chart.left] == sorted(x for x, _ in chart.left)
    assert chart.left[-1] == chart.now
    assert [one.text for one in chart.labels if one.text.endswith("% left")] == [chart.labels[-1].text]


def test_a_forecast_begins_now_and_falls(tmp_path):
    with writing(tmp_path, delta=Fraction(0)) as past:
        for day in range(100):
            past.ask(day=day)
    told = write_registry(read(past.path), "public")
    told["burn"] |= {"ends": "2027-03-01T00:00:00Z"}
    told["course"][-1]["time"] = "2026-12-31T00:00:00Z"
    chart = draw_chart(told)
    assert chart.forecast[0] == chart.now
    assert chart.forecast[1][1] == chart.heights[0]  # nothing is left there
    far = draw_chart(told | {"burn": told["burn"] | {"ends": "2099-01-01T00:00:00Z"}})
    assert far.now[1] < far.forecast[1][1] < far.heights[0]


def test_what_is_over_leads_nowhere(filled):
    assert draw(filled, retired={"why": "x", "time": None}).forecast == ()
    assert draw(filled, burn=None).forecast == ()


def test_no_day_is_written_twice_below(filled):
    told = write_registry(read(filled), "public")
    told["course"] = [
        {"time": "2026-03-01T09:00:00Z", "left": 1},
        {"time": "2026-03-01T10:00:00Z", "left": 0},
    ]
    below = [one.text for one in draw_chart(told).labels if one.text.endswith("2026")]
    assert below == ["1 Mar 2026", "2 Mar 2026"]
    told["course"][-1]["time"] = "2026-03-11T10:00:00Z"
    below = [one.text for one in draw_chart(told).labels if one.text.endswith("2026")]
    assert below == ["1 Mar 2026", "6 Mar 2026", "11 Mar 2026"]
