from fractions import Fraction

import pytest

from discreet.analysts.promises import OneAnalystToMany
from discreet.core.errors import InvalidParameter
from discreet.server.registered.registration import read_registration

GOOD = """
[datasets.visits]
data = "visits.csv"
schema = "visits.toml"
epsilon = 0.1
delta = 1e-9
"""


def read(folder, text):
    path = folder / "discreet.toml"
    path.write_text(text)
    return read_registration(path)


def test_numbers_are_exact_and_paths_absolute(tmp_path):
    found = read(tmp_path, GOOD)
    one = found.datasets["visits"]
    assert (one.epsilon, one.delta) == (Fraction(1, 10), Fraction(1, 10**9))
    assert one.data == tmp_path / "visits.csv"
    assert found.book == str(tmp_path / "budget.db")
    assert found.tick == Fraction(1, 2)  # replies leave at ticks unless the owner says otherwise


def test_everything_that_is_said_is_read(tmp_path):
    said = GOOD + (
        'promise = "one analyst to many"\nexpects = ["SELECT 1"]\nquestion = [0.01, 1e-12]\n'
        'columns = ["ward"]\nshared = 0.5\ntimeout = 5\npurpose = "care"\n'
    )
    one = read(tmp_path, "tick = 2\n" + said).datasets["visits"]
    assert isinstance(one.promise, OneAnalystToMany)
    assert one.question == (Fraction(1, 100), Fraction(1, 10**12))
    assert (one.columns, one.shared, one.timeout, one.purpose) == (("ward",), Fraction(1, 2), 5.0, "care")
    assert one.expects == ("SELECT 1",)


def test_postgres_is_named_by_a_variable(tmp_path):
    text = GOOD.replace('data = "visits.csv"', 'engine = "postgres"\ndsn_env = "DSN"\ntable = "visits"')
    assert read(tmp_path, text).datasets["visits"].dsn_env == "DSN"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('data = "visits.csv"', 'data = "../visits.csv"'),
        ('data = "visits.csv"', 'data = "/etc/passwd"'),
        ('data = "visits.csv"', 'data = "http://169.254.169.254/visits.csv"'),
        ('data = "visits.csv"', 'data = "visits.pkl"'),
        ('data = "visits.csv"', 'data = "visits.yaml"'),
        ('data = "visits.csv"', ""),
        ('data = "visits.csv"', "data = 7"),
        ('data = "visits.csv"', 'data = "visits.csv"\ndsn_env = "X"'),
        ('schema = "visits.toml"', 'schema = "../../etc/passwd"'),
        ('schema = "visits.toml"', ""),
        ("epsilon = 0.1", "epsilon = nan"),
        ("epsilon = 0.1", "epsilon = inf"),
        ("epsilon = 0.1", "epsilon = -1"),
        ("epsilon = 0.1", "epsilon = 0"),
        ("epsilon = 0.1", 'epsilon = "1"'),
        ("epsilon = 0.1", "epsilon = true"),
        ("epsilon = 0.1", ""),
        ("delta = 1e-9", "delta = 1"),
        ("delta = 1e-9", "delta = -1e-9"),
        ("delta = 1e-9", "delta = 1e-9\nsecret = 1"),
        ("delta = 1e-9", 'delta = 1e-9\npromise = "all"'),
        ("delta = 1e-9", 'delta = 1e-9\nengine = "oracle"'),
        ("delta = 1e-9", "delta = 1e-9\nquestion = [1]"),
        ("[datasets.visits]", '[datasets."../x"]'),
        ("[datasets.visits]", '[datasets."<script>"]'),
        ("[datasets.visits]", "tick = -1\n[datasets.visits]"),
        ("[datasets.visits]", "colour = 1\n[datasets.visits]"),
        ("[datasets.visits]", "datasets = 1\n[x]"),
        ("[datasets.visits]", "[datasets.visits"),
    ],
)
def test_what_is_wrong_is_named_before_anything_is_opened(tmp_path, before, after):
    with pytest.raises(InvalidParameter):
        read(tmp_path, GOOD.replace(before, after))


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("epsilon = 0.1", "epsilon = -1", "discreet.toml: datasets.visits.epsilon: epsilon must be finite"),
        ("epsilon = 0.1", "", "discreet.toml: datasets.visits.epsilon must be given"),
        ("epsilon = 0.1", "epsilom = 1", "got datasets.visits.epsilom"),
        ("delta = 1e-9", "delta = 0\nquestion = [1, 2]", "datasets.visits.question: delta must be"),
        ("delta = 1e-9", 'delta = 0\npeople = "all"', r"datasets.visits.people: .*there is none"),
        (
            "delta = 1e-9",
            "delta = 0\ngroups.a = {share = 1}",
            "datasets.visits.groups.a.members must be given",
        ),
        ('"visits.csv"', '"../visits.csv"', "datasets.visits.data: .* links followed"),
        ("[datasets", "tick = -1\n[datasets", "discreet.toml: tick: tick must be"),
        ("[datasets.visits]", "[datasets.visits", "discreet.toml must be TOML, got .*line 2"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_key(tmp_path, before, after, words):
    with pytest.raises(InvalidParameter, match=words):
        read(tmp_path, GOOD.replace(before, after))


def test_a_data_set_may_be_called_as_a_section_is(tmp_path):
    said = GOOD.replace("visits]", "people]") + 'groups.a = { members = ["acme"], share = 1 }\n'
    assert read(tmp_path, said).datasets["people"].groups == {"a": (("acme",), 1)}


def test_a_link_that_leads_out_is_refused(tmp_path):
    home, outside = tmp_path / "home", tmp_path / "outside.csv"
    home.mkdir()
    outside.write_text("secret")
    (home / "visits.csv").symlink_to(outside)
    with pytest.raises(InvalidParameter, match="links followed"):
        read(home, GOOD)


def test_no_file_is_a_sentence(tmp_path):
    with pytest.raises(InvalidParameter, match="discreet register"):
        read_registration(tmp_path / "none.toml")


def test_questions_are_published_only_where_nothing_is_promised(tmp_path):
    assert read(tmp_path, GOOD).datasets["visits"].publish_questions is False
    assert read(tmp_path, GOOD + "publish_questions = true\n").datasets["visits"].publish_questions is True
    for options in ('publish_questions = true\npromise = "many to one"\n', 'publish_questions = "yes"\n'):
        with pytest.raises(InvalidParameter, match="publish_questions"):
            read(tmp_path, GOOD + options)
