"""A run: programs are drawn and given to workers; what fails is confirmed, made shorter and reported once."""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

from tests.fuzz.drafts import Program
from tests.fuzz.known import Known
from tests.fuzz.records import TURNS, Record
from tests.fuzz.verdicts import Verdict
from tests.fuzz.workers import ROOT, Worker

__all__ = ["Failure", "Run", "replay"]

JOURNALS: Final = ROOT / "build" / "fuzz"
"""Where the history of a process is kept that crashed, if its last program alone does not."""
BLOCK: Final = 32
"""Programs that a process is given at once."""
EVERY: Final = 120.0
"""Seconds between two lines about how far a run has come."""


@dataclass
class Failure:
    """Something that went wrong, with the shortest program found that shows it."""

    record: Record
    verdict: Verdict
    program: Program
    subjects: Counter[str] = field(default_factory=Counter)
    journal: Path | None = None

    def __str__(self) -> str:
        head = f"--- {self.verdict.kind}: {self.program.subject}: {self.verdict.where}"
        parts = f"# {self.record}; parts: {', '.join(self.program.parts) or 'none'}"
        note = (
            f"\n# alone it does not fail; the earlier programs are in {self.journal}" if self.journal else ""
        )
        tail = "\n".join(f"# {line}" for line in self.verdict.text.strip().splitlines()[-12:])
        compared = ""
        if self.verdict.kind == "different":
            compared = f"from tests.fuzz.comparison import check\n{self.program.comparison}\n"
        return f"{head}\n{parts}{note}\n{self.program.text}{compared}{tail}"


@dataclass
class Run:
    """Programs of one seed.

    Parameters
    ----------
    fuzzers : sequence of str
        Which fuzzers, taking turns.
    seed, pattern, excluded, jobs, limit, megabytes
        As on the command line.
    known : sequence of Known
        The left out failures.
    lenient : bool
        Whether results that differ from PyTorch's are reported without failing.
    """

    fuzzers: Sequence[str]
    seed: int
    pattern: str = "*"
    excluded: str = ""
    jobs: int = 2
    limit: float = 20.0
    megabytes: int = 4096
    known: Sequence[Known] = ()
    lenient: bool = False
    kinds: Counter[str] = field(default_factory=Counter)
    failures: dict[tuple[str, str], Failure] = field(default_factory=dict)
    slow: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    stale: list[Known] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether anything is to be mended."""
        found = [one for one in self.failures.values() if one.verdict.kind != "different" or not self.lenient]
        return bool(found or self.stale)

    def draw(self, seconds: float, programs: int | None = None, first: int = 0) -> None:
        """Run programs for a time, or so many of them."""
        began = time.monotonic()
        self._said = began
        self._lock = threading.Lock()
        self._errors: list[BaseException] = []
        blocks = itertools.count(first, BLOCK)
        turns = [name for name in self.fuzzers for _ in range(TURNS[name])]
        end = None if programs is not None else began + seconds
        last = None if programs is None else first + programs

        def work() -> None:
            worker, second = (Worker(self.limit, self.megabytes) for _ in range(2))
            try:
                while end is None or time.monotonic() < end:
                    with self._lock:
                        start = next(blocks)
                    if self._errors or (last is not None and start >= last):
                        break
                    stop = start + BLOCK if last is None else min(start + BLOCK, last)
                    numbers = range(start, stop)
                    self._some(
                        worker, second,
                        [Record(turns[number % len(turns)], self.seed, number, self.pattern, self.excluded)
                         for number in numbers],
                    )  # fmt: skip
                    self._say(began)
            except BaseException as error:
                self._errors.append(error)
            finally:
                worker.close()
                second.close()

        threads = [threading.Thread(target=work) for _ in range(self.jobs)]
        for thread in threads:
            thread.start()
        self._find_stale()
        for thread in threads:
            thread.join()
        if self._errors:
            raise self._errors[0]
        self.seconds = time.monotonic() - began

    def _find_stale(self) -> None:
        worker = Worker(self.limit, self.megabytes)
        for known in self.known:
            if not known.sanitized or "libasan" in os.environ.get("LD_PRELOAD", ""):
                verdict = worker.run_text(known.program)
                if not verdict.failed:
                    self.stale.append(known)
        worker.close()

    def _some(self, worker: Worker, second: Worker, records: Sequence[Record]) -> None:
        """Run programs, and what is left of them after one that failed."""
        while records:
            done, counts, verdict = worker.run_many(records)
            if verdict is not None and not verdict.failed:
                subject = second.program(records[done - 1]).subject if verdict.kind == "uncompared" else ""
                counts[verdict.kind, verdict.where, subject] += 1
            with self._lock:
                for (kind, where, subject), count in counts.items():
                    self.kinds[kind] += count
                    if kind in ("good", "uncompared") and where:
                        self.compared[where] += count
                    if subject:
                        self.ended[subject] += count
            if verdict is not None and verdict.failed:
                self._failed(worker, second, records[done - 1], verdict)
            records = records[done:]

    def _say(self, began: float) -> None:
        """Print how many programs there were, each few minutes."""
        now = time.monotonic()
        with self._lock:
            if now - self._said < EVERY:
                return
            self._said = now
            counts = ", ".join(f"{n} {k}" for k, n in sorted((self.kinds + self.compared).items()))
        print(f"after {now - began:.0f} s: {counts}", flush=True)

    def _failed(self, worker: Worker, second: Worker, record: Record, verdict: Verdict) -> None:
        """Confirm a failure, make it shorter and print it."""
        history = list(worker.history)
        program = second.program(record)
        if verdict.kind == "hang" and program.patient:
            with self._lock:
                self.kinds["slow"] += 1
                self.slow[program.subject] += 1
            return
        # Exceptions from a place are one fault, whatever the operator.
        key = verdict.where, "" if verdict.kind == "foreign" else program.subject
        with self._lock:
            self.kinds[verdict.kind] += 1
            covering = (
                known for known in self.known if known.covers(program.subject, verdict, program.parts)
            )
            found = next(covering, None)
            if found is not None:
                self.met[found.reason] += 1
                return
            seen = self.failures.get(key)
            if seen is not None:
                seen.subjects[program.subject] += 1
                return
            failure = self.failures[key] = Failure(record, verdict, program, Counter([program.subject]))
        alone = second.run(record) if verdict.kind != "foreign" else verdict
        if alone.failed:
            shorten(failure, second, verdict)
        else:
            failure.journal = JOURNALS / f"{record.fuzzer}-{record.seed}-{record.number}.json"
            failure.journal.parent.mkdir(parents=True, exist_ok=True)
            failure.journal.write_text(json.dumps([asdict(done) for done in history]))
        print(failure, flush=True)

    def report(self) -> str:
        """Return what was found in a few lines."""
        total = sum(self.kinds.values())
        lines = [
            f"{total} programs in {self.seconds:.0f} s: "
            + ", ".join(f"{n} {k}" for k, n in sorted(self.kinds.items()))
        ]
        if self.compared:
            counts = ", ".join(f"{count} {what}" for what, count in sorted(self.compared.items()))
            lines.append(f"compared with PyTorch: {counts}")
        if self.ended:
            lines.append(
                "PyTorch ends: " + ", ".join(f"{name} {count}" for name, count in self.ended.most_common(12))
            )
        lines += [f"known, {count} times: {reason}" for reason, count in self.met.items()]
        lines += [f"STALE, take it from tests/fuzz/known.py: {known.reason}" for known in self.stale]
        if self.slow:
            lines.append("slow: " + ", ".join(f"{name} {count}" for name, count in self.slow.most_common(12)))
        if self.failures:
            lines.append(f"{len(self.failures)} failures:")
        for failure in sorted(self.failures.values(), key=lambda failure: failure.verdict.where):
            subjects = ", ".join(name for name, _ in failure.subjects.most_common(5))
            lines.append(
                f"  {failure.subjects.total():4d} {failure.verdict.kind}: {failure.verdict.where} ({subjects})"
            )
        return "\n".join(lines)


def replay(journal: Path, limit: float, megabytes: int, apart: bool = False) -> tuple[Verdict, int]:
    """Run the programs of a journal in one process, until one fails to end; return how, and how many ran."""
    worker = Worker(limit, megabytes, apart)
    verdict, count = Verdict("good"), 0
    for fields in json.loads(journal.read_text()):
        count += 1
        verdict = worker.run(Record.from_dict(fields))
        if verdict.kind in ("crash", "hang"):
            break
    worker.close()
    return verdict, count


def shorten(failure: Failure, worker: Worker, verdict: Verdict) -> None:
    """Leave out the parts of a failure's program without which it fails as well."""
    for part in reversed(range(len(failure.program.parts))):
        record = failure.record.less(part)
        found = worker.run(record)
        if found.kind == verdict.kind and (found.where == verdict.where or verdict.kind == "crash"):
            failure.record, failure.verdict = record, found
    kept = worker.program(failure.record)
    left = [name for index, name in enumerate(kept.parts) if index not in failure.record.dropped]
    failure.program = replace(kept, parts=tuple(left))
