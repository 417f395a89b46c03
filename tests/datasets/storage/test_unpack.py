"""Extraction takes pinned files from an archive and refuses everything unsafe or changed."""

import gzip
import hashlib
import io
import tarfile

import pytest

from lockstep_bench.datasets.records import File
from lockstep_bench.datasets.storage import unpack

BODY = b"seven and eight"


def pinned(path, body=BODY, **changes):
    return File(path, len(body), sha256=hashlib.sha256(body).hexdigest())._replace(**changes)


@pytest.fixture
def tar(tmp_path):
    """`tar(names)`: a .tar.gz of members of that body; a TarInfo among the names is added as it is, without one."""

    def tar(*names):
        path = tmp_path / "archive.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for name in names:
                if isinstance(name, tarfile.TarInfo):
                    archive.addfile(name)
                    continue
                member = tarfile.TarInfo(name)
                member.size = len(BODY)
                archive.addfile(member, io.BytesIO(BODY))
        return path

    return tar


def written(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_only_requested_archive_members_are_extracted(tmp_path, tar):
    into = tmp_path / "into"
    unpack.unpack(tar("set/a", "set/unwanted", "./set/b"), [pinned("set/b"), pinned("set/a")], into)
    assert written(into) == {"set/a": BODY, "set/b": BODY}


def test_gzip_extraction_gives_its_single_file(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(BODY))
    digest = hashlib.md5(BODY, usedforsecurity=False).hexdigest()
    unpack.unpack(tmp_path / "a.gz", [File("a", None, md5=digest)], tmp_path / "into")
    assert written(tmp_path / "into") == {"a": BODY}


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("../a", "cannot be unpacked .*'../a' would be extracted to .*, which is outside the destination"),
        ("set/../../a", "cannot be unpacked .* which is outside the destination"),
        ("/a", "it holds '/a', which is an absolute path"),
    ],
)
def test_archive_path_outside_the_folder_is_refused(tmp_path, tar, path, complaint):
    with pytest.raises(unpack.UnexpectedContent, match=complaint):
        unpack.unpack(tar(path, "set/a"), [pinned("set/a")], tmp_path / "into")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("kind", "target", "complaint"),
    [
        (tarfile.SYMTYPE, "/etc/hostname", "cannot be unpacked .*'a' is a link to an absolute path"),
        (tarfile.LNKTYPE, "/etc/hostname", "cannot be unpacked .*'a' is a link to an absolute path"),
        (tarfile.SYMTYPE, "../b", "cannot be unpacked .* which is outside the destination"),
        (tarfile.SYMTYPE, "b", "its 'a' is not a plain file"),
        (tarfile.LNKTYPE, "b", "its 'a' is not a plain file"),
        (tarfile.FIFOTYPE, "", "cannot be unpacked .*'a' is a special file"),
        (tarfile.DIRTYPE, "", "its 'a' is not a plain file"),
    ],
)
def test_archive_member_that_is_link_or_device_is_refused(tmp_path, tar, kind, target, complaint):
    member = tarfile.TarInfo("a")
    member.type, member.linkname = kind, target
    with pytest.raises(unpack.UnexpectedContent, match=complaint):
        unpack.unpack(tar(member), [pinned("a")], tmp_path / "into")
    assert not (tmp_path / "into").exists()


@pytest.mark.parametrize(
    ("file", "complaint"),
    [
        (pinned("a", b"SEVEN and eight"), "its a has the sha256 [0-9a-f]{64}, expected [0-9a-f]{64}"),
        (pinned("a", bytes=4), "its a is longer than 4 bytes"),
        (pinned("b"), "it does not hold 'b'"),
    ],
)
def test_changed_or_missing_archive_member_is_refused(tmp_path, tar, file, complaint):
    with pytest.raises(unpack.UnexpectedContent, match=complaint):
        unpack.unpack(tar("a"), [file], tmp_path / "into")


def test_member_of_unknown_size_has_a_size_limit(tmp_path, tar, monkeypatch):
    monkeypatch.setattr(unpack, "MOST_BYTES", 4)
    with pytest.raises(unpack.UnexpectedContent, match="its a is longer than 4 bytes"):
        unpack.unpack(tar("a"), [pinned("a", bytes=None)], tmp_path / "into")


@pytest.mark.parametrize("name", ["a.gz", "a.tar.gz"])
@pytest.mark.parametrize(
    "body", [b"no archive", gzip.compress(BODY * 100, mtime=0)[:-12], b""], ids=["other", "cut", "empty"]
)
def test_broken_archive_is_refused(tmp_path, name, body):
    (tmp_path / name).write_bytes(body)
    with pytest.raises(unpack.UnexpectedContent):
        unpack.unpack(tmp_path / name, [pinned("a")], tmp_path / "into")
