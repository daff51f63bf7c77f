"""Checks of random numbers."""

from __future__ import annotations

from collections.abc import Iterator

from tt.core.testing.conformance.case import SKIPPED, Case
from tt.core.testing.conformance.differences import differences
from tt.core.testing.references import as_array

__all__ = ["check_seed"]


def check_seed(case: Case) -> Iterator[str]:
    """Repeat a random call with the same seed."""
    if not case.random:
        yield SKIPPED
        return
    import tt

    tt.manual_seed(7)
    first = as_array(case.run())
    tt.manual_seed(7)
    for message in differences(case.run(), first):
        yield f"the same seed gave other numbers: {message}"
