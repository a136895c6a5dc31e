import datetime
import subprocess
import sys

import pytest

import discreet as dp
from discreet.core.neighbours import Neighbours


def test_every_listed_name_can_be_had():
    for name in dir(dp):
        assert getattr(dp, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Laplacian"):
        _ = dp.Laplacian


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Laplase", "Laplace"),
        ("laplace", "Laplace"),
        ("Categories", "Category"),
        ("optimise", "optimisation"),
    ],
)
def test_a_name_that_is_nearly_right_is_suggested(written, meant):
    with pytest.raises(AttributeError, match=rf"{written}.*Did you mean .*{meant}"):
        getattr(dp, written)


def test_nothing_is_suggested_for_a_name_like_no_other():
    with pytest.raises(AttributeError) as caught:
        _ = dp.zzzzzz
    assert "Did you mean" not in str(caught.value)
    assert not hasattr(dp, "__wrapped__")


def test_a_schema_can_be_written_from_the_front_door_alone():
    schema = dp.Schema(
        "people",
        columns=(
            dp.Identifier("who"),
            dp.Category("ward", values=("north", "south")),
            dp.Integer("age", lower=0, upper=120),
            dp.Decimal("wage", lower=0, upper=99, grid=0.5),
            dp.Boolean("member"),
            dp.Date("joined", lower=datetime.date(2020, 1, 1), upper=datetime.date(2024, 1, 1)),
            dp.Text("note"),
        ),
        unit=dp.User(column="who", max_rows=3, max_groups=1),
        neighbours=dp.AddRemove("who"),
    )
    assert schema.unit != dp.Row()
    assert issubclass(dp.OneAnalystToMany, Neighbours)
    assert issubclass(dp.OneQueryToMany, Neighbours)


@pytest.mark.parametrize("heavy", ["scipy", "numpy", "duckdb", "sqlglot", "click", "matplotlib"])
def test_importing_the_package_loads_nothing_heavy(heavy):
    code = f"import sys, discreet; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_schema_needs_no_engine_and_a_table_names_the_extra_it_needs():
    code = (
        "import sys\n"
        "sys.modules['duckdb'] = sys.modules['sqlglot'] = None\n"
        "import discreet as dp\n"
        "assert dp.Schema is dp.data.Schema\n"
        "try:\n"
        "    dp.Table\n"
        "except dp.errors.MissingExtra as problem:\n"
        "    sys.exit(0 if 'discreet[data]' in str(problem) else 3)\n"
        "sys.exit(4)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_library_works_without_its_extras():
    """The first example of the README needs numpy and scipy alone."""
    code = (
        "import sys\n"
        "for name in ('click', 'rich', 'duckdb', 'sqlglot', 'networkx', 'dp_accounting', 'pandas'):\n"
        "    sys.modules[name] = None\n"
        "import discreet as dp\n"
        "dp.Laplace(sensitivity=1, epsilon=1).release(3)\n"
        "dp.compose(dp.Laplace(sensitivity=1, epsilon=1)).epsilon(1e-6)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
