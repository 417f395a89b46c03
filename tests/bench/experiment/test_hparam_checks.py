"""Hyper-parameters, options of methods and step schedules that a request gives."""

import pytest
from optuna.distributions import FloatDistribution

from lockstep_bench import datasets
from lockstep_bench.bench.experiment import parsing, plan
from lockstep_bench.bench.experiment.hparam_checks import fixed_hparams
from lockstep_bench.bench.experiment.request import InvalidRequest, Request
from lockstep_bench.bench.experiment.tasks import method_for, space_of, task_of
from lockstep_bench.shared.given_hparams import GivenHParams
from lockstep_bench.shared.protocol import Protocol


def request(**changes) -> Request:
    asked = {"suite": "uci", "preset": "quick", "methods": None, "datasets": None, "splits": None, "changes": {}}
    return Request(**asked | {"seed": 0} | changes)


# fixed hyper-parameters


def given(*texts: str, methods=("map", "mfvi-mean"), names=("yacht",), **asked) -> dict[str, dict[str, float]]:
    return fixed_hparams(request(changes=parsing.parse_hparams(texts), **asked), names, methods)


def test_fixed_hparam_applies_only_to_methods_having_it():
    assert given() == {}
    assert given("prior_precision=3") == {"map": {"prior_precision": 3}}
    assert given("lr=1e-9", "map:lr=2") == {"map": {"lr": 2}, "mfvi-mean": {"lr": 1e-9}}


def test_replication_runs_with_a_part_of_its_methods():
    """The protocol keeps the hyper-parameters of the others, so that rows are the same as those of the whole."""
    assert given("vifa:lr=1", "map:lr=2", replication="table-1") == {"map": {"lr": 2}}
    with pytest.raises(InvalidRequest, match="mfvi-mean has lr"):
        given("mfvi-mean:prior_precision=1", replication="table-1")


def test_given_search_range_keeps_the_methods_log_scale():
    task, protocol = task_of("uci", "yacht"), Protocol(hparams=GivenHParams.read("lr=0.1..0.2 noise_precision=3"))
    space = space_of(method_for("map", task), task, protocol)
    assert space["lr"] == FloatDistribution(0.1, 0.2, log=True)
    assert space["noise_precision"] == FloatDistribution(3, 3)
    assert given("lr=0.1..0.2", methods=("map",)) == {}  # nothing is fixed


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("learning_rate=1", r"no hyper-parameter 'learning_rate'; map has lr \(.* to .*\), prior_precision \("),
        ("mfvi-mean:prior_precision=1", r"'prior_precision'; mfvi-mean has lr \(.*\), penalty_weight \(0\.1, "),
        ("vifa:lr=1", r"method 'vifa' is not in this run\. Allowed: map, mfvi-mean"),
        ("lr=0", "0 is not above 0, and its range is logarithmic; map has lr"),
        ("lr", "--hparam 'lr' cannot be read"),
        ("lr=0..1", "0 is not above 0, and its range is logarithmic; map has lr"),
        ("penalty_weight=1..2", "only a real number can have another range; mfvi-mean has"),
    ],
)
def test_invalid_fixed_hyper_parameter_is_refused(text, complaint):
    with pytest.raises(InvalidRequest, match=complaint):
        given(text)


def test_error_describes_noise_range_relative_to_target_variance(tmp_path):
    path = tmp_path / "houses.csv"
    path.write_text("area,price\n" + "\n".join(f"{number},{1000 * number}" for number in range(40)))
    complaint = r"noise_precision \(1 to 100, over the variance of the training targets\)"
    with datasets.added([datasets.describe(path, "price")[0]]), pytest.raises(InvalidRequest, match=complaint):
        given("noise=1", suite="own", methods=("map",), names=("houses",))


def test_known_true_precisions_cannot_be_overridden():
    with pytest.raises(InvalidRequest, match="fix prior_precision; leave the option out"):
        given("prior_precision=3", suite="posterior", methods=("vifa",), names=("yacht-linear",))
    with pytest.raises(InvalidRequest, match="hparams is a setting for vectors and images"):
        given("lr=3", suite="factor-analysis", methods=("batch-svd",), names=())


# options of methods


def chosen(*options: str, methods=("map", "mfvi", "mfvi(max_sd=1)")) -> tuple[str, ...]:
    return plan.chosen_methods(request(methods=methods, options=options))[0]


def test_method_option_becomes_part_of_the_methods_name():
    assert chosen() == ("map", "mfvi", "mfvi(max_sd=1)")
    given = chosen("mfvi:tempering=0.10", "mfvi:max_sd=1")
    assert given == ("map", "mfvi(max_sd=1,tempering=0.1)", "mfvi(max_sd=1)")
    assert chosen("mfvi:max_sd=1.0") == ("map", "mfvi(max_sd=1)")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["tempering=1"], "write METHOD:NAME=VALUE, as in mfvi:tempering=0.1"),
        (["vifa:latent_dim=2"], r"--method-option: method 'vifa' is not in this run[.;].* Allowed: map, mfvi"),
        (["mfvi:tempring=1"], r"mfvi has no option 'tempring'; its options are: .*tempering \(a number\)"),
        (["mfvi:tempering=1", "mfvi:tempering=2"], "mfvi:tempering is given twice"),
    ],
)
def test_invalid_method_option_is_refused(options, complaint):
    with pytest.raises(InvalidRequest, match=complaint):
        chosen(*options)


# step schedules


def schedule(*settings: str) -> None:
    plan.check_schedule(request(suite="images", changes=parsing.parse_settings(settings)))


def test_step_schedule_needs_milestones_and_a_factor():
    schedule()
    schedule("schedule=step", "milestones=100", "factor=10")


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (["schedule=step"], "without milestones and factor; give both, as in --set schedule=step"),
        (["schedule=step", "milestones=1,2"], "without factor; give both"),
        (["milestones=1,2", "factor=10"], "milestones belongs to a step schedule, and schedule is 'cosine'"),
        (["schedule=step", "milestones=2,1", "factor=10"], "milestones is '2,1'; it must be rising numbers of epochs"),
    ],
)
def test_incomplete_step_schedule_is_refused(settings, complaint):
    with pytest.raises(InvalidRequest, match=complaint):
        schedule(*settings)
