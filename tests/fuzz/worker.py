"""A process that runs what it is sent, a line at a time: `python -m tests.fuzz.worker MEGABYTES`.

A line asks for a program by its record, or brings a text, and says whether to run it; the answer is a line of JSON.
The process that sends them has written the record down before, and sees by it what a crash was about.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import json
import os
import resource
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final, TextIO

from tests.fuzz import records
from tests.fuzz.comparison import installed
from tests.fuzz.verdicts import compare, verdict_of

PATIENT: Final = "patient"
"""The line that comes before an answer which may rightly take long, so that it is not waited for as long as others."""
COMPARING: Final = "comparing"
"""The line that comes before PyTorch makes the call: that it ends the process is none of tt's faults."""


def main() -> None:
    """Answer until there is nothing more."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what programs print is no answer
    if megabytes := int(sys.argv[1]):
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    with contextlib.suppress(ValueError):  # a lower limit is in force
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    lines = os.fdopen(os.dup(0), encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # or a program reads what is meant for this one
    check, every = _guard(), int(os.environ.get("TT_FUZZ_GUARD", "1"))
    answers.write("ready\n")
    for number, line in enumerate(lines, 1):
        answer = _answer(json.loads(line), answers)
        if check is not None and number % every == 0 and check():
            faulthandler.dump_traceback()
            os.abort()  # what it found is among the errors
        answers.write(json.dumps(answer) + "\n")


def _guard() -> Callable[[], int] | None:
    """Return what looks for damage of the heap, where the guarded one of guard.c is loaded."""
    try:
        check: Callable[[], int] = ctypes.CDLL(None).guard_check
    except AttributeError:
        return None
    return check


def _answer(asked: dict[str, Any], answers: TextIO) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    names: dict[str, Any] = {}
    comparison = ""
    text = asked.get("text")
    if text is None:
        made = records.program_of(records.Record.from_dict(asked["record"]))
        text, comparison = made.text, made.comparison if installed() else ""
        answer["program"] = asdict(made)
        if made.patient and asked["run"]:
            answers.write(PATIENT + "\n")
    if asked["run"]:
        verdict = verdict_of(text, names)
        if comparison and verdict.kind == "good":
            answers.write(COMPARING + "\n")
            verdict = compare(comparison, names)
        answer["verdict"] = verdict.as_dict()
    if "record" in asked and asked["run"]:
        del answer["program"]["text"]  # of no use unless it failed, and then it is asked for
    return answer


if __name__ == "__main__":
    main()
