"""The table of a request is registered before any work, and contradictions are refused."""

from pathlib import Path

import pytest

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.own_data import Given, register
from lockstep_bench.bench.experiment.request import InvalidRequest

NOTHING = Given()


@pytest.fixture
def houses(tmp_path):
    """A table in a file; tables that a test registers are forgotten after it."""
    path = tmp_path / "houses.csv"
    path.write_text("area,price\n" + "".join(f"{row},{row * row % 7}\n" for row in range(40)))
    with datasets.added([]):
        yield path


def test_csv_table_becomes_a_data_set(houses):
    table, warnings = register(NOTHING._replace(csv=houses, target="price"), "uci", None, on_cluster=False)
    assert table.name == "houses"
    assert datasets.entry("houses").suites == ("own",)
    assert any("whole numbers" in warning for warning in warnings)


def test_request_without_csv_registers_no_table():
    assert register(NOTHING, "uci", ["yacht"], on_cluster=False) is None


@pytest.mark.parametrize(
    ("changes", "suite", "names", "on_cluster", "complaint"),
    [
        ({}, "uci", None, False, "needs --target COLUMN"),
        ({"target": "price"}, "uci", ["yacht"], False, "leave --datasets yacht out"),
        ({"target": "price"}, "toy", None, False, "leave --suite toy out"),
        ({"target": "price"}, "uci", None, True, "python -m datasets new"),
        ({"target": "prise"}, "uci", None, False, "did you mean 'price'"),
    ],
)
def test_contradictory_csv_options_are_refused(houses, changes, suite, names, on_cluster, complaint):
    with pytest.raises(InvalidRequest, match=complaint):
        register(NOTHING._replace(csv=houses, **changes), suite, names, on_cluster)
    assert "houses" not in datasets.names()


@pytest.mark.parametrize("name", ["my.csv", "other.tsv", "data.parquet"])
def test_csv_file_among_data_sets_suggests_csv_option(name):
    with pytest.raises(InvalidRequest, match=rf"--csv {name} --target COLUMN, see docs/your-own-data\.md"):
        register(NOTHING, "uci", [name], on_cluster=False)


def test_table_options_without_a_csv_are_refused():
    with pytest.raises(InvalidRequest, match="--splits-file splits is an option for a table of your own"):
        register(NOTHING._replace(splits_file=Path("splits")), "uci", None, on_cluster=False)
    with pytest.raises(InvalidRequest, match="--no-header is an option for a table of your own"):
        register(NOTHING._replace(no_header=True), "uci", None, on_cluster=False)


def test_all_table_options_are_passed_on(houses):
    given = NOTHING._replace(
        csv=houses, target="2", decimal=".", thousands=",", na_values="-999,unclear", no_header=True
    )
    houses.write_text(houses.read_text().partition("\n")[2])
    table, _ = register(given, "uci", None, on_cluster=False)
    assert table.options[6:] == ("--decimal", ".", "--thousands", ",", "--na-values", "-999,unclear", "--no-header")
