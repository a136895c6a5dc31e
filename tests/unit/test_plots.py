from xml.etree import ElementTree

from discreet import plots

NAMESPACE = {"svg": "http://www.w3.org/2000/svg"}


def widths(svg):
    return [float(r.get("width")) for r in ElementTree.fromstring(svg).iterfind("svg:rect", NAMESPACE)]


def test_bars_are_proportional_to_their_values():
    a, b = widths(plots.bars(["a", "b"], [100, 50], [(99, 101), (49, 51)], title="two"))
    assert abs(a / b - 2) < 0.01


def spans(svg):
    """The ends of the error bars, as pixels."""
    found = []
    for path in ElementTree.fromstring(svg).iterfind("svg:path[@stroke='#d1495b']", NAMESPACE):
        start, end = path.get("d").removeprefix("M").split("H")
        found.append((float(start.split()[0]), float(end)))
    return found


def test_error_bars_end_where_the_intervals_end():
    svg = plots.bars(["a", "b"], [50, 100], [(0, 80), (90, 110)], title="two")
    (low, high), (_, top) = spans(svg)
    zero = float(next(ElementTree.fromstring(svg).iterfind("svg:rect", NAMESPACE)).get("x"))
    assert abs(low - zero) < 0.1
    assert abs((high - zero) / (top - zero) - 80 / 110) < 0.01
    texts = [t.text for t in ElementTree.fromstring(svg).iterfind("svg:text", NAMESPACE)]
    assert "50 [0, 80]" in texts
    assert "100 ± 10" in texts


def test_bars_without_intervals_show_the_number_alone():
    svg = plots.bars(["a"], [70.84], None, title="one")
    texts = [t.text for t in ElementTree.fromstring(svg).iterfind("svg:text", NAMESPACE)]
    assert texts[-1] == "70.84"
    assert not spans(svg)


def test_negative_values_are_drawn_to_the_left_of_zero():
    svg = plots.bars(["a", "b"], [-50, 100], None, title="two")
    left, right = ElementTree.fromstring(svg).iterfind("svg:rect", NAMESPACE)
    assert abs(float(left.get("x")) + float(left.get("width")) - float(right.get("x"))) < 0.1
    assert abs(float(right.get("width")) / float(left.get("width")) - 2) < 0.02


def test_long_labels_stay_inside_the_picture():
    short, long = (
        plots.bars([label], [1], None, title="t")
        for label in ("a", "a label of forty characters, more or less")
    )
    start = [float(ElementTree.fromstring(svg).find("svg:rect", NAMESPACE).get("x")) for svg in (short, long)]
    assert start[1] > start[0]
    assert start[1] > 41 * 6  # about 6 pixels a letter


def test_labels_are_escaped_and_negative_values_stay_inside():
    svg = plots.bars(["<script>", "b"], [-3, 5], [(-13, 7), (4, 6)], title="a & b")
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


def test_curves_on_one_another_both_show_and_long_names_fit():
    line, name = [(0.1, 100), (1, 10)], "a curve with a rather long name"
    svg = plots.curves({"one": line, name: line}, title="error", x_label="epsilon", y_label="error")
    root = ElementTree.fromstring(svg)
    dashes = [p.get("stroke-dasharray") for p in root.iterfind("svg:path", NAMESPACE) if p.get("fill")]
    assert len(dashes) == len(set(dashes)) == 2
    start = next(float(t.get("x")) for t in root.iterfind("svg:text", NAMESPACE) if t.text == name)
    assert start + 7 * len(name) <= float(root.get("width"))


def test_ten_curves_have_ten_colours():
    many = {f"curve {k}": [(1, k + 1), (10, k + 1)] for k in range(10)}
    root = ElementTree.fromstring(plots.curves(many, title="many", x_label="x", y_label="y"))
    colours = [p.get("stroke") for p in root.iterfind("svg:path", NAMESPACE) if p.get("fill") == "none"]
    assert len(set(colours)) == 10


def test_lines_lie_evenly_between_round_marks():
    svg = plots.lines(
        {"truth": [(0, 0), (10, 30), (20, 70)]}, title="t", x_label="weeks", y_label="cases", width=700
    )
    root = ElementTree.fromstring(svg)
    curve = root.find("svg:path[@fill='none']", NAMESPACE).get("d").removeprefix("M").split("L")
    (x0, y0), (x1, y1), (x2, y2) = [tuple(map(float, point.split())) for point in curve]
    assert abs((x1 - x0) - (x2 - x1)) < 0.2
    assert abs((y0 - y1) / (y0 - y2) - 3 / 7) < 0.01
    texts = [t.text for t in root.iterfind("svg:text", NAMESPACE)]
    assert {"0", "20", "40", "60", "5", "10", "15"} <= set(texts)


def test_lines_of_one_value_have_an_axis():
    svg = plots.lines({"flat": [(1, 5), (2, 5)]}, title="t", x_label="x", y_label="y")
    assert "nan" not in svg
    assert ElementTree.fromstring(svg).find("svg:path[@fill='none']", NAMESPACE) is not None


def test_a_notebook_shows_a_picture_and_everybody_else_has_text():
    for picture in (
        plots.bars(["a"], [1], None, title="one"),
        plots.curves({"a": [(1, 1), (2, 3)]}, title="two", x_label="x", y_label="y"),
    ):
        assert isinstance(picture, str) and picture == picture._repr_svg_()
        assert ElementTree.fromstring(picture._repr_svg_()).tag.endswith("svg")
