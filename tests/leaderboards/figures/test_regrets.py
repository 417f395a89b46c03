"""Figure of bandits' regret."""

import pandas as pd

from lockstep_bench.leaderboards.figures.regrets import regrets


def test_each_panel_has_mean_regret_and_that_of_chance():
    """Two runs of `map` end at 2 and 4: the line ends at 3, half as high as chance's 6, which fills the panel."""
    parts = [
        pd.DataFrame({"round": [10, 20], "regret": [1.0, last], "regret_uniform": [3.0, 6.0]}).assign(
            method=method, split=split, seed=0
        )
        for method, split, last in (("map", 0, 2.0), ("map", 1, 4.0), ("mfvi", 0, 6.0))
    ]
    svg = str(regrets(pd.concat(parts)))
    assert [svg.index(f">{name}<") > 0 for name in ("map", "mfvi")] == [True, True]
    assert svg.count('class="line ink thin dotted"') == 2 + 1  # and the legend
    assert 'class="line ours" d="M62.0 73.3L124.0 44.0"' in svg
    assert "nan" not in svg.lower()
