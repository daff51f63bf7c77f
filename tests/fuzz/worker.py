"""A process that runs programs it is sent, a line at a time: `python -m tests.fuzz.worker MEGABYTES`.

A line asks for a program by its record, or brings a text, and says whether to run it; the answer is a line of JSON
after the number of the question.  The process that sends them has written the record down before, and sees by it what
a crash was about.

Imports stay in a process that runs nothing and forks one that does, and another where that one has ended:
importing tt and PyTorch takes seconds, a fork some milliseconds.  The first line of a fork is `ready PID`; the line
after its end is `ended STATUS`, with the negative number of the signal if there was one.

A line may also ask for many programs: they run until one fails, and one line answers for all of them.  Which of them
runs, and what it does, stands in memory that is shared with the process that asked (`Place`), and stays after a crash.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import json
import mmap
import os
import resource
import signal
import struct
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any, Final

from tests.fuzz import comparison, records
from tests.fuzz.comparison import installed
from tests.fuzz.verdicts import Verdict, compare, verdict_of

__all__ = ["COMPARING", "PATIENT", "RUNNING", "Place"]

READY: Final = "ready"
RUNNING: Final = "running"
PATIENT: Final = "patient"
"""The line that comes before an answer which may rightly take long, so that it is not waited for as long as others."""
COMPARING: Final = "comparing"
"""The line that comes before PyTorch makes the call: that it ends the process is none of tt's faults."""
DAMAGING: Final = ("fft", "_fft")
"""How the names of operators begin whose comparison is made in a process of its own: MKL, which PyTorch calls, writes
outside of its memory, for example in `torch.fft.fftn(torch.rand(2, 99, 3, dtype=torch.float64), dim=(0, 1))`, and what
is damaged ends the process at some later program of tt."""
COMPARISON: Final = 60
"""Seconds after which such a process ends itself."""


class Place:
    """Which of many programs runs, in memory that two processes share.

    Parameters
    ----------
    file : int
        A descriptor of a file, which is made large enough.
    """

    LAYOUT: Final = struct.Struct("<qq")
    STATES: Final = (RUNNING, PATIENT, COMPARING)

    def __init__(self, file: int) -> None:
        os.ftruncate(file, mmap.PAGESIZE)
        self.memory = mmap.mmap(file, mmap.PAGESIZE)

    def write(self, turn: int, state: str) -> None:
        """Note what begins."""
        self.LAYOUT.pack_into(self.memory, 0, turn, self.STATES.index(state))

    def read(self) -> tuple[int, str]:
        """Return what began last."""
        turn, state = self.LAYOUT.unpack_from(self.memory)
        return turn, self.STATES[state]


def main() -> None:
    """Answer until there is nothing more."""
    lines, answers = os.dup(0), os.dup(1)
    os.dup2(2, 1)  # what programs print is not an answer
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # or a program reads the input of this one
    with contextlib.suppress(ValueError):  # a lower limit is in force
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    records.prepare()
    if installed():
        comparison.prepare()
    faulthandler.enable()
    gc.freeze()  # or each collection, and each search for views, walks over all that PyTorch has
    while True:
        child = os.fork()
        if child == 0:
            _serve(lines, answers, int(sys.argv[1]), Place(int(sys.argv[2])))
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.write(answers, f"\nended {status}\n".encode())
        if not status:
            return


def _serve(lines: int, answers: int, megabytes: int, place: Place) -> None:
    """Answer each line; return at the end of input."""
    if megabytes:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    check, every = _guard(), int(os.environ.get("TT_FUZZ_GUARD", "1"))
    with os.fdopen(lines, encoding="utf-8") as asked, os.fdopen(answers, "w", buffering=1) as answering:
        answering.write(f"{READY} {os.getpid()}\n")
        for number, line in enumerate(asked, 1):
            question = json.loads(line)
            say = partial(print, question["turn"], file=answering, flush=True)
            answer = _answer_many(question, place) if "records" in question else _answer(question, say)
            if check is not None and number % every == 0 and check():
                faulthandler.dump_traceback()
                os.abort()  # its findings are among the errors
            say(json.dumps(answer))


def _guard() -> Callable[[], int] | None:
    """Return what looks for damage of the heap, where the guarded one of guard.c is loaded."""
    try:
        check: Callable[[], int] = ctypes.CDLL(None).guard_check
    except AttributeError:
        return None
    return check


def _answer(asked: dict[str, Any], say: Callable[[str], Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    names: dict[str, Any] = {}
    compared = ""
    text = asked.get("text")
    if text is None:
        made = records.program_of(records.Record.from_dict(asked["record"]))
        text, compared = made.text, made.comparison if installed() else ""
        answer["program"] = asdict(made)
        if made.patient and asked["run"]:
            say(PATIENT)
    if asked["run"]:
        verdict = verdict_of(text, names)
        if compared and verdict.kind == "good":
            say(COMPARING)
            alone = asked.get("apart") or made.subject.startswith(DAMAGING)
            verdict = _compare_apart(compared, names) if alone else compare(compared, names)
        answer["verdict"] = verdict.as_dict()
    if "record" in asked and asked["run"]:
        del answer["program"]["text"]  # of no use unless it failed, and then it is asked for
    return answer


def _answer_many(asked: dict[str, Any], place: Place) -> dict[str, Any]:
    """Run programs until one fails; return how many ended in which way, and the one that failed with its place."""
    counts: Counter[tuple[str, str, str]] = Counter()
    verdict = None
    done = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for done, (fuzzer, number) in enumerate(asked["records"]):
            place.write(done, RUNNING)
            record = records.Record(fuzzer, asked["seed"], number, asked["pattern"], asked["excluded"])
            verdict, subject = records.quick_of(record), ""
            if verdict is None:
                found = _answer({"record": asdict(record), "run": True}, partial(place.write, done))
                verdict = Verdict(**found["verdict"])
                subject = found["program"]["subject"] if verdict.kind == "uncompared" else ""
            if verdict.failed:
                break
            counts[verdict.kind, verdict.where, subject] += 1
            verdict = None
    return {
        "done": done + 1, "counts": [[*key, count] for key, count in counts.items()],
        "verdict": None if verdict is None else verdict.as_dict(),
    }  # fmt: skip


def _compare_apart(text: str, names: dict[str, Any]) -> Verdict:
    """Return the outcome of a comparison in a fork of this process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(COMPARISON)
            faulthandler.disable()
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the errors of tt's crashes are read there
            with os.fdopen(write, "wb") as answer:
                answer.write(json.dumps(compare(text, names).as_dict()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as answers:
        said = answers.read()
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        return Verdict("uncompared", "PyTorch crashes")
    return Verdict(**json.loads(said))


if __name__ == "__main__":
    main()
