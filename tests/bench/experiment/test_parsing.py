"""Texts of the command line: read as meant, or refused with what may be written."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep_bench.bench.experiment import parsing
from lockstep_bench.bench.experiment.request import InvalidRequest


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0", [0]),
        ("0-4,7", [0, 1, 2, 3, 4, 7]),
        ("7, 0-2", [0, 1, 2, 7]),
        ("3-3", [3]),
        ("2-4,3-5,4", [2, 3, 4, 5]),
        (" 1 ,12 ", [1, 12]),
        ("007", [7]),
    ],
)
def test_splits_are_parsed_from_numbers_and_ranges(text, numbers):
    assert parsing.parse_splits(text) == numbers


@pytest.mark.parametrize("text", ["", ",", "1,", "a", "-1", "1-", "0--4", "1-2-3", "1.5", "0:4", "1 2", "0 - 4"])
def test_invalid_split_text_is_refused_with_an_example(text):
    with pytest.raises(InvalidRequest, match="0-4,7"):
        parsing.parse_splits(text)


def test_error_quotes_the_unreadable_part_of_splits():
    with pytest.raises(InvalidRequest, match=r"'0-4,x7'.*'x7'"):
        parsing.parse_splits("0-4,x7")


def test_backward_range_of_splits_is_refused():
    with pytest.raises(InvalidRequest, match=r"'4-0' runs backwards"):
        parsing.parse_splits("1,4-0")


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9)), min_size=1, max_size=6), st.booleans())
@settings(deadline=None)
def test_formatted_splits_are_parsed_back(ranges, spaced):
    text = (", " if spaced else ",").join(f"{first}-{first + more}" if more else str(first) for first, more in ranges)
    expected = {first + step for first, more in ranges for step in range(more + 1)}
    assert parsing.parse_splits(text) == sorted(expected)


@pytest.fixture
def gpus(monkeypatch):
    """Makes torch see that many GPUs."""
    return lambda count: monkeypatch.setattr(torch.cuda, "device_count", lambda: count)


def test_cpu_needs_no_gpu(gpus):
    gpus(0)
    assert parsing.parse_devices("cpu") == ["cpu"]


@pytest.mark.parametrize("text", ["cuda", "cuda:0", "cuda:0,1"])
def test_missing_gpu_is_refused_with_a_remedy(gpus, text):
    gpus(0)
    with pytest.raises(InvalidRequest, match=r"finds no CUDA device.*--devices cpu"):
        parsing.parse_devices(text)


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        ("cuda", ["cuda:0", "cuda:1", "cuda:2"]),
        ("cuda:1", ["cuda:1"]),
        ("cuda:2,0", ["cuda:2", "cuda:0"]),
        ("cuda:0, cuda:1", ["cuda:0", "cuda:1"]),
    ],
)
def test_gpus_are_chosen_by_number(gpus, text, devices):
    gpus(3)
    assert parsing.parse_devices(text) == devices


def test_gpu_number_beyond_the_last_is_refused(gpus):
    gpus(2)
    with pytest.raises(InvalidRequest, match=r"no GPU 2; this machine has 2"):
        parsing.parse_devices("cuda:0,2")


@pytest.mark.parametrize("text", ["", "gpu", "CPU", "cpu,cuda", "cpu:0", "cuda:x", "cuda:0,", "cuda:-1", "cuda0"])
def test_invalid_device_text_is_refused_with_allowed_form(gpus, text):
    gpus(2)
    with pytest.raises(InvalidRequest, match=r"cpu, cuda, or cuda:0,1"):
        parsing.parse_devices(text)


def test_any_protocol_setting_can_be_parsed():
    given = parsing.parse_settings(["samples=30", " precision = bfloat16", "max_train=none", "max_shifted=-1"])
    assert given == {"samples": 30, "precision": "bfloat16", "max_train": None, "max_shifted": -1}


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        (["samples"], "write NAME=VALUE"),
        (["samples="], "write NAME=VALUE"),
        (["sampels=3"], "did you mean 'samples'"),
        (["samples=3", "samples=4"], "'samples' is given twice"),
    ],
)
def test_unreadable_protocol_setting_is_refused(texts, complaint):
    with pytest.raises(InvalidRequest, match=complaint):
        parsing.parse_settings(texts)


@pytest.mark.parametrize(
    ("text", "names"), [("map, slang(rank=2, lr=1)", ["map", "slang(rank=2, lr=1)"]), (None, None)]
)
def test_commas_in_brackets_do_not_separate_names(text, names):
    assert parsing.parse_names("--methods", text) == names


def test_names_over_200_characters_are_refused():
    with pytest.raises(InvalidRequest, match="--datasets has a name of 5000 characters; at most 200 are allowed"):
        parsing.parse_names("--datasets", "yacht," + "x" * 5000)


def test_numbers_with_too_many_digits_are_refused():
    with pytest.raises(InvalidRequest, match="'samples' is a number of 5000 digits; it must be at most 1000000000"):
        parsing.parse_settings(["samples=" + "9" * 5000])


def test_output_folder_refuses_files_and_overlong_names(tmp_path):
    file = tmp_path / "page.html"
    file.touch()
    parsing.check_folder("--html", tmp_path / "new" / "html")
    for path in (file, file / "below"):
        with pytest.raises(InvalidRequest, match=r"--html .* is a file, not a folder; give another folder"):
            parsing.check_folder("--html", path)
    with pytest.raises(
        InvalidRequest, match=r"--html .*xxx \.\.\. xxx.*: it is too long.* 255 .*; give another folder"
    ):
        parsing.check_folder("--html", tmp_path / ("x" * 5000))
    with pytest.raises(InvalidRequest, match="no NUL character; give another folder"):
        parsing.check_folder("--html", tmp_path / "a\0b")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InvalidRequest, match="link is a link that leads nowhere; give another folder"):
        parsing.check_folder("--html", tmp_path / "link")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "page.html"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder in which nobody can write")
@pytest.mark.parametrize("folder", ["/proc", "/proc/new/html"])
def test_unwritable_output_folder_is_refused(folder):
    with pytest.raises(InvalidRequest, match=rf"--html '{folder}': nothing can be written in /proc .*; give another"):
        parsing.check_folder("--html", Path(folder))
    parsing.check_folder("--html", Path(folder), writes=False)


def test_one_device_is_the_first_gpu_or_the_one_that_is_named(gpus):
    gpus(3)
    assert [parsing.parse_device(text) for text in ("cpu", "cuda", "cuda:1")] == ["cpu", "cuda:0", "cuda:1"]
    with pytest.raises(InvalidRequest, match="names 2 devices"):
        parsing.parse_device("cuda:0,1")
