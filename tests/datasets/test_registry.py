"""The registry knows our sets, finds those of installed packages, and survives broken ones."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from lockstep_bench import datasets
from lockstep_bench.datasets import images
from lockstep_bench.datasets.openml import tasks as openml
from lockstep_bench.datasets.packaged import keel, r_datasets
from lockstep_bench.datasets.references import networks
from lockstep_bench.datasets.synthetic import bandits, factor_models, pools, posteriors, sgd_streams
from lockstep_bench.datasets.tabular import learning_curves, uci_gp

ROOT = Path(__file__).resolve().parents[2]
REGRESSION = ("boston", "concrete", "energy", "kin8nm", "naval", "power", "protein", "wine", "yacht", "diabetes")
BINARY = ("australian", "breast-cancer", "a1a", "usps3v5", "wdbc")
MULTICLASS = ("wine-recognition", "digits", "digits-ood")
ALONG_FEATURES = tuple(f"{name}-{kind}" for kind in ("gap", "tail") for name in REGRESSION[:-1])
OURS = (*REGRESSION, *BINARY, *MULTICLASS)
STREAMS = tuple(source.name for source in (*factor_models.SOURCES, *sgd_streams.SOURCES))
POSTERIORS = tuple(source.name for source in posteriors.sources())
NETWORKS = tuple(networks.definitions())
DECISIONS = tuple(source.name for source in (*bandits.sources(), *pools.sources()))
IMAGES = tuple(source.name for source in images.sources())
GAUSSIAN_PROCESSES = tuple(source.name for source in uci_gp.sources())
PACKAGED = tuple(source.name for source in (*keel.sources(), *r_datasets.sources()))
OPENML = tuple(source.name for source in openml.sources())
CURVES = tuple(source.name for source in learning_curves.sources())
TABLES = (*OURS, *ALONG_FEATURES, *GAUSSIAN_PROCESSES, *PACKAGED, *OPENML, *CURVES)
EVERY = (*TABLES, *STREAMS, *POSTERIORS, "toy", *NETWORKS, *DECISIONS, *IMAGES)
BUILT_IN = {"diabetes", "wdbc", *MULTICLASS}


def test_built_in_sets_are_ordered_regressions_to_images():
    assert datasets.names()[: len(EVERY)] == EVERY


def test_every_data_set_has_title_origin_and_licence():
    for name in OURS:
        source = datasets.entry(name)
        assert source.name == name
        assert source.title
        assert source.origin
        assert source.licence
        assert source.suites == ("uci",)
        assert source.needs_download == (name not in BUILT_IN)
        assert source.n_splits == (5 if name == "protein" else 20)
        if source.needs_download:
            assert len(source.files) == (2 * source.n_splits + 4 if source.task == "regression" else 1)
            assert source.base_url.startswith("https://")


def test_every_data_set_states_its_task_and_classes():
    tasks = dict.fromkeys(REGRESSION, ("regression", None)) | dict.fromkeys(BINARY, ("binary", 2))
    tasks |= {"wine-recognition": ("multiclass", 3), "digits": ("multiclass", 10), "digits-ood": ("multiclass", 5)}
    entries = [datasets.entry(name) for name in OURS]
    assert {source.name: (source.task, source.n_classes) for source in entries} == tasks
    assert {source.name: source.n_ood for source in entries if source.n_ood} == {"digits-ood": 896}


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("yatch", "yacht"),
        ("Boston", "boston"),
        ("wine-quality", "wine"),
        ("wine-recognitoin", "wine-recognition"),
        ("digits-odd", "digits-ood"),
    ],
)
def test_misspelt_name_gets_a_suggestion(typo, meant):
    with pytest.raises(datasets.UnknownDataset, match=f"{typo!r} is unknown; did you mean '{meant}'") as caught:
        datasets.entry(typo)
    assert str(caught.value).endswith(f"`python -m datasets list` shows all {len(datasets.names())}")


def test_dissimilar_name_gets_no_suggestion():
    with pytest.raises(datasets.UnknownDataset, match=r"^dataset 'qqq' is unknown\. `python"):
        datasets.entry("qqq")


def test_data_set_errors_can_be_pickled():
    for error in (
        datasets.UnknownDataset("yatch", ("yacht",)),
        datasets.Unavailable("yacht", "no files", "fetch them"),
        datasets.BrokenDataset("mine", "no module", "write one"),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)


def test_plug_in_package_is_imported_only_when_needed(tiny):
    assert datasets.names() == (*EVERY, "tiny")
    assert "tiny_set" not in sys.modules
    assert datasets.entry("tiny").n_rows == 10
    assert datasets.problems() == ()


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("import no_such_module", "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit: 3"),
        ("class Mute(Exception):\n    def __str__(self): 1 / 0\nraise Mute", "cannot be imported: Mute"),
        ("", "cannot be imported: AttributeError"),
        ("SOURCE = {}", "is a dict, not a datasets.Source"),
        ("from lockstep_bench.datasets.tabular.diabetes import SOURCE", "calls itself 'diabetes'"),
        (
            "import dataclasses\nfrom lockstep_bench import datasets\n"
            "SOURCE = dataclasses.replace(datasets.entry('diabetes'), name='mine', task='classification')",
            "ValueError: dataset 'mine': task should be one of regression, binary, multiclass, got 'classification'",
        ),
    ],
)
def test_broken_plug_in_package_affects_no_other(install, code, complaint):
    install("broken_set", code, mine="broken_set:SOURCE")
    assert "mine" in datasets.names()
    for use in (datasets.entry, datasets.load, datasets.fetch):
        with pytest.raises(datasets.BrokenDataset, match="'mine' is not available: broken_set:SOURCE") as caught:
            use("mine")
        assert complaint in str(caught.value)
    assert datasets.availability("mine").state == "broken"
    assert complaint in datasets.availability("mine").reason
    assert [problem.name for problem in datasets.problems()] == ["mine"]
    assert datasets.entry("yacht").name == "yacht"


def test_plug_in_cannot_replace_a_built_in_set(install):
    install("usurper", "raise RuntimeError('must not be imported')", yacht="usurper:SOURCE")
    assert datasets.names() == EVERY
    assert datasets.entry("yacht").title == "Yacht hydrodynamics"
    (problem,) = datasets.problems()
    assert "usurper:SOURCE claims the name of a built-in set" in str(problem)


@pytest.mark.parametrize("name", ["..", "../up", "/up", "a/b", ".hidden", "[red]x", "-x", "a b", "ü", 101 * "x"])
def test_data_set_name_invalid_for_folders_is_refused(install, name):
    install("odd", "raise RuntimeError('must not be imported')", **{name: "odd:SOURCE"})
    with pytest.raises(datasets.BrokenDataset, match=r"names have letters, digits and \._\+- only"):
        datasets.entry(name)


def test_two_plug_ins_of_one_name_are_refused(install):
    for module in ("first", "second"):
        install(module, "", mine=f"{module}:SOURCE")
    assert datasets.names() == (*EVERY, "mine")
    with pytest.raises(datasets.BrokenDataset, match="first:SOURCE and second:SOURCE claim the same name"):
        datasets.entry("mine")


def test_registry_has_no_heavy_imports():
    code = "import sys; from lockstep_bench import datasets; datasets.names(); datasets.entry('yacht'); "
    code += "print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    heavy = {
        "torch",
        "torchvision",
        "PIL",
        "pyarrow",
        "sklearn",
        "scipy",
        "h5py",
        "pandas",
        "pooch",
        "requests",
        "platformdirs",
        "rich",
        "typer",
    }
    assert heavy.isdisjoint(done.stdout.split())
