from xml.etree import ElementTree

from discreet import plots

NAMESPACE = {"svg": "http://www.w3.org/2000/svg"}


def widths(svg):
    return [float(r.get("width")) for r in ElementTree.fromstring(svg).iterfind("svg:rect", NAMESPACE)]


def test_bars_are_proportional_to_their_values():
    a, b = widths(plots.bars(["a", "b"], [100, 50], [1, 1], title="two"))
    assert abs(a / b - 2) < 0.01


def test_labels_are_escaped_and_negative_values_stay_inside():
    svg = plots.bars(["<script>", "b"], [-3, 5], [10, 1], title="a & b")
    assert "<script>" not in svg
    assert all(width >= 0 for width in widths(svg))


def test_curves_name_every_series_and_fall_where_values_fall():
    svg = plots.curves(
        {"one": [(0.1, 100), (1, 10), (10, 1)]}, title="error", x_label="epsilon", y_label="error"
    )
    root = ElementTree.fromstring(svg)
    texts = [t.text for t in root.iterfind("svg:text", NAMESPACE)]
    assert {"one", "epsilon", "error"} <= set(texts)
    line = next(p for p in root.iterfind("svg:path", NAMESPACE) if p.get("fill") == "none").get("d")
    heights = [float(point.split()[1]) for point in line[1:].split("L")]
    assert heights == sorted(heights)
