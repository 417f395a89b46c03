"""The identity of a cell's code: shared by the methods of a data set, and the method's own."""

import shutil
import subprocess
import sys

import pytest

from lockstep_bench.bench.environment import code_identity as module
from lockstep_bench.bench.environment.code_identity import PACKAGES, folder_of
from lockstep_bench.bench.experiment import code
from lockstep_bench.bench.experiment.code import identity_of
from lockstep_bench.bench.experiment.suites import SUITES

CACHES = (
    identity_of,
    module.code_identity,
    module._facts,
    module._imports,
    module._names_from_elsewhere,
    module._file,
)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy of the project's packages."""
    copy = tmp_path_factory.mktemp("sources")
    for package in PACKAGES:
        shutil.copytree(folder_of(package), copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.fixture
def parts(sources, monkeypatch):
    """The two parts of a cell's identity, by the copied sources as they are when it is called."""
    monkeypatch.setattr(module, "folder_of", lambda package: sources / package)

    def parts_now(suite: str = "uci", dataset: str = "yacht", method: str = "vifa") -> tuple[str, ...]:
        for cached in CACHES:
            cached.cache_clear()
        return tuple(identity_of(suite, dataset, method).split("-"))

    yield parts_now
    for cached in CACHES:
        cached.cache_clear()


@pytest.fixture(scope="module")
def before() -> dict[tuple[str, ...], tuple[str, ...]]:
    """The two parts by cell, of the sources as they are in the project."""
    return {}


@pytest.fixture
def changed_by(parts, before):
    """Tells whether one more statement in a file changes the shared hash, and whether it changes the method's."""

    def changed_by(file, *cell: str) -> tuple[bool, ...]:
        if cell not in before:
            before[cell] = parts(*cell)
        source = file.read_text()
        file.write_text(f"{source}\nADDED = 1\n")
        try:
            return tuple(new != old for new, old in zip(parts(*cell), before[cell], strict=True))
        finally:
            file.write_text(source)

    return changed_by


@pytest.mark.parametrize(
    ("file", "shared", "of_method"),
    [
        ("methods/vifa.py", False, True),
        ("methods/maths/gaussian.py", True, True),
        ("bench/engine/stack.py", True, False),
        ("bench/evaluation/tuning/tuner.py", True, False),
        ("bench/evaluation/prediction.py", True, False),
        ("bench/metrics/regression.py", True, False),
        ("datasets/tabular/uci.py", True, False),
        ("datasets/standardise.py", True, False),
        ("bench/environment/process.py", True, False),
        ("methods/swag.py", False, False),
        ("methods/catalogue/registry.py", False, False),
        ("datasets/tabular/diabetes.py", False, False),
        ("bench/evaluation/images.py", False, False),
        ("bench/console/display.py", False, False),
        ("bench/execution/scheduler.py", False, False),
        ("bench/costs/batching.py", False, False),
        ("shared/rows/reader.py", False, False),
        ("shared/columns.py", False, False),
        ("bench/evaluation/decisions.py", False, False),
        ("bench/evaluation/optimisation.py", False, False),
        ("datasets/synthetic/bandits.py", False, False),
        ("datasets/synthetic/pools.py", False, False),
    ],
)
def test_code_identity_changes_only_with_numerical_code(sources, changed_by, file, shared, of_method):
    assert changed_by(sources / file) == (shared, of_method)


@pytest.mark.parametrize(
    ("file", "cell"),
    [
        ("bench/evaluation/images.py", ("images", "mnist", "map")),
        ("datasets/images/svhn.py", ("images", "cifar10", "map")),  # shown to models of cifar10
        ("datasets/images/stl10.py", ("images", "cifar10", "map")),  # its partner
        ("bench/reference/distances.py", ("posterior", "yacht-linear", "map")),
        ("bench/streams/batch.py", ("factor-analysis", "fa-D100-K10-spectrum1-10", "batch-svd")),
        ("bench/evaluation/decisions.py", ("decisions", "wheel-0.5", "map")),
        ("bench/evaluation/optimisation.py", ("decisions", "optimise-yacht", "map")),
        ("datasets/synthetic/bandits.py", ("decisions", "digits-bandit", "map")),
        ("datasets/synthetic/pools.py", ("decisions", "optimise-yacht", "map")),
        ("datasets/tabular/uci.py", ("decisions", "optimise-yacht", "map")),
        ("methods/ensemble.py", ("uci", "yacht", "ensemble:map")),
    ],
)
def test_code_identity_covers_every_kind_of_cell(sources, changed_by, file, cell):
    assert any(changed_by(sources / file, *cell))


def test_methods_share_the_evaluation_part_of_code_identity(parts):
    vifa, swag, elsewhere = parts(), parts(method="swag"), parts(dataset="diabetes")
    assert vifa[0] == swag[0] != elsewhere[0]
    assert vifa[1] == elsewhere[1] != swag[1]


def test_variants_in_one_module_have_different_code_identities(parts):
    assert parts(method="vifa")[1] != parts(method="vifa-k1")[1]


def test_variants_of_one_class_have_different_code_identities(parts):
    of_methods = [parts(method=name)[1] for name in ("vifa-k1", "vifa-k2", "map", "deep-ensemble")]
    assert len(set(of_methods)) == len(of_methods)


def test_code_identity_includes_the_suites_network(parts, monkeypatch):
    before = parts()
    monkeypatch.setitem(vars(SUITES["uci"]), "hidden", (7,))
    assert parts()[0] != before[0]


def test_every_method_has_a_code_identity_in_every_suite():
    for suite in SUITES.values():
        for dataset in suite.datasets():
            assert all(identity_of(suite.name, dataset, method) for method in suite.kind.names())


def test_unreadable_source_code_has_no_code_identity(monkeypatch):
    def unreadable(*_):
        raise OSError

    identity_of.cache_clear()
    monkeypatch.setattr(code, "code_identity", unreadable)
    assert identity_of("uci", "yacht", "map") is None
    identity_of.cache_clear()


def test_code_identity_is_computed_without_torch():
    command = "import sys; from lockstep_bench.bench.experiment.code import identity_of; "
    command += "identity_of('uci', 'yacht', 'vifa'); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
