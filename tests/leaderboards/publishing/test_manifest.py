"""Checksums, as others check them."""

import shutil
import subprocess

import pytest

from lockstep_bench.leaderboards.publishing.manifest import SUMS, foreign, seal


def test_manifest_lists_the_sha256_of_each_file(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"abc")
    seal(tmp_path)
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, appendix B.1
    assert (tmp_path / SUMS).read_text() == f"{abc}  a.txt\n"


@pytest.mark.skipif(not shutil.which("sha256sum"), reason="needs sha256sum")
def test_sha256sum_verifies_the_checksums_file(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "uci.parquet").write_text("numbers")
    seal(tmp_path)
    check = ["sha256sum", "--check", "--strict", "--quiet", SUMS]
    assert subprocess.run(check, cwd=tmp_path).returncode == 0
    (tmp_path / "results" / "uci.parquet").write_text("better numbers")
    assert subprocess.run(check, cwd=tmp_path, capture_output=True).returncode == 1


def test_files_missing_from_the_manifest_are_foreign(tmp_path):
    (tmp_path / "a  b.txt").touch()
    seal(tmp_path)
    present = [path.name for path in tmp_path.iterdir()]
    assert foreign([*present, "CNAME", "a"], (tmp_path / SUMS).read_text()) == ["CNAME", "a"]
