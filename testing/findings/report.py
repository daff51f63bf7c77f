"""The report of the checks: each failure with its input and a program that repeats it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from tt.testing.findings.faults import FAULTS

__all__ = ["Failure", "Report"]

SHOWN: Final = 4
"""On how many further inputs a failure says that it occurs."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One check that failed.

    Attributes
    ----------
    op, device, dtype, sample, check : str
        What was checked, on which input, and how.  opcheck names the input alone.
    message : str
        The fault, in words.
    snippet : str
        Code that repeats the call; of opcheck, with arguments as small as possible.
    fault : str
        What kind of fault, a key of `FAULTS`; conformance has no kinds.
    argument : str
        The argument that it is about, if it is about one.
    also : tuple of str
        The other inputs on which there was the same.
    """

    op: str
    device: str
    dtype: str
    sample: str
    check: str
    message: str
    snippet: str
    fault: str = ""
    argument: str = ""
    also: tuple[str, ...] = ()

    @property
    def test(self) -> str:
        """The check, by opcheck's word."""
        return self.check

    @property
    def on(self) -> str:
        """The input, by opcheck's word."""
        return self.sample

    @property
    def hint(self) -> str:
        """The suggestion for the kind of fault."""
        return FAULTS.get(self.fault, "").replace("{argument}", self.argument.partition("[")[0] or "x")

    def __str__(self) -> str:
        code = self.snippet.splitlines()
        if not self.fault:
            head = f"{self.op} [{self.device}, {self.dtype}, {self.sample}] {self.check}: {self.message}"
            return "\n    ".join([head, *code])
        shown = [*self.also[:SHOWN], *([f"{len(self.also) - SHOWN} more"] if len(self.also) > SHOWN else [])]
        also = f" (also: {', '.join(shown)})" if shown else ""
        lines = [f"{self.check}: {self.fault}", f"  on {self.sample}{also}"]
        lines += [f"  {line}" for line in self.message.splitlines()]
        lines += [f"  try: {self.hint}", "  repeat:", *(f"    {line}" for line in code)]
        return "\n".join(lines)


@dataclass
class Report:
    """The findings of a run.

    Attributes
    ----------
    failures : list of Failure
        The faults.
    missing : list of (op, dtype)
        Promises of the schema that the device does not serve.
    checks : Counter
        How often each check was made.
    samples : int
        On how many calls.
    notes : dict
        The name of a check -> its gaps, with reasons.
    """

    failures: list[Failure] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)
    checks: Counter[str] = field(default_factory=Counter)
    samples: int = 0
    notes: dict[str, list[str]] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.failures

    def add(self, other: Report) -> None:
        """Add what another run found."""
        self.failures += other.failures
        self.missing += other.missing
        self.checks += other.checks
        self.samples += other.samples
        for check, texts in other.notes.items():
            for text in texts:
                self.note(check, text)

    def note(self, check: str, text: str) -> None:
        """Note a gap of a check."""
        known = self.notes.setdefault(check, [])
        if text not in known:
            known.append(text)
