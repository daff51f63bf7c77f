"""What a run of the conformance checks found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["Failure", "Report"]


@dataclass(frozen=True, slots=True)
class Failure:
    """One check that failed.

    Attributes
    ----------
    op, device, dtype, sample, check : str
        What was checked, on which input, and how.
    message : str
        What is wrong.
    snippet : str
        Code that repeats the call.
    """

    op: str
    device: str
    dtype: str
    sample: str
    check: str
    message: str
    snippet: str

    def __str__(self) -> str:
        head = f"{self.op} [{self.device}, {self.dtype}, {self.sample}] {self.check}: {self.message}"
        return "\n    ".join([head, *self.snippet.splitlines()])


@dataclass(slots=True)
class Report:
    """What a run found.

    Attributes
    ----------
    failures : list of Failure
        What is wrong.
    missing : list of (op, dtype)
        What the schema promises and the device does not serve.
    checks : Counter
        How often each check was made.
    samples : int
        On how many calls.
    """

    failures: list[Failure] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)
    checks: Counter[str] = field(default_factory=Counter)
    samples: int = 0

    def add(self, other: Report) -> None:
        """Add what another run found."""
        self.failures += other.failures
        self.missing += other.missing
        self.checks += other.checks
        self.samples += other.samples
