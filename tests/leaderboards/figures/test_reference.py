"""Figures of suites with a reference posterior: contours, principal axes, bands and curves."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lockstep_bench.leaderboards.figures.illustrations import illustrations
from lockstep_bench.leaderboards.figures.panels import PanelScale
from lockstep_bench.leaderboards.figures.reference import (
    along_principal_axes,
    bands,
    contours,
    curves,
    densest,
    principal_axes,
)
from lockstep_bench.shared.schema import BANDS, POSTERIORS, cell_key


def posterior(mean=(0.0, 0.0), covariance=(1.0, 0.5, 0.5, 1.0)) -> pd.DataFrame:
    draws = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=300)
    rows = [
        {"who": "method", "mean": list(mean), "covariance": list(covariance), "draws": None},
        {"who": "truth", "mean": [0.0, 0.0], "covariance": [1.0, 0.5, 0.5, 1.0], "draws": draws.ravel()},
    ]
    return pa.Table.from_pylist(rows, schema=POSTERIORS).to_pandas()


def band(sd: float = 0.5) -> pd.DataFrame:
    x = np.linspace(-2, 2, 41)
    columns = {
        "x": x,
        "mean": x,
        "sd": sd + 0 * x,
        "reference_mean": x,
        "reference_sd": 1 + 0 * x,
        "noise_sd": 0.1 + 0 * x,
    }
    return pa.Table.from_pydict(columns, schema=BANDS).to_pandas()


def curve() -> pd.DataFrame:
    return pd.DataFrame(
        {"n_samples": [100, 1000, 10_000], "rel_mean": 0.1, "rel_cov": [0.9, 0.3, 0.1], "w2_scaled": 0.1}
    )


def test_every_method_has_a_contour_panel():
    svg = contours({"vifa": posterior(), "map": posterior(covariance=(0, 0, 0, 0)), "<b>": posterior((9.0, 9.0))})
    assert all(f">{name}<" in svg for name in ("vifa", "map", "&lt;b&gt;"))
    assert "nan" not in svg.lower()


def of_three_weights(mean, covariance) -> pd.DataFrame:
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    truth = rotation @ np.diag([0.01, 4.0, 1.0]) @ rotation.T
    rows = [
        {"who": "method", "mean": rotation @ mean, "covariance": (rotation @ covariance @ rotation.T).ravel()},
        {"who": "truth", "mean": np.zeros(3), "covariance": truth.ravel()},
    ]
    return pa.Table.from_pylist(rows, schema=POSTERIORS).to_pandas()


def test_principal_axes_are_in_units_of_reference_sd():
    mean, sd = along_principal_axes(of_three_weights([0.1, 6.0, 2.0], np.diag([0.04, 4.0, 0.25])))
    np.testing.assert_allclose(np.abs(mean), [3, 2, 1])
    np.testing.assert_allclose(sd, [1, 0.5, 2])


def test_every_method_has_a_principal_axes_panel():
    tables = {name: of_three_weights(np.ones(3), one) for name, one in (("vifa", np.eye(3)), ("map", 0 * np.eye(3)))}
    svg = principal_axes(tables)
    assert all(f">{text}<" in svg for text in ("vifa", "map", "upwards: reference sd; to the right: principal axis"))
    assert "nan" not in svg.lower()


def test_function_bands_show_methods_and_training_points():
    with_points = bands({"vifa": band(), "map": band(0.0)}, (np.array([-1.0, 1.0]), np.array([0.0, 1.0])))
    assert all(f">{name}<" in with_points for name in ("vifa", "map"))
    assert len(with_points) > len(bands({"vifa": band(), "map": band(0.0)}, None))


def test_distance_curves_have_one_line_per_method():
    runs = pd.concat([curve().assign(method=name) for name in ("online-em-fa", "batch-svd") for _ in range(3)])
    svg = curves(runs, "rel_cov", "Covariance", "k0")
    assert all(f">{text}<" in svg for text in ("online-em-fa", "batch-svd", "1,000", "0.2"))
    assert "mathdefault" not in svg


@pytest.mark.parametrize(
    "draw",
    [
        lambda: contours({"vifa": posterior()}),
        lambda: principal_axes({"vifa": of_three_weights(np.zeros(3), np.eye(3))}),
        lambda: bands({"vifa": band()}, None),
        lambda: curves(curve().assign(method="vifa"), "rel_cov", "Covariance", "k0"),
    ],
    ids=["contours", "principal axes", "bands", "curves"],
)
def test_figures_are_deterministic_and_use_page_colours(draw):
    svg = draw()
    assert svg == draw()
    assert re.search(r'class="line ours|var\(--ours\)', svg)
    assert not re.search(r"#0\d0\d0\d", svg)


def test_densest_regions_of_a_gaussian_are_ellipses():
    """At 1 and 2 standard deviations; a kernel estimate of 5000 draws is wider by a few percent."""
    draws = np.random.default_rng(0).normal(size=(5000, 2)) * [1.0, 3.0]
    outlines = densest(draws, PanelScale((-4.0, 4.0), (-12.0, 12.0)))
    radii = [np.hypot(outline[:, 0], outline[:, 1] / 3).mean() for outline in outlines]
    assert radii == pytest.approx([2.0, 1.0], rel=0.06)


@pytest.fixture
def kept(tmp_path):
    def keep(table: str, content: pd.DataFrame, row) -> None:
        key = cell_key(
            row["suite"], row["dataset"], row["method"], row["preset"], row["protocol_hash"], row["split"], 0
        )
        path = tmp_path / table / f"{key}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pandas(content, preserve_index=False), path)

    return keep


def test_stored_posterior_tables_become_figures(tmp_path, kept, row, cells):
    kinds = {"posteriors": posterior(), "bands": band(), "curves": curve()}
    rows = [
        row(suite="posterior", dataset="d", method=method, split=split) for method in ("a", "b") for split in (0, 1)
    ]
    for one in rows:
        for table, content in kinds.items():
            kept(table, content, one)
    plots, _ = illustrations(cells(*rows).assign(folder=str(tmp_path)), ["b", "a"], "plot0")
    assert [plot.description.split(" ")[0] for plot in plots] == ["Posterior", "Function", "Covariance,"]
    assert all("b, a" in plot.description for plot in plots)
    assert all(plot.caption for plot in plots)


def test_no_stored_tables_give_no_figures(tmp_path, kept, row, cells):
    assert illustrations(cells(row()).assign(folder=str(tmp_path)), ["vifa"], "plot0") == ([], [])
    failed = row(suite="toy", status="failed")
    kept("bands", band(), failed)
    assert illustrations(cells(failed).assign(folder=str(tmp_path)), ["vifa"], "plot0") == ([], [])


def test_unreadable_table_removes_only_its_panel(tmp_path, kept, row, cells):
    rows = [row(suite="toy", method=method) for method in ("a", "b")]
    for one in rows:
        kept("bands", band(), one)
    next(tmp_path.glob("bands/toy/*/a/**/*.parquet")).write_bytes(b"spoilt")
    (plot,), _ = illustrations(cells(*rows).assign(folder=str(tmp_path)), ["a", "b"], "plot0")
    assert ">b<" in plot.svg
    assert ">a<" not in plot.svg
