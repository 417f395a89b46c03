"""The journal of a study: Optuna's format, written once a round instead of at every parameter."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from optuna.storages.journal import BaseJournalBackend


class Journal(BaseJournalBackend):
    """The log of a study in memory, which `store` appends to its file.

    A study belongs to one process, so there is no lock. `optuna.storages.journal.JournalFileBackend` reads the file.

    Args:
        path: The file; it may be missing.

    Raises:
        ValueError: The file is not a journal.
    """

    def __init__(self, path: Path):
        self._path = path
        self._logs: list[dict[str, Any]] = (
            list(map(json.loads, path.read_bytes().splitlines())) if path.exists() else []
        )
        self._n_stored = len(self._logs)

    def read_logs(self, log_number_from: int) -> Sequence[dict[str, Any]]:
        """Return the log from an entry on."""
        return self._logs[log_number_from:]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append entries to the log in memory."""
        self._logs += logs

    def store(self) -> None:
        """Append what is not stored yet to the file, in one write that survives a power failure."""
        lines = [json.dumps(log, separators=(",", ":")) + "\n" for log in self._logs[self._n_stored :]]
        with self._path.open("ab") as file:
            file.write("".join(lines).encode())
            file.flush()
            os.fsync(file.fileno())
        self._n_stored = len(self._logs)
