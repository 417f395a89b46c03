"""Tables for papers: what they say, and that they survive any name."""

import json
import re

import numpy as np
import pytest

from lockstep_bench.leaderboards.tables import latex, markdown, tables

INF = float("inf")


@pytest.fixture
def small(cells, small_run):
    """See the fixture `small_run`: mfvi lost 2 of 8 splits of energy; only vifa is on wine, infinitely bad once."""
    return cells(*small_run)


def body(text: str) -> dict[str, list[str]]:
    """The cells of each line of a Markdown table, by its first."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return {first: rest for first, *rest in lines}


def test_each_suite_preset_and_metric_has_a_table(cells):
    rows = cells({"nmll": 1.0, "rmse": 2.0}, {"preset": "quick", "nmll": 3.0})
    made = tables(rows, ["nmll", "rmse"])
    assert [(t.preset, t.metric) for t in made] == [("paper", "nmll"), ("paper", "rmse"), ("quick", "nmll")]
    assert [t.metric for t in tables(rows)] == ["nmll", "nmll"]


def test_table_shows_means_errors_marks_and_missing_cells(small):
    found = body(markdown(tables(small)))
    means = small[small["method"] == "vifa"].groupby("dataset")["nmll"].agg(["mean", "sem"])
    energy, wine = found["vifa"]
    assert energy == f"≈ {means.loc['energy', 'mean']:.3f} ± {means.loc['energy', 'sem'] * np.sqrt(1 + 8 / 9):.3f}"
    assert wine == "∞ (median 1.03, one split ∞)"
    assert re.fullmatch(r"\d\.\d{3} ± 0\.\d{3} \(n = 6, 2 failed\)", found["mfvi"][0])
    assert found["map"][1] == "–"


def test_scores_on_gaps_are_median_and_worst_split_instead_of_mean(cells):
    values = {0: 1.0, 1: 1.1, 2: 1.2, 3: 1.3, 5: 90.0}
    rows = [{"suite": "uci-gap", "dataset": "yacht-gap", "split": k, "nmll": value} for k, value in values.items()]
    text = markdown(tables(cells(*rows)))
    assert body(text)["vifa"] == ["1.20 (worst 90.0, split 5)"]
    assert "median, with the worst split, over n = 5 test splits" in text
    assert "Standard errors" not in text


def test_remarks_have_signs_and_a_legend(cells):
    improving = json.dumps({"still_improving": 1.0})
    rows = [{"method": "constant", "nmll": 2.0}, {"method": "map", "nmll": 3.0}, {"method": "swag", "nmll": 1.0}]
    made = tables(cells(*(row | {"diagnostics": improving if row["method"] == "map" else None} for row in rows)))
    shown = body(markdown(made))
    assert [shown[name][0] for name in ("constant", "map", "swag")] == ["2.00", "3.00†‡", "1.00"]
    text = latex(made)
    assert r"$3.00$$^\dagger$$^\ddagger$" in text
    assert r"$^\dagger$ no better than predicting the training mean" in text
    assert r"$^\ddagger$ still improving" in text


def test_best_and_possibly_best_methods_are_marked(cells):
    rng = np.random.default_rng(0)
    levels = {"x": (0.0, 0.0, 9.0), "y": (0.0, 5.0, 9.0)}
    rows = []
    for split in range(10):
        hard = rng.normal()
        for dataset, of_dataset in levels.items():
            for method, level in zip("abc", of_dataset, strict=True):
                nmll = hard + level + 0.1 * rng.normal()
                rows.append({"dataset": dataset, "method": method, "split": split, "nmll": nmll})
    shown = body(markdown(tables(cells(*rows))))
    assert {name: [text[:2] for text in shown[name][:2]] for name in "abc"} == {
        "a": ["≈ ", "**"],
        "b": ["≈ ", "5."],
        "c": ["9.", "9."],
    }
    text = latex(tables(cells(*rows)))
    assert (text.count(r"\mathbf{"), text.count(r"\underline{")) == (1, 2)
    assert "Bold: every other method is significantly worse; underlined: no method is significantly better" in text
    assert "Holm's method, at a level of 5 \\% on each data set)" in text


def test_caption_states_metric_n_protocol_seed_and_code(small):
    caption = markdown(tables(small)).splitlines()[0]
    for words in (
        "NMLL (low is better): mean ± standard error over n = 8 test splits (n where fewer).",
        "Suite uci, preset paper: 30 trials, drawn by random search, 5-fold cross-validation, 120 epochs",
        "seed 0; code 0123456789.",
        "Failed splits have no result and are not included in the means.",
    ):
        assert words in caption
    assert "Mean rank" not in caption


def test_single_split_has_no_standard_error_or_test(cells):
    text = markdown(tables(cells({"method": "a", "nmll": 1.0}, {"method": "b", "nmll": 2.0})))
    assert "the value over n = 1 test split." in text
    assert "Too few splits to test differences" in text
    assert body(text)["a"] == ["1.00"]


def test_mean_ranks_are_over_common_data_sets(cells):
    rows = [
        {"dataset": d, "method": m, "split": s, "nmll": v}
        for d in ("x", "y")
        for m, v in (("a", 2.0), ("b", 1.0))
        for s in range(2)
    ]
    text = markdown(tables(cells(*rows, {"dataset": "z", "method": "a", "nmll": 0.0})))
    assert (
        "Mean rank: among the ranked methods of this table, over the 2 data sets that all of them were run on." in text
    )
    assert body(text)["Mean rank"] == ["1.0", "2.0"]  # three data sets go downwards; b is first
    assert body(text)["Data set"] == ["b", "a"]


def test_metrics_without_direction_have_no_marks(cells):
    text = markdown(tables(cells({"method": "a", "n_weights": 3.0}, {"method": "b", "n_weights": 4.0}), ["n_weights"]))
    assert text.startswith("Weights: ")
    assert "**" not in text


def test_caption_names_several_seeds_and_revisions(cells):
    rows = cells({"nmll": 1.0}, {"seed": 3, "nmll": 2.0, "code_revision": "fedcba"})
    assert "seeds 0, 3, averaged per split; code 0123456789, fedcba." in markdown(tables(rows))


def test_latex_table_is_a_float_using_booktabs(small):
    text = latex(tables(small))
    assert text.startswith("% \\usepackage{booktabs,graphicx}\n\\begin{table}\n")
    assert r"\label{tab:uci-paper-nmll}" in text
    assert r"\begin{tabular}{lcc}" in text
    assert r"Method & energy & wine \\" in text
    assert r"$\infty$" in text
    assert re.search(r"mfvi & \$[^$]+\$\\textsuperscript{a} & -- \\\\", text)
    assert r"\textsuperscript{a} n = 6, 2 failed; " in text
    for rule in (r"\toprule", r"\midrule", r"\bottomrule"):
        assert rule in text


def test_large_and_negative_numbers_are_formatted_in_latex(cells):
    rows = cells({"dataset": "x", "nmll": 21_300_000.0}, {"dataset": "y", "nmll": -0.5}, {"dataset": "z", "nmll": -INF})
    text = latex(tables(rows))
    for shown in (r"$2.13e+07$".replace("2.13e+07", r"2.13 \times 10^{7}"), "$-0.500$", r"$-\infty$"):
        assert shown in text
    assert body(markdown(tables(rows)))["x"] == ["2.13 × 10⁷"]


ODD = r"a_b&50%$#{}~^\<|>*`[x]"


def test_special_characters_in_names_are_escaped_for_latex(cells):
    text = latex(tables(cells({"method": ODD, "nmll": 1.0})))
    shown = (
        r"a\_b\&50\%\$\#\{\}\textasciitilde{}\textasciicircum{}\textbackslash{}\textless{}\textbar{}\textgreater{}*`[x]"
    )
    assert f"{shown} & $1.00$" in text


def test_special_characters_in_names_are_escaped_for_markdown(cells):
    text = markdown(tables(cells({"method": ODD + "\nnew line", "nmll": 1.0})))
    (line,) = [line for line in text.splitlines() if "50%" in line]
    assert re.sub(r"\\(.)", r"\1", line) == f"| {ODD} new line | 1.00 |"
    assert len(re.findall(r"(?<!\\)\|", line)) == 3
