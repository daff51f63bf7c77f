"""Jobs of small programs that import nothing of tt, and whether they leave a process or a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tt.distributed.run import main

PRELUDE = """\
import os, signal, subprocess, sys, time
rank = int(os.environ["RANK"])
here = os.path.dirname(os.path.abspath(__file__))
restart = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
def note(pid):
    with open(f"{here}/pid.{pid}.part", "w"): pass
    os.rename(f"{here}/pid.{pid}.part", f"{here}/pid.{pid}")
note(os.getpid())
# One write for each line: that of Python writes its pieces by themselves, between which another worker may write.
def print(*words, end="\\n", file=None, flush=False):
    file = file or sys.stdout
    file.write(" ".join(map(str, words)) + end)
    if flush: file.flush()
def meet(count, name="all"):
    with open(f"{here}/{name}.{restart}.{rank}", "w"): pass
    while len([n for n in os.listdir(here) if n.startswith(f"{name}.{restart}.")]) < count: time.sleep(0.01)
"""


@dataclass
class Job:
    """A program's folder, and what its job has said."""

    folder: Path
    out: str = ""
    err: str = ""
    code: int = 0
    seconds: float = 0.0

    def program(self, text: str) -> str:
        """Write a program, which begins with the names above."""
        path = self.folder / "program.py"
        path.write_text(PRELUDE + text)
        return str(path)

    def pids(self) -> list[int]:
        """Return the processes that programs have noted."""
        return [int(path.name[4:]) for path in self.folder.glob("pid.*") if path.name[4:].isdigit()]

    def wait_for(self, count: int) -> None:
        """Wait until so many processes have been noted."""
        wait_until(lambda: len(self.pids()) >= count)


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.01)


def lives(pid: int) -> bool:
    """Return whether a process exists and is not just waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A job; at the end of the test none of its processes and no temporary file is left."""
    folder, temporary = tmp_path / "job", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    for name in [name for name in os.environ if name.startswith(("PET_", "TORCHELASTIC_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    job = Job(folder)
    yield job
    wait_until(lambda: not any(map(lives, job.pids())), 5.0)
    assert [*temporary.iterdir()] == []


@pytest.fixture
def run(job: Job, capfd: pytest.CaptureFixture[str]):
    """Return a function that runs a program's text with options, in this process."""

    def run_job(text: str, *options: str, arguments: tuple[str, ...] = ()) -> Job:
        start = time.monotonic()
        job.code = main(["--shutdown-timeout=0.5", *options, job.program(text), *arguments])
        job.seconds = time.monotonic() - start
        job.out, job.err = capfd.readouterr()
        return job

    return run_job


@pytest.fixture
def agent(job: Job):
    """Return a function that starts an agent in a process of its own; agents are ended with the test."""
    started = []

    def start(*words: str, hears: tuple[int, ...] = (signal.SIGINT, signal.SIGHUP)) -> subprocess.Popen[str]:
        def hear() -> None:  # tests that run under nohup, or behind &, ignore these; a child would as well
            for number in (signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL if number in hears else signal.SIG_IGN)

        process = subprocess.Popen(
            [sys.executable, "-m", "tt.distributed.run", "--shutdown-timeout=0.5", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=hear,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
