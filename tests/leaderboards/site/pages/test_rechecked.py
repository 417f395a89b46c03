"""Pages mark rows of other code, or name the recheck that vouches for them."""

from datetime import UTC, datetime

from built_pages import Built

from lockstep_bench import leaderboards
from lockstep_bench.leaderboards.data.rechecks import EQUAL, Again, Recheck, write_rechecks

AGREED = Again("uci", "energy", "vifa", "paper", "aaaaaaaa", 0, 0, "nmll", 1.0, 1.0, 0.1, "a-1", "b-1", EQUAL)


def test_results_of_an_older_engine_are_marked(built):
    earlier = {"method": "map", "nmll": 1.0, "execution": None}
    page = built({"nmll": 2.0}, earlier)["dataset-energy.html"]
    assert "1.00 § , of an earlier engine" in page.words
    assert "§ of an earlier engine: some rows were trained before training loops were compiled" in page.words
    assert "Training before training loops were compiled" in page.words
    assert page.words.count("§ , of") == 1


def test_agreeing_recheck_removes_the_old_code_mark(folder, tmp_path):
    days = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 9)]
    old = {"method": "map", "nmll": 1.0, "code_identity": "a-1", "finished_at": days[0]}
    out = folder(old, {"nmll": 2.0, "code_identity": "b-2", "finished_at": days[1]})
    before = Built(leaderboards.build(out, tmp_path / "before"))["dataset-energy.html"].words
    write_rechecks([Recheck(days[1].isoformat(), "0123456789abcdef", 2, 7, (AGREED,))], out)
    after = Built(leaderboards.build(out, tmp_path / "after"))["dataset-energy.html"].words
    assert ("§" in before, "§" in after) == (True, False)
    assert "Recheck cells drawn at random agreed on 2026-01-09 by code 0123456789" in after
