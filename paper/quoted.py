"""Numbers that the paper takes from documents: measured by commands whose output no kept row holds.

A number is found by a pattern in the document's text, so that it follows the document, and a passage that is gone is an
error. Patterns see the text without comments and backticks, on one line.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
NUMBER = r"[−+]?[\d,]+(?:\.\d+)?"
INTERVAL = rf"{NUMBER} \({NUMBER} to {NUMBER}\)"


class PassageNotFound(LookupError):
    """Raised if a document has no passage that a pattern describes; the message names both."""


class Quote(NamedTuple):
    """A number in a document.

    Attributes:
        document: path of the document below the repository's root.
        pattern: regular expression whose only group is the number.
    """

    document: str
    pattern: str

    def found(self) -> str:
        """Return the number as the document prints it.

        Raises:
            PassageNotFound: the document has no such passage.
        """
        match = re.search(self.pattern, _plain(self.document))
        if not match:
            raise PassageNotFound(
                f"{self.document} has no passage like {self.pattern!r}; correct the pattern in paper/quoted.py"
            )
        return match[1]


def _curve(n: str, method: int) -> Quote:
    """Return the difference of the method in a column of the table of learning curves, at n training rows."""
    return Quote("docs/statistics.md", rf"\| {n} \|(?: [^|]+ \|){{{method}}} ({INTERVAL}) \|")


def _errors(scenario: str, column: int) -> Quote:
    return Quote("docs/statistics.md", rf"\| {scenario} \|(?:[^|]*\|){{{column}}} ?([^| ]*) ?\|")


def _speed(method: str, column: int) -> Quote:
    """Return the factor by which a stack is faster than one network alone: column 1 for stacks of 5, 2 for 30, ..."""
    return Quote(
        "docs/speed.md", rf"\| {method} \| {NUMBER} \|(?: [^|]+ \|){{{column - 1}}} {NUMBER} \(({NUMBER}) x\) \|"
    )


# Scenarios of simulated leaderboards that the paper's table has, and the columns of the document's table that it has.
SCENARIOS = (
    *("exchangeable", "heavy tails", "unequal noise", "half spread 10", "one set of huge scale"),
    *("half better", "graded"),
)
ERROR_COLUMNS = {"false over sets": 0, "over sets covers": 2, "ranks covered": 4, "worse, found over sets": 5}
TIMED = ("map", "swag", "mfvi", "vifa", "slang")
STACKS = (5, 30, 150, 600)

QUOTES = {
    "SpeedVifa": _speed("vifa", 3),
    "SpeedSlang": _speed("slang", 3),
    "SpeedMap": _speed("map", 3),
    "JaxMost": Quote("docs/speed.md", r"The largest ratio is (\d\.\d+) \("),
    "SecondsEnsemble": Quote("docs/sampling.md", r"deep-ensemble ([\d.]+ to \d+), sghmc"),
    "SecondsSghmc": Quote("docs/sampling.md", r"deep-ensemble [\d.]+ to \d+, sghmc (\d+ to \d+)"),
    "SecondsMile": Quote("docs/sampling.md", r"mile took (\d+ to \d+) seconds a split"),
    "MileWorst": Quote("docs/sampling.md", rf"two of the five splits, with NMLL of ({NUMBER}) and"),
    "MileTook": Quote("docs/sampling.md", r"mile took (\d\.\d) of its ten seconds"),
    "VifaTook": Quote("docs/sampling.md", r"of its ten seconds, [^.]*\.\d, map \d+, and vifa (\d+)"),
    "MileVariance": Quote("docs/sampling.md", r"draws of mile have variances (\d+) % too small"),
    "FalseLargest": Quote("docs/statistics.md", r"No scenario over sets has more than (\d+) % false"),
    "FalseUncorrected": Quote("docs/statistics.md", r"at a level of 5 %; without the correction (\d+) %"),
    "FalsePooled": Quote("docs/statistics.md", r"(\d+ to \d+) % false where methods differ in spread tenfold"),
    "PowerOneOfMany": Quote("docs/statistics.md", r"\| 9 \| \d+, (\d+) \|"),
    "StillMfvi": Quote("docs/findings.md", r"of mfvi was still improving on (\d+) sets"),
    "StillEnsemble": Quote("docs/findings.md", r"still improving on [^.]* of deep-ensemble on (\d+),"),
    "StillSghmc": Quote("docs/findings.md", r"still improving on [^.]* and of sghmc on (\d+)\."),
    "EnergyGapRandom": Quote("docs/gaps.md", rf"\| energy-gap \| ({NUMBER}) \({NUMBER}\)"),
    "EnergyGapBlocks": Quote("docs/gaps.md", rf"\| energy-gap \| {NUMBER} \({NUMBER}\) \| ({NUMBER}) \("),
    "CurvesFalse": Quote("docs/statistics.md", r"with a separate test at each size ([\d.]+) %"),
    "CurveFiveHundred": _curve("500", 0),
    "CurveLargest": _curve("5,000", 0),
    "CurveRank": Quote("docs/statistics.md", r"sghmc has the first mean rank, ([\d.]+) of 12 at n = 5,000"),
    "TauRegretNmll": Quote("docs/decisions.md", rf"\| NMLL \| ({INTERVAL}) \|"),
    "TauRegretRmse": Quote("docs/decisions.md", rf"\| RMSE \| ({INTERVAL}) \|"),
    "BaldSghmc": Quote("docs/decisions.md", r"choosing rows by BALD \(mean ratio (\d\.\d+),"),
    "BaldOthers": Quote("docs/decisions.md", r"For the others the mean ratio is (\d\.\d+ to \d\.\d+)"),
}


def errors(scenario: str) -> list[str]:
    """Return the numbers of a scenario in the document's table of simulated leaderboards, "" where it has none."""
    return [_errors(scenario, column).found() for column in ERROR_COLUMNS.values()]


def speeds() -> dict[str, list[tuple[int, float]]]:
    """Return for some methods the size of a stack and the microseconds of an update of one network in it."""
    found = {}
    for method in TIMED:
        alone = Quote("docs/speed.md", rf"\| {method} \| ({NUMBER}) \| {NUMBER} \(").found()
        stacked = [
            Quote(
                "docs/speed.md", rf"\| {method} \| {NUMBER} \|(?: [^|]+ \|){{{place}}} ({NUMBER}) \({NUMBER} x\) \|"
            ).found()
            for place in range(len(STACKS))
        ]
        times = [float(number.replace(",", "")) for number in (alone, *stacked)]
        found[method] = list(zip((1, *STACKS), times, strict=True))
    return found


@cache
def _plain(document: str) -> str:
    text = re.sub(r"<!--.*?-->", "", (ROOT / document).read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(text.replace("`", "").replace("**", "").split())
