"""Saved posteriors predict the same after loading, and loading a file executes nothing in it."""

import json
import sys
from typing import NamedTuple

import numpy as np
import pytest
import torch

from lockstep_bench import PosteriorClassifier, PosteriorRegressor, methods
from lockstep_bench.bench import arrays
from lockstep_bench.bench.arrays.trees import packed, unpacked

HPARAMS = {"lr": 0.02, "prior_precision": 0.1}
GIVEN = {**HPARAMS, "noise_precision": 50.0}
SHORT = {"preset": "quick", "settings": {"max_minibatches": 60, "samples": 5}, "random_state": 0}
X = np.random.default_rng(0).uniform(-2, 2, size=(40, 2))
Y = np.sin(X[:, 0])


class Pair(NamedTuple):
    first: torch.Tensor
    second: dict


@pytest.mark.parametrize("method", methods.headline())
def test_loaded_posterior_predicts_the_same_for_every_family(tmp_path, method):
    data = arrays.regression(X, Y)
    protocol = arrays.protocol_of("quick", {"sampler": "centre", "max_updates": 60, "samples": 5})
    posterior = arrays.fit(data, method, protocol, arrays.tune(data, method, protocol).hparams)
    arrays.save(posterior, tmp_path / "posterior.npz", {"by": "me"})
    loaded, extra = arrays.load(tmp_path / "posterior.npz")
    for part, same in zip(loaded.predict(X[:7]), posterior.predict(X[:7]), strict=True):
        assert torch.equal(part, same)
    assert (loaded.hparams, loaded.diagnostics, extra) == (posterior.hparams, posterior.diagnostics, {"by": "me"})


@pytest.mark.parametrize("method", ["ensemble:map", "mfvi(tempering=0.1)"])
def test_loaded_estimator_equals_the_saved_one(tmp_path, method):
    estimator = PosteriorRegressor(method, hparams=GIVEN, **SHORT).fit(X, Y)
    estimator.save(tmp_path / "wave.npz")
    loaded = PosteriorRegressor.load(tmp_path / "wave.npz")
    np.testing.assert_array_equal(loaded.predict(X, return_std=True), estimator.predict(X, return_std=True))
    assert loaded.get_params() == estimator.get_params()
    names = {name for name in vars(estimator) if name.endswith("_")} - {"posterior_"}
    assert {name: vars(loaded)[name] for name in names} == {name: vars(estimator)[name] for name in names}


def test_numpy_parameters_can_be_saved(tmp_path):
    given = {"hparams": {**GIVEN, "lr": np.float32(0.02)}, "hidden": 7}
    PosteriorRegressor("map", **given, **{**SHORT, "random_state": np.int64(3)}).fit(X, Y).save(tmp_path / "wave.npz")
    loaded = PosteriorRegressor.load(tmp_path / "wave.npz")
    assert (loaded.random_state, loaded.hidden) == (3, (7,))


@pytest.mark.parametrize("labels", [np.array(["a", "b", "c"]), np.array(["a", "b", "c"], object), np.array([3, 5, 9])])
def test_loaded_classifier_keeps_the_label_type(tmp_path, labels):
    estimator = PosteriorClassifier("map", hparams=HPARAMS, **SHORT).fit(X, np.resize(labels, 40))
    estimator.save(tmp_path / "labels.npz")
    loaded = PosteriorClassifier.load(tmp_path / "labels.npz")
    assert loaded.classes_.dtype == labels.dtype
    np.testing.assert_array_equal(loaded.predict(X), estimator.predict(X))


def test_regressor_refuses_a_saved_classifier(tmp_path):
    PosteriorRegressor("map", hparams=GIVEN, **SHORT).fit(X, Y).save(tmp_path / "wave.npz")
    with pytest.raises(ValueError, match="holds a PosteriorRegressor; load it as one"):
        PosteriorClassifier.load(tmp_path / "wave.npz")


def test_loading_never_unpickles_the_file(tmp_path):
    class Evil:
        def __reduce__(self):
            return sys.exit, ("unpickled",)

    evil = tmp_path / "evil.npz"
    np.savez(evil, description=np.array(Evil(), dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="holds no posterior"):
        PosteriorRegressor.load(evil)


def test_loading_imports_only_named_tuples_of_methods(monkeypatch):
    imported = []
    monkeypatch.setattr("importlib.import_module", imported.append)
    for kind in ("os:system", "builtins:eval", "antigravity:fly", "subprocess:Popen"):
        with pytest.raises(ValueError, match="is not a named tuple"):
            unpacked({"record": kind, "parts": []}, [], torch.device("cpu"))
    assert not imported


@pytest.mark.parametrize(
    "changes", [{"format": 0}, {"method": "nothing"}, {"posterior": {"tensor": 99}}, {"posterior": 7}, {"source": None}]
)
def test_damaged_posterior_files_are_refused(tmp_path, changes):
    PosteriorRegressor("map", hparams=GIVEN, **SHORT).fit(X, Y).save(tmp_path / "wave.npz")
    with np.load(tmp_path / "wave.npz") as file:
        parts = dict(file)
    parts["description"] = np.array(json.dumps(json.loads(str(parts["description"])) | changes))
    np.savez(tmp_path / "damaged.npz", **parts)
    with pytest.raises(ValueError, match="damaged"):
        PosteriorRegressor.load(tmp_path / "damaged.npz")


def test_files_without_a_posterior_are_refused(tmp_path):
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(ValueError, match="holds no posterior"):
        PosteriorRegressor.load(tmp_path / "text")


def test_saved_trees_of_tensors_keep_their_structure(monkeypatch):
    monkeypatch.setitem(sys.modules, "pairs", sys.modules[__name__])
    monkeypatch.setattr(Pair, "__module__", "pairs")
    tree = (Pair(torch.arange(3), {"x": [torch.ones(2, 2), None]}), np.eye(2), 1.5, "text")
    tensors = []
    again = unpacked(json.loads(json.dumps(packed(tree, tensors))), tensors, torch.device("cpu"))
    assert str(again) == str(tree)
    assert type(again[0]) is Pair


def test_posteriors_with_foreign_objects_cannot_be_saved():
    with pytest.raises(TypeError, match="a object cannot be saved"):
        packed((object(),), [])
