"""What is published, from the command line as a user types it."""

import subprocess

import pytest
from typer.testing import CliRunner

import leaderboards
from leaderboards.__main__ import app


def publish(*words):
    return CliRunner().invoke(app, ["publish", *(str(word) for word in words)])


def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """An empty repository, the current folder."""
    (tmp_path / "repository").mkdir()
    monkeypatch.chdir(tmp_path / "repository")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "test@example.org")
    git("init", "--quiet")


def test_a_folder_gets_pages_results_and_what_they_are_and_a_branch_the_same_from_them(
    folder, tmp_path, repository, small_run
):
    out, site = folder(*small_run), tmp_path / "site"
    said = publish(out, "--to", site)
    assert said.exit_code == 0, said.output
    assert said.output.splitlines()[0].startswith("32 cells: 3 methods on 2 data sets; results ")
    assert "bench-1" in said.output
    assert {path.name for path in site.iterdir()} >= {
        *("index.html", "results", "README.md", "SHA256SUMS", ".nojekyll", ".lockstep-bench")
    }
    readme = (site / "README.md").read_text()
    assert "32 cells" in readme
    assert "python -m leaderboards build results other --html page" in readme
    assert leaderboards.export(site / "results").equals(leaderboards.export(out))

    said = publish(site / "results", "--to", "branch:gh-pages")
    assert said.exit_code == 0, said.output
    assert said.output.splitlines()[-1] == "to publish it: git push origin gh-pages"
    assert git("show", "gh-pages:SHA256SUMS") == (site / "SHA256SUMS").read_text()
    assert git("log", "--format=%s", "gh-pages") == "Leaderboard of 32 cells: 3 methods on 2 data sets\n"


def test_mistakes_are_told_in_one_sentence_before_anything_is_written(folder, tmp_path, repository):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    (tmp_path / "file").touch()
    out = folder()
    for target, said in (
        (tmp_path / "site", "no finished cells"),
        ("branch:gh-pages", "no finished cells"),
        (tmp_path / "mine", "publish did not make it"),
        (tmp_path / "file", "is a file"),
        (tmp_path / "file" / "site", "cannot be written"),
        ("branch:", "no name for a branch"),
    ):
        result = publish(out, "--to", target)
        assert result.exit_code == 2
        assert said in result.stderr
        assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "site").exists()
