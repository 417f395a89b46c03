"""Plans of requests, made without a command line."""

import pytest

from lockstep_bench.bench.experiment.resolved import resolve
from lockstep_bench.bench.results.folder import Results
from lockstep_bench.run.options import How, Options, Ways, What, Where
from lockstep_bench.run.plan import plan_of
from lockstep_bench.run.request import request_of


@pytest.fixture
def planned(tmp_path):
    """`planned(how, **ways)`: the plan of two cells in a folder."""

    def planned(how=None, **ways):
        options = Options(
            what=What(methods="map,constant", datasets="diabetes", splits="0"),
            how=how or How(trials=2),
            where=Where(out=tmp_path / "results"),
            ways=Ways(**ways),
        )
        request = request_of(options)
        results = Results(request.out)
        return plan_of(request, resolve(request.requests, None, fetch=False), results)

    return planned


def test_plan_for_an_empty_folder_has_all_cells(planned):
    plan = planned()
    assert {cell.method for cell in plan.todo} == {"map", "constant"}
    assert set(plan.todo) == set(plan.resolved.cells)


def damaged(plan):
    """Write a file that is no result in the place of one."""
    path = plan.results.out / "cells" / f"{plan.todo[0].key}.parquet"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no Parquet")
    return path


def test_cell_of_a_damaged_result_is_run_again(planned):
    path = damaged(planned())
    plan = planned()
    ((renamed, reason),) = plan.renamed
    assert renamed.is_file()
    assert not path.exists()
    assert "Parquet" in reason
    assert len(plan.todo) == 2


@pytest.mark.parametrize("way", ["dry_run", "fresh"])
def test_dry_run_and_fresh_run_rename_no_file(planned, way):
    path = damaged(planned())
    assert planned(**{way: True}).renamed == ()
    assert path.is_file()


def test_only_given_epochs_beyond_the_cap_are_noted(planned):
    (note,) = planned(How(preset="quick", epochs=20)).notes
    assert "300 minibatches (max_minibatches), before --epochs 20" in note
    assert planned(How(preset="quick")).notes == ()
    assert planned(How(preset="quick", epochs=2)).notes == ()
