"""Error messages for commands that hit a limit of the operating system, such as memory or open files."""

import errno
import sys
from collections.abc import Iterator
from types import TracebackType

MIB = 1 << 20
NO_MEMORY = "failed to map segment", "cannot allocate memory", "Cannot allocate memory"


def in_words(problem: BaseException) -> str | None:
    """Return a message about the system limit that an exception, or its cause, has hit; None for other exceptions.

    The message says which limit it is and what to do.
    """
    for each in _chain(problem):
        number = each.errno if isinstance(each, OSError) else None
        if number in (errno.EMFILE, errno.ENFILE):
            return (
                f"this process may have no more files open{_limit('RLIMIT_NOFILE', 1, '')}; allow more of them, for "
                "example by `ulimit -n 1024`, and run again"
            )
        if "can't start new thread" in str(each) or number == errno.EAGAIN:
            return (
                "no more threads or processes can be started"
                f"{_limit('RLIMIT_AS', MIB, ' MiB of memory') or _limit('RLIMIT_NPROC', 1, '')}; raise the limit "
                "(`ulimit -v` for memory, `ulimit -u` for their number), and run again"
            )
        if isinstance(each, MemoryError) or number == errno.ENOMEM or any(text in str(each) for text in NO_MEMORY):
            return (
                f"there is no memory left{_limit('RLIMIT_AS', MIB, ' MiB')}; allow more, for example by `ulimit -v "
                "unlimited`, or close other programs, and run again"
            )
    return None


def say(kind: type[BaseException], problem: BaseException, traceback: TracebackType | None) -> None:
    """Print a message about the system limit that an exception has hit, or else the traceback; a `sys.excepthook`."""
    if words := in_words(problem):
        print(f"Error: {words}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, problem, traceback)


def _chain(problem: BaseException | None) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    while problem is not None and problem not in seen:
        seen.append(problem)
        yield problem
        problem = problem.__cause__ or problem.__context__


def _limit(name: str, unit: int, unit_in_words: str) -> str:
    """Return a limit of this process in parentheses; nothing where there is none."""
    try:
        import resource
    except ImportError:  # on Windows
        return ""
    soft, _ = resource.getrlimit(getattr(resource, name))
    return "" if soft == resource.RLIM_INFINITY else f" (the limit is {soft // unit:,}{unit_in_words})"
