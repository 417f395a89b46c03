"""A child process that makes calls for this one, and what can become of it: it dies, or it hangs."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

from bench.execution.child import BEGINS

LOG_LINES, LINE_LENGTH = 150, 500  # where a call hangs is told in up to 100 lines
GRACE_SECONDS = 1  # of a call whose time is up, in which the child writes where it is
POLL_SECONDS = 1  # a process that the child has started may hold its pipe open after the child's death
CLOSE_SECONDS = 5


class Died(Exception):
    """The child ended in the middle of a call, with the `returncode` of `subprocess`."""

    def __init__(self, returncode: int):
        super().__init__(returncode)
        self.returncode = returncode

    @property
    def name(self) -> str:
        """The signal's, or SystemExit where there is none."""
        with suppress(ValueError):
            return signal.Signals(-self.returncode).name
        return "SystemExit"

    def __str__(self) -> str:
        if self.name == "SystemExit":
            return f"its process ended by itself, with exit code {self.returncode}"
        guess = " (out of memory?)" if self.name == "SIGKILL" else ""
        return f"its process was killed by {self.name}{guess}"


class Overdue(Exception):
    """The call took longer than it was allowed to, and the child was killed."""


class Stopped(Exception):
    """The child was ended from here in the middle of a call, or before it."""


class Supervised:
    """A process of `bench.execution.child`. Every way out of `call` but a return or what the function raised leaves
    it ended.

    Args:
        environment: variables that it gets besides this process's.
    """

    def __init__(self, environment: Mapping[str, str]):
        # -P and the path, so that the child imports what this process would, from whatever folder it is started.
        path = os.pathsep.join(place or os.getcwd() for place in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "bench.execution.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is the parent's to understand, and a kill takes grandchildren along
        )
        self._lines: deque[bytes] = deque(maxlen=LOG_LINES)
        self._replies: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._readers = [Thread(target=read, daemon=True) for read in (self._read_log, self._read_replies)]
        for thread in self._readers:
            thread.start()
        self._ending, self._stopped = Lock(), False

    @property
    def alive(self) -> bool:
        """Whether it can take a call."""
        return not self._stopped and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def log(self) -> str:
        """The last `LOG_LINES` lines that it wrote since the latest call began; all of it once it has ended."""
        return "\n".join(line.decode(errors="replace") for line in list(self._lines))

    def call(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        limit: float | None = None,
        tell: Callable[[Any], None] = lambda told: None,
    ) -> Any:
        """What `function(*arguments, tell=...)` returns over there, or raises.

        Args:
            function, arguments: anything that can be pickled; the function, by its name.
            limit: wall-clock seconds, or None for no limit.
            tell: gets what the function tells, in this thread.

        Raises `Died`, `Overdue` or `Stopped`.
        """
        if self._stopped:
            raise Stopped
        with suppress(OSError, ValueError):  # it is dead, or just being ended, which is noticed below
            pickle.dump(pickle.dumps((function, arguments, limit)), self._process.stdin)
            self._process.stdin.flush()
        deadline = float("inf") if limit is None else time.monotonic() + limit + GRACE_SECONDS
        while True:
            kind, what = self._next_reply(deadline)
            if kind == "told":
                tell(what)
            elif kind == "returned":
                return what
            elif kind == "raised":
                raise what
            else:
                if kind == "closed":
                    with suppress(subprocess.TimeoutExpired):  # the interpreter closes its files before it ends
                        self._process.wait(CLOSE_SECONDS)
                died, stopped = self._process.poll() is not None, self._stopped
                self.end()
                if stopped:
                    raise Stopped
                raise Died(self._process.returncode) if died or kind == "closed" else Overdue

    def end(self) -> None:
        """Kill it, with the processes that it has started, and wait until it is gone and its log is read."""
        self._stopped = True
        with self._ending:
            self._kill()
            self._process.wait()
            for thread in self._readers:
                thread.join(CLOSE_SECONDS)
            with suppress(OSError):  # of what could not be sent to a dead process
                self._process.stdin.close()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def _next_reply(self, deadline: float) -> tuple[str, Any]:
        """The next reply, or ("closed", None) after the last, or ("late", None)."""
        while True:
            left = deadline - time.monotonic()
            with suppress(Empty):
                return self._replies.get(timeout=max(0.0, min(left, POLL_SECONDS)))
            if left <= 0:
                return "late", None
            if self._process.poll() is not None:
                self._kill()

    def _read_replies(self) -> None:
        with self._process.stdout as stream:
            try:
                while True:
                    self._replies.put(pickle.load(stream))
            except Exception:  # the end of the pipe, often in the middle of a reply
                self._replies.put(("closed", None))

    def _read_log(self) -> None:
        partial = b""
        with self._process.stderr as stream:
            while chunk := stream.read1(1 << 16):
                *lines, partial = (partial + chunk).replace(b"\r", b"\n").split(b"\n")
                for line in lines:
                    if (
                        line == BEGINS
                    ):  # not when the call is sent, as lines of the one before may still be on their way
                        self._lines.clear()
                    elif line.strip():
                        self._lines.append(line[:LINE_LENGTH])
                partial = partial[:LINE_LENGTH]
        if partial.strip():
            self._lines.append(partial)
