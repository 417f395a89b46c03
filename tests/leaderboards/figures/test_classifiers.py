"""Figures of classifiers from their stored tables."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lockstep_bench.leaderboards.figures import classifiers
from lockstep_bench.leaderboards.figures.illustrations import illustrations
from lockstep_bench.shared.schema import CONFIDENCE, RELIABILITY, SELECTIVE, SHIFTS, cell_key


def bins(confidence=(None, 0.4, 0.9), accuracy=(None, 0.5, 0.7), count=(0, 30, 70)) -> pa.Table:
    edges = np.linspace(0, 1, 4)
    columns = {"low": edges[:-1], "high": edges[1:], "confidence": confidence, "accuracy": accuracy, "count": count}
    return pa.table(columns, schema=RELIABILITY)


def confidences(far: int = 5) -> pa.Table:
    rows = [
        {"group": group, "set": name, "threshold": threshold, "count": count, "n": 10}
        for group, name, most in (
            ("test", "test", 9),
            ("near", "letters", 8),
            ("near", "clothes", 7),
            ("far", "x", far),
        )
        for threshold, count in ((0.0, 10), (0.5, most), (1.0, 0))
    ]
    return pa.Table.from_pylist(rows, schema=CONFIDENCE)


def kept(accuracy: float = 0.9) -> pa.Table:
    rows = [
        {"uncertainty": uncertainty, "retained": part, "n": 10, "accuracy": 1 - (1 - accuracy) * part}
        for uncertainty in ("entropy", "disagreement")
        for part in (1.0, 0.7, 0.5)
    ]
    return pa.Table.from_pylist(rows, schema=SELECTIVE)


def shifted(*shifts: tuple[str, str, int]) -> pa.Table:
    told = {"accuracy": 0.9, "nmll": 0.3, "brier": 0.1, "ece": 0.05, "entropy": 0.2}
    rows = [{"severity": 0} | told]
    rows += [{"family": family, "shift": name, "severity": level} | told for family, name, level in shifts]
    return pa.Table.from_pylist(rows, schema=SHIFTS)


CORRUPTED = [("corruption", name, level) for name in ("fog", "snow") for level in (1, 5)]
TURNED = [("rotation", "rotation", 90), ("rotation", "rotation", 180)]


def runs(*methods: str, of: pa.Table) -> pd.DataFrame:
    """Two splits of each method."""
    return pd.concat(
        [of.to_pandas().assign(method=method, split=split, seed=0) for method in methods for split in (0, 1)],
        ignore_index=True,
    )


FIGURES = {
    "reliability": lambda *names: classifiers.reliability(runs(*names, of=bins()), dict.fromkeys(names, "ECE 0.135")),
    "confidence": lambda *names: classifiers.confidence(runs(*names, of=confidences())),
    "selective": lambda *names: classifiers.selective(runs(*names, of=kept())),
    "shifts": lambda *names: classifiers.shifts(runs(*names, of=shifted(*CORRUPTED)), "corruption"),
    "one shift": lambda *names: classifiers.shifts(runs(*names, of=shifted(*TURNED)), "rotation"),
}


@pytest.fixture(params=FIGURES.values(), ids=FIGURES)
def figure(request):
    return request.param


def test_panels_follow_the_given_order_of_methods(figure):
    svg = figure("vifa", "map", "<b>")
    titles = re.findall(r">(vifa|map|&lt;b&gt;)<", svg)
    assert titles == ["vifa", "map", "&lt;b&gt;"]
    assert "nan" not in svg.lower()


def test_figures_are_deterministic_and_use_page_colours(figure):
    svg = figure("vifa")
    assert svg == figure("vifa")
    assert re.search('class="(line|area) ours', svg)
    assert re.search('class="(line|area) theirs', svg)
    assert not re.search('style=|#[0-9a-f]{6}|="#', svg)


def test_every_classifier_panel_has_a_title():
    names = [f"variational-method-{i:02}" for i in range(40)]
    svg = FIGURES["confidence"](*names)
    assert re.findall(r">(variational-method-\d\d)<", svg) == names


def test_reliability_prints_calibration_errors_in_words():
    assert ">ECE 0.135<" in FIGURES["reliability"]("vifa")


def test_over_and_underconfident_areas_meet_on_the_diagonal():
    """A line from 0.2 below the diagonal at 0.4 to 0.1 above it at 0.7 crosses two thirds of the way, at 0.6."""
    x, y = classifiers._with_crossings(np.array([0.4, 0.7, 0.9]), np.array([0.2, 0.8, 0.95]))
    assert x.tolist() == pytest.approx([0.4, 0.6, 0.7, 0.9])
    assert y.tolist() == pytest.approx([0.2, 0.6, 0.8, 0.95])


def test_reliability_bins_of_splits_are_pooled_by_counts():
    pooled = classifiers.pooled_bins(
        pd.concat([bins().to_pandas(), bins((0.1, 0.5, None), (0, 1, None), (5, 10, 0)).to_pandas()])
    )
    assert pooled["count"].tolist() == [5, 40, 70]
    assert pooled["confidence"].tolist() == pytest.approx([0.1, (30 * 0.4 + 10 * 0.5) / 40, 0.9])
    assert pooled["accuracy"].tolist() == pytest.approx([0, (30 * 0.5 + 10) / 40, 0.7])


def test_ood_data_sets_are_named_by_group():
    svg = FIGURES["confidence"]("vifa")
    assert all(f">{text}<" in svg for text in ("test points", "near: letters, clothes", "far: x"))


def test_confidence_curve_is_mean_over_splits():
    """Far points: 5 and 1 of 10 above one half are drawn as 3 of 10 are."""
    parts = {far: confidences(far).to_pandas().assign(method="vifa", seed=0) for far in (5, 3, 1)}
    mixed = pd.concat([parts[5].assign(split=0), parts[1].assign(split=1)])
    same = pd.concat([parts[3].assign(split=0), parts[3].assign(split=1)])
    assert classifiers.confidence(mixed) == classifiers.confidence(same)


def test_bad_classifier_does_not_compress_the_axis():
    values = np.array([0.97, 0.975, 0.98, 0.985, 0.99, 0.1])
    assert 0.95 < classifiers.floor(values) < 0.97
    assert classifiers.floor(values[:5]) == classifiers.floor(values)
    assert classifiers.floor(np.ones(3)) < 1
    good = [runs(name, of=kept(accuracy)) for name, accuracy in (("a", 0.97), ("b", 0.98), ("c", 0.975), ("d", 0.985))]
    chance = runs("chance", of=kept(0.1)).assign(accuracy=0.1)
    assert "↓ 0.10 at most" in classifiers.selective(pd.concat([*good, chance]))
    assert "at most" not in classifiers.selective(pd.concat(good))


def test_shift_figure_shows_one_family_of_shifts():
    alone = runs("vifa", of=shifted(*CORRUPTED))
    among = runs("vifa", of=shifted(*CORRUPTED, *TURNED))
    assert classifiers.shifts(among, "corruption") == classifiers.shifts(alone, "corruption")
    assert ": degrees<" in classifiers.shifts(among, "rotation")


@pytest.fixture
def keep(tmp_path):
    def write(table: str, content: pa.Table, cell: dict) -> None:
        key = cell_key(
            *(cell[name] for name in ("suite", "dataset", "method", "preset", "protocol_hash", "split", "seed"))
        )
        path = tmp_path / table / f"{key}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(content, path)

    return write


def test_stored_classifier_tables_become_figures(tmp_path, keep, row, cells):
    tables = {"reliability": bins(), "confidence": confidences(), "selective": kept()}
    tables["shifts"] = shifted(*CORRUPTED, *TURNED)
    rows = [row(suite="images", dataset="d", method=method, split=split) for method in ("a", "b") for split in (0, 1)]
    for one in rows:
        for table, content in tables.items():
            keep(table, content, one)
    plots, _ = illustrations(cells(*rows).assign(folder=str(tmp_path)), ["b", "a"], "plot0")
    starts = [
        "Reliability",
        "Count-confidence",
        "Selective",
        "Test images under corruption",
        "Test images under rotation",
    ]
    assert [plot.caption[: len(start)] for plot, start in zip(plots, starts, strict=True)] == starts
    assert all(plot.description.endswith("by b, a") for plot in plots)
    assert "Mean over 2 corruptions and all splits" in plots[3].caption
    assert plots[4].caption.endswith("Mean over splits.")


def test_method_without_stored_table_has_no_panel(tmp_path, keep, row, cells):
    rows = [row(suite="images", method=method) for method in ("a", "b")]
    keep("selective", kept(), rows[1])
    (plot,), _ = illustrations(cells(*rows).assign(folder=str(tmp_path)), ["a", "b"], "plot0")
    assert re.findall(r">(a|b)<", plot.svg) == ["b"]
