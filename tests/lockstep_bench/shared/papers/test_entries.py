"""Entries are read from TOML, and each has runs, a test or a reason."""

import pytest

from lockstep_bench.bench.experiment import paper_requests
from lockstep_bench.bench.experiment.request import InvalidRequest, Request
from lockstep_bench.bench.experiment.resolved import resolve
from lockstep_bench.shared.papers.entries import entries, read

RUN = '[[entry.run]]\nsuite = "uci"\npreset = "quick"\nmethods = ["map", "vifa"]\ndatasets = ["diabetes"]\n'
ENTRY = '[[entry]]\nname = "table-1"\ntable = "Table 1"\ntitle = "Scores"\nprotocol = "Short."\n'
NOTHING = Request("papers", "table-1", None, None, None, {}, 0)


@pytest.fixture
def written(tmp_path, monkeypatch):
    def write(text: str):
        (tmp_path / "a.toml").write_text('paper = "A paper"\n' + text)
        made = read([tmp_path / "a.toml"])
        monkeypatch.setattr(paper_requests, "entries", lambda: made)
        return made

    return write


def test_replication_entry_defines_runs_and_command(written):
    (entry,) = written(ENTRY + RUN)
    assert (entry.paper, entry.rows, entry.runs[0].methods) == ("A paper", "table-1", ("map", "vifa"))
    assert entry.command == "python run_all.py --suite papers --preset table-1"


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_each_replication_has_runs_a_test_or_reason(entry):
    behind = [bool(entry.runs), bool(entry.same_rows_as), bool(entry.test)]
    assert sum(behind) == 1 or (entry.unavailable and not any(behind))
    assert not entry.same_rows_as or any(each.name == entry.same_rows_as and each.runs for each in entries())
    assert [each.name for each in entries()].count(entry.name) == 1


@pytest.mark.parametrize(
    "claim", [claim for entry in entries() for claim in entry.claims], ids=lambda claim: claim.text
)
def test_each_claim_compares_with_method_or_value(claim):
    assert claim.relation in ("below", "above", "within")
    assert bool(claim.right) != (claim.value is not None)
    assert (claim.relation == "within") == (claim.margin is not None)


def test_replication_results_have_its_name_as_preset(written):
    written(ENTRY + RUN + 'splits = "0-2"\nsettings = { epochs = 7 }\nhparams = ["vifa:lr=0.01"]\n')
    cells = resolve(paper_requests.requests_of("table-1", NOTHING), None, fetch=False).cells
    assert {(cell.suite, cell.preset, cell.method, cell.split) for cell in cells} == {
        ("uci", "table-1", method, split) for method in ("map", "vifa") for split in range(3)
    }
    assert {(cell.protocol.epochs, str(cell.protocol.hparams)) for cell in cells} == {(7, "vifa:lr=0.01")}


def test_replication_can_be_restricted_but_not_changed(written):
    written(ENTRY + RUN)
    narrow = Request("papers", "table-1", ["map"], None, [1], {}, 0)
    (request,) = paper_requests.requests_of("table-1", narrow)
    assert (request.methods, request.splits) == (["map"], [1])
    with pytest.raises(InvalidRequest, match="nothing of table-1 is left"):
        paper_requests.requests_of("table-1", Request("papers", "table-1", ["slang"], None, None, {}, 0))
    with pytest.raises(InvalidRequest, match="epochs: the protocols of the suite papers"):
        paper_requests.requests_of("table-1", Request("papers", "table-1", None, None, None, {"epochs": 2}, 0))


def test_all_replications_exclude_those_marked_unavailable(written):
    other = ENTRY.replace("table-1", "table-2") + 'unavailable = "a GPU"\n' + RUN
    third = ENTRY.replace("table-1", "table-3") + 'test = "tests/test_x.py"\n'
    written(ENTRY + RUN + other + third)
    assert {request.replication for request in paper_requests.requests_of("all", NOTHING)} == {"table-1"}
    assert {request.replication for request in paper_requests.requests_of("table-2", NOTHING)} == {"table-2"}
    with pytest.raises(InvalidRequest, match="table-3 is a test: python -m pytest"):
        paper_requests.requests_of("table-3", NOTHING)
    with pytest.raises(InvalidRequest, match="table or figure 'table-9' is unknown"):
        paper_requests.requests_of("table-9", NOTHING)


@pytest.mark.parametrize("name", [entry.name for entry in entries() if entry.runs])
def test_each_replication_can_be_planned(name, tmp_path):
    resolve(paper_requests.requests_of(name, NOTHING), tmp_path, fetch=False)  # raises InvalidRequest otherwise


def test_claims_and_name_mappings_refer_to_run_methods():
    for entry in entries():
        runs = next((each.runs for each in entries() if each.name == entry.rows), ())
        methods = {method for run in runs for method in run.methods}
        named = {side for claim in entry.claims for side in (claim.left, claim.right) if side}
        named |= {*entry.methods.values(), *(ratio.over for ratio in entry.ratios.values())}
        assert not runs or named <= methods, entry.name
        datasets = {dataset for run in runs for dataset in run.datasets}
        assert not runs or {*entry.datasets.values(), *(d for c in entry.claims for d in c.datasets)} <= datasets
