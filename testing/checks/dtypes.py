"""The checks of dtypes: each dtype with a registered kernel works, and agrees with double precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tt.core.schema.classes import dtype_names
from tt.core.types.dtype import DTYPES, complex128, finfo, float64
from tt.core.types.dtype import dtype as Dtype
from tt.operators._samples.base import has_dtype
from tt.testing.checks.call import (
    CheckedCall,
    device_type,
    in_words,
    like,
    main_dtype,
    map_tensors,
    plain,
    refused,
    tensors_in,
    undefined,
    values,
)
from tt.testing.checks.ties import judged, outcome
from tt.testing.checks.values import unlike
from tt.testing.findings.log import Finding, Log

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["converted", "doubled", "dtypes", "probe_dtype"]


def doubled(dtype: Dtype | None) -> Dtype:
    """Return double precision: complex for a complex dtype."""
    return complex128 if dtype is not None and dtype.is_complex else float64


def converted(call: CheckedCall, dtype: Dtype) -> CheckedCall:
    """Return the call with the tensors of its main dtype in another one; indices and masks stay."""
    main = main_dtype(call)

    def convert(tensor: Tensor) -> Any:
        if tensor.dtype is not main:
            return tensor
        base = plain(tensor)
        # Negative numbers would wrap around to the largest ones.
        if dtype.kind == "unsigned" and not base.dtype.is_complex and base.dtype.kind != "bool":
            base = base.abs()
        new = base.to(dtype)
        return like(new, tensor) if dtype.is_floating_point or dtype.is_complex else new

    return call.map(convert, f"{dtype.name}")


def dtypes(call: CheckedCall, log: Log) -> Iterator[CheckedCall]:
    """Yield the call in the other dtypes for which kernels are registered on its device."""
    main, device = main_dtype(call), device_type(call)
    kernels = call.operator.registry.kernels_of(call.operator.name, device, ("strided",))
    # A registration may name more dtypes than the schema promises, and those are not judged.
    names = {name for r in kernels for name in r.dtypes} & {*dtype_names(call.definition.dtypes)}
    for dtype in DTYPES:
        if main is not None and dtype is not main and dtype.name in names and has_dtype(device, dtype):
            yield converted(call, dtype)


def probe_dtype(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Make a call in another dtype, and compare it with the same one in double precision where both can be had."""
    main = main_dtype(call)
    try:
        result = outcome(call, log)
    except Exception as error:  # any error of the author's kernel is reported
        if refused(error):
            log.note(f"{call.on}: refused: {in_words(error)}")
        else:
            text = f"{type(error).__name__}: {error}"
            yield Finding("dtype_fails", f"a kernel is registered for {main}, and fails: {text}", call)
        return
    double = doubled(main)
    if main is None or main is double or "random" in call.tags or undefined(call):
        return
    # Integers overflow and divide otherwise than double precision does.
    if not main.is_floating_point and not main.is_complex:
        return
    try:
        expected = outcome(converted(call, double), log)
    except Exception:  # there is nothing to compare with
        return

    def precise(other: CheckedCall) -> Any:
        return map_tensors(outcome(converted(other, double), log), lambda t: t.to(main))

    for one, other in zip(tensors_in(result), tensors_in(expected), strict=False):
        if not one.dtype.is_floating_point and not one.dtype.is_complex:
            continue
        rtol, atol = _coarse(main, other)
        text = unlike(one, other.to(one.dtype), rtol, atol)
        if text:
            finding = Finding("dtype_wrong", f"not what {double} gives, in {main}: {text}", call)
            yield from judged(finding, lambda c: outcome(c, log), precise, log)
            return


def _coarse(dtype: Dtype, expected: Any) -> tuple[float, float]:
    """Return tolerances that many roundings stay within, for the largest value of a result."""
    # Sums of many elements lose more than the tolerance of one rounding.
    eps = finfo(dtype).eps
    array = np.abs(values(expected).astype(np.complex128))
    finite = array[np.isfinite(array)]
    largest = float(finite.max()) if finite.size else 1.0
    return 50 * eps, 50 * eps * max(largest, 1.0)
