"""Faults that are known and not mended yet, each with its reason.  Mended ones leave the list."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from tests.fuzz.verdicts import Verdict

__all__ = ["KNOWN", "Known"]


@dataclass(frozen=True)
class Known:
    """A fault that is not reported.

    Attributes
    ----------
    reason : str
        The fault, and why it stays for now.
    kind, where : str
        Of the verdict: its kind, and a regular expression for its place.
    program : str
        A program that fails this way: as soon as it does not, the entry is reported as stale.
    subject : str
        A regular expression for the operator.
    part : str
        A mutation that must be among those of the program.
    sanitized : bool
        Whether it shows only under a sanitizer.
    """

    reason: str
    kind: str
    where: str
    program: str
    subject: str = ""
    part: str = ""
    sanitized: bool = False

    def covers(self, subject: str, verdict: Verdict, parts: Collection[str] | None = None) -> bool:
        """Return whether a failure is this one."""
        return (
            verdict.kind == self.kind
            and re.search(self.where, verdict.where) is not None
            and re.search(self.subject, subject) is not None
            and (parts is None or not self.part or self.part in parts)
        )


KNOWN: tuple[Known, ...] = ()
"""Give the operator and the exact words: broad ones hide new faults."""
