"""Heat maps of covariances, and the figures of a replication."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lockstep_bench.leaderboards.figures.covariances import heat_maps, means_and_deviations
from lockstep_bench.leaderboards.figures.replications import figures
from lockstep_bench.shared.schema import CURVES, POSTERIORS, cell_key

TRUTH = np.array([[1.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 1.0]])


def posterior(covariance: np.ndarray = TRUTH, draws=None) -> pa.Table:
    rows = [
        {"who": "method", "mean": np.zeros(len(covariance)), "covariance": covariance.ravel(), "draws": draws},
        {"who": "truth", "mean": np.ones(len(TRUTH)), "covariance": TRUTH.ravel()},
    ]
    return pa.Table.from_pylist(rows, schema=POSTERIORS)


def test_heat_map_shades_are_proportional_to_covariances():
    svg = str(heat_maps({"vifa": posterior(np.diag([4.0, 9.0, 1.0])).to_pandas()}))
    reference, vifa = re.findall(r"<svg x=.*?</svg>", svg)
    # 0.6 is the darkest of six shades and -0.3 half of it; each stands in two squares. The diagonal is left out.
    shades = {kind: path.count("z") for kind, path in re.findall(r'class="area (\w+ heat\d)" d="([^"]*)"', reference)}
    assert shades == {"ours heat6": 2, "theirs heat3": 2}
    assert "heat" not in vifa


def test_each_method_has_a_panel_of_weight_intervals():
    svg = means_and_deviations({name: posterior().to_pandas() for name in ("vifa", "map")})
    assert all(f">{name}<" in svg for name in ("vifa", "map"))
    assert svg.count("line ours") == svg.count("line muted") == 2 * 3
    assert "nan" not in svg.lower()


def test_replicated_figure_is_drawn_from_stored_tables(tmp_path, cells):
    of_figures = cells(
        *({"suite": "posterior", "dataset": "three", "method": "vifa", "split": s} for s in range(2)),
        *({"suite": "factor-analysis", "dataset": "stream", "method": "online-em-fa", "split": s} for s in range(2)),
    ).assign(folder=str(tmp_path))
    for row in of_figures.itertuples():
        key = cell_key(row.suite, row.dataset, row.method, row.preset, row.protocol_hash, row.split, row.seed)
        curve = pd.DataFrame({"n_samples": [100, 200], "rel_mean": 0.1, "rel_cov": [0.4, 0.2], "w2_scaled": 0.1})
        tables = {
            "three": ("posteriors", posterior()),
            "stream": ("curves", pa.Table.from_pandas(curve, schema=CURVES, preserve_index=False)),
        }
        name, table = tables[row.dataset]
        path = tmp_path / name / f"{key}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
    made = figures(of_figures, "entry")
    assert [plot.description.split(" on ")[0].split(" against ")[0] for plot in made] == [
        "Covariances, means and standard deviations of 3 weights",
        "Covariance, relative distance",
        "W₂ / D",
    ]
    assert figures(of_figures.iloc[:0], "entry") == []
