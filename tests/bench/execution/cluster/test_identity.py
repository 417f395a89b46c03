"""Equal code has one identity wherever it lies; other code has another."""

import re
import subprocess
import sys
from dataclasses import replace

import cloudpickle
import pytest

from lockstep_bench.bench.execution.cluster import identity as module
from lockstep_bench.bench.execution.cluster.identity import identity
from lockstep_bench.bench.execution.cluster.remote import Needs


def test_equal_code_and_versions_report_no_difference():
    mine = identity()
    assert mine.differs(mine) is None
    assert mine.differs(replace(mine, host="elsewhere", gpus="3")) is None


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("python", "3.99", r"it has Python 3\.99, and here is 3\."),
        ("package", "9.9", r"package version 9\.9"),
        ("revision", "abc with edits", "revision abc with edits"),
        ("sources", "f" * 64, "source files of SHA-256 ffffffffffff, and"),
        ("stale", True, "changed after it had been started"),
    ],
)
def test_different_code_on_a_worker_is_detected(field, value, said):
    mine = identity()
    assert re.search(said, replace(mine, **{field: value}).differs(mine))


def test_code_checksum_depends_on_file_names_and_contents(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "folder_of", lambda package: tmp_path / package)
    file = tmp_path / "bench" / "a.py"
    file.parent.mkdir()
    file.write_text("one")
    before = module.sources()
    (tmp_path / "bench" / "notes.txt").write_text("no code")
    assert module.sources() == before
    file.write_text("two")
    changed = module.sources()
    file.rename(file.with_name("b.py"))
    assert len({before, changed, module.sources()}) == 3


def test_cluster_worker_without_the_package_is_reported(tmp_path):
    asking = tmp_path / "asking"
    asking.write_bytes(cloudpickle.dumps(module.question(Needs((), ()), identity())))
    code = "import asyncio, sys, cloudpickle; sys.modules['lockstep_bench'] = None; "
    code += "print(asyncio.run(cloudpickle.load(open(sys.argv[1], 'rb'))()))"
    answered = subprocess.run([sys.executable, "-c", code, asking], capture_output=True, text=True, cwd=tmp_path)
    assert "bench" in answered.stdout, answered.stderr
