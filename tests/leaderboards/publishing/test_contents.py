"""What is published, from the command line as a user types it."""

import subprocess

from typer.testing import CliRunner

import leaderboards
from leaderboards.__main__ import app
from leaderboards.publishing import publish_to_folder


def publish(*words):
    return CliRunner().invoke(app, ["publish", *(str(word) for word in words)])


def test_a_published_folder_has_pages_results_and_what_they_are_and_gives_itself_again(folder, tmp_path, small_run):
    out, site, again = folder(*small_run), tmp_path / "site", tmp_path / "again"
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
    publish_to_folder(site / "results", again)
    for path in (path for path in site.rglob("*") if path.is_file()):
        assert path.read_bytes() == (again / path.relative_to(site)).read_bytes(), path


def test_mistakes_are_told_in_one_sentence_before_anything_is_written(folder, tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    (tmp_path / "file").touch()
    out = folder()
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "--quiet"], check=True)
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
