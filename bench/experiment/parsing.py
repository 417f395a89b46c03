"""Parsing of command-line options: names, splits, settings, hyper-parameters and devices."""

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from lockstep_bench.bench.experiment.request import InvalidRequest, known
from lockstep_bench.datasets.paths import nearest_folder, shown
from lockstep_bench.shared import given_hparams
from lockstep_bench.shared.given_hparams import GivenHParams
from lockstep_bench.shared.protocol import SETTINGS, Setting, Value

MOST_DIGITS = 100  # Python refuses to read integers of a few thousand
LONGEST_NAME = 200  # characters; file systems allow 255 for a file's name


def parse_names(option: str, text: str | None) -> list[str] | None:
    """Return the names in a text such as "map,slang(rank=2, lr=1)"; None for None.

    Commas within brackets do not separate names.
    """
    if text is None:
        return None
    names = [name.strip() for name in re.split(r",(?![^(]*\))", text) if name.strip()]
    if not names:
        raise InvalidRequest(f"{option} names nothing; give names, or leave it out for all")
    if (longest := max(map(len, names))) > LONGEST_NAME:
        raise InvalidRequest(f"{option} has a name of {longest} characters; at most {LONGEST_NAME} are allowed")
    return names


def check_folder(option: str, path: Path, *, writes: bool = True) -> None:
    """Raise InvalidRequest unless the path is a folder, or a folder can be created there.

    Args:
        option: name of the option, for the error message.
        path: path of the folder.
        writes: whether the command writes to the folder; otherwise it only reads.
    """
    try:
        nearest = nearest_folder(path)
        if writes:
            _try_to_write(nearest)
    except OSError as error:
        raise InvalidRequest(f"{option} {shown(path)!r}: {error.strerror}; give another folder") from None


def _try_to_write(folder: Path) -> None:
    try:
        TemporaryDirectory(prefix=".", dir=folder).cleanup()  # root has every permission, and no folder in /proc
    except OSError as error:
        error.strerror = f"nothing can be written in {folder} ({error.strerror})"
        raise


def parse_splits(text: str) -> list[int]:
    """Return the split numbers in a text such as "0-4,7"."""
    numbers: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", part.strip())
        if not match:
            raise InvalidRequest(f"splits {text!r} cannot be read at {part.strip()!r}; write numbers and ranges: 0-4,7")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise InvalidRequest(f"splits {text!r}: the range {part.strip()!r} runs backwards")
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def parse_budgets(text: str) -> tuple[int, ...]:
    """Return the budgets in seconds in a text such as "1,10,100", sorted and without duplicates."""
    parts = [part.strip() for part in text.split(",")]
    if any(not re.fullmatch("[1-9][0-9]{0,5}", part) for part in parts):
        raise InvalidRequest(f"--budget-seconds {text!r} cannot be read; write whole seconds, as in 1,10,100")
    return tuple(sorted({int(part) for part in parts}))


def parse_settings(texts: Sequence[str]) -> dict[str, Value]:
    """Return changed fields of `Protocol` from texts such as "samples=30" or "max_train=none": name -> value."""
    settings: dict[str, Value] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise InvalidRequest(f"setting {text!r} cannot be read; write NAME=VALUE, as in samples=30")
        known("setting", name, tuple(SETTINGS))
        if name in settings:
            raise InvalidRequest(f"setting {name!r} is given twice")
        settings[name] = _value(name, value, SETTINGS[name])
    return settings


def _value(name: str, text: str, setting: Setting) -> Value:
    """Return the value of a setting that a text stands for."""
    if setting.optional and text.lower() == "none":
        return None
    if setting.read:
        try:
            return setting.read(text)
        except ValueError as error:
            raise InvalidRequest(f"{name} {error}") from None
    if setting.check or not re.fullmatch("-?[0-9]+", text):
        return text
    if len(text) > MOST_DIGITS:
        raise InvalidRequest(f"setting {name!r} is a number of {len(text)} digits; it must be at most {setting.most}")
    return int(text)


def parse_hparams(texts: Sequence[str]) -> dict[str, Value]:
    """Return the field `hparams` of `Protocol` from texts such as "lr=0.01" or "slang:lr=0.08"; {} without texts."""
    try:
        return {"hparams": GivenHParams.of(map(given_hparams.parse, texts))} if texts else {}
    except ValueError as error:
        raise InvalidRequest(f"--hparam {error}") from None


def parse_device(text: str) -> str:
    """Return the name of a torch device in a text that may name one device only; "cuda" is the first GPU."""
    place, *others = parse_devices(text)
    if others and text != "cuda":
        raise InvalidRequest(f"device {text!r} names {1 + len(others)} devices; name one")
    return place


def parse_devices(text: str) -> list[str]:
    """Return the names of torch devices in a text such as "cpu", "cuda" (all GPUs) or "cuda:0,1"."""
    if text == "cpu":
        return ["cpu"]
    if not re.fullmatch(r"cuda(:[0-9]{1,3}(, *(cuda:)?[0-9]{1,3})*)?", text):
        raise InvalidRequest(f"devices {text!r} cannot be read; write cpu, cuda, or cuda:0,1 for chosen GPUs")
    import torch

    count = torch.cuda.device_count()
    if count == 0:
        raise InvalidRequest(
            f"devices {text!r}: torch {torch.__version__} finds no CUDA device here; use --devices cpu"
        )
    wanted = [int(number) for number in re.findall("[0-9]+", text)] or range(count)
    beyond = [number for number in wanted if number >= count]
    if beyond:
        raise InvalidRequest(
            f"devices {text!r}: there is no GPU {beyond[0]}; this machine has {count}, numbered from 0"
        )
    return [f"cuda:{number}" for number in dict.fromkeys(wanted)]
