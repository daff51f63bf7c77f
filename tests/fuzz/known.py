"""Faults that are known and not mended yet, each with its reason.  What is mended leaves the list."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.fuzz.verdicts import Verdict

__all__ = ["KNOWN", "Known"]


@dataclass(frozen=True)
class Known:
    """A fault that is not reported.

    Attributes
    ----------
    reason : str
        What is wrong, and why it stays for now.
    kind, where : str
        Of the verdict: its kind, and a regular expression for its place.
    program : str
        A program that fails this way: as soon as it does not, the entry is reported as stale.
    subject : str
        A regular expression for the operator.
    """

    reason: str
    kind: str
    where: str
    program: str
    subject: str = ""

    def covers(self, subject: str, verdict: Verdict) -> bool:
        """Return whether a failure is this one."""
        return (
            verdict.kind == self.kind
            and re.search(self.where, verdict.where) is not None
            and re.search(self.subject, subject) is not None
        )


KNOWN: tuple[Known, ...] = ()
