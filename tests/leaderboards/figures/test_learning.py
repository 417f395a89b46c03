"""Figure of active learning."""

import pandas as pd

from lockstep_bench.leaderboards.figures.learning import learning


def test_each_panel_has_a_line_for_each_acquisition_function():
    """By BALD the two runs of `map` end at 1 and 2: the line ends at 1.5, three eighths of the highest mean, 4."""
    parts = [
        pd.DataFrame({"n_train": [20, 120], "rmse": [4.0, last], "nmll": [0.0, 0.0]}).assign(
            acquisition=acquisition, method=method, split=split, seed=0
        )
        for method in ("map", "mfvi")
        for acquisition, ends in {"bald": (1.0, 2.0), "variance": (3.0, 3.0), "random": (4.0, 4.0)}.items()
        for split, last in enumerate(ends)
    ]
    svg = str(learning(pd.concat(parts)))
    assert all(f">{name}<" in svg for name in ("map", "mfvi"))
    assert svg.count('class="line ours" d="M0.0 0.0L124.0 55.0"') == 2
    assert svg.count('class="line theirs" d="M0.0 0.0L124.0 22.0"') == 2
    assert "nan" not in svg.lower()
