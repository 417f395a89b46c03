"""Tables are read from CSV, TSV and Parquet files, and what is no table is refused in words."""

import os
import re

import pandas as pd
import pytest

from lockstep_bench.datasets.errors import InvalidTable
from lockstep_bench.datasets.own.files import looks_like_a_table, read_frame
from lockstep_bench.datasets.own.format import AS_FOUND, Format
from lockstep_bench.datasets.own.reading import columns_of


@pytest.mark.parametrize("name", ["houses.csv", "houses.tsv", "houses.parquet", "HOUSES.CSV"])
def test_csv_tsv_and_parquet_give_the_same_table(frame, write, name):
    cells = read_frame(write(frame, name))
    columns = {column: each.cells.to_numpy() for column, each in columns_of(cells, AS_FOUND).items()}
    pd.testing.assert_frame_equal(pd.DataFrame(columns), frame, check_dtype=False)
    assert cells.index[0] == (1 if name.endswith("parquet") else 2)  # as editors number lines


def test_csv_may_be_separated_by_semicolons(tmp_path):
    path = tmp_path / "wine.csv"
    path.write_text("a;b,c\n1;2\n3;4\n")
    assert list(read_frame(path).columns) == ["a;b", "c"]  # a tie goes to the comma
    path.write_text("a;b;c\n1;2;3\n")
    assert read_frame(path).to_numpy().tolist() == [["1", "2", "3"]]


def test_csv_without_header_gets_numbered_columns(tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text("1,5;2,5;3\n4,5;5,5;6\n")
    frame = read_frame(path, Format(no_header=True))
    assert (list(frame), frame.to_numpy().tolist()) == (["1", "2", "3"], [["1,5", "2,5", "3"], ["4,5", "5,5", "6"]])
    assert frame.index[0] == 1


def test_spaces_around_names_and_quotes_are_ignored(tmp_path):
    path = tmp_path / "spaced.csv"
    path.write_text('a, b ,"c, d"\n1, 2, "3, 4"\n')
    frame = read_frame(path)
    assert (list(frame), frame.to_numpy().tolist()) == (["a", "b", "c, d"], [["1", "2", "3, 4"]])


def test_named_parquet_index_becomes_a_column(tmp_path):
    frame = pd.DataFrame({"b": [1, 2]}, index=pd.Index([0.5, 0.7], name="a"))
    frame.to_parquet(tmp_path / "named.parquet")
    frame.rename_axis(None).to_parquet(tmp_path / "unnamed.parquet")
    frame.set_index(pd.Index(["x", "y"], name="c"), append=True).to_parquet(tmp_path / "two.parquet")
    columns = [list(read_frame(tmp_path / f"{name}.parquet")) for name in ("named", "unnamed", "two")]
    assert columns == [["a", "b"], ["b"], ["a", "c", "b"]]


def test_parquet_refuses_the_no_header_option(write, frame):
    with pytest.raises(InvalidTable, match="leave --no-header out"):
        read_frame(write(frame, "named.parquet"), Format(no_header=True))


def test_byte_order_mark_is_not_part_of_names(tmp_path):
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
        ("empty.csv", b"", "cannot be read as a table: it is empty; its first line must name the columns"),
        ("blank.csv", b" \n\n", "cannot be read as a table: it is empty"),
        ("broken.parquet", b"not parquet", "cannot be read as a table"),
        ("twice.csv", b"a,b,a\n1,2,3\n", "several columns called 'a'"),
        ("row_names.csv", b"a,b\nr1,1,2\nr2,3,4\n", r"line 2 has 3 fields .*, and the header in line 1 has 2"),
        ("quote.csv", b'a,b\n1,2\n1,"2\n3,4\n', "the quotes that open in line 3 are not closed"),
    ],
)
def test_files_without_a_table_are_refused(tmp_path, name, content, complaint):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidTable, match=complaint):
        read_frame(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        (
            "ragged.csv",
            "a;b\n1;2\n1;2;3\n",
            "line 3 has 3 fields between semicolons, and the header in line 1 has 2 ('a', 'b')",
        ),
        (
            "unit.csv",
            "\n# units: m\na,b,c\n1,2,3\n",
            "line 3 has 3 fields between commas, and the header in line 2 has 1 ('# units: m')",
        ),
        ("cell.tsv", 'a\tb\n"1\n2"\t2\n1\t2\t3\n', "line 4 has 3 fields between tabs, and the header in line 1 has 2"),
    ],
)
def test_error_on_longer_rows_names_lines_and_fields(tmp_path, name, content, complaint):
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidTable, match=re.escape(complaint)) as error:
        read_frame(tmp_path / name)
    assert "Remove lines before the header, and name all columns in it. Put quotes around a field" in str(error.value)


def test_longer_rows_without_a_header_are_refused(tmp_path):
    (tmp_path / "bare.csv").write_text("1,2\n1,2,3\n")
    with pytest.raises(InvalidTable, match=r"line 2 has 3 fields between commas, and line 1 has 2 .*\. Put quotes"):
        read_frame(tmp_path / "bare.csv", Format(no_header=True))


@pytest.mark.parametrize(
    ("encoding", "complaint"),
    [
        ("latin-1", "is not in UTF-8 in line 2, perhaps in Windows-1252 or Latin-1; .*iconv -f CP1252 -t UTF-8"),
        ("cp1252", "is not in UTF-8 in line 2, perhaps in Windows-1252 or Latin-1; .*iconv -f CP1252 -t UTF-8"),
        ("utf-16", "is not in UTF-8, perhaps in UTF-16; save it as 'CSV UTF-8' in Excel, .*iconv -f UTF-16 -t UTF-8"),
        ("utf-16-le", "perhaps in UTF-16"),
    ],
)
def test_encodings_but_utf_8_are_refused_with_a_conversion(tmp_path, encoding, complaint):
    (tmp_path / "excel.csv").write_text("city,b\nZürich,2\n", encoding=encoding)
    with pytest.raises(InvalidTable, match=complaint):
        read_frame(tmp_path / "excel.csv")


def test_named_pipe_is_refused_without_waiting(tmp_path):
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
def test_nested_and_binary_columns_are_refused(write, cells, kind):
    path = write(pd.DataFrame({"a": [1, 2], "b": cells}), "nested.parquet")
    with pytest.raises(InvalidTable, match=f"the column 'b' holds {kind}.*; save .*, or leave the column out"):
        read_frame(path)


def test_utf_8_bytes_are_read_as_text(write):
    read_frame(write(pd.DataFrame({"a": [b"yes", b"no", None]}), "bytes.parquet"))


def test_file_names_are_distinguished_from_data_set_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").touch()
    assert [looks_like_a_table(name) for name in ("my.csv", "my.TSV", "a/b.parquet", "plain")] == [True] * 4
    assert not looks_like_a_table("yacht")
