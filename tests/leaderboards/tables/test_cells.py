from collections.abc import Iterator
from typing import Any

from lockstep_bench.leaderboards.stats.ranking import Ranked
from lockstep_bench.leaderboards.stats.summary import Moments
from lockstep_bench.leaderboards.tables.cells import BoardCell, CellNumbers, cell, hint

VALUES = Moments("uci", "yacht", "swag", "tuned", "ece", 1.0, 0.1, 0.1, 0.9, 20, 0, 1.5, False, 1.6, 3, False, "")
PLACE = Ranked("swag", "swag", 1.5, 1, 2, -0.2, -0.3, -0.1, 0.5, "best", 1, 20, 0, 20, 0.05, 9.0, 0.0, 0.06, 12.0)
BESIDE = {part: VALUES._replace(metric=part) for part in ("ece_low", "ece_high", "ece_null", "ece_null_95")}
NUMBERS = CellNumbers(VALUES, PLACE, "map", "nats", BESIDE)


def printed(numbers: CellNumbers) -> tuple[BoardCell, str]:
    return cell({"ece": numbers}, "ece"), hint({"ece": numbers}, "ece")


def changed(row: Any) -> Iterator[Any]:
    for place, value in enumerate(row):
        other = not value if isinstance(value, bool) else value + type(value)("7")
        yield type(row)(*row[:place], other, *row[place + 1 :])


ALTERED = [
    *(NUMBERS._replace(moments=values) for values in changed(VALUES)),
    *(NUMBERS._replace(place=place) for place in changed(PLACE)),
    *(NUMBERS._replace(beside=BESIDE | {part: values}) for part in BESIDE for values in changed(BESIDE[part])),
    NUMBERS._replace(moments=None),
    NUMBERS._replace(place=None),
    NUMBERS._replace(reference="laplace"),
    NUMBERS._replace(unit="relative"),
    NUMBERS._replace(beside={}),
]


def test_shown_numbers_differ_wherever_entry_or_tooltip_does() -> None:
    # A page stays as it is where `shown` has not changed.
    otherwise_printed = [altered for altered in ALTERED if printed(altered) != printed(NUMBERS)]

    assert len(otherwise_printed) > 20
    assert [altered for altered in otherwise_printed if altered.shown == NUMBERS.shown] == []


def test_tooltip_has_spread_difference_and_what_a_calibrated_model_would_have() -> None:
    entry, text = printed(NUMBERS)

    assert (entry.value, entry.stderr, entry.verdict) == ("1.00", "0.10", "best")
    assert text == (
        "20 splits, median 0.900; against map: −0.20 nats, 95 % interval −0.30 to −0.10 (80 % power for a difference "
        "of 0.05); 95 % bootstrap interval of a split, on average 1.00 to 1.00; a calibrated model would have 1.00 on "
        "average, and up to 1.00 on a split with a probability of 95 %"
    )
