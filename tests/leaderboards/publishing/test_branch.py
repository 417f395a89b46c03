"""Publishing to a branch: of a repository made here, whose working tree must not notice."""

import subprocess

import pytest

from lockstep_bench.leaderboards.publishing.branch import commit_folder
from lockstep_bench.leaderboards.publishing.manifest import seal
from lockstep_bench.leaderboards.publishing.refusal import PublishingRefused


def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """The current folder: a repository with a commit, a staged, a changed and an untracked file."""
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "test@example.org")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    # What could spoil the published bytes, were it obeyed.
    (tmp_path / "ignored").write_text("*.parquet\n")
    (tmp_path / "gitconfig").write_text(f"[core]\nautocrlf = true\nexcludesFile = {tmp_path / 'ignored'}\n")
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    git("init", "--initial-branch=main")
    (folder / "code.py").write_text("1\n")
    git("add", "code.py")
    git("commit", "--message=code")
    (folder / "code.py").write_text("2\n")
    (folder / "staged.py").write_text("3\n")
    git("add", "staged.py")
    (folder / "untracked.py").write_text("4\n")
    return folder


@pytest.fixture
def site(tmp_path):
    """Make a site with a page of this text."""

    def make(text, page="index.html"):
        folder = tmp_path / f"site{len(list(tmp_path.iterdir()))}"
        (folder / "results").mkdir(parents=True)
        (folder / page).write_bytes(text.encode())
        (folder / "results" / "uci.parquet").write_bytes(b"PAR1\r\n\0\xff")
        seal(folder)
        return folder

    return make


def test_published_branch_equals_the_folder_byte_for_byte(repository, site):
    folder = site("a\r\nb\n")
    commit = commit_folder(folder, "gh-pages", "first")
    assert commit.made
    assert git("rev-parse", "gh-pages") == commit.id
    assert git("log", "--format=%s", "gh-pages") == "first"
    names = git("ls-tree", "-r", "--name-only", "gh-pages").splitlines()
    assert sorted(names) == sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    for name in names:
        blob = subprocess.run(["git", "cat-file", "blob", f"gh-pages:{name}"], check=True, capture_output=True).stdout
        assert blob == (folder / name).read_bytes()


def test_checkout_of_the_branch_passes_its_checksums(repository, site, tmp_path):
    folder = site("a\nb\n")
    commit_folder(folder, "gh-pages", "first")
    git("worktree", "add", str(tmp_path / "checkout"), "gh-pages")
    assert (tmp_path / "checkout" / "index.html").read_bytes() == (folder / "index.html").read_bytes()


def test_publishing_leaves_working_tree_and_index_unchanged(repository, site):
    before = git("status", "--porcelain"), git("diff"), git("diff", "--cached"), git("symbolic-ref", "HEAD")
    commit_folder(site("a"), "gh-pages", "first")
    assert (git("status", "--porcelain"), git("diff"), git("diff", "--cached"), git("symbolic-ref", "HEAD")) == before


def test_publishing_the_same_site_makes_no_commit(repository, site):
    first = commit_folder(site("a"), "gh-pages", "first")
    assert commit_folder(site("a"), "gh-pages", "second") == first._replace(made=False)
    assert git("rev-list", "--count", "gh-pages") == "1"


def test_publishing_a_changed_site_replaces_its_files(repository, site):
    first = commit_folder(site("a", page="old.html"), "gh-pages", "first")
    second = commit_folder(site("b", page="new.html"), "gh-pages", "second")
    assert git("rev-parse", "gh-pages^") == first.id
    assert second.made
    names = git("ls-tree", "--name-only", "gh-pages").splitlines()
    assert "new.html" in names
    assert "old.html" not in names


def test_publishing_keeps_foreign_files_on_the_branch(repository, site, tmp_path):
    commit_folder(site("a"), "gh-pages", "first")
    git("worktree", "add", str(tmp_path / "checkout"), "gh-pages")
    (tmp_path / "checkout" / "CNAME").write_text("bench.example.org\n")
    inside = ("-C", str(tmp_path / "checkout"))
    git(*inside, "add", "CNAME")
    latin = f"100644,{git(*inside, 'rev-parse', ':CNAME')},caf\udce9"  # a name that is no UTF-8
    git(*inside, "update-index", "--add", "--cacheinfo", latin)
    git(*inside, "commit", "--message=domain")
    git("worktree", "remove", "--force", str(tmp_path / "checkout"))
    commit_folder(site("b"), "gh-pages", "second")
    assert git("show", "gh-pages:CNAME") == "bench.example.org"
    assert git("show", "gh-pages:index.html") == "b"
    assert git("show", "gh-pages:caf\udce9") == "bench.example.org"
    assert not commit_folder(site("b"), "gh-pages", "third").made


def test_publishing_in_a_clone_continues_the_remote_branch(repository, site, tmp_path, monkeypatch):
    first = commit_folder(site("a"), "gh-pages", "first")
    git("clone", "--branch=main", "--origin=upstream", str(repository), str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    same = commit_folder(site("a"), "gh-pages", "second")
    assert same == (first.id, False, "git push upstream gh-pages")
    git("branch", "--delete", "--force", "gh-pages")
    commit_folder(site("b"), "gh-pages", "second")
    git("push", "upstream", "gh-pages")  # git would refuse a branch with a history of its own


@pytest.mark.parametrize(
    ("branch", "said"),
    [
        ("main", "checked out"),
        ("elsewhere", "checked out"),
        ("other", "publish did not make it"),
        ("-force", "not a valid name of a branch"),
        ("a..b", "not a valid name of a branch"),
        ("@{-1}", "not a valid name of a branch"),
        ("", "not a valid name of a branch"),
    ],
)
def test_publishing_refuses_branches_it_did_not_make(repository, site, tmp_path, branch, said):
    git("branch", "other")
    git("worktree", "add", "-b", "elsewhere", str(tmp_path / "elsewhere"))
    before = git("for-each-ref")
    with pytest.raises(PublishingRefused, match=said):
        commit_folder(site("a"), branch, "first")
    assert git("for-each-ref") == before


def test_publishing_outside_a_git_repository_is_refused(site, tmp_path, monkeypatch):
    (tmp_path / "plain").mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.chdir(tmp_path / "plain")
    with pytest.raises(PublishingRefused, match="not a git repository"):
        commit_folder(site("a"), "gh-pages", "first")
