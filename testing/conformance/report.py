"""The failures of the conformance checks, with code that repeats them."""

from __future__ import annotations

from typing import Final

from tt.testing.checks.call import CheckedCall
from tt.testing.checks.case import Case
from tt.testing.findings.report import Failure
from tt.testing.snippets import repeat, snippet

__all__ = ["failure", "reproduce"]

HOW: Final = {
    "inplace": "call", "out": "out", "method": "method", "inputs": "show", "seed": "seed", "composite": "composite",
    "meta": "meta", "absent": "absent", "gradient": "gradient",
}  # fmt: skip
"""Code that repeats a check's finding; by default, the call."""


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
    return repeat(CheckedCall(case.operator.overload(form), case.given.args), HOW[check])
