"""A worker's process: makes one call after the other for its parent, and ends when its parent does.

    python -m bench.execution.child [MODULE ...]

The modules are imported before the first call. Standard input brings pickled calls: (function, arguments, limit in
seconds or None). Replies leave through what was standard output, pickled: ("progress", x) for each x that the function
gives to its `on_progress`, and then ("returned", value) or ("raised", exception). Everything that is printed goes to
standard error, which the parent keeps as the log. The line `BEGINS` there precedes the output of each call.
"""

import faulthandler
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from bench.execution import guardian

BEGINS = b"\x1ea call begins\x1e"


def main() -> None:
    """Make calls until the parent ends."""
    guardian.fork()
    faulthandler.enable()
    calls, replies = _pipes_to_parent()
    waiting: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=(calls, waiting), daemon=True).start()

    def reply(kind: str, value: Any) -> None:
        message = pickle.dumps((kind, value))  # a value that cannot be pickled raises here, with nothing sent
        replies.write(message)
        replies.flush()

    for name in sys.argv[1:]:
        with suppress(Exception):  # a call that needs the module will raise it again
            import_module(name)
    while True:
        try:
            _make(waiting.get(), reply)
        except Exception as problem:
            reply("raised", _portable(problem))


def _make(call: bytes, reply: Callable[[str, Any], None]) -> None:
    os.write(2, b"\n" + BEGINS + b"\n")
    function, arguments, limit = pickle.loads(call)
    if limit is not None:
        faulthandler.dump_traceback_later(limit)  # the log then shows where a call hangs
    try:
        value = function(*arguments, on_progress=lambda progress: reply("progress", progress))
    finally:
        faulthandler.cancel_dump_traceback_later()
        sys.stdout.flush()
    reply("returned", value)


def _pipes_to_parent() -> tuple[BinaryIO, BinaryIO]:
    """Return the pipes from and to the parent, out of the reach of code that reads standard input or prints."""
    calls, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    assert isinstance(sys.stdout, TextIOWrapper)  # the interpreter's own
    sys.stdout.reconfigure(line_buffering=True)  # output that is still in a buffer is lost when the process is killed
    return calls, replies


def _listen(calls: BinaryIO, waiting: SimpleQueue[bytes]) -> None:
    """Pass calls on; when the parent ends, which closes the pipe, end this process and those that it has started.

    This runs in a thread, so that it also works in the middle of a call, once no library holds the interpreter lock.
    Where there is a guardian, it ends the other processes.
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
