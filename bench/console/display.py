"""Functions that print the console output of `run_all.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from lockstep_bench import datasets
from lockstep_bench.bench.experiment.available import Missing
from lockstep_bench.bench.experiment.cells import Cell
from lockstep_bench.bench.experiment.suites import SUITES
from lockstep_bench.datasets.own.overview import overview
from lockstep_bench.shared.called import as_called
from lockstep_bench.shared.protocol import Protocol
from lockstep_bench.shared.texts import visible, with_short_words

if TYPE_CHECKING:
    from lockstep_bench.bench.execution.workers import Worker

MOST_COLUMNS = 20  # of a user's table that are listed
LONGEST_CELL = 60  # characters, in that list


class CommandConsole(Console):
    """Console that adapts printed commands to the way this program was called, and prints no control characters."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text or table entry with control characters spelled out, as these could manipulate the terminal."""
        return super().render_str(visible(text), **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects as `Console.print` of rich does, after the changes that this class makes."""
        super().print(*(as_called(each) if isinstance(each, str) else each for each in objects), **options)


out = CommandConsole(highlight=False)
err = CommandConsole(stderr=True, highlight=False)


def say(text: str) -> None:
    """Print a line without formatting."""
    out.print(escape(text))


def warn(text: str) -> None:
    """Print a warning; the run goes on."""
    labelled("Note", text)


def labelled(label: str, text: str, colour: str = "yellow") -> None:
    """Print a text on standard error after a coloured label; lines are not broken."""
    err.print(f"[{colour}]{escape(label)}:[/] {escape(text)}", soft_wrap=True)


def show_error(text: str) -> None:
    """Print the error message of a request that cannot be run; very long values in it are shortened."""
    labelled("Error", with_short_words(text), "red")


def show_start() -> None:
    """Print, in a terminal, that the program has started, because its imports take seconds."""
    if err.is_terminal:
        err.print("Reading methods and data sets ...")


def show_table(table: datasets.Table, warnings: Sequence[str]) -> None:
    """Print how the columns of a user's own table are read, and warnings about them."""
    say(f"{table.name}: {table.task} of {table.target}, {table.n_rows} rows, {table.n_features} features")
    lines = overview(table)
    columns = Table("Column", "Kind", "Remark", "For example", box=None, pad_edge=False)
    for line in lines[:MOST_COLUMNS]:
        columns.add_row(
            *(escape(words if len(words) <= LONGEST_CELL else f"{words[:LONGEST_CELL]} ...") for words in line)
        )
    out.print(columns)
    if more := Counter(line.kind for line in lines[MOST_COLUMNS:]):
        say(f"and {more.total()} more columns: {', '.join(f'{count} {kind}' for kind, count in more.items())}")
    for note in table.notes:
        say(f"  {note}")
    show_notes(warnings)


def show_missing(missing: Sequence[Missing]) -> None:
    """Print the unavailable data sets with reasons and remedies, grouped if they share an unreachable server."""
    together: dict[str, list[Missing]] = {}
    for unavailable in missing:
        together.setdefault(unavailable.no_connection or unavailable.dataset, []).append(unavailable)
    for group in together.values():
        names = [each.dataset for each in group]
        reason, remedy = group[0].reason, group[0].remedy
        if len(group) > 1:
            reason = f"not here, and {group[0].no_connection}"
            remedy = (
                f"run `python -m datasets fetch {' '.join(names)}` where there is network, or point BENCH_DATA_DIR at "
                "a folder that has them"
            )
        why = f"{reason}.\n  To have {'them' if len(group) > 1 else 'it'}: {remedy}."
        labelled(f"Without {', '.join(names)}", why)


def show_broken(broken: Mapping[str, str]) -> None:
    """Print the methods of installed packages that cannot be loaded, with the reason, by method name."""
    for problem in broken.values():
        labelled("Without a method", problem)


def show_excluded(excluded: Mapping[tuple[str, str], str]) -> None:
    """Print the pairs (method, data set) that cannot be run, with the reason."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for (method, dataset), reason in excluded.items():
        reasons.setdefault((method, reason), []).append(dataset)
    for (method, reason), names in reasons.items():
        say(f"  {method} is not for {', '.join(names)}: {reason}")


def show_given(given: Mapping[str, Mapping[str, float]]) -> None:
    """Print the hyper-parameters that the user fixes instead of tuning them, by method."""
    for method, values in given.items():
        say(f"  {method} is not tuned in " + ", ".join(f"{name} = {value:g}" for name, value in values.items()))


def show_plan(wanted: Sequence[Cell], todo: Sequence[Cell], workers: Sequence[Worker]) -> None:
    """Print what is about to run: the budgets, the number of cells of each data set, and the worker processes.

    Args:
        wanted: the requested cells; a cell is one method on one split of a data set.
        todo: the cells of `wanted` that are not finished.
        workers: the worker processes.
    """
    protocols: dict[tuple[str, str, str], Protocol] = {}
    splits: dict[tuple[str, str, str], dict[str, Counter[str]]] = {}  # by data set and method
    for cell in wanted:
        key = cell.suite, cell.preset, cell.protocol.hash
        protocols[key] = cell.protocol
        splits.setdefault(key, {}).setdefault(cell.dataset, Counter())[cell.method] += 1
    for key, by_dataset in splits.items():
        suite, preset, _ = key
        say(f"Preset {preset}: {SUITES[suite].kind.in_words(protocols[key])}")
        for name, counts in by_dataset.items():
            say(f"  {name}: {len(counts)} methods x {max(counts.values())} splits")
        likelihood = protocols[key].likelihood
        classified = [name for name in by_dataset if datasets.entry(name).n_classes is not None]
        if likelihood != "gaussian" and classified:
            say(f"  The likelihood {likelihood} is of regressions; it changes nothing on {', '.join(classified)}")
    done = len(wanted) - len(todo)
    finished = f", {done} of them finished before" if done else ""
    say(f"{len(wanted)} cells{finished}; {len(workers)} worker(s) on {', '.join(dict.fromkeys(map(_device, workers)))}")


def _device(worker: Worker) -> str:
    return worker.name.rpartition(" ")[0]


def show_notes(sentences: Sequence[str]) -> None:
    """Print notes, for example that earlier results come from other code, data or settings."""
    for sentence in sentences:
        warn(sentence)


def show_timing(cells: Sequence[Cell]) -> None:
    """Print which cells are about to be repeated alone on an idle device, to measure their times."""
    if cells:
        say(f"Timing pass: repeats {len(cells)} cell(s), one of each method and data set, alone on the device")
    else:
        say("Timing pass: every method that has finished has its times already")


def show_repeated(differing: Mapping[Cell, Sequence[str]], failed: Mapping[Cell, str]) -> None:
    """Print the cells that gave other numbers when repeated, and those that failed; their times are discarded."""
    for cell, numbers in differing.items():
        text = f"{cell.key} gave other numbers when it was repeated: {'; '.join(numbers)}"
        labelled("NOT THE SAME", text, "bold red")
    for cell, status in failed.items():
        labelled("Not timed", f"{cell.key} {status} when it was repeated", "red")


def show_longer(cells: Sequence[Cell], factor: int) -> None:
    """Print which cells are about to be trained again for `factor` times as long."""
    if cells:
        say(f"Longer pass: trains {len(cells)} cell(s), one of each method and data set, {factor} times as long")
    else:
        say(
            f"Longer pass: every method that has finished has been trained for {factor} times as long already; suites "
            "without an NMLL are left out"
        )


def show_gains(trainings: Sequence[Any], failed: Mapping[Cell, str]) -> None:
    """Print how much the test scores changed by longer training.

    Args:
        trainings: records of `leaderboards.data.longer.LongerTraining`.
        failed: status of the trainings that failed, by the cell that was trained again.
    """
    if trainings:
        table = Table(
            title="What longer training gains in NMLL, nats (above 0 is better)", title_justify="left", box=None
        )
        for heading in ("data set", "method", "split", "times as long", "validation", "test"):
            table.add_column(heading, justify="left" if heading in ("data set", "method") else "right")
        for each in trainings:
            gains = ["diverged" if isnan(gain) else f"{gain:+.3f}" for gain in (each.validation_gain, each.gain)]
            table.add_row(escape(each.dataset), escape(each.method), str(each.split), str(each.factor), *gains)
        out.print(table)
    for cell, status in failed.items():
        labelled("Not trained for longer", f"{cell.key} {status}", "red")


class SlowFits:
    """Printer of warnings that fits train slowly because they are not compiled; each reason is shown once."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def show(self, reason: str, cell: Cell | None = None) -> None:
        """Print why the training loops of fits were not compiled, and what to do about it.

        Args:
            reason: why compilation failed.
            cell: the first cell that was trained without compilation, or None if the reason was found before training.
        """
        reason = visible(reason)  # as rows have it
        if reason in self._shown:
            return
        self._shown.add(reason)
        first = f" (first: {cell.key})" if cell else ""
        warn(
            f"{reason[:1].upper()}{reason[1:]}. Without compiled loops, cells{first} take five to nine times as long; "
            "numbers differ by rounding alone."
        )


def show_invalid(renamed: Sequence[tuple[Path, str]]) -> None:
    """Print the files of the results folder that were renamed because they are invalid, with the reason."""
    for path, why in renamed:
        labelled("Put aside", f"{path}: {why}; a run that includes its cell runs it again")


def show_passed_over(passed_over: Mapping[Path, str]) -> None:
    """Print the entries of the results folder, such as links, that were neither read nor changed, with the reason."""
    for path, why in passed_over.items():
        labelled("Passed over", f"{path}: {why}")


def show_not_stored(reason: OSError, folder: Path, cells: Sequence[Cell] = ()) -> None:
    """Print that the run ended early because results could not be stored, why, and how to continue."""
    lost = f"{', '.join(cell.key for cell in cells)} not stored: " if cells else ""
    # Not every error names its file: that of a full disk does not.
    where = f"on the disk of {reason.filename}" if reason.filename else "on the disks of results and temporary files"
    remedy = f"Make room {where}, or make it writable; the same command then goes on from here"
    labelled("Stopped", f"{lost}{reason}.\n  What was finished before is kept in {folder}. {remedy}.", "red")


def show_terminated(signal: str, folder: Path) -> None:
    """Print that a signal ended the run, and how to continue."""
    kept = f"What was finished before is kept in {folder}; the same command then goes on from here."
    labelled("Stopped", f"by {signal}. {kept}", "red")


def show_no_process(problem: Exception) -> None:
    """Print why no worker process could be started."""
    labelled("Stopped", str(problem), "red")
