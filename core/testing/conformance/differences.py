"""How results differ from what was expected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from tt.core.tensor.base import TensorBase
from tt.core.testing.compare import tolerances
from tt.core.testing.references import as_array
from tt.core.types.dtype import finfo

__all__ = ["differences"]

DOUBLE: Final = (1e-10, 1e-10)
"""(rtol, atol) in double precision: PyTorch's tolerances are so wide that single precision would pass."""
LARGEST: Final = 5
"""The bound of the samples' values."""


def differences(actual: Any, expected: Any, steps: float = 0) -> Iterator[str]:
    """Yield how results differ from expected arrays, within the tolerances of their dtypes.

    `steps` counts intermediate results in half precision, which a composite rounds and a kernel does not: each adds
    an error as large as the dtype's resolution at the largest value of the samples.
    """
    if isinstance(actual, list | tuple):
        if not isinstance(expected, list | tuple) or len(actual) != len(expected):
            yield f"{len(actual)} results where the reference has another number"
            return
        for one, other in zip(actual, expected, strict=True):
            yield from differences(one, other, steps)
        return
    found = as_array(actual)
    dtype = actual.dtype if isinstance(actual, TensorBase) else None
    wanted = np.asarray(expected)
    if dtype is None:
        if found != wanted and not (found != found and wanted != wanted):
            yield f"{found!r} instead of {expected!r}"
        return
    if found.shape != wanted.shape:
        yield f"shape {found.shape} instead of {wanted.shape}"
        return
    if wanted.dtype.kind == "c" and not dtype.is_complex:
        yield f"{dtype} instead of a complex dtype"
        return
    if found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes():
        return
    if dtype.is_floating_point or dtype.is_complex:
        wide = np.complex128 if dtype.is_complex else np.float64
        with np.errstate(all="ignore"):  # to the dtype and back: what overflows there is infinite
            wanted, found = wanted.astype(dtype.numpy).astype(wide), found.astype(wide)
        rtol, atol = DOUBLE if dtype.name in ("float64", "complex128") else tolerances(dtype)
        if dtype.itemsize == 2:
            atol += steps * LARGEST * finfo(dtype).eps
        close = np.isclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True)
    else:
        with np.errstate(all="ignore"):
            wanted = wanted.astype(dtype.numpy)
        close = found == wanted
    if not np.all(close):
        at = tuple(int(i) for i in np.argwhere(~close)[0]) if found.ndim else ()
        yield f"{int(np.sum(~close))} of {found.size} values differ, at {list(at)} {found[at]} instead of {wanted[at]}"
