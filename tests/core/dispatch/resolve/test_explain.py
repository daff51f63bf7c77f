"""`explain` reads the records that calls read."""

from __future__ import annotations

from typing import Any

import numpy as np

import tt
from tt.core.library import ops


def test_explain_reads_the_same_records(probe: Any) -> None:
    probe.kernel("mul", np.multiply, dtypes=("float64",))
    found = tt.explain("mul", ["probe:float64", "2.5"])
    assert found.served
    assert (
        found.resolution
        is ops.mul.operator.overload().cached_call_of(probe.backend.keys, found_bits(), ()).resolution
    )
    missing = tt.explain("mul", ["probe:float32", "probe:float32"])
    assert not missing.served
    assert '"mul" not implemented for float32 on probe' in missing.text()


def found_bits() -> int:
    from tt.core.types.promotion import DIM_BITS, SCALAR_BITS

    return DIM_BITS[tt.float64.code] | SCALAR_BITS[float]
