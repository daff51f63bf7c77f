"""Checks of random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tt.core.testing.conformance.case import SKIPPED, Case
from tt.core.testing.conformance.differences import differences
from tt.core.testing.references import as_array, cpu_reference

__all__ = ["check_seed"]

SEED, OTHER = 7, 8


def check_seed(case: Case) -> Iterator[str]:
    """Repeat a random call with the same seed and with another one, and on the CPU with the same.

    What is drawn may leave no choice (`dropout` with p=0), so another seed must change one of all samples.
    """
    if not case.random:
        yield SKIPPED
        return
    import tt

    tt.manual_seed(SEED)
    result = case.run()
    first = as_array(result)
    tt.manual_seed(SEED)
    for message in differences(case.run(), first):
        yield f"the same seed gave other numbers: {message}"
    tt.manual_seed(OTHER)
    if not case.shared.get("varied") and not _equal(as_array(case.run()), first):
        case.shared["varied"] = True
    if case.last and not case.shared.get("varied"):
        yield "another seed gave the same numbers, for every sample"
    if str(case.device).partition(":")[0] != "cpu" and not case.inplace_only:
        tt.manual_seed(SEED)
        for message in differences(result, cpu_reference(case.definition, case.bound)):
            yield f"the seed gives other numbers than on the CPU: {message}"


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, list):
        return all(_equal(a, b) for a, b in zip(first, second, strict=True))
    return bool(np.array_equal(first, second))
