"""A process between the driver and a worker, which kills all processes that the worker has started.

A method may start processes that leave the worker's process group (`setsid`) or outlive their parent. A signal to the
group does not reach them. On Linux the guardian is their subreaper: the kernel makes it the parent of each process
whose own parent has ended. The guardian kills them all as soon as the worker ends, the driver ends, or the driver sends
SIGTERM. On other systems, a process that left the group outlives the run.
"""

import os
import select
import signal
import sys
from contextlib import suppress

AVAILABLE = sys.platform == "linux"
POLL_SECONDS = 1.0  # in which the guardian notices that the driver was killed
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # of linux/prctl.h
AWAITED = {signal.SIGTERM, signal.SIGCHLD} if AVAILABLE else set()


def fork() -> None:
    """Fork this process. The child returns as the worker; this process becomes its guardian and never returns.

    The guardian exits with the worker's exit code or signal. Standard input is the pipe from the driver. It shows the
    guardian that the driver has ended, even while the worker is busy in a library. Does nothing where `AVAILABLE` is
    False.
    """
    if not AVAILABLE:
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, the kernel keeps no exit codes
    before = signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    worker = os.fork()
    if not worker:
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    os.close(1)  # the driver sees the end of the replies as soon as the worker has closed its own end
    _end_as(_watch(worker))


def _watch(worker: int) -> int:
    """Wait for the worker, kill all that is left of it, and return its wait status."""
    driver = select.poll()
    driver.register(0, 0)  # a hang-up is always reported
    while True:
        received = signal.sigtimedwait(AWAITED, POLL_SECONDS)
        with suppress(ChildProcessError):
            while ended := os.waitpid(-1, os.WNOHANG):
                if ended[0] == worker:
                    _end_children()
                    return ended[1]
                if not ended[0]:
                    break
        if driver.poll(0) or (received and received.si_signo == signal.SIGTERM):
            return _end_children().get(worker, 0)


def _end_children() -> dict[int, int]:
    """Kill all children, and their children in turn; return the wait statuses by process."""
    statuses: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return statuses
        if not pid:
            _kill_children()
            pid, status = os.waitpid(-1, 0)
        statuses[pid] = status


def _kill_children() -> None:
    import psutil  # takes a while, and most workers leave nothing behind

    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):
            child.kill()


def _end_as(status: int) -> None:
    """End this process as the worker has ended, so that the driver sees its exit code or its signal."""
    if os.WIFSIGNALED(status):
        import resource

        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the worker may have left one, of more interest
        with suppress(OSError):  # SIGKILL has no handler
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def _prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
