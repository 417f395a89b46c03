"""The command of a cell, read back by the front door that it is for."""

import shlex

import pytest
from typer.testing import CliRunner

from lockstep_bench.bench.experiment.parsing import parse_settings
from lockstep_bench.bench.experiment.plan import protocol_of
from lockstep_bench.bench.experiment.request import Request
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.leaderboards.wording.commands import command
from lockstep_bench.run import app
from lockstep_bench.shared.given_hparams import GivenHParams, parse
from lockstep_bench.shared.protocol import SETTINGS, Protocol

OTHERS = {
    "epochs": 7, "batch_size": 3, "trials": 2, "folds": 4, "sampler": "tpe", "samples": 11, "validation_samples": 12,
    "max_minibatches": 13, "space": "wide", "likelihood": "heteroscedastic", "stream_length": 77, "max_updates": 14,
    "network": "cnn", "schedule": "constant", "max_train": 15, "max_test": 16, "max_shifted": 17, "shifts": "all",
    "start": "imagenet", "precision": "bfloat16",
    "milestones": "5", "validation": "holdout", "fold_kind": "block",
    "stream_batch": 10, "window": 50, "factor": 10, "hparams": GivenHParams.of(map(parse, ("lr=0.01", "map:lr=0.1"))),
    "activation": "softplus", "hidden": "20,20", "budget_seconds": 30,
}  # fmt: skip


def words_of(text: str) -> dict[str, list[str]]:
    """Option -> its values."""
    words = shlex.split(text)
    assert words[:2] == ["python", "run_all.py"]
    found: dict[str, list[str]] = {}
    for option, value in zip(words[2::2], words[3::2], strict=True):
        found.setdefault(option, []).append(value)
    return found


def run_again(text: str) -> tuple[str, Protocol]:
    """Return the request that `run_all.py` would make of the command."""
    options = words_of(text)
    changes = parse_settings(options.get("--set", ()))
    return protocol_of(Request(options["--suite"][0], options["--preset"][0], None, None, None, changes, 0))


@pytest.mark.parametrize(
    ("suite", "preset"), [(name, preset) for name, suite in SUITES.items() for preset in suite.presets]
)
def test_printed_command_reproduces_a_changed_protocol(suite, preset):
    """Every field, changed alone, with the preset's own protocol at hand and without it."""
    original = SUITES[suite].presets[preset]
    for name, value in OTHERS.items():
        kind = SUITES[suite].kind
        if kind.data not in SETTINGS[name].data or (kind.settled and name in ("hidden", "activation")):
            continue
        protocol = original.changed(**{name: value})
        label = (
            preset if protocol == original else f"{preset}-30s" if name == "budget_seconds" else f"{preset}-modified"
        )
        for known in (None, original.to_json()):
            text = command(suite, "d", "m", [0], label, protocol.to_json(), 0, known)
            assert run_again(text) == (label, protocol)
            if known and protocol != original:
                assert len(words_of(text)["--set"]) == 1


def test_every_protocol_field_is_tested():
    assert OTHERS.keys() == SETTINGS.keys()


def test_printed_command_sets_network_changed_to_default():
    original = SUITES["images"].presets["quick"]
    protocol = original.changed(network="mlp")
    text = command("images", "d", "m", [0], "quick-modified", protocol.to_json(), 0, original.to_json())
    assert run_again(text)[1] == protocol


def test_printed_command_can_remove_the_minibatch_limit():
    protocol = SUITES["uci"].presets["tuned"].changed(max_minibatches=None)
    text = command("uci", "d", "m", [0], "tuned-modified", protocol.to_json(), 0)
    assert run_again(text)[1] == protocol


def test_run_all_accepts_every_printed_option():
    said = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    text = command("uci", "yacht", "map", [0], "paper-modified@aaaa", Protocol().to_json(), 3)
    assert all(option in said for option in words_of(text))
    assert words_of(text)["--seed"] == ["3"]
    assert words_of(text)["--preset"] == ["paper"]


def test_printed_command_abbreviates_splits_and_quotes_names():
    text = command("uci", "my set; rm -rf /", "$(evil)", [3, 0, 1, 2, 7, 9, 10], "quick", "no json", 0)
    options = words_of(text)
    assert options["--splits"] == ["0-3,7,9,10"]
    assert options["--datasets"] == ["my set; rm -rf /"]
    assert "'$(evil)'" in text
