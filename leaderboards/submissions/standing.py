"""How far others can rely on a submission: whether its files are whole, and whether its results were repeated."""

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from lockstep_bench.leaderboards.data.rechecks import NOT_RUN, read_rechecks
from lockstep_bench.leaderboards.publishing.manifest import SUMS
from lockstep_bench.leaderboards.rechecks.report import sentence
from lockstep_bench.leaderboards.submissions.writing import DESCRIPTION, SubmissionRefused

SELF_REPORTED, RECHECKED, REPRODUCED = "self-reported", "rechecked", "reproduced"
STANDINGS = {
    SELF_REPORTED: "nobody has run any of the cells again",
    RECHECKED: "some cells were run again, and not all numbers agree",
    REPRODUCED: "cells drawn at random were run again, and all numbers are equal or within the noise of a seed",
}


class Standing(NamedTuple):
    """The standing of a submission.

    Attributes:
        methods: names of its methods.
        contents: number of cells, methods and data sets, in words.
        by: who submitted it.
        state: a key of `STANDINGS`.
        recheck: the outcome of the latest recheck, in words; "" if there is none.
    """

    methods: tuple[str, ...]
    contents: str
    by: str
    state: str
    recheck: str


def standing_of(folder: Path) -> Standing:
    """Return the standing of a submission whose files are unchanged.

    The latest recheck decides, and one that could run none of the cells again does not count.

    Raises:
        SubmissionRefused: the folder is no submission, or its files are not those of `SHA256SUMS`.
    """
    try:
        described = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        sums = (folder / SUMS).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise SubmissionRefused(
            f"'{folder}' is no submission: it has no readable {DESCRIPTION} and {SUMS}; "
            "`lockstep-bench leaderboards submit` writes one"
        ) from None
    lines = [line.partition("  ") for line in sums.splitlines()]
    changed = [name for digest, _, name in lines if _digest(folder / name) != digest]
    if changed:
        raise SubmissionRefused(
            f"'{folder}' is not as it was submitted: {', '.join(changed[:3])} changed or missing; submit it again"
        )
    rechecks = [
        each for each in read_rechecks(folder / "results") if any(cell.outcome != NOT_RUN for cell in each.cells)
    ]
    state = SELF_REPORTED if not rechecks else REPRODUCED if rechecks[-1].agreed else RECHECKED
    said = sentence(rechecks[-1]) if rechecks else ""
    return Standing(tuple(described["methods"]), described["contents"], described["by"], state, said)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
