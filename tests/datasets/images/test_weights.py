"""Trained weights are found, fetched and read like data, and nothing but tensors is read."""

import dataclasses
import hashlib
import io
import os
import pickle

import pytest
import torch
from typer.testing import CliRunner

from lockstep_bench import datasets
from lockstep_bench.datasets.__main__ import app
from lockstep_bench.datasets.images import weights

NAME = "resnet18-imagenet"
STATE = {"conv.weight": torch.arange(6.0).reshape(2, 3), "conv.bias": torch.ones(2)}


def saved(content) -> bytes:
    """Return the bytes that `torch.save` writes."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


@pytest.fixture
def body(monkeypatch, web) -> bytes:
    """The file of `STATE`, which takes the place of the published one and lies on a server of this machine."""
    body, real = saved(STATE), weights.WEIGHTS[NAME]
    file = real.file._replace(bytes=len(body), sha256=hashlib.sha256(body).hexdigest())
    monkeypatch.setitem(weights.WEIGHTS, NAME, dataclasses.replace(real, file=file, base_url=web.url))
    web.files[file.path] = body
    return body


def assert_is_state(found) -> None:
    assert found.keys() == STATE.keys()
    assert all(torch.equal(found[name], value) for name, value in STATE.items())


def test_pinned_weights_file_name_contains_its_digest():
    published = weights.WEIGHTS[NAME]
    assert published.base_url + published.file.path == "https://download.pytorch.org/models/resnet18-f37072fd.pth"
    assert published.file.sha256.startswith("f37072fd")
    assert len(published.file.sha256) == 64


def test_pretrained_weights_are_downloaded_only_once(tmp_path, body, web):
    assert datasets.availability(NAME, tmp_path).state == "missing"
    assert datasets.fetch(NAME, tmp_path) == (tmp_path / "weights/resnet18-f37072fd.pth",)
    assert datasets.availability(NAME, tmp_path, deep=True).state == "ready"
    assert_is_state(datasets.load_weights(NAME, tmp_path))
    assert datasets.fetch(NAME, tmp_path) == ()
    assert web.requests == ["resnet18-f37072fd.pth"]


def test_weights_in_the_data_folder_need_no_download(tmp_path, body, web):
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights/resnet18-f37072fd.pth").write_bytes(body)
    assert_is_state(datasets.load_weights(NAME, tmp_path))
    assert web.requests == []


def test_weights_with_a_wrong_digest_are_refused(tmp_path, body, web):
    other = body.replace(b"conv.weight", b"conv.height")
    web.files["resnet18-f37072fd.pth"] = other
    with pytest.raises(datasets.Unavailable, match="does not match the known hash"):
        datasets.fetch(NAME, tmp_path)
    (tmp_path / "weights/resnet18-f37072fd.pth").write_bytes(other)
    with pytest.raises(datasets.Unavailable, match=r"f37072fd\.pth is not the published file \(SHA-256 expected"):
        datasets.load_weights(NAME, tmp_path)


def test_missing_weights_error_says_how_to_get_them(tmp_path):
    with pytest.raises(datasets.Unavailable, match="none of its 1 files found in") as caught:
        datasets.load_weights(NAME, tmp_path)
    assert "python -m datasets fetch resnet18-imagenet" in caught.value.remedy
    assert caught.value.remedy.endswith("point BENCH_DATA_DIR at a folder that holds weights")


def test_local_weights_file_is_read(tmp_path):
    (tmp_path / "mine.pth").write_bytes(saved(STATE))
    assert_is_state(weights.read(tmp_path / "mine.pth"))


class Malicious:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_code_in_a_weights_file_never_runs(tmp_path):
    for number, body in enumerate((pickle.dumps(Malicious(tmp_path / "run"), 2), saved(Malicious(tmp_path / "run")))):
        path = tmp_path / f"{number}.pth"
        path.write_bytes(body)
        with pytest.raises(ValueError, match=rf"{number}\.pth is not a file of tensors alone .*state_dict"):
            weights.read(path)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"", "is not a file of tensors alone"),
        (b"<html>no such file</html>", "is not a file of tensors alone"),
        (saved(STATE)[:-30], "is not a file of tensors alone"),
        (saved(torch.ones(3)), "holds a Tensor; give"),
        (saved({"epoch": 3, "state_dict": STATE}), "holds a int under 'epoch', not a tensor; give"),
    ],
    ids=["empty", "text", "cut", "tensor", "checkpoint"],
)
def test_weights_file_without_a_state_dict_is_refused(tmp_path, body, complaint):
    (tmp_path / "file.pth").write_bytes(body)
    with pytest.raises(ValueError, match=rf"file\.pth {complaint}"):
        weights.read(tmp_path / "file.pth")


def test_missing_local_weights_file_raises_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        weights.read(tmp_path / "nothing.pth")


def test_commands_list_fetch_and_verify_image_sets(tmp_path, body):
    def output(*words: str) -> str:
        found = CliRunner().invoke(app, [*words, "--data-dir", str(tmp_path)])
        assert found.exit_code == 0, found.output
        return found.stdout

    assert "resnet18-imagenet: weights, ResNet-18, trained on ImageNet: not here" in output("list")
    assert output("fetch", NAME) == "resnet18-imagenet: 1 files downloaded\n"
    assert output("verify", NAME) == "resnet18-imagenet: ready\n"
