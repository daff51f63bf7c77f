"""The report of opcheck: the findings, and as in PyTorch a dict of the outcomes."""

from __future__ import annotations

from typing import Any

from tt.testing.findings.faults import FAULTS
from tt.testing.findings.report import Failure as OpCheckFailure
from tt.testing.findings.report import Report

__all__ = ["FAULTS", "OpCheckFailure", "OpCheckReport"]


class OpCheckReport(dict[str, Any], Report):
    """The findings of opcheck: the name of each test -> "SUCCESS", or an `OpCheckError` with its failures.

    Attributes
    ----------
    op : str
        The signature of the operator.
    failures, checks, notes
        Those of every `Report`.
    """

    def __init__(self, op: str) -> None:
        Report.__init__(self)
        self.op = op

    @property
    def calls(self) -> int:
        """How often the operator was called."""
        return self.samples

    def __str__(self) -> str:
        count = len(self.failures)
        lines = [f"opcheck of {self.op}: {count or 'no'} failure{'s' if count != 1 else ''}"]
        for number, failure in enumerate(self.failures, 1):
            first, *rest = str(failure).splitlines()
            lines += ["", f"{number}. {first}", *(f"   {line}".rstrip() for line in rest)]
        passed = [name for name, outcome in self.items() if outcome == "SUCCESS"]
        if passed:
            lines += ["", f"passed: {', '.join(passed)}"]
        lines += [f"not looked at by {name}: {text}" for name, texts in self.notes.items() for text in texts]
        return "\n".join(lines)
