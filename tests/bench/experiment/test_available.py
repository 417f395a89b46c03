"""Which data sets and methods a request can have, and why not the others."""

import pytest

from lockstep_bench import datasets
from lockstep_bench.bench.experiment import plan
from lockstep_bench.bench.experiment.available import Missing, have, runnable
from lockstep_bench.bench.experiment.request import InvalidRequest, Request
from lockstep_bench.bench.experiment.resolved import resolve


def request(**changes) -> Request:
    asked = {"suite": "uci", "preset": "quick", "methods": None, "datasets": None, "splits": None, "changes": {}}
    return Request(**asked | {"seed": 0} | changes)


def test_data_sets_without_downloads_are_available_offline(tmp_path):
    here, missing = have(["yacht", "diabetes"], tmp_path, fetch=False)
    assert here == ["diabetes"]
    assert [one.dataset for one in missing] == ["yacht"]
    assert str(tmp_path) in missing[0].reason
    assert f"python -m datasets fetch yacht --data-dir {tmp_path}" in missing[0].remedy


@pytest.mark.parametrize("path", ["x" * 5000, f"{__file__}/below", "a\0b"], ids=("long", "below a file", "NUL"))
def test_unusable_data_folder_is_refused(tmp_path, path):
    with pytest.raises(InvalidRequest, match=r"cannot be the data folder: .*; choose another with --data-dir or BENCH"):
        resolve([request(datasets=["diabetes"], methods=["constant"])], tmp_path / path, fetch=False)


class Server:
    """Stands for `datasets.fetch`: gives the sets in `stock`, raises `problem` for the others."""

    def __init__(self, monkeypatch, stock=(), problem=datasets.Unreachable):
        self.asked, self.stock, self.problem = [], stock, problem
        monkeypatch.setattr(datasets, "fetch", self)

    def __call__(self, name, data_dir, progress):
        self.asked.append(name)
        if name not in self.stock:
            raise self.problem(name, "it is out of stock", "wait")


def test_downloadable_data_sets_are_available(tmp_path, monkeypatch):
    server = Server(monkeypatch, stock=("yacht", "boston"))
    assert have(["yacht", "diabetes", "boston"], tmp_path, fetch=True) == (
        ["yacht", "diabetes", "boston"],
        [],
    )
    assert server.asked == ["yacht", "boston"]


def test_unreachable_server_is_contacted_only_once(tmp_path, monkeypatch):
    server = Server(monkeypatch)
    here, missing = have(["yacht", "boston", "diabetes"], tmp_path, fetch=True)
    assert server.asked == ["yacht"]
    assert here == ["diabetes"]
    assert [one.dataset for one in missing] == ["yacht", "boston"]
    assert "it is out of stock" in missing[0].reason


def test_failed_download_does_not_stop_the_next_one(tmp_path, monkeypatch):
    server = Server(monkeypatch, stock=("boston",), problem=datasets.Unavailable)
    here, missing = have(["yacht", "boston"], tmp_path, fetch=True)
    assert server.asked == ["yacht", "boston"]
    assert here == ["boston"]
    assert [one.dataset for one in missing] == ["yacht"]


def test_without_fetch_nothing_is_downloaded(tmp_path, monkeypatch):
    server = Server(monkeypatch, stock=("yacht",))
    here, _ = have(["yacht"], tmp_path, fetch=False)
    assert (here, server.asked) == ([], [])


def test_broken_data_set_plug_in_is_reported(tmp_path, monkeypatch):
    server = Server(monkeypatch, stock=("odd",))
    answer = datasets.Availability("broken", "it cannot be imported", "repair it")
    monkeypatch.setattr(datasets, "availability", lambda *_, **__: answer)
    assert have(["odd"], tmp_path, fetch=True) == ([], [Missing("odd", "it cannot be imported", "repair it")])
    assert server.asked == []


def test_sampled_reference_posterior_needs_the_installed_sampler(monkeypatch):
    monkeypatch.setattr("lockstep_bench.methods.mcmc.nuts.is_installed", lambda: False)
    names = ["synthetic-linear-2d", "synthetic-logistic-2d", "yacht-linear", "australian-logistic", "yacht-net"]
    here, missing = runnable(request(suite="posterior"), names)
    assert here == names[:3]
    assert [one.dataset for one in missing] == names[3:]
    assert all("lockstep-bench[reference]" in one.remedy for one in missing)
    monkeypatch.setattr("lockstep_bench.methods.mcmc.nuts.is_installed", lambda: True)
    assert runnable(request(suite="posterior"), names) == (names, [])
    assert runnable(request(), ["yacht"]) == (["yacht"], [])


def test_data_set_without_true_model_has_no_reference_posterior():
    here, (missing,) = runnable(request(suite="posterior"), ["yacht", "yacht-linear"])
    assert here == ["yacht-linear"]
    assert (missing.dataset, missing.remedy) == ("yacht", "give its `datasets.Source` a `model`")


def test_data_set_with_pretrained_network_needs_its_weights(tmp_path, monkeypatch):
    asked = request(suite="retinopathy")
    here, (missing,) = runnable(asked, ["aptos2019"], tmp_path)
    assert (here, missing.dataset) == ([], "aptos2019")
    assert missing.reason.startswith("its network starts from the weights resnet18-imagenet: none of its 1 files")
    assert "python -m datasets fetch resnet18-imagenet" in missing.remedy
    server = Server(monkeypatch, stock=("resnet18-imagenet",))
    assert runnable(asked, ["aptos2019"], tmp_path, fetch=True) == (["aptos2019"], [])
    assert server.asked == ["resnet18-imagenet"]
    assert runnable(asked, [], tmp_path, fetch=True) == ([], [])


def test_methods_without_pretrained_start_skip_such_data_sets():
    pair = ("inducing-ffg", "aptos2019")
    assert plan.excluded(request(suite="retinopathy"), ["aptos2019"], ["inducing-ffg", "map", "vifa"]) == {
        pair: "no start from trained weights"
    }


def test_quick_preset_skips_slow_data_sets_unless_named():
    assert "yacht-net" not in plan.chosen_datasets(request(suite="posterior"))
    assert "yacht-linear" in plan.chosen_datasets(request(suite="posterior"))
    assert plan.chosen_datasets(request(suite="posterior", datasets=["yacht-net"])) == ("yacht-net",)
    assert "yacht-net" in plan.chosen_datasets(request(suite="posterior", preset="paper"))


def test_methods_of_another_suite_run_only_when_named():
    default, _ = plan.chosen_methods(request())
    assert "vifa" in default
    assert not {"vifa-k3", "hmc"} & set(default)
    assert plan.chosen_methods(request(methods=["vifa-k3"]))[0] == ("vifa-k3",)
    assert "vifa-k3" in plan.chosen_methods(request(suite="posterior"))[0]
    assert plan.chosen_methods(request(suite="factor-analysis"))[0] == (
        *("batch-svd", "online-em-fa", "online-sga-fa"),
        *("empirical", "empirical-window"),
    )
    with pytest.raises(InvalidRequest, match="'vifa' is unknown"):
        plan.chosen_methods(request(suite="factor-analysis", methods=["vifa"]))


def test_weight_posterior_suite_excludes_methods_without_one():
    names, asked = ["yacht-linear", "yacht-net"], ["vifa", "directuq-mean"]
    assert set(plan.excluded(request(suite="posterior"), names, asked)) == {("directuq-mean", "yacht-linear")}


def test_reference_posteriors_refuse_other_noise_than_gaussian():
    for kind in ("heteroscedastic", "student-t"):
        asked = request(suite="toy", changes={"likelihood": kind})
        assert plan.excluded(asked, ["toy"], ["map"]) == {
            ("map", "toy"): f"its reference posterior has Gaussian noise, not that of the likelihood {kind}"
        }
    assert plan.excluded(request(suite="toy"), ["toy"], ["map", "directuq-mean"]) == {}


def test_exception_in_one_methods_task_check_affects_no_other(monkeypatch):
    def excludes(method, task):
        return task.no_such_thing

    monkeypatch.setattr("lockstep_bench.methods.mfvi.MeanFieldVI.excludes", excludes)
    found = plan.excluded(request(), ["diabetes"], ["map", "mfvi"])
    assert list(found) == [("mfvi", "diabetes")]
    assert found["mfvi", "diabetes"].startswith("its check of the task raised AttributeError: 'Task' object has")


def test_sets_without_a_chosen_split_are_not_fetched(tmp_path, monkeypatch):
    server = Server(monkeypatch)
    asked = request(datasets=["diabetes", "protein"], methods=["constant"], splits=[7], changes={"folds": 11})
    found = resolve([asked], tmp_path, fetch=True)
    assert [(cell.dataset, cell.split) for cell in found.cells] == [("diabetes", 7)]
    assert (server.asked, found.missing) == ([], [])
