"""Every column that is measured has a heading and a direction."""

import pytest

from lockstep_bench.leaderboards.metrics import HEADLINE, INTERVALS, MEASURED, grouped, metric


@pytest.mark.parametrize("name", MEASURED)
def test_every_column_has_a_heading_and_a_meaning(name):
    assert metric(name).title != name
    assert metric(name).meaning


@pytest.mark.parametrize(
    ("name", "goal"),
    [
        ("nmll_moment_standardised", "low"),
        ("rmse", "low"),
        ("brier", "low"),
        ("ece", "low"),
        ("ece_equal_mass", "low"),
        ("ece_20", "low"),
        ("ece_low", None),
        ("ece_high", None),
        ("ece_null", None),
        ("ece_squared_debiased", 0.0),
        ("ece_classwise", "low"),
        ("ece_classwise_null", None),
        ("interval_score_90", "low"),
        ("pit_p_value", None),
        ("aurc", "low"),
        ("augrc_squared_error", "low"),
        ("predict_seconds_per_1000", "low"),
        ("peak_memory_mib", "low"),
        ("accuracy", "high"),
        ("auroc", "high"),
        ("ood_auroc", "high"),
        ("ood_aupr_mutual_information", "high"),
        ("ood_fpr95", "low"),
        ("ood_fpr95_entropy", "low"),
        ("near_ood_aupr_in", "high"),
        ("far_ood_fpr95", "low"),
        ("far_ood_auroc_entropy", "high"),
        ("ood_entropy", None),
        ("near_ood_entropy", None),
        ("corrupted_accuracy", "high"),
        ("corrupted_nmll", "low"),
        ("corrupted_ece", "low"),
        ("entropy", None),
        ("mutual_information", None),
        ("disagreement", None),
        ("coverage_95", 0.95),
        ("n_parameters", None),
        ("something_new", None),
    ],
)
def test_metrics_have_the_correct_direction(name, goal):
    assert metric(name).goal == goal


def test_headline_metrics_are_in_the_schema():
    assert set(HEADLINE) <= set(MEASURED)


def test_other_metrics_are_grouped_in_a_fixed_order():
    names = ("tune_seconds", "ood_auroc_entropy", "crps_recalibrated", "far_ood_aupr", "ece_20", "coverage_90", "kl")
    groups = grouped({name: metric(name) for name in (*names, "near_ood_entropy", "f1_retain90_entropy", "augrc")})
    assert {heading: list(columns) for heading, columns in groups.items()} == {
        "Scores": ["crps_recalibrated", "kl"],
        "Calibration": ["ece_20", "coverage_90"],
        "Selective prediction": ["augrc"],
        "Selective prediction by entropy": ["f1_retain90_entropy"],
        "Uncertainty": ["near_ood_entropy"],
        "OOD detection": ["far_ood_aupr"],
        "OOD detection by other scores": ["ood_auroc_entropy"],
        "Costs": ["tune_seconds"],
    }
    assert list(groups)[-1] == "Costs"


def test_interval_columns_are_measured_columns():
    for name, ends in INTERVALS.items():
        assert {name, *ends} <= set(MEASURED)


def test_metric_titles_are_unique():
    assert metric("ood_fpr95_mutual_information").title == "OOD FPR95, mutual information"
    assert metric("near_ood_aupr_in").title == "Near OOD AUPR-in"
    assert len({metric(name).title for name in MEASURED}) == len(MEASURED)
    assert metric("max_log_sd_ratio").title == "max log sd ratio"  # a diagnostic that claims of papers are about


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("accuracy", "accuracy"),
        ("rel_cov", "covariance, relative distance"),
        ("total_seconds", "tuning + fit, s"),
        ("nmll", "NMLL"),
        ("ood_auroc", "OOD AUROC"),
        ("brier", "Brier"),
    ],
)
def test_titles_in_sentences_keep_only_the_capitals_of_names(name, phrase):
    assert metric(name).phrase == phrase
