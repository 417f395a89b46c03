"""Parts of a table that is too large for a page."""

from lockstep_bench.leaderboards.tables.layout import Lines
from lockstep_bench.leaderboards.tables.panels import MOST_CHARACTERS, MOST_LINES, panels


def grid(n_rows, n_columns, width):
    head = ["name", *(f"{column}".rjust(width) for column in range(n_columns))]
    body = [[f"row {row}", *(f"{row},{column}" for column in range(n_columns))] for row in range(n_rows)]
    return Lines(head, body, ["rank", *(f"{column}" for column in range(n_columns))])


def test_table_that_fits_a_page_is_not_split():
    whole = grid(MOST_LINES, 4, 20)
    assert panels(whole, len) == [whole]


def test_parts_of_a_table_contain_every_cell_once():
    whole = grid(2 * MOST_LINES + 1, 10, 20)
    parts = panels(whole, len)
    cells = [cell for part in parts for row in part.body for cell in row[1:]]
    assert sorted(cells) == sorted(cell for row in whole.body for cell in row[1:])
    assert all(row[0].startswith("row") for part in parts for row in part.body)
    assert all(len(part.body) <= MOST_LINES for part in parts)
    assert all(sum(map(len, part.head)) <= MOST_CHARACTERS for part in parts)
    ranks = [rank for part in parts if part.foot for rank in part.foot[1:]]
    assert ranks == whole.foot[1:]


def test_columns_wider_than_a_page_get_own_parts():
    parts = panels(grid(1, 3, 2 * MOST_CHARACTERS), len)
    assert [part.body for part in parts] == [[["row 0", f"0,{column}"]] for column in range(3)]
