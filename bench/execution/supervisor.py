"""A child process that runs functions for this process, and whose crash or endless loop does no harm here."""

import os
import pickle
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from io import BufferedReader
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import IO, Any

from lockstep_bench.bench.environment.machine import memory_kills
from lockstep_bench.bench.execution import guardian
from lockstep_bench.bench.execution.child import BEGINS

LOG_LINES, LINE_LENGTH = 150, 500  # the traceback of a call that hangs takes up to 100 lines
GRACE_SECONDS = 1  # after the time limit, in which the child writes its traceback
POLL_SECONDS = 1  # a process that the child has started may hold its pipe open after the child's death
CLOSE_SECONDS = 5
END_SECONDS = 30  # in which a guardian ends all processes; those with much memory take a while


class Died(Exception):
    """The child process ended during a call, or can no longer reply.

    Args:
        returncode: Exit code as in `subprocess`, negative for a signal; None if the child closed its pipe and ran on.
        memory_kills: Number of processes that the kernel killed during the call because memory ran out.
    """

    def __init__(self, returncode: int | None, memory_kills: int = 0):
        super().__init__(returncode, memory_kills)
        self.returncode, self.memory_kills = returncode, memory_kills

    @property
    def name(self) -> str:
        """Name of the signal that ended the child; without a signal, "SystemExit" or "ClosedPipe"."""
        if self.returncode is None:
            return "ClosedPipe"
        with suppress(ValueError):
            return signal.Signals(-self.returncode).name
        return "SystemExit"

    def __str__(self) -> str:
        if self.name == "ClosedPipe":
            return (
                "its process closed the pipe for its results (a file descriptor that it did not open) or wrote to it, "
                "and was ended"
            )
        if self.name == "SystemExit":
            return f"its process ended by itself, with exit code {self.returncode}"
        if self.name == "SIGKILL" and self.memory_kills:
            return "its process was killed by SIGKILL, and the kernel killed a process meanwhile as memory ran out"
        return f"its process was killed by {self.name}"


class Timeout(Exception):
    """The call took longer than its limit, and the child process was killed."""


class Stopped(Exception):
    """This process ended the child process before or during a call."""


class Supervised:
    """A child process (`bench.execution.child`) that runs functions for this process.

    After a call has raised `Died`, `Timeout` or `Stopped`, the child is ended and takes no further call.

    Args:
        environment: Environment variables of the child, in addition to those of this process.
        imported: Names of modules that the child imports before its first call.
    """

    def __init__(self, environment: Mapping[str, str], imported: Sequence[str] = ()):
        # -P and the path, so that the child imports what this process would, from whatever folder it is started.
        path = os.pathsep.join(place or os.getcwd() for place in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "lockstep_bench.bench.execution.child", *imported],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C reaches only the parent, and a signal to the group grandchildren too
        )
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert isinstance(stderr, BufferedReader)
        self._stdin = stdin
        self._lines: deque[bytes] = deque(maxlen=LOG_LINES)
        self._replies: SimpleQueue[tuple[int, str, Any]] = SimpleQueue()
        self._number = 0  # of the latest call
        self._over = Event()  # nothing of the process is waited for any more
        self._readers = [
            Thread(target=self._read_log, args=[stderr], daemon=True),
            Thread(target=self._read_replies, args=[stdout], daemon=True),
        ]
        for thread in self._readers:
            thread.start()
        self._ending, self._stopped = Lock(), False

    @property
    def alive(self) -> bool:
        """True if the child can take a call."""
        return not self._stopped and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process id of the child."""
        return self._process.pid

    def log(self) -> str:
        """Return the child's output since the latest call began, at most its last `LOG_LINES` lines.

        While the child runs, the last lines may be missing.
        """
        return "\n".join(line.decode(errors="replace") for line in list(self._lines))

    def call(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        limit: float | None = None,
        on_progress: Callable[[Any], None] = lambda progress: None,
    ) -> Any:
        """Return what `function(*arguments, on_progress=...)` returns in the child, or raise what it raises.

        Args:
            function: Function to call; it is pickled by its name.
            arguments: Arguments, which must be picklable.
            limit: Wall-clock seconds that the call may take; None for no limit.
            on_progress: Called in this thread with each value that the function reports.

        Raises:
            Died: The child ended by itself during the call.
            Timeout: The call took longer than the limit.
            Stopped: This process ended the child.
        """
        if self._stopped:
            raise Stopped
        self._number += 1
        with suppress(OSError, ValueError):  # a process that has ended is noticed below
            pickle.dump((self._number, pickle.dumps((function, arguments, limit))), self._stdin)
            self._stdin.flush()
        killed_before = memory_kills()
        deadline = float("inf") if limit is None else time.monotonic() + limit + GRACE_SECONDS
        while True:
            kind, value = self._next_reply(deadline)
            if kind == "progress":
                on_progress(value)
            elif kind == "returned":
                return value
            elif kind == "raised":
                raise value
            else:
                if kind == "closed":
                    with suppress(subprocess.TimeoutExpired):  # the interpreter closes its files before it ends
                        self._process.wait(CLOSE_SECONDS)
                returncode, stopped = self._process.poll(), self._stopped
                self.end()
                if stopped:
                    raise Stopped
                if kind == "late" and returncode is None:
                    raise Timeout
                raise Died(returncode, memory_kills() - killed_before)

    def end(self) -> None:
        """Kill the child and all processes that it has started; wait until it has ended and its log is read."""
        self._stopped = True
        with self._ending:
            self._kill()
            self._process.wait()
            self._over.set()
            for thread in self._readers:
                thread.join(CLOSE_SECONDS)
            with suppress(OSError):  # the rest of a call cannot be sent to a process that has ended
                self._stdin.close()

    def _kill(self) -> None:
        if guardian.AVAILABLE:
            self._process.send_signal(signal.SIGCONT)  # a method may have stopped the guardian
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(END_SECONDS)
        with suppress(ProcessLookupError):  # also where somebody killed only the guardian
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def _next_reply(self, deadline: float) -> tuple[str, Any]:
        """Return the next reply to the latest call, or ("closed", None) after the last, or ("late", None)."""
        while True:
            left = deadline - time.monotonic()
            with suppress(Empty):
                number, kind, value = self._replies.get(timeout=max(0.0, min(left, POLL_SECONDS)))
                if kind == "closed" or number == self._number:
                    return kind, value
                continue
            if left <= 0:
                return "late", None
            if self._process.poll() is not None:
                self._kill()
                # What it started may have got away with the other end of the pipe.
                deadline = min(deadline, time.monotonic() + CLOSE_SECONDS)

    def _read_replies(self, pipe: IO[bytes]) -> None:
        with pipe as stream:
            try:
                while True:
                    number, kind, value = pickle.load(stream)
                    self._replies.put((number, kind, value))
            except EOFError:
                self._replies.put((0, "closed", None))
            except Exception:  # half a reply of a process that has ended, or no reply at all
                self._replies.put((0, "closed", None))
                self._over.wait()  # a process that cannot write to the pipe would end with an exit code of its own

    def _read_log(self, pipe: BufferedReader) -> None:
        partial = b""
        with pipe as stream:
            while chunk := stream.read1(1 << 16):
                *lines, partial = (partial + chunk).replace(b"\r", b"\n").split(b"\n")
                for line in lines:
                    if line == BEGINS:  # when the call is sent, older lines may still be in the pipe
                        self._lines.clear()
                    elif line.strip():
                        self._lines.append(line[:LINE_LENGTH])
                partial = partial[:LINE_LENGTH]
        if partial.strip():
            self._lines.append(partial)
