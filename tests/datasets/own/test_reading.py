"""Tables of ordinary people are read as they mean them, or refused in words."""

import datetime
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from lockstep_bench.datasets import InvalidTable, describe
from lockstep_bench.datasets.own.overview import overview
from lockstep_bench.datasets.own.table import columns_in, read

N = 40
X = np.random.default_rng(0).normal(size=N).round(3)
Y = np.random.default_rng(1).normal(size=N).round(3)


@pytest.fixture
def table(write):
    """`table(column, name, **options)`: describe a table of x, y and one more column, `more`, and predict y."""

    def table(more, name="table.csv", target="y", **options):
        frame = pd.DataFrame({"x": X, "more": more, "y": Y})
        return describe(write(frame, name), target, **options)

    return table


def cells(table, name="more"):
    return columns_in(table)[name].cells


def every(text: str, others: list[str], period: int = 10) -> list[str]:
    """Return N texts: `text` in every row of the period, and others around them."""
    return [text if row % period == 0 else others[row % len(others)] for row in range(N)]


FEW = ["2.5", "3.1", "4", "5.7"]


@pytest.mark.parametrize("sign", ["-", "?", "NA", "n/a", "missing", "#N/A"])
@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
def test_error_on_placeholders_in_target_names_the_rows(table, sign, name):
    where = "lines 2, 12, 22" if name.endswith("csv") else "rows 1, 11, 21"
    complaint = re.escape(f"{sign!r} in 4 of 40 rows ({where} and 1 more); remove these rows")
    with pytest.raises(InvalidTable, match=f"the target 'more' holds numbers, and {complaint}"):
        table(every(sign, FEW), name, "more")
    with pytest.raises(InvalidTable, match="remove these rows"):
        table(every(sign, FEW), name, "more", task="classification")


@pytest.mark.parametrize("sign", ["-", "?", "NA", "n/a", "missing", "#N/A"])
def test_features_with_placeholders_are_refused_or_imputed(table, sign):
    with pytest.raises(InvalidTable, match=re.escape(f"more (4: {sign!r}); fill or remove them, or give --impute")):
        table(every(sign, FEW))
    described, _ = table(every(sign, FEW), impute="median")
    assert np.isnan(read(described, {})[0]).sum(axis=0).tolist() == [0, 4]


def test_targets_with_thousands_separators_keep_their_scale(table):
    described, _ = table([f"{16455 + 100 * row:,}" for row in range(N)], target="more", thousands=",")
    assert read(described, {})[1][0] == 16455


@pytest.mark.parametrize(
    "texts",
    [
        [Decimal(row) / 4 for row in range(N)],
        [*[Decimal("0.25")] * (N - 1), None],
        [None if row % 7 == 0 else row for row in range(N)],
        pd.array([row if row % 7 else None for row in range(N)], dtype="Int64"),
        [f"{row}.25" for row in range(N)],
        [f"{row}.25".encode() for row in range(N)],
    ],
)
def test_numeric_parquet_columns_are_numbers(table, texts):
    described, _ = table(texts, "table.parquet", impute="median")
    assert read(described, {})[0].shape == (N, 2)


def test_parquet_decimal_target_makes_a_regression(table):
    assert table([Decimal(row * row) / 4 for row in range(N)], "table.parquet", "more")[0].task == "regression"


DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=row) for row in range(N)]


@pytest.mark.parametrize(
    ("dates", "name"),
    [
        (DAYS, "table.parquet"),
        ([*DAYS[:-1], None], "table.parquet"),
        (pd.to_datetime(DAYS), "table.parquet"),
        ([datetime.time(row // 2, 30) for row in range(N)], "table.parquet"),
        (pd.to_timedelta(range(N), "h"), "table.parquet"),
        (DAYS, "table.csv"),
        ([day.strftime("%d.%m.%y") for day in DAYS], "table.csv"),
        ([f"{row // 2}:30" for row in range(N)], "table.csv"),
        (["2024-01-01", "2024-07-01"] * (N // 2), "table.csv"),
        (["2024-01", "2024-07"] * (N // 2), "table.csv"),
        ([f"{day:%Y%m%d}" for day in DAYS], "table.csv"),
    ],
)
def test_date_columns_are_refused(table, dates, name):
    with pytest.raises(InvalidTable, match=r"the column 'more' holds dates or times .*; turn them into numbers"):
        table(dates, name, impute="median")
    with pytest.raises(InvalidTable, match=r"the target 'more' (holds dates or times|is missing)"):
        table(dates, name, "more")


@pytest.mark.parametrize("names", [[f"pat{row}" for row in range(20)], [f"Ann {row % 15}" for row in range(20)]])
def test_name_like_text_columns_are_refused(write, names):
    frame = pd.DataFrame({"x": X[:20], "name": names, "y": Y[:20]})
    with pytest.raises(InvalidTable, match=r"the column 'name' has \d+ different texts in 20 rows .* like a name"):
        describe(write(frame), "y")


@pytest.mark.parametrize(
    "classes", [("yes", "yes ", "no"), (" a", "a", "b"), ("a\u00a0", "a", "b"), ("b", "a", "a\t"), ("a", "  b", "b  ")]
)
def test_spaces_do_not_distinguish_classes(table, classes):
    described, _ = table(list(np.resize(classes, N)), "table.parquet", "more")
    assert described.task == "binary"
    spaced = len([text for text in classes if text.strip() != text and text.strip() in classes])
    assert any(note.startswith("Spaces around texts do not count") for note in described.notes) == bool(spaced)


def test_target_constant_up_to_spaces_is_refused(table):
    with pytest.raises(InvalidTable, match=r"is 'yes' in every row \('yes ' too, as spaces do not count\)"):
        table(["yes", "yes "] * (N // 2), target="more")


def test_text_differing_only_in_capitals_gives_a_warning(table):
    assert "texts of column 'more' differ in capitals only: 'Yes', 'yes'" in table(["Yes", "no", "yes", "a"] * 10)[1]


@pytest.mark.parametrize("name", ["None", "NA", "null", "nan", "N/A", "-", "?"])
def test_class_named_like_a_missing_value_is_kept(table, name):
    described, warnings = table([name, "cat", "dog", "cat"] * 10, target="more")
    assert described.n_classes == 3
    assert any(f"{name} (10). If these rows lack a class, remove them" in warning for warning in warnings)
    with pytest.raises(InvalidTable, match=r"missing in 10 of 40 rows \(lines 2, 6, 10 and 7 more\)"):
        table([name, "cat", "dog", "cat"] * 10, target="more", na_values=name)


@pytest.mark.parametrize(
    ("lines", "target"),
    [
        (["0.126,4.05,-3.545"], "y"),
        (["0.126,4.05,-3.545"], "-3.545"),
        (["5.1,3.5,1.4,setosa"], "species"),
        (["5.1,3.5,1.4,setosa"], "setosa"),
        (["1,5;2,5;3,7"], "y"),
        (["red,big,yes"], "yes"),
        (["1.5\t2\t2.5"], "y"),
    ],
)
def test_first_line_of_numbers_is_refused_as_header(tmp_path, lines, target):
    path = tmp_path / ("table.tsv" if "\t" in lines[0] else "table.csv")
    path.write_text("\n".join(lines * N))
    with pytest.raises(InvalidTable, match=r"the first line of the table holds .*, like a row .*; give --no-header"):
        describe(path, target)


def test_repeated_header_line_is_refused(tmp_path):
    lines = ["x,y", *(f"{x},{y}" for x, y in zip(X, Y, strict=True))]
    (tmp_path / "joined.csv").write_text("\n".join(lines * 2))
    with pytest.raises(InvalidTable, match=r"the column 'x' holds numbers but for 'x' \(line 42\)"):
        describe(tmp_path / "joined.csv", "y")


@pytest.mark.parametrize("header", ["2001,2002,2003,y", "x,400.5,y", "0,1,2,y", "2001,2005,2010,y", "a,b,c,y"])
def test_column_names_may_contain_numbers(tmp_path, header):
    path = tmp_path / "table.csv"
    rows = [",".join(map(str, values)) for values in np.random.default_rng(0).normal(size=(N, header.count(",") + 1))]
    path.write_text("\n".join([header, *rows]))
    assert describe(path, "y")[0].n_features == header.count(",")


def test_table_without_header_uses_column_numbers(tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text("\n".join(f"{x},{x * x},{y}" for x, y in zip(X, Y, strict=True)))
    described, _ = describe(path, "3", no_header=True)
    assert described.n_rows == N
    np.testing.assert_array_equal(read(described, {})[1], Y)
    assert [line.name for line in overview(described)] == ["3", "1", "2"]


@pytest.mark.parametrize("numbers", [range(N), range(1, N + 1), range(N, 0, -1), range(5, 5 + 3 * N, 3)])
@pytest.mark.parametrize("name", ["", "Unnamed: 0", " "])
def test_unnamed_column_of_row_numbers_is_refused(write, numbers, name):
    shuffled = np.random.default_rng(0).permutation(list(numbers))
    for column in (list(numbers), shuffled):
        path = write(pd.DataFrame({name: column, "x": X, "y": Y}))
        with pytest.raises(InvalidTable, match="the first column has no name and another whole number in each row"):
            describe(path, "y")


def test_named_column_of_row_numbers_gives_a_warning(table):
    numbers = np.random.default_rng(0).permutation(N)
    for column in (numbers, numbers + 1):
        assert any("'more' counts the rows" in warning for warning in table(column)[1])
    assert not any("'more' counts the rows" in warning for warning in table(numbers * 2)[1])


def test_lost_digits_of_inputs_and_targets_give_warnings(table):
    codes = [f"{row * row + 1:05}" for row in range(N)]
    for target in ("y", "more"):
        assert any("numbers of column 'more' begin with zeros" in warning for warning in table(codes, target=target)[1])


def test_sentinels_of_features_and_regression_targets_give_warnings(table):
    numbers = [-999 if row % 10 == 0 else row * row % 37 for row in range(N)]
    for target in ("y", "more"):
        assert any("column 'more' has -999 in 4 of 40 rows" in warning for warning in table(numbers, target=target)[1])
    marked = table(numbers, na_values="-999", impute="median")
    classes = table([[999, 1, 2][row % 3] for row in range(N)], target="more", task="classification")
    assert not any("na-values" in warning for _, warnings in (marked, classes) for warning in warnings)


@pytest.mark.parametrize(
    ("copy", "target", "claim"),
    [
        (3 - 0.5 * Y, "y", "gives 'y' almost exactly, by a factor and a constant"),
        (np.sign(X).astype(int), "positive", "has one value for each class of 'positive', and another in each"),
        (np.where(X > 0, "high", "low"), "positive", "has one value for each class of 'positive', and another in each"),
    ],
)
def test_inputs_that_give_the_target_away_give_warnings(write, copy, target, claim):
    frame = pd.DataFrame({"positive": np.where(X > 0, "yes", "no"), "z": X * Y, "copy": copy, "y": Y})
    warnings = describe(write(frame), target)[1]
    (leak,) = [warning for warning in warnings if "leak" in warning]
    assert leak == f"column 'copy' {claim}; is it a leak? Remove it unless it is known before the target"


def test_unnamed_first_column_may_be_an_input(write):
    assert describe(write(pd.DataFrame({"": X, "y": Y})), "y")[0].n_features == 1


def test_stored_description_keeps_the_reading_options(table):
    texts = [f"{row},234" if row % 5 else "-999" for row in range(1, N + 1)]
    described, _ = table(texts, na_values="-999", impute="median", thousands=",")
    assert cells(type(described).from_json(described.to_json()))[2] == 1234
    assert np.isnan(cells(described)).sum() == N // 5


def test_table_overview_lists_the_target_first(table):
    described, _ = table([f"{row % 7}.5" if row else None for row in range(N)], "table.parquet", impute="median")
    assert [tuple(line) for line in overview(described)] == [
        ("y", "target", "", f"{Y[0]:g}"),
        ("x", "number", "", f"{X[0]:g}"),
        ("more", "number", "1 missing", "1.5"),
    ]
    described, _ = table(["a", "b"] * (N // 2), target="more")
    assert overview(described)[0] == ("more", "target", "2 classes", "'a'")


def test_compact_date_targets_may_be_classes_on_request(table):
    for days in ([20240101, 20240701], ["20240101", "20240701"]):
        described, _ = table(days * (N // 2), "table.parquet", "more", task="classification")
        assert overview(described)[0] == ("more", "target", "2 classes", "'20240101'")
        assert read(described, {})[1][:2].tolist() == [0, 1]


def test_date_targets_may_be_classes_on_request(table):
    for name in ("table.csv", "table.parquet"):
        described, _ = table(DAYS[:2] * (N // 2), name, "more", task="classification")
        assert overview(described)[0] == ("more", "target", "2 classes", "'2024-01-01'")
        assert read(described, {})[1][:2].tolist() == [0, 1]


def test_booleans_in_any_capitalisation_become_zeros_and_ones(table):
    described, _ = table(["TRUE", "false", "True", "FALSE"] * 10)
    assert read(described, {})[0][:4, 1].tolist() == [1, 0, 1, 0]
