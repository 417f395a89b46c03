"""Files are written whole or not at all."""

import pytest

from lockstep_bench.shared.rows.atomic import write_atomically


def test_missing_folders_are_made_and_leftovers_replaced(tmp_path):
    path, target = tmp_path / "a" / "b" / "c.parquet", tmp_path / "elsewhere"
    write_atomically(b"first", path)
    target.write_bytes(b"kept")
    (path.parent / ".c.parquet.tmp").symlink_to(target)
    write_atomically(b"second", path)
    assert path.read_bytes() == b"second"
    assert target.read_bytes() == b"kept"
    assert [each.name for each in path.parent.iterdir()] == ["c.parquet"]


def test_file_in_place_of_a_folder_is_an_error(tmp_path):
    (tmp_path / "a").write_bytes(b"kept")
    with pytest.raises(OSError, match="a"):
        write_atomically(b"lost", tmp_path / "a" / "c.parquet")
    assert (tmp_path / "a").read_bytes() == b"kept"
