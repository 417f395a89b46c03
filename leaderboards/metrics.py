"""Titles of the metrics on pages, and which of their values are good."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from lockstep_bench.shared import schema
from lockstep_bench.shared.columns import ACQUIRED, METRICS
from lockstep_bench.shared.rows.recalibrated import FACTOR, SUFFIX
from lockstep_bench.shared.rows.recalibrated import SHOWN as RECALIBRATED


class Metric(NamedTuple):
    """A metric, which is a column of the result schema: how pages call it, and which of its values are good.

    Attributes:
        title: heading of its column.
        goal: "low" or "high" if that is better, a number if values near it are better, None without a direction.
        meaning: explanation of the metric in one sentence.
    """

    title: str
    goal: str | float | None
    meaning: str = ""

    @property
    def phrase(self) -> str:
        """The title inside a sentence: "accuracy" for "Accuracy". Abbreviations and names keep their capital."""
        first = self.title.split(" ")[0].rstrip(",")
        return self.title[0].lower() + self.title[1:] if first[1:].islower() and first not in NAMES else self.title


NAMES = ("Brier",)

OOD_TITLES = {
    f"ood_{name}{suffix}": f"OOD {title}" + suffix.replace("_", ", ", 1).replace("_", " ")
    for suffix in schema.OOD_SCORES
    for name, title in {"auroc": "AUROC", "aupr": "AUPR", "aupr_in": "AUPR-in", "fpr95": "FPR95"}.items()
} | {"ood_entropy": "OOD entropy"}

GROUPED = {name: name.split("_", 1) for name in schema.GROUP_OOD}

STATISTICS = {"accuracy": "Accuracy", "f1": "F1", "auroc": "AUROC"}
SELECTED = {
    name: f"{STATISTICS[statistic]} at {share[6:]} % by {uncertainty}"
    for name in schema.SELECTED
    for statistic, share, uncertainty in [name.split("_")]
}
ELSEWHERE = {"accuracy": "Accuracy", "nmll": "NMLL", "ece": "ECE", "ece_20": "ECE, 20 bins", "entropy": "Entropy"}

TITLES = {
    "nmll": "NMLL",
    "nmll_joint_10": "NMLL of ten points jointly",
    "nmll_dyadic": "NMLL, dyadic",
    "energy_score": "Energy score",
    "nmll_moment": "NMLL, moment-matched",
    "nmll_standardised": "NMLL, standardised",
    "nmll_moment_standardised": "NMLL, moment-matched, standardised",
    "rmse": "RMSE",
    "rmse_standardised": "RMSE, standardised",
    "crps": "CRPS",
    "pit_p_value": "PIT, p of uniformity",
    "aurc_squared_error": "AURC, squared error",
    "augrc_squared_error": "AUGRC, squared error",
    "accuracy": "Accuracy",
    "brier": "Brier",
    "ece": "ECE",
    "ece_low": "ECE, from",
    "ece_high": "ECE, to",
    "ece_null": "ECE if calibrated",
    "ece_null_95": "ECE if calibrated, 95 %",
    "ece_squared_debiased": "ECE², debiased",
    "ece_equal_mass": "ECE, equal mass",
    "ece_equal_mass_null": "ECE, equal mass, if calibrated",
    "ece_20": "ECE, 20 bins",
    "ece_20_null": "ECE, 20 bins, if calibrated",
    "ece_classwise": "ECE, classwise",
    "ece_classwise_null": "ECE, classwise, if calibrated",
    "aurc": "AURC",
    "augrc": "AUGRC",
    "auroc": "AUROC",
    "precision": "Precision",
    "recall": "Recall",
    "f1": "F1",
    **SELECTED,
    "entropy": "Entropy",
    "mutual_information": "Mutual information",
    "disagreement": "Disagreement",
    **OOD_TITLES,
    "near_ood_confidence": "Near OOD confidence",
    **{name: f"{group.capitalize()} {OOD_TITLES[rest]}" for name, (group, rest) in GROUPED.items()},
    "corrupted_accuracy": "Accuracy, corrupted",
    "corrupted_nmll": "NMLL, corrupted",
    "corrupted_brier": "Brier, corrupted",
    "corrupted_ece": "ECE, corrupted",
    **{f"elsewhere_{name}": f"{title}, elsewhere" for name, title in ELSEWHERE.items()},
    "rel_mean": "Mean, relative distance",
    "rel_cov": "Covariance, relative distance",
    "w2_scaled": "W₂ / D",
    "kl": "KL",
    "total_variation": "Total variation",
    "agreement": "Agreement",
    "sd_ratio": "Spread ratio",
    "sd_ratio_between": "Spread ratio, in the gap",
    "sd_ratio_far": "Spread ratio, far away",
    "predictive_w2": "Predictive W₂ / sd",
    "function_w2": "Function W₂ / sd",
    "function_cov": "Function covariance, relative distance",
    "regret": "Regret",
    "regret_uniform_ratio": "Regret / chance",
    "simple_regret": "Simple regret",
    "active_ratio_variance": "RMSE, variance / random",
    "active_ratio_bald": "RMSE, BALD / random",
    **{
        f"active_{name}_{acquisition}": f"{title}, rows {words}"
        for name, title in (("rmse", "RMSE"), ("nmll", "NMLL"))
        for acquisition, words in ACQUIRED.items()
    },
    FACTOR: "Recalibration, factor",
    "total_seconds": "Tuning + fit, s",
    "tune_seconds": "Tuning, s",
    "fit_seconds": "Final fit, s",
    "predict_seconds_per_1000": "Predict 1000, s",
    "sgd_ratio": "Cost, × SGD",
    "n_weights": "Weights",
    "n_parameters": "Posterior numbers",
    "peak_memory_mib": "Peak memory, MiB",
    # Quantities of published numbers only:
    "interval_width_95": "Width of 95 % intervals",
    "seconds_per_epoch": "An epoch, s",
    "runtime_minutes": "Tuning and final fit, min",
    "runtime_minutes_per_split": "Tuning and final fit of a split, min",
    "ood_auroc:svhn": "OOD AUROC, SVHN",
    "ood_aupr:svhn": "OOD AUPR, SVHN",
}

GOALS = (
    (r"(simple_)?regret|regret_uniform_ratio|active_.*", "low"),
    (r"rel_(mean|cov)|w2_scaled|kl|total_variation|(predictive|function)_w2|function_cov", "low"),
    (r"nmll.*|rmse.*|crps|energy_score|aurc.*|augrc.*|brier|ece(_equal_mass|_20|_classwise)?", "low"),
    (r".*_seconds(_.*)?|peak_memory_mib|sgd_ratio", "low"),
    (r"((near|far)_)?ood_fpr95.*|corrupted_(nmll|brier|ece)|elsewhere_(nmll|ece|ece_20)", "low"),
    (r"precision|recall|f1|(f1|accuracy|auroc)_retain.*", "high"),
    (r"agreement|((corrupted|elsewhere)_)?accuracy|auroc|((near|far)_)?ood_(auroc|aupr).*", "high"),
    (rf"sd_ratio.*|{FACTOR}", 1.0),
    (r"ece_squared_debiased", 0.0),  # below 0 by noise alone
)

# Computed from other columns when results are read (`data.times`).
COMPUTED = {
    "total_seconds": "wall-clock seconds of hyper-parameter search and final fit; the final fit is a small part, in "
    "which the members of an ensemble are trained side by side"
}
PARTS = {"total_seconds": ("tune_seconds", "fit_seconds")}  # that details show in its place

# In the order of pages and exports: recalibrated scores stand beside those before.
MEASURED = (
    *(
        column
        for name in METRICS
        for column in (name, f"{name}{SUFFIX}")
        if column in METRICS or column in RECALIBRATED
    ),
    *(FACTOR, *COMPUTED, *schema.COSTS),
)

# Metrics that finished rows may lack: those that are newer than some rows, those of recalibrated rows, and uncontended
# times (`data.times`).
OPTIONAL = frozenset({*schema.LATER, *RECALIBRATED, *schema.TIMES, *COMPUTED})

# Distances to a reference posterior.
DISTANCES = (
    *("rel_mean", "rel_cov", "w2_scaled"),
    *("function_w2", "function_cov", "predictive_w2", "total_variation"),
)

# The main table of a data set has those of these metrics that apply to it.
HEADLINE = (
    *("regret_uniform_ratio", "regret", "simple_regret"),
    *("active_ratio_bald", "active_ratio_variance", "active_rmse_bald", "active_rmse_random"),
    *DISTANCES,
    *("agreement", "sd_ratio_between", "sd_ratio_far"),
    *("nmll", f"nmll{SUFFIX}", "rmse", "accuracy", "ece", "ood_auroc", "near_ood_auroc", "far_ood_auroc"),
    "total_seconds",
)

# The same where values are medians over splits along features, which are ranked by CRPS too: its tail is not as heavy.
HEADLINE_OF_MEDIANS = (*HEADLINE[: HEADLINE.index("rmse")], "crps", *HEADLINE[HEADLINE.index("rmse") :])

# The first that a data set has orders its methods. Distances to a reference posterior come first.
LEADS = ("regret_uniform_ratio", "active_ratio_bald", "rel_cov", "function_w2", "total_variation", "nmll")

# Tables of all other metrics of a data set, by their headings: the patterns of names. What matches none is a score.
SCORES = "Scores"
GROUPS = {
    "Calibration": rf"coverage_.*|interval_score_.*|pit_.*|ece.*|{FACTOR}",
    "Selective prediction": r"(aurc|augrc)(_.*)?",
    **{f"Selective prediction by {name}": rf".*_retain\d+_{name}" for name in schema.UNCERTAINTIES},
    "Uncertainty": r"entropy|mutual_information|disagreement|.*ood_entropy",
    "OOD detection": r"((near|far)_)?ood_(auroc|aupr|aupr_in|fpr95)",
    "OOD detection by other scores": r"((near|far)_)?ood_.*",
    "Costs": "|".join((*schema.COSTS, *COMPUTED)),
}

# Ends that are printed with their metric, not in columns.
INTERVALS = {f"ece{suffix}": (f"ece_low{suffix}", f"ece_high{suffix}") for suffix in ("", SUFFIX)}

# What is expected of a calibrated model: shown beside a metric of `HEADLINE`; and a 95 % quantile, in its tooltip.
NULLS = {f"ece{suffix}": (f"ece_null{suffix}", f"ece_null_95{suffix}") for suffix in ("", SUFFIX)}


@cache
def metric(name: str) -> Metric:
    """Return the description of the metric that the column `name` of the result schema holds."""
    meaning = (METRICS | COMPUTED | schema.COSTS | RECALIBRATED).get(name, "")
    if name.endswith(SUFFIX):
        before = metric(name.removesuffix(SUFFIX))
        return before._replace(title=f"{before.title} (recalibrated)", meaning=meaning)
    if coverage := re.fullmatch(r"coverage_(\d+)", name):
        return Metric(f"Coverage {coverage[1]} %", int(coverage[1]) / 100, meaning)
    if interval := re.fullmatch(r"interval_score_(\d+)", name):
        return Metric(f"Interval score {interval[1]} %", "low", meaning)
    goal = next((goal for pattern, goal in GOALS if re.fullmatch(pattern, name)), None)
    return Metric(TITLES.get(name, name.replace("_", " ")), goal, meaning)


def grouped(columns: Mapping[str, Metric]) -> dict[str, dict[str, Metric]]:
    """Return the columns of each group of metrics that has some, by its heading: scores first, then as in `GROUPS`."""
    headings = {
        name: next((one for one, names in GROUPS.items() if re.fullmatch(names, name.removesuffix(SUFFIX))), SCORES)
        for name in columns
    }
    return {
        heading: some
        for heading in (SCORES, *GROUPS)
        if (some := {name: shown for name, shown in columns.items() if headings[name] == heading})
    }


def lead(names: Iterable[str]) -> str:
    """Return the most important of the given metrics, by which pages order the methods of a data set."""
    return next((name for name in LEADS if name in names), "nmll")


def loss(values: np.ndarray, goal: str | float) -> np.ndarray:
    """Return the values (N,) of one method, as losses whose mean is the smaller the better the method is.

    For a nominal value c the loss is s (v - c), with s the sign of mean(v) - c, so that the mean loss is |mean(v) - c|.
    """
    if goal == "low":
        return values
    if goal == "high":
        return -values
    deviations = values - goal
    return deviations if not deviations.size or deviations.mean() >= 0 else -deviations


def badness(values: np.ndarray, goal: str | float) -> np.ndarray:
    """Return single values of a metric, of any shape, as losses: unchanged, negated, or |v - c| for a nominal value c.

    Rankings apply it to means over splits, win rates to single splits.
    """
    return values if goal == "low" else -values if goal == "high" else np.abs(values - goal)
