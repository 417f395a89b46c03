"""Tables are read from CSV, TSV and Parquet files, and what is no table is refused in words."""

import os

import pandas as pd
import pytest

from datasets.errors import InvalidTable
from datasets.own.files import looks_like_a_table, read_frame


@pytest.mark.parametrize("name", ["houses.csv", "houses.tsv", "houses.parquet", "HOUSES.CSV"])
def test_every_format_gives_the_same_table(frame, write, name):
    pd.testing.assert_frame_equal(read_frame(write(frame, name)), frame, check_dtype=False)


def test_semicolons_separate_columns_too(tmp_path):
    path = tmp_path / "wine.csv"
    path.write_text("a;b,c\n1;2\n3;4\n")
    assert list(read_frame(path).columns) == ["a;b", "c"]  # a tie goes to the comma
    path.write_text("a;b;c\n1;2;3\n")
    assert read_frame(path).to_numpy().tolist() == [[1, 2, 3]]


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    path = tmp_path / "excel.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8-sig")
    assert list(read_frame(path).columns) == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("absent.csv", None, "there is no file .*absent.csv"),
        ("x" * 5000 + ".csv", None, r"xxx \.\.\. xxx.*csv cannot be read: it is too long; .* 255 .*; check the path"),
        ("nul\0.csv", None, "a path has no NUL character; check the path"),
        ("table.xlsx", b"a,b\n1,2\n", "not a .csv, .tsv or .parquet file"),
        ("empty.csv", b"", "cannot be read as a table"),
        ("latin.csv", "é,b\n1,2\n".encode("latin-1"), "UTF-8"),
        ("broken.parquet", b"not parquet", "cannot be read as a table"),
        ("twice.csv", b"a,b,a\n1,2,3\n", "several columns called 'a'"),
        ("row_names.csv", b"a,b\nr1,1,2\nr2,3,4\n", "cannot be read as a table"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3\n", "cannot be read as a table"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, name, content, complaint):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidTable, match=complaint):
        read_frame(tmp_path / name)


def test_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InvalidTable, match="a folder, pipe or device, not a file; check the path"):
        read_frame(tmp_path / "pipe.csv")


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([[1.0, 2.0], [3.0]], "lists, and a cell must be one number or one text"),
        ([None, [3.0]], "lists"),
        ([{"a": 1}, {"a": 2}], "records"),
        ([b"\xff", b"a"], "bytes that are no text in UTF-8"),
    ],
)
def test_nested_columns_and_bytes_are_refused(write, cells, kind):
    path = write(pd.DataFrame({"a": [1, 2], "b": cells}), "nested.parquet")
    with pytest.raises(InvalidTable, match=f"the column 'b' holds {kind}.*; save .*, or leave the column out"):
        read_frame(path)


def test_bytes_in_utf_8_are_texts(write):
    read_frame(write(pd.DataFrame({"a": [b"yes", b"no", None]}), "bytes.parquet"))


def test_names_of_files_are_told_from_names_of_sets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").touch()
    assert [looks_like_a_table(name) for name in ("my.csv", "my.TSV", "a/b.parquet", "plain")] == [True] * 4
    assert not looks_like_a_table("yacht")
