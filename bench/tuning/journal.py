"""The journal of a study: Optuna's format, written once a round instead of at every parameter."""

import json
import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from optuna import Study
from optuna.storages.journal import BaseJournalBackend

SEAL = "sha256"  # attribute of the study, of all bytes before it


class Journal(BaseJournalBackend):
    """The log of a study in memory, which `store` appends to its file.

    A study belongs to one process, so there is no lock. `optuna.storages.journal.JournalFileBackend` reads the file.
    Each round ends with a digest of all that was stored before, as an attribute of the study. A file is read up to the
    last round whose digest is right; one of an earlier version, without digests, is read as it is.

    Args:
        path: The file; it may be missing.

    Attributes:
        whole: Whether all of the file was read.

    Raises:
        ValueError: The file is not a journal.
    """

    def __init__(self, path: Path):
        self._path, self._digest = path, sha256()
        self._logs: list[dict[str, Any]] = []
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        sealed, n_right = False, 0
        for line in lines:
            try:
                log = json.loads(line)
                seal = log.get("user_attr", {}).get(SEAL)
            except (ValueError, AttributeError) as problem:
                if not sealed:
                    raise ValueError(f"{path} is not a journal") from problem
                break
            if seal:
                sealed = True
                if seal != self._digest.hexdigest():
                    break
                n_right = len(self._logs) + 1
            self._logs.append(log)
            self._digest.update(line)
        self.whole = not sealed or n_right == len(lines)
        if not self.whole:
            del self._logs[n_right:]
        self._n_stored = len(self._logs)

    def read_logs(self, log_number_from: int) -> Sequence[dict[str, Any]]:
        """Return the log from an entry on."""
        return self._logs[log_number_from:]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append entries to the log in memory."""
        self._logs += logs

    def store(self, study: Study) -> None:
        """Append what is not stored yet to the file, in one write that survives a power failure.

        Args:
            study: The only one in the journal, which gets the digest.
        """
        content = self._unstored()
        self._digest.update(content)
        study.set_user_attr(SEAL, self._digest.hexdigest())
        seal = self._unstored()
        self._digest.update(seal)
        with self._path.open("ab") as file:
            file.write(content + seal)
            file.flush()
            os.fsync(file.fileno())

    def _unstored(self) -> bytes:
        """Return the lines of the log since the last call."""
        lines = [json.dumps(log, separators=(",", ":")) + "\n" for log in self._logs[self._n_stored :]]
        self._n_stored = len(self._logs)
        return "".join(lines).encode()
