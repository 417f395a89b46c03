"""Options become one frozen request, without a command line."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.request import InvalidRequest
from lockstep_bench.run.options import How, Options, OwnTable, Ways, What, Where
from lockstep_bench.run.request import request_of


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Iterator[Path]:
    """An empty folder, in which a test is; tables that it registers are forgotten after it."""
    monkeypatch.chdir(tmp_path)
    with datasets.added([]):
        yield tmp_path


def test_default_request_is_uci_quick_on_cpu():
    request = request_of(Options())
    (one,) = request.requests
    assert (one.suite, one.preset, one.methods, one.datasets, one.splits, one.seed) == (
        *("uci", "quick", ["headline"], None, None, 0),
    )
    assert one.changes == {}
    assert (request.out, request.html) == (Path("results"), Path("results/html"))
    assert (request.devices, request.cluster, request.table, request.names) == (("cpu",), None, None, ())


def test_protocol_options_become_protocol_changes():
    how = How(trials=3, sampler="tpe", settings=["samples=7"], seed=5)
    (one,) = request_of(Options(how=how)).requests
    assert one.changes == {"trials": 3, "sampler": "tpe", "samples": 7}
    assert one.seed == 5


def test_method_names_and_splits_are_parsed():
    what = What(methods="map,slang(rank=2, lr=1)", datasets="yacht", splits="0-2,4")
    request = request_of(Options(what=what))
    (one,) = request.requests
    assert one.methods == ["map", "slang(rank=2, lr=1)"]
    assert (one.splits, request.names) == ([0, 1, 2, 4], ("yacht",))


def test_time_budgets_are_sorted():
    assert request_of(Options(how=How(budget_seconds="10, 1,10"))).budgets == (1, 10)


@pytest.mark.parametrize("text", ["", "0", "1.5", "ten", "-1", "1,,2"])
def test_non_integer_time_budgets_are_refused(text):
    with pytest.raises(InvalidRequest, match="whole seconds"):
        request_of(Options(how=How(budget_seconds=text)))


@pytest.mark.parametrize(
    "how", [How(trials=3), How(epochs=3), How(sampler="random"), How(settings=["max_minibatches=9"])]
)
def test_time_budget_refuses_given_trials_or_epochs(how):
    with pytest.raises(InvalidRequest, match="--budget-seconds decides"):
        request_of(Options(how=replace(how, budget_seconds="1")))


def test_paper_table_becomes_several_requests():
    request = request_of(Options(what=What(suite="papers"), how=How(preset="vifa-table-1")))
    assert request.requests
    assert {one.replication for one in request.requests} == {"vifa-table-1"}


def test_user_table_is_the_only_requested_data_set(folder):
    lines = ["area,price", *(f"{area / 10},{3 * area + area % 7}" for area in range(40))]
    Path("houses.csv").write_text("\n".join(lines))
    request = request_of(Options(own=OwnTable(csv=Path("houses.csv"), target="price")))
    table, _ = request.table
    assert (table.target, table.n_rows) == ("price", 40)
    assert (request.names, request.requests[0].suite) == ((table.name,), "own")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (Options(how=How(trials=3, settings=["trials=4"])), "--set trials=... and --trials say the same thing"),
        (Options(own=OwnTable(target="price")), "--target price is an option for a table of your own"),
        (Options(what=What(splits="4-2")), "runs backwards"),
        (Options(what=What(methods=" , ")), "--methods names nothing"),
        (Options(where=Where(devices="tpu")), "devices 'tpu' cannot be read"),
        (Options(where=Where(cluster="tcp://a:1", workers=2)), "--workers 2 works on this machine only"),
        (Options(where=Where(cluster="tcp://a:1"), ways=Ways(timing=True)), "--timing works on this machine only"),
    ],
)
def test_contradictory_run_options_are_refused(options, complaint):
    with pytest.raises(InvalidRequest) as refused:
        request_of(options)
    assert complaint in str(refused.value)


def test_unwritable_output_folder_is_refused():
    Path("results").write_text("a file")
    with pytest.raises(InvalidRequest, match="--out"):
        request_of(Options())
