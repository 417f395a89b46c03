"""Every fenced block of code in a document is run, compared with a file, or says why it is not."""

import ast
from pathlib import Path

import pytest
from documents.fences import Fence, fences, run

ROOT = Path(__file__).resolve().parents[2]
TEXTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

# Documents whose blocks are run here, block by block in one folder.
STEPS = ("docs/index.md", "docs/adding-a-data-set.md")
# Documents whose blocks other tests run, or compare with the files that they show.
CATALOGUE = "tests/methods/catalogue"
ELSEWHERE = {
    "README.md": ("tests/documents/test_fences.py", "test_readme_example_is_part_of_the_python_page"),
    "docs/adding-a-method.md": (f"{CATALOGUE}/test_scaffold.py", "test_documentation_shows_the_generated_method_files"),
    "docs/foreign-libraries.md": (
        f"{CATALOGUE}/test_foreign_packages.py",
        "test_documentation_shows_the_example_packages_files",
    ),
    "docs/python.md": ("tests/test_python_docs.py", "test_python_examples_in_documents_run"),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.slow
def test_steps_of_documents_run_in_order(name, tmp_path):
    (tmp_path / "run_all.py").symlink_to(ROOT / "run_all.py")
    environment = {"OMP_NUM_THREADS": "1", "COLUMNS": "200", "BENCH_DATA_DIR": str(tmp_path / "nothing")}
    steps = [fence for fence in fences(ROOT / name) if not fence.not_run]
    assert steps
    for step in steps:
        run(step, tmp_path, ROOT, environment)
    assert (tmp_path / "results" / "html" / "index.html").exists()


def test_documents_with_code_are_run_by_a_test():
    with_code = {path.relative_to(ROOT).as_posix() for path in TEXTS if any(not one.not_run for one in fences(path))}
    assert with_code == {*STEPS, *ELSEWHERE}


def test_tests_that_run_documents_exist():
    for file, test in ELSEWHERE.values():
        nodes = ast.parse((ROOT / file).read_text()).body
        assert test in [node.name for node in nodes if isinstance(node, ast.FunctionDef)], (file, test)


def test_readme_example_is_part_of_the_python_page():
    (example,) = fences(ROOT / "README.md")
    page = "".join(fence.code for fence in fences(ROOT / "docs/python.md"))
    for line in filter(None, example.code.splitlines()):
        assert line.replace('"swag").', '"vifa", random_state=0).') in page


def test_fences_have_language_title_and_reason(tmp_path):
    text = '# A\n\n<!-- not run: slow -->\n\n```bash\nls\n```\n\n```toml title="a/b.toml"\nx = 1\n```\n\n```\ny\n```\n'
    (tmp_path / "page.md").write_text(text)
    assert fences(tmp_path / "page.md") == [
        Fence("bash", "", "ls\n", "slow"),
        Fence("toml", "a/b.toml", "x = 1\n"),
        Fence("", "", "y\n"),
    ]


def test_failing_code_in_a_document_is_reported(tmp_path):
    with pytest.raises(AssertionError, match="no-such-command"):
        run(Fence("bash", "", "no-such-command\n"), tmp_path, ROOT, {})
    with pytest.raises(AssertionError, match="give the block a title"):
        run(Fence("toml", "", "x = 1\n"), tmp_path, ROOT, {})
