"""Workers: processes that run programs, and are started again after a crash or a hang."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from tests.fuzz.drafts import Program
from tests.fuzz.records import Record
from tests.fuzz.verdicts import Verdict
from tests.fuzz.worker import COMPARING, PATIENT, RUNNING, Place

__all__ = ["Worker"]

ROOT: Final = Path(__file__).parents[2]
START: Final = 600.0
"""Seconds that a process may take until it has imported everything, also on a machine that does much else."""
ADDRESSES: Final = re.compile(
    r"0x[0-9a-f]+ ?|==\d+==|\(?BuildId: \w+\)?|block \d+ of \d+ bytes at |, at byte .*"
)
IDLE: Final = 10
"""How many times its limit a program may take while the machine does something else."""
KEPT: Final = 1 << 15
"""How many of the programs that a process has run are remembered."""
SHOWN: Final = 6000
"""Characters of the error output of a crashed process."""


class Worker:
    """A process that runs programs, one after the other.

    Parameters
    ----------
    limit : float
        Seconds that a program may take.
    megabytes : int
        Of memory that the process may map; 0 for all, as AddressSanitizer needs it.
    apart : bool
        Whether each comparison is made in a process of its own, where PyTorch can damage no other.

    Attributes
    ----------
    history : deque of Record
        What this process has run last.
    """

    def __init__(self, limit: float = 20.0, megabytes: int = 4096, apart: bool = False) -> None:
        self.limit, self.megabytes, self.apart = limit, megabytes, apart
        self.process: subprocess.Popen[bytes] | None = None
        self.fork = 0
        """The process that runs programs, of `self.process`; 0 where it is to be started."""
        self.turn = 0
        self.history: deque[Record] = deque(maxlen=KEPT)
        self.unread = b""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 # closed with the worker
        self.shared = tempfile.TemporaryFile()  # noqa: SIM115 # likewise
        self.place = Place(self.shared.fileno())

    def run(self, record: Record) -> Verdict:
        """Run the program of a record."""
        found = self._ask({"record": asdict(record), "run": True, "apart": self.apart})
        self.history.append(record)
        if isinstance(found, Verdict):
            return found
        verdict = Verdict(**found["verdict"])
        return verdict

    def run_many(
        self, records: Sequence[Record]
    ) -> tuple[int, Counter[tuple[str, str, str]], Verdict | None]:
        """Run the programs of records of one seed, pattern and exclusion, until one fails or ends the process.

        Returns
        -------
        done : int
            How many records there is nothing more to be done about.
        counts : Counter of kind, where and subject
            How the programs ended that were none; what a process had counted that ended is not known.
        verdict : Verdict or None
            Of the last of them, where it failed.
        """
        first = records[0]
        process = self.process if self.process is not None and self.fork else self._start()
        assert process.stdin is not None
        self.turn += 1
        self.place.write(0, RUNNING)
        asked = {
            "records": [(one.fuzzer, one.number) for one in records], "seed": first.seed, "pattern": first.pattern,
            "excluded": first.excluded, "turn": self.turn,
        }  # fmt: skip
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
        began, spent, seen = time.monotonic(), self._spent(), self.place.read()
        line: bytes | None = None
        while line is None:
            line = self._reply(process, 0.5)
            place, now = self.place.read(), time.monotonic()
            if place != seen:
                began, spent, seen = now, self._spent(), place
            limit = self.limit / 5 if place[1] == PATIENT else self.limit
            # On a busy machine a process may wait for long without having done anything.
            if now - began > limit and (self._spent() - spent > limit / 2 or now - began > IDLE * limit):
                break
        done, state = self.place.read()
        if line and not line.startswith(b"ended"):
            answer: dict[str, Any] = json.loads(line)
            self.history.extend(records[: answer["done"]])
            counts = Counter({(kind, where, subject): n for kind, where, subject, n in answer["counts"]})
            verdict = Verdict(**answer["verdict"]) if answer["verdict"] else None
            return answer["done"], counts, verdict
        self.history.extend(records[: done + 1])
        code = 0 if line is None else int(line.split()[1]) if line else process.wait()
        died = self._hung(process) if line is None else self._died(code)
        if state == COMPARING:
            died = Verdict("uncompared", "PyTorch hangs" if line is None else "PyTorch crashes")
        return done + 1, Counter(), died

    def run_text(self, text: str) -> Verdict:
        """Run a program."""
        found = self._ask({"text": text, "run": True})
        return found if isinstance(found, Verdict) else Verdict(**found["verdict"])

    def program(self, record: Record) -> Program:
        """Return the program of a record, without running it."""
        found = self._ask({"record": asdict(record), "run": False})
        if isinstance(found, Verdict):
            return Program("# the program cannot even be made\n", (), f"making {record}")
        return Program(**{**found["program"], "parts": tuple(found["program"]["parts"])})

    def fresh(self) -> None:
        """Start the process again before the next program."""
        self._end()

    def close(self) -> None:
        """End the process."""
        self._close()
        self.errors.close()
        self.shared.close()

    def _start(self) -> subprocess.Popen[bytes]:
        """Have a process that is ready for a program."""
        self.errors.seek(0)
        self.errors.truncate()
        self.history.clear()
        for _ in range(2):
            if self.process is None:
                self.unread = b""
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "tests.fuzz.worker", str(self.megabytes), str(self.shared.fileno())],
                    cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                    pass_fds=(self.shared.fileno(),), start_new_session=True,
                    env={"OPENBLAS_NUM_THREADS": "1", **os.environ},
                )  # fmt: skip
            line = self._read(self.process, START)
            while line and not line.startswith(b"ready "):  # the end of the one before
                line = self._read(self.process, START)
            if line:
                self.fork = int(line.split()[1])
                return self.process
            self._close()
        raise RuntimeError(f"no process that runs programs can be started:\n{self._written()}")

    def _ask(self, asked: dict[str, Any]) -> dict[str, Any] | Verdict:
        process = self.process if self.process is not None and self.fork else self._start()
        assert process.stdin is not None and process.stdout is not None
        self.turn += 1
        process.stdin.write(json.dumps({**asked, "turn": self.turn}).encode() + b"\n")
        process.stdin.flush()
        line = self._reply(process, self.limit)
        if line == b"patient":
            line = self._reply(process, self.limit / 5)
        if line == b"comparing":
            line = self._reply(process, self.limit)
            if line is None or line.startswith(b"ended"):
                self._end()
                return Verdict("uncompared", "PyTorch hangs" if line is None else "PyTorch crashes")
        if line is None:
            return self._hung(process)
        if line.startswith(b"ended") or not line:
            return self._died(int(line.split()[1]) if line else process.wait())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _reply(self, process: subprocess.Popen[bytes], seconds: float) -> bytes | None:
        """Return the next line about what was asked last, or the one about the end of what should answer."""
        own = b"%d " % self.turn
        while True:
            line = self._read(process, seconds)
            if not line or line.startswith(b"ended "):
                return line
            if line.startswith(own):  # and not to a question that the process before left behind
                return line.removeprefix(own)

    def _read(self, process: subprocess.Popen[bytes], seconds: float) -> bytes | None:
        """Return the next line, empty where the whole process has ended; None where none comes in time."""
        assert process.stdout is not None
        end = time.monotonic() + seconds
        while b"\n" not in self.unread.lstrip(b"\n"):
            if not select.select([process.stdout], [], [], max(end - time.monotonic(), 0))[0]:
                return None
            read = os.read(process.stdout.fileno(), 1 << 16)
            if not read:
                return b""
            self.unread += read
        line, _, self.unread = self.unread.lstrip(b"\n").partition(b"\n")
        return line

    def _spent(self) -> float:
        """Return how many seconds the process that runs programs has computed; infinite where that is not known."""
        try:
            fields = Path(f"/proc/{self.fork}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return math.inf
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _hung(self, process: subprocess.Popen[bytes]) -> Verdict:
        os.kill(self.fork, signal.SIGABRT)  # its frames are among the errors
        self._read(process, 5)
        text = self._written()
        self._end()
        return Verdict("hang", f"no answer in time: {_frame(text)}", text)

    def _died(self, code: int) -> Verdict:
        text = self._written()
        self._end()
        name = signal.Signals(-code).name if code < 0 else f"exit {code}"
        return Verdict("crash", f"{name}: {_summary(text)}", text)

    def _written(self) -> str:
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-SHOWN * 4 :]

    def _end(self) -> None:
        """End the process that runs programs, and keep the one that forks others."""
        if self.fork:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.fork, signal.SIGKILL)
            self.fork = 0

    def _close(self) -> None:
        self._end()
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):
                        pipe.close()
            self.process = None


def _frame(text: str) -> str:
    """Return the innermost frame of a dump of faulthandler."""
    frames = [line.strip() for line in text.splitlines() if line.strip().startswith('File "')]
    return frames[0].replace(str(ROOT) + "/", "") if frames else ""


def _summary(text: str) -> str:
    """Return the part that is the same for crashes at one place."""
    for line in text.splitlines():
        if line.startswith("SUMMARY: "):
            return ADDRESSES.sub("", line.removeprefix("SUMMARY: ").replace(str(ROOT) + "/", ""))
    for line in text.splitlines():
        if any(word in line for word in ("malloc", "free()", "corrupt", "double free", "runtime error:")):
            place = ADDRESSES.sub("", line.strip().replace(str(ROOT) + "/", ""))
            return place if "runtime error:" in line else f"{place}: {_frame(text)}"
    return _frame(text)
