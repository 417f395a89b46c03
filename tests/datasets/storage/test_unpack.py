"""Only pinned files come out of an archive, and only as they were published."""

import gzip
import hashlib
import io
import tarfile

import pytest

from datasets.records import File
from datasets.storage import unpack

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


def link(name, kind):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, "/etc/hostname"
    return member


def written(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_wanted_is_taken_and_nothing_else(tmp_path, tar):
    into = tmp_path / "into"
    unpack.unpack(tar("set/a", "set/unwanted", "./set/b"), [pinned("set/b"), pinned("set/a")], into)
    assert written(into) == {"set/a": BODY, "set/b": BODY}


def test_a_gz_gives_its_one_file(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(BODY))
    digest = hashlib.md5(BODY, usedforsecurity=False).hexdigest()
    unpack.unpack(tmp_path / "a.gz", [File("a", None, md5=digest)], tmp_path / "into")
    assert written(tmp_path / "into") == {"a": BODY}


@pytest.mark.parametrize("path", ["../a", "set/../../a", "/a"])
def test_an_archive_with_an_escaping_path_is_refused(tmp_path, tar, path):
    with pytest.raises(unpack.Refused, match=f"it holds '{path}', which leads out of its folder"):
        unpack.unpack(tar(path, "set/a"), [pinned("set/a")], tmp_path / "into")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_a_wanted_file_that_is_a_link_or_a_device_is_refused(tmp_path, tar, kind):
    with pytest.raises(unpack.Refused, match="its 'a' is not a plain file"):
        unpack.unpack(tar(link("a", kind)), [pinned("a")], tmp_path / "into")
    assert not (tmp_path / "into").exists()


@pytest.mark.parametrize(
    ("file", "complaint"),
    [
        (pinned("a", b"SEVEN and eight"), "its a has the sha256 [0-9a-f]{64}, expected [0-9a-f]{64}"),
        (pinned("a", bytes=4), "its a is longer than 4 bytes"),
        (pinned("b"), "it does not hold 'b'"),
    ],
)
def test_files_that_are_not_the_pinned_ones_are_refused(tmp_path, tar, file, complaint):
    with pytest.raises(unpack.Refused, match=complaint):
        unpack.unpack(tar("a"), [file], tmp_path / "into")


def test_a_file_of_unknown_size_may_not_fill_the_disk(tmp_path, tar, monkeypatch):
    monkeypatch.setattr(unpack, "MOST_BYTES", 4)
    with pytest.raises(unpack.Refused, match="its a is longer than 4 bytes"):
        unpack.unpack(tar("a"), [pinned("a", bytes=None)], tmp_path / "into")


@pytest.mark.parametrize("name", ["a.gz", "a.tar.gz"])
@pytest.mark.parametrize(
    "body", [b"no archive", gzip.compress(BODY * 100, mtime=0)[:-12], b""], ids=["other", "cut", "empty"]
)
def test_what_is_no_whole_archive_is_refused(tmp_path, name, body):
    (tmp_path / name).write_bytes(body)
    with pytest.raises(unpack.Refused):
        unpack.unpack(tmp_path / name, [pinned("a")], tmp_path / "into")
