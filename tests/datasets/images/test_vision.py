"""torchvision is there for the data sets even where its compiled operators are not."""

import subprocess
import sys
from pathlib import Path

import pytest

from lockstep_bench.datasets.images import vision

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def imported(tmp_path):
    """`imported(code, asked)`: what a fresh process prints that has a torchvision of that code."""

    def imported(code, asked):
        package = tmp_path / "torchvision"
        package.mkdir()
        (package / "__init__.py").write_text(code)
        (package / "part.py").write_text("")
        script = (
            f"import sys\nsys.path[:0] = {[str(tmp_path), str(ROOT)]}\n"
            f"from lockstep_bench.datasets.images.vision import torchvision\n{asked}"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return imported


def test_installed_torchvision_can_be_imported():
    found = vision.torchvision()
    assert found is sys.modules["torchvision"]
    assert found.models.resnet18(num_classes=3).fc.out_features == 3
    assert issubclass(found.datasets.KMNIST, found.datasets.MNIST)


def test_missing_compiled_torchvision_operators_are_stubbed(imported):
    code = """
import torch, torchvision.part
for name in ("nms", "qnms"):
    torch.library.register_fake(f"torchvision::{name}")(lambda dets, scores, iou_threshold: None)
"""
    asked = (
        "first = torchvision(); import torchvision as second; print(first is second, 'torchvision.part' in sys.modules)"
    )
    assert imported(code, asked) == ["True", "True"]


def test_working_torchvision_is_not_patched(imported):
    assert imported("import torchvision.part", "print(torchvision().__name__, 'torch' in sys.modules)") == [
        "torchvision",
        "False",
    ]


def test_other_torchvision_import_failures_are_reported(imported):
    asked = """
try:
    torchvision()
except RuntimeError as error:
    print(error, *(name for name in sys.modules if name.startswith("torchvision")))
"""
    assert imported("import torchvision.part\nraise RuntimeError('broken')", asked) == ["broken"]
