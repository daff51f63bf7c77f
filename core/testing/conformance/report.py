"""The findings of a run of the conformance checks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from tt.core.testing.checks.call import CheckedCall
from tt.core.testing.checks.case import Case
from tt.core.testing.snippets import repeat, snippet

__all__ = ["Failure", "Report", "failure", "reproduce"]

HOW: Final = {
    "inplace": "call", "out": "out", "method": "method", "inputs": "show", "seed": "seed", "composite": "composite",
    "meta": "meta", "gradient": "gradient",
}  # fmt: skip
"""Code that repeats a check's finding; by default, the call."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One check that failed.

    Attributes
    ----------
    op, device, dtype, sample, check : str
        What was checked, on which input, and how.
    message : str
        The fault, in words.
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


def failure(case: Case, check: str, message: str, note: str = "", place: object = None) -> Failure:
    """Return a failed check, with a note before the code that repeats it."""
    try:
        code = note + reproduce(case, check)
    except Exception as error:  # the code that reads the arguments may itself be faulty
        code = f"# the arguments cannot be read: {type(error).__name__}: {error}".replace("\n", "\n# ")
    return Failure(
        case.operator.name, str(place or case.device), case.dtype.name, case.sample.name, check, message, code
    )


def reproduce(case: Case, check: str) -> str:
    """Return a program that shows a check's finding."""
    form = "inplace" if case.inplace_only else "functional"
    if check not in HOW or case.sample.error is not None or case.inplace_only:
        return snippet(case.definition, form, case.sample.args, case.sample.kwargs)
    form = "inplace" if check == "inplace" else "functional"
    return repeat(CheckedCall(case.operator.caller(form), case.given.args), HOW[check])
