"""Program of a worker's process: it calls functions for its parent process, and ends when the parent ends.

    python -m lockstep_bench.bench.execution.child [MODULE ...]

The modules are imported before the first call. The parent writes calls to standard input. A call is a pickled pair of a
number and the pickled tuple (function, arguments, limit in seconds or None). The child writes pickled replies to its
original standard output: (number, "progress", x) for each x that the function passes to its `on_progress`, and then
(number, "returned", value) or (number, "raised", exception). Everything that is printed goes to standard error, whose
last lines the parent keeps as a log. The line `BEGINS` precedes the output of each call.

A call must not disturb the next one. Each call therefore gets new standard streams. A process that a function has
forked ends instead of replying. A thread that outlives its call replies with the number of that call, by which the
parent recognises late replies.
"""

import faulthandler
import gc
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from lockstep_bench.bench.execution import guardian

BEGINS = b"\x1ea call begins\x1e"


def main() -> None:
    """Make calls for the parent until the parent ends."""
    guardian.fork()
    faulthandler.enable()
    calls, replies, log = _pipes_to_parent()
    waiting: SimpleQueue[tuple[int, bytes]] = SimpleQueue()
    Thread(target=_listen, args=(calls, waiting), daemon=True).start()

    owner = os.getpid()

    def reply(number: int, kind: str, value: Any) -> None:
        if os.getpid() != owner:
            os._exit(1)
        message = pickle.dumps((number, kind, value))  # a value that cannot be pickled raises here, with nothing sent
        replies.write(message)
        replies.flush()

    _import(sys.argv[1:])
    while True:
        number, call = waiting.get()
        try:
            _print_to(log)
            _make(call, partial(reply, number))
        except Exception as problem:
            with suppress(Exception):
                traceback.print_exception(problem)
            reply(number, "raised", _portable(problem))


def _import(modules: Sequence[str]) -> None:
    """Import modules, and never look for cycles of references in them: torch's objects are many, and they stay."""
    gc.disable()
    for name in modules:
        with suppress(Exception):  # a call that needs the module will raise it again
            import_module(name)
    gc.freeze()
    gc.enable()


def _make(call: bytes, reply: Callable[[str, Any], None]) -> None:
    os.write(2, b"\n" + BEGINS + b"\n")
    function, arguments, limit = pickle.loads(call)
    if limit is not None:
        faulthandler.dump_traceback_later(limit, file=2)  # the log then shows where a call hangs
    try:
        value = function(*arguments, on_progress=partial(reply, "progress"))
    finally:
        faulthandler.cancel_dump_traceback_later()
    reply("returned", value)


def _pipes_to_parent() -> tuple[BinaryIO, BinaryIO, int]:
    """Return the pipes from and to the parent, duplicated so that code that reads or prints does not use them.

    The last is the file descriptor of the log.
    """
    calls, replies, log = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"), os.dup(2)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    return calls, replies, log


def _print_to(log: int) -> None:
    """Redirect standard output and standard error to the log, even if an earlier call has changed them."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(log, number)
        # Line by line, as what is still in a buffer is lost when the process is killed.
        stream = open(number, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115 (stays open)
        setattr(sys, name, stream)


def _listen(calls: BinaryIO, waiting: SimpleQueue[tuple[int, bytes]]) -> None:
    """Put calls into the queue. When the parent ends, end this process and all processes that it has started.

    The end of the parent closes the pipe. This function runs in a thread, so that it also works during a call, unless a
    library holds the interpreter lock. If there is a guardian, the guardian ends the other processes.
    """
    try:
        while True:
            waiting.put(pickle.load(calls))
    finally:
        if hasattr(os, "getpgrp") and os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)


def _portable(problem: Exception) -> Exception:
    """Return the exception, or a RuntimeError with its traceback if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(problem))
    except Exception:
        return RuntimeError("".join(traceback.format_exception(problem)))
    return problem


if __name__ == "__main__":
    main()
