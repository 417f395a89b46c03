"""Methods that go wrong, each in its own way, as a stranger's adapter might; `conftest.py` installs them."""

import os
import resource
import signal
import sys
import time
from pathlib import Path

import numpy as np
import torch

from lockstep_bench.methods.map import MAP
from lockstep_bench.methods.maths.predictive import Normals


class Kill(MAP):
    name = "kill"

    def init(self, problem, noise):
        print("about to die")
        os.kill(os.getpid(), signal.SIGKILL)


class KillOnce(MAP):
    name = "kill-once"

    def init(self, problem, noise):
        mark = Path(__file__).with_name("died")
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().init(problem, noise)


class Exhaust(MAP):
    name = "exhaust"

    def init(self, problem, noise):
        here = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (here + (1 << 26), here + (1 << 26)))
        return np.ones(1 << 24)


class Hang(MAP):
    name = "hang"

    def init(self, problem, noise):
        print("about to hang")
        time.sleep(600)


class HangOnce(Hang):
    name = "hang-once"

    def init(self, problem, noise):
        mark = Path(__file__).with_name("hung")
        if not mark.exists():
            mark.touch()
            return super().init(problem, noise)
        return MAP.init(self, problem, noise)


class Raise(MAP):
    name = "raise"

    def init(self, problem, noise):
        print("about to raise", file=sys.stderr)
        raise KeyError("nothing there")


class NotANumber(MAP):
    name = "nan"

    def init(self, problem, noise):
        return super().init(problem, noise)._replace(weights=torch.full((problem.dim,), float("nan")))


class Misshapen(MAP):
    name = "misshapen"

    def predict(self, problem, posterior, x, noise, n_samples):
        found = super().predict(problem, posterior, x, noise, n_samples)
        return Normals(found.mean.T, found.variance.T)


class Leave(MAP):
    name = "leave"

    def init(self, problem, noise):
        sys.exit("goodbye")


class Fill(MAP):
    name = "fill"

    def init(self, problem, noise):
        with open("/dev/full", "w") as scratch:
            scratch.write("a file on a full disk")


class CloseFiles(MAP):
    name = "close-files"

    def init(self, problem, noise):
        os.closerange(3, 1000)
        return super().init(problem, noise)


class Daemon(MAP):
    name = "daemon"

    def init(self, problem, noise):
        """Start a process that leaves the group and loses its parent; its number is in the file `daemon`."""
        if not os.fork():
            os.setsid()
            if daemon := os.fork():
                Path(__file__).with_name("daemon").write_text(str(daemon))
                os._exit(0)
            time.sleep(600)
            os._exit(0)
        os.wait()
        raise ChildProcessError("left behind")


class Fork(MAP):
    name = "fork"

    def diagnostics(self, problem, posterior):
        """Return twice, in two processes, as code does that forks and does not end the copy."""
        if not os.fork():
            time.sleep(0.2)
        return {}


class RaiseMutely(MAP):
    name = "raise-mutely"

    def init(self, problem, noise):
        class Mute(Exception):
            def __str__(self):
                raise ValueError("no words")

        raise Mute


class LoseStreams(MAP):
    name = "lose-streams"

    def init(self, problem, noise):
        if sys.stdout:
            sys.stdout.close()
        sys.stdout = sys.stderr = None
        return super().init(problem, noise)


class Leak(MAP):
    name = "leak"

    def init(self, problem, noise):
        """Open files until the system refuses."""
        while True:
            os.open(os.devnull, os.O_RDONLY)


class LoseData(MAP):
    name = "lose-data"

    def init(self, problem, noise):
        """Rename the folder `data` beside that of this file."""
        data = Path(__file__).resolve().parents[1] / "data"
        if data.exists():
            data.rename(data.with_name("elsewhere"))
        return super().init(problem, noise)


class Garble(MAP):
    name = "garble"

    def init(self, problem, noise):
        sys.stderr.write("\x1b]0;a title of the terminal\x07\n")
        raise ValueError(f"cannot open {os.fsdecode(b'caf' + bytes([233]))}.csv \x1b[2J" + 1_000_000 * "x")
