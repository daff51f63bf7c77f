"""The checks of strides: equal values give equal results, whatever their position and order in memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tt
from tt.core.errors import TTError
from tt.testing.checks.call import (
    CheckedCall,
    is_strided,
    like,
    map_tensors,
    plain,
    tensors_in,
    undefined,
)
from tt.testing.checks.case import SKIPPED, Case
from tt.testing.checks.ties import judged, outcome
from tt.testing.checks.values import same_with, takes, unlike
from tt.testing.findings.log import Finding, Log
from tt.testing.references import as_array

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["READ_STRIDES", "check_layout", "layouts", "probe_layout"]

LAYOUTS: Final = ("transposed", "strided", "offset")

# --- arrangements ----------------------------------------------------------------------------------------------


def contiguous(call: CheckedCall) -> CheckedCall:
    """Return the call with row-major copies of its tensors."""
    return call.map(lambda t: like(plain(t).contiguous().clone() if is_strided(t) else plain(t).clone(), t))


def layouts(call: CheckedCall, log: Log) -> Iterator[CheckedCall]:
    """Yield the call with the same values in other places of memory; those that change no tensor are left out."""
    tensors = list(tensors_in(call.args))
    if not all(map(is_strided, tensors)):
        return
    for name in LAYOUTS:
        if any(t.numel() and t.ndim > (name == "transposed") for t in tensors):
            yield call.map(partial(arranged, layout=name), f"{name} tensors")


def arranged(tensor: Tensor, layout: str) -> Any:
    """Return a tensor with the same values and another memory layout, with noise between and before them."""
    shape = tuple(tensor.shape)
    if not shape:
        result = _noise(tensor, (3,))[1:][1]
    elif layout == "transposed" and len(shape) > 1:
        result = _noise(tensor, shape[::-1]).permute(*range(len(shape) - 1, -1, -1))
    elif layout == "offset":
        result = _noise(tensor, (shape[0] + 1, *shape[1:]))[1:]
    else:
        result = _noise(tensor, (*shape[:-1], 3 * shape[-1] + 1))[..., 1::3]
    result.copy_(plain(tensor))
    return like(result, tensor)


def _noise(tensor: Tensor, shape: tuple[int, ...]) -> Any:
    """Return a tensor of a shape with values that show where they are read by mistake."""
    count = int(np.prod(shape, dtype=np.int64))
    floating = tensor.dtype.is_floating_point or tensor.dtype.is_complex
    # Seven numbers fall in step with few sizes and strides, so a wrong read meets many of them.
    cycle = [np.nan, 1, np.inf, -np.inf, 1, 0, 1] if floating else [0, 1, 2, 1, 0, 0, 1]
    values = np.resize(cycle, count).reshape(shape)
    return tt.tensor(values.astype(tensor.dtype.numpy), device=tensor.device)


# --- checks ----------------------------------------------------------------------------------------------------


def probe_layout(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Compare a call with the same one on row-major arguments."""
    expected = outcome(contiguous(call), log)
    try:
        result = outcome(call, log)
    except TTError as error:
        log.note(f"{call.on} are refused: {str(error).splitlines()[0]}")
        return
    except Exception as error:  # any error of the author's kernel is reported
        yield Finding("layout_fails", f"{type(error).__name__}: {error}", call)
        return
    if undefined(call):
        return
    text = unlike(result, expected, log.rtol, log.atol)
    if text:
        finding = Finding("layout_wrong", f"not what row-major arguments give: {text}", call)
        yield from judged(finding, lambda c: outcome(c, log), lambda c: outcome(contiguous(c), log), log)


READ_STRIDES: Final = frozenset(
    {"as_strided_copy", "as_strided_scatter", "view_as", "view_as_complex_copy", "view_copy"}
)
"""Operators whose result depends on the memory of their argument."""


def check_layout(case: Case) -> Iterator[str]:
    """Call with the same values elsewhere in memory: apart from each other, behind others, in another order."""
    usable = (
        case.determined
        and case.definition.kind != "view"
        and case.definition.name not in READ_STRIDES
        and any(t.numel() > 1 for t in case.tensors)
        and all(map(is_strided, case.tensors))
    )
    if not takes(case, "layout", usable):
        yield SKIPPED
        return
    expected = as_array(case.result)
    for words, layout in (
        ("every third element of a larger tensor", "strided"),
        ("columns first", "transposed"),
    ):
        bound = {
            key: map_tensors(value, partial(arranged, layout=layout)) for key, value in case.bound.items()
        }
        yield from same_with(case, bound, expected, f"with arguments that are {words}")
