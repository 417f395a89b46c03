"""The Python in `docs/python.md` and in the notebook runs as it stands."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from lockstep_bench.bench.experiment import plan

DOCS = Path(__file__).resolve().parents[1] / "docs"


def code_of(path: Path) -> str:
    """Return the code of a notebook, or of the Python blocks of a Markdown file."""
    if path.suffix == ".ipynb":
        cells = json.loads(path.read_text())["cells"]
        return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return "\n".join(re.findall(r"^```python\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL))


@pytest.fixture
def small_budgets(monkeypatch):
    """Trials, folds and epochs are two at most, whatever a document asks for."""
    protocol_of = plan.protocol_of

    def cut(request):
        preset, protocol = protocol_of(request)
        few = {name: min(2, getattr(protocol, name)) for name in ("trials", "folds", "epochs")}
        return preset, protocol.changed(**few)

    monkeypatch.setattr(plan, "protocol_of", cut)


@pytest.mark.usefixtures("small_budgets")
@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("name", ["python.md", "python.ipynb"])
def test_python_examples_in_documents_run(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with plt.rc_context({"backend": "Agg"}):
        exec(compile(code_of(DOCS / name), name, "exec"), {"__name__": "__main__"})
        plt.close("all")
    assert (tmp_path / "diabetes.npz").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["python.md", "python.ipynb"])
def test_python_examples_in_documents_run_at_full_size(tmp_path, name):
    (tmp_path / "document.py").write_text(code_of(DOCS / name))
    environment = os.environ | {"MPLBACKEND": "Agg", "PYTHONPATH": str(DOCS.parent), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error::UserWarning", "document.py"]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "diabetes.npz").exists()
