"""Publishing to a folder: whole or not at all, and never at the cost of other people's files."""

import os

import pytest

from lockstep_bench.leaderboards.publishing.folder import replace_folder
from lockstep_bench.leaderboards.publishing.manifest import seal
from lockstep_bench.leaderboards.publishing.refusal import PublishingRefused


def site(text):
    def fill(folder):
        (folder / "results").mkdir()
        (folder / "results" / "x.parquet").write_text(text)
        (folder / "index.html").write_text(text)
        seal(folder)

    return fill


def everything(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_published_folder_is_replaced_as_a_whole(tmp_path):
    target = tmp_path / "new" / "site"
    replace_folder(target, site("old"))
    (target / "results" / "x.parquet").rename(target / "index.html")  # even one that lost a file
    replace_folder(target, site("new"))
    assert (target / "index.html").read_text() == "new"
    assert (target / "results" / "x.parquet").read_text() == "new"
    assert [path.name for path in target.parent.iterdir()] == ["site"]  # nothing temporary is left


def test_publishing_into_an_empty_folder_works(tmp_path):
    (tmp_path / "site").mkdir()
    replace_folder(tmp_path / "site", site("new"))
    assert (tmp_path / "site" / "index.html").exists()


def not_ours(folder):
    folder.mkdir()
    (folder / "thesis.tex").write_text("three years")


def with_a_file_more(folder):
    replace_folder(folder, site("old"))
    (folder / "results" / "thesis.tex").write_text("three years")


def with_a_repository(folder):
    replace_folder(folder, site("old"))
    (folder / ".git").write_text("gitdir: elsewhere")


def with_sums_that_are_a_pipe(folder):
    replace_folder(folder, site("old"))
    (folder / "SHA256SUMS").unlink()
    os.mkfifo(folder / "SHA256SUMS")


def with_sums_that_are_no_text(folder):
    replace_folder(folder, site("old"))
    (folder / "SHA256SUMS").write_bytes(b"\xff")


def a_file(folder):
    folder.write_text("three years")


@pytest.mark.parametrize(
    "make",
    [
        *(not_ours, with_a_file_more, with_a_repository, a_file),
        *(with_sums_that_are_a_pipe, with_sums_that_are_no_text),
    ],
)
def test_publishing_refuses_a_folder_with_foreign_files(tmp_path, make):
    make(tmp_path / "site")
    before = everything(tmp_path)
    with pytest.raises(PublishingRefused, match=r"name another|name a folder"):
        replace_folder(tmp_path / "site", site("new"))
    assert everything(tmp_path) == before


def test_failed_publishing_leaves_the_old_site(tmp_path):
    replace_folder(tmp_path / "site", site("old"))
    before = everything(tmp_path)

    def fail(folder):
        (folder / "index.html").write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        replace_folder(tmp_path / "site", fail)
    assert everything(tmp_path) == before


def test_failed_replacement_restores_the_old_site(tmp_path):
    replace_folder(tmp_path / "site", site("old"))
    before = everything(tmp_path)
    with pytest.raises(OSError, match="No such file"):
        replace_folder(tmp_path / "site", lambda fresh: fresh.rmdir())
    assert everything(tmp_path) == before


def test_published_folder_has_the_default_permissions(tmp_path):
    replace_folder(tmp_path / "site", site("new"))
    (tmp_path / "plain").mkdir()
    assert (tmp_path / "site").stat().st_mode == (tmp_path / "plain").stat().st_mode
