"""A method's name carries options of its constructor, which are checked before anything runs."""

import pytest

from lockstep_bench import methods
from lockstep_bench.bench.experiment.tasks import method_for, task_of
from lockstep_bench.methods.catalogue import options, registry
from lockstep_bench.shared.protocol import Protocol


def test_option_in_a_method_name_reaches_its_constructor():
    vifa = methods.get("vifa(mc_samples=2,latent_dim=3)")
    assert (vifa.latent_dim, vifa.batches_per_update) == (3, 2)
    assert vifa.name == "vifa(latent_dim=3,mc_samples=2)"
    assert vifa.title == "VIFA, latent_dim = 3, mc_samples = 2"
    assert methods.get("vifa").latent_dim == 1


def test_ensemble_takes_options_of_its_members():
    ensemble = methods.get("ensemble:mfvi(max_sd=none)")
    assert (ensemble.name, ensemble.members, ensemble.max_sd) == ("ensemble:mfvi(max_sd=none)", 5, None)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("deep-ensemble(members=20)", 20),
        ("deep-ensemble(max_norm=1,members=2)", 2),
        ("multiswag(members=3)", 3),
        ("ensemble:mfvi(members=7,tempering=0.1)", 7),
        ("ensemble:map(members=7)", 7),
        ("deep-ensemble", 5),
        ("ensemble:map", 5),
    ],
)
def test_size_of_an_ensemble_is_an_option(name, size):
    ensemble = methods.get(name)
    assert (ensemble.name, ensemble.members) == (name, size)
    assert methods.get("deep-ensemble").members == methods.get("ensemble:mfvi").members == 5


def test_card_of_an_ensemble_says_its_size():
    assert methods.card("ensemble:mfvi").variant == "Pools five independently trained members."
    seven = methods.card("ensemble:mfvi(members=7)")
    assert seven.title == f"Ensemble of 7 x {methods.card('mfvi').title}"
    assert seven.variant == "Pools 7 independently trained members."
    assert methods.card("deep-ensemble(members=7)").variant.startswith("With members = 7.")


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("mfvi( tempering = 1e-1 )", "mfvi(tempering=0.1)"),
        ("mfvi(tempering=0.10,mean_network=TRUE)", "mfvi(mean_network=true,tempering=0.1)"),
        ("variational-laplace(sd_lr_ratio=3.0)", "variational-laplace(sd_lr_ratio=3)"),
    ],
)
def test_method_names_with_options_have_one_canonical_form(name, canonical):
    assert methods.get(name).name == canonical
    assert methods.get(canonical).name == canonical


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("mfvi(temprature=1)", "mfvi has no option 'temprature'; its options are: initial_log_sd (a number), max_sd"),
        ("vifa-k1(latent_dim=2)", "vifa-k1 has no option 'latent_dim'; its options are: two_stages (true or false)"),
        ("vifa(optimizer=Adam)", "optimizer is 'Adam'; it must be one of adam, sgd"),
        ("directuq-mean(prior=fixed)", "directuq-mean has no option 'prior'"),
        ("map(members=2)", "map has no option 'members'"),
        ("deep-ensemble(members=0)", "members of deep-ensemble is '0'; it must be an integer of at least 1"),
        ("ensemble:map(members=half)", "members of map is 'half'; it must be an integer of at least 1"),
        ("ensemble:map(size=2)", "map has no option 'size'; its options are: max_norm (a number), members (an"),
        ("ensemble:deep-ensemble(members=2)", "is an ensemble of 5 itself"),
        ("mfvi(max_sd=x)", "max_sd of mfvi is 'x'; it must be a number or none"),
        ("mfvi(max_sd=inf)", "must be a number or none"),
        ("vifa(latent_dim=0)", "must be an integer of at least 1"),
        ("vifa(latent_dim=1.5)", "must be an integer of at least 1"),
        ("mfvi(annealed=1)", "must be true or false"),
        ("mfvi(tempering=1,tempering=2)", "gives tempering twice"),
        ("mffvi(tempering=1)", "did you mean 'mfvi'?"),
        *[(f"mfvi{text}", "write METHOD(NAME=VALUE)") for text in ("(", "()", "(tempering)", "(a=1)(b=2)")],
    ],
)
def test_error_for_an_invalid_option_names_the_problem(name, complaint):
    assert complaint in methods.problem_with(name)


def test_method_option_overrides_image_settings():
    task = task_of("images", "mnist", Protocol(network="lenet5"))
    assert method_for("mfvi", task).sd_lr_ratio == 10
    assert method_for("mfvi(sd_lr_ratio=3)", task).sd_lr_ratio == 3
    assert method_for("mfvi(sd_lr_ratio=3)", task).below_prior
    assert not method_for("variational-laplace(mean_network=false)", task).mean_network


@pytest.mark.parametrize("name", ["mfvi", "variational-laplace"])
def test_tempered_method_has_no_weight_posterior(name):
    cold, plain = methods.get(f"{name}(tempering=0.5)"), methods.get(f"{name}(tempering=1)")
    assert (cold.weight_posterior, plain.weight_posterior) == (False, True)


def test_scale_caps_of_inducing_weights_are_options():
    given = methods.get("inducing-ffg(max_scale=0.2,max_sd=0.5,size=5)")
    assert (given.size, given.max_scale, given.max_sd) == (5, 0.2, 0.5)
    assert methods.get("inducing-ffg").max_scale == 0.03
    assert methods.get("inducing-ensemble").max_scale == 0.1


def test_inherited_constructor_arguments_are_options():
    assert methods.get("mfvi-eb(tempering=0.5)").tempering == 0.5
    assert methods.get("inducing-ffg(last_size_out=3)").last_size_out == 3


@pytest.mark.parametrize("name", registry.names())
def test_each_listed_option_can_be_parsed(name):
    constructor = registry.target(name).load()
    for option, kinds in options._options(constructor).items():
        text = {bool: "true", int: "2", float: "2", str: "x"}[next(kind for kind in kinds if kind is not type(None))]
        assert options.values_of(f"{name}({option}={text})", constructor).keys() == {option}


def test_method_card_names_the_options():
    card = methods.card("ensemble:vifa(latent_dim=3)")
    assert card.title == "Ensemble of VIFA, latent_dim = 3"
    assert methods.card("vifa(latent_dim=3)").variant.startswith("With latent_dim = 3. VIFA with one learning rate")
    assert methods.describe("vifa(latent_dim=3)") == methods.describe("vifa")
