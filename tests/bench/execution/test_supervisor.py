"""A child process does what it is told, and whatever happens to it is told apart. No torch: a child starts at once."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Thread

import psutil
import pytest

from lockstep_bench.bench.execution import supervisor
from lockstep_bench.bench.execution.supervisor import LINE_LENGTH, LOG_LINES, Died, Stopped, Supervised, Timeout

CALLS = """
import os, signal, subprocess, sys, threading, time
from contextlib import suppress

class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one)

def add(one, two, *, on_progress):
    return one + two

def count(to, *, on_progress):
    for number in range(to):
        on_progress(number)

def say(text, *, on_progress):
    print(text)
    os.system("echo from a shell")
    print("warned", file=sys.stderr)

def say_and_die(text, *, on_progress):
    print(text)
    os.kill(os.getpid(), signal.SIGKILL)

def read(*, on_progress):
    return sys.stdin.read()

def leave(code, *, on_progress):
    sys.exit(code)

def crash(*, on_progress):
    import ctypes
    ctypes.string_at(0)

def fail(*, on_progress):
    raise Odd("a", "b")

def something_odd(*, on_progress):
    return threading.Lock()

def dwell(seconds, *, on_progress):
    on_progress(os.getpid())
    time.sleep(seconds)

def have_a_child_and_die(seconds, *, on_progress):
    on_progress(subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({seconds})"]).pid)
    os.kill(os.getpid(), signal.SIGKILL)

def close_files(seconds, *, on_progress):
    os.closerange(3, 1000)
    time.sleep(seconds)

def return_twice(seconds, *, on_progress):
    if not os.fork():
        time.sleep(seconds)
    return os.getpid()

def tell_later(seconds, *, on_progress):
    threading.Timer(seconds, on_progress, ["late"]).start()

def run_code(code, *, on_progress):
    exec(code)

def write_to_all(message, *, on_progress):
    for number in range(3, 30):
        with suppress(OSError):
            os.write(number, message)

class Mute(Exception):
    def __str__(self):
        raise ValueError("no words")

def fail_mutely(*, on_progress):
    raise Mute

def start_a_daemon(seconds, then, *, on_progress):
    reader, writer = os.pipe()
    if not os.fork():
        os.setsid()
        if daemon := os.fork():
            os.write(writer, str(daemon).encode())
            os._exit(0)
        time.sleep(seconds)
        os._exit(0)
    on_progress(int(os.read(reader, 20)))
    if then == "raise":
        raise ValueError
    if then == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if then == "hang":
        time.sleep(seconds)

def fork_and_die(seconds, *, on_progress):
    pid = os.fork()
    if not pid:
        time.sleep(seconds)
    on_progress(pid)
    os.kill(os.getpid(), signal.SIGKILL)
"""
LONG = 60
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """A module of functions to call, found through the path as an installed one is."""
    (tmp_path / "calls_of_tests.py").write_text(CALLS)
    monkeypatch.syspath_prepend(tmp_path)
    import calls_of_tests

    yield calls_of_tests
    del sys.modules["calls_of_tests"]


@contextmanager
def ended(process: Supervised):
    try:
        yield process
    finally:
        process.end()


@contextmanager
def driver(folder: Path, call: str):
    """A process that makes a call in a child of its own."""
    source = f"""
        import sys, time
        sys.path.insert(0, {str(folder)!r})
        import calls_of_tests
        from lockstep_bench.bench.execution.supervisor import Supervised
        say = lambda value: print(value, flush=True)
        process = Supervised({{}})
        {call}
    """
    command = [sys.executable, "-c", textwrap.dedent(source)]
    root = str(Path(supervisor.__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([root, *sys.path])}
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    with started, closing(started.stdout):
        yield started
        started.kill()


@pytest.fixture
def child(calls):
    with ended(Supervised({})) as process:
        yield process


def gone(pid: int) -> bool:
    """Return True if a process ends within a minute."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.01)
    return False


def test_child_process_makes_call_after_call(child, calls):
    pid = child.pid
    assert [child.call(calls.add, 1, number) for number in range(3)] == [1, 2, 3]
    assert child.pid == pid
    assert child.alive


def test_progress_reports_arrive_in_order_before_the_result(child, calls):
    told = []
    assert child.call(calls.count, 5, on_progress=told.append) is None
    assert told == [0, 1, 2, 3, 4]


def test_printed_output_of_a_child_goes_to_its_log(child, calls):
    assert child.call(calls.say, "from Python") is None
    assert child.call(calls.add, 1, 2) == 3
    child.call(calls.say, "the second time")
    child.end()
    assert child.log().splitlines() == ["the second time", "from a shell", "warned"]


def test_long_log_keeps_last_lines_and_line_beginnings(child, calls):
    lines = [f"line {number}" for number in range(LOG_LINES)]
    child.call(calls.say, "\n".join(["too early"] * 100 + lines) + "\rprogress 99 %\r" + "x" * 10 * LINE_LENGTH)
    child.end()
    kept = child.log().splitlines()
    assert kept[:-4] == lines[4:]
    assert kept[-4:] == ["progress 99 %", "x" * LINE_LENGTH, "from a shell", "warned"]


@pytest.mark.parametrize(
    "code",
    [
        "sys.stdout = sys.stderr = None",
        "sys.stdout.close(), sys.stderr.close()",
        "sys.stdout = sys.stderr = object()",
        "os.close(1), os.close(2)",
    ],
)
def test_output_streams_are_restored_before_each_call(child, calls, code):
    child.call(calls.run_code, code, limit=LONG)
    child.call(calls.say, "from Python", limit=LONG)
    child.end()
    assert child.log().splitlines() == ["from Python", "from a shell", "warned"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_copy_of_a_child_does_not_reply(child, calls):
    assert child.call(calls.return_twice, 0.2) != child.call(calls.dwell, 0.5)
    assert child.call(calls.add, 1, 2) == 3


def test_leftover_thread_cannot_reply_to_the_next_call(child, calls):
    child.call(calls.tell_later, 0.2)
    told = []
    child.call(calls.dwell, 0.5, on_progress=told.append)
    assert len(told) == 1
    assert told != ["late"]


@pytest.mark.parametrize("message", [pickle.dumps(("returned", None)), b"something else"])
def test_invalid_replies_of_a_child_end_the_call(child, calls, monkeypatch, message):
    monkeypatch.setattr(supervisor, "CLOSE_SECONDS", 0.1)
    with pytest.raises(Died, match="or wrote to it"):
        child.call(calls.write_to_all, message)


def test_exception_with_a_failing_str_is_raised(child, calls):
    with pytest.raises(calls.Mute):
        child.call(calls.fail_mutely)
    child.end()
    assert "in fail_mutely" in child.log()


def test_standard_input_of_the_child_is_closed(child, calls):
    assert child.call(calls.read) == ""


def test_child_survives_raising_an_exception(child, calls):
    with pytest.raises(TypeError, match="unsupported operand"):
        child.call(calls.add, 1, "a")
    assert child.call(calls.add, 1, 2) == 3


def test_unpicklable_return_values_are_reported(child, calls):
    with pytest.raises(RuntimeError, match=r"calls_of_tests\.Odd: a"):
        child.call(calls.fail)
    with pytest.raises(TypeError, match="pickle"):
        child.call(calls.something_odd)
    assert child.call(calls.add, 1, 2) == 3


@pytest.mark.parametrize(
    ("call", "name", "said"),
    [
        (("say_and_die", "my last words"), "SIGKILL", "killed by SIGKILL$"),
        (("crash",), "SIGSEGV", "killed by SIGSEGV$"),
        (("leave", 3), "SystemExit", "ended by itself, with exit code 3"),
    ],
)
def test_child_death_is_reported_with_signal_and_log(child, calls, call, name, said):
    with pytest.raises(Died, match=said) as death:
        child.call(getattr(calls, call[0]), *call[1:])
    assert death.value.name == name
    assert not child.alive
    assert {"SIGKILL": "my last words", "SIGSEGV": "in crash"}.get(name, "") in child.log()


def test_death_is_blamed_on_memory_only_with_evidence(child, calls, monkeypatch):
    monkeypatch.setattr(supervisor, "memory_kills", iter([4, 5]).__next__)
    with pytest.raises(Died, match="the kernel killed a process meanwhile as memory ran out"):
        child.call(calls.say_and_die, "my last words")


def test_child_closing_its_file_descriptors_is_reported(child, calls, monkeypatch):
    monkeypatch.setattr(supervisor, "CLOSE_SECONDS", 0.1)
    with pytest.raises(Died, match="closed the pipe for its results") as death:
        child.call(calls.close_files, LONG)
    assert death.value.name == "ClosedPipe"
    assert gone(child.pid)


def test_hanging_call_is_killed_and_logged_with_traceback(child, calls, monkeypatch):
    monkeypatch.setattr(supervisor, "GRACE_SECONDS", 0.5)
    with pytest.raises(Timeout):
        child.call(calls.dwell, LONG, limit=0.3)
    assert "in dwell" in child.log()
    assert gone(child.pid)


def test_call_within_its_time_limit_is_not_killed(child, calls):
    assert child.call(calls.dwell, 0.0, limit=LONG) is None
    assert child.call(calls.dwell, 0.0) is None


def test_ending_a_child_stops_its_call(child, calls):
    Thread(target=lambda: (time.sleep(0.3), child.end())).start()
    with pytest.raises(Stopped):
        child.call(calls.dwell, LONG)
    with pytest.raises(Stopped):
        child.call(calls.add, 1, 2)


@pytest.mark.parametrize("how", ["have_a_child_and_die", "fork_and_die"])
def test_death_of_a_child_ends_its_descendants(child, calls, monkeypatch, how):
    """A forked process holds the child's end of the pipe open; it is ended too."""
    monkeypatch.setattr(supervisor, "POLL_SECONDS", 0.05)
    told = []
    with pytest.raises(Died):
        child.call(getattr(calls, how), LONG, on_progress=told.append)
    assert gone(told[0])


@linux
@pytest.mark.parametrize("then", ["return", "raise", "die", "hang"])
def test_daemon_processes_end_with_their_child_process(child, calls, then):
    """Daemons have left the process group and have lost their parent."""
    daemons = []
    with suppress(ValueError, Died, Timeout):
        child.call(calls.start_a_daemon, LONG, then, limit=1 if then == "hang" else None, on_progress=daemons.append)
    child.end()
    assert gone(daemons[0])


@linux
def test_daemons_end_even_if_the_guardian_is_suspended(child, calls):
    daemons = []
    child.call(calls.start_a_daemon, LONG, "return", on_progress=daemons.append)
    child.call(calls.run_code, "os.kill(os.getppid(), signal.SIGSTOP)")
    child.end()
    assert gone(daemons[0])


@linux
def test_daemon_without_guardian_does_not_block_the_parent(child, calls, monkeypatch):
    """The daemon has the child's end of the pipe, and nobody is left to end the daemon."""
    monkeypatch.setattr(supervisor, "CLOSE_SECONDS", 0.2)
    daemons = []
    child.call(calls.start_a_daemon, LONG, "return", on_progress=daemons.append)
    with pytest.raises(Died, match="SIGKILL"):
        child.call(calls.run_code, f"os.kill(os.getppid(), signal.SIGKILL), time.sleep({LONG})")
    assert psutil.pid_exists(daemons[0])
    os.kill(daemons[0], signal.SIGKILL)


@linux
def test_daemons_end_with_a_killed_main_process(calls, tmp_path):
    with driver(tmp_path, f"process.call(calls_of_tests.start_a_daemon, {LONG}, 'hang', on_progress=say)") as started:
        daemon = int(started.stdout.readline())
        assert psutil.pid_exists(daemon)
        started.kill()
        assert gone(daemon)


def test_child_environment_is_the_parents_plus_given_variables(calls, monkeypatch):
    monkeypatch.setenv("OURS", "here")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    with ended(Supervised({"CUDA_VISIBLE_DEVICES": "1"})) as process:
        process.call(calls.add, 1, 2)  # until it has been started, it has the environment of its parent
        found = psutil.Process(process.pid).environ()
    assert (found["OURS"], found["CUDA_VISIBLE_DEVICES"]) == ("here", "1")


@pytest.mark.parametrize(
    "call",
    [
        f"process.call(calls_of_tests.add, 1, 2), say(process.pid), time.sleep({LONG})",
        f"process.call(calls_of_tests.dwell, {LONG}, on_progress=say)",
    ],
)
def test_children_end_with_a_killed_parent(calls, tmp_path, call):
    with driver(tmp_path, call) as started:
        pid = int(started.stdout.readline())
        assert psutil.pid_exists(pid)
        started.kill()
        assert gone(pid)
