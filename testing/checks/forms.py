"""Checks of the other forms of an operator: they agree with the functional form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tt
from tt.core.tensor.base import TensorBase
from tt.testing.checks.call import UNDEFINED, tensors_in
from tt.testing.checks.case import SKIPPED, Case, copy_of, fits
from tt.testing.checks.values import differences
from tt.testing.references import as_array

__all__ = ["check_inplace", "check_method", "check_out", "check_resize"]


def check_inplace(case: Case) -> Iterator[str]:
    """Compare the in-place form with the functional one."""
    args = case.sample.args
    public = case.definition.has_inplace and not case.inplace_only and not case.random
    if not (public and isinstance(args[0], TensorBase)):
        yield SKIPPED
        return
    expected = case.call((copy_of(args[0]), *args[1:]))
    target = copy_of(args[0])
    version = target._version
    view = case.definition.kind == "view"
    # A result that does not fit has to be refused, not cast or broadcast into the target.
    if not fits(case, expected, target):
        try:
            case.call((target, *args[1:]), "inplace")
        except RuntimeError:
            return
        yield f"{expected.dtype} {list(expected.shape)} was written into {target.dtype} {list(target.shape)}"
        return
    returned = case.call((target, *args[1:]), "inplace")
    if returned is not target:
        yield "the in-place form does not return its target"
    if target._version <= version:
        yield "the in-place form does not bump the version"
    if target.dtype is not (expected.dtype if view else args[0].dtype):
        yield f"the in-place form changed the dtype to {target.dtype}"
    yield from differences(target, as_array(expected))


def check_out(case: Case) -> Iterator[str]:
    """Compare the out= form with the functional one."""
    if not (case.definition.has_out and case.determined):
        yield SKIPPED
        return
    results = list(tensors_in(case.result))
    outs = [copy_of(t) for t in results]
    # A form that writes nothing would otherwise find the right values there already.
    for out in outs:
        out.fill_(0)
    returned = case.into(outs)
    for out, back in zip(outs, tensors_in(returned), strict=True):
        if back is not out:
            yield "the out= form does not return its target"
    for out, result in zip(outs, results, strict=True):
        yield from differences(out, as_array(result))


def check_resize(case: Case) -> Iterator[str]:
    """Give views without elements as out=, and look for the result in them and in the memory that they have."""
    results = list(tensors_in(case.result))
    if not (case.definition.has_out and case.determined and any(t.numel() for t in results)):
        yield SKIPPED
        return
    # The first and the last element are not the output's.
    bases = [tt.zeros(t.numel() + 2, dtype=t.dtype, device=t.device) for t in results]
    ends = [as_array(base)[[0, -1]].tobytes() for base in bases]  # not zeros in a dtype that has none
    # PyTorch resizes an output without elements silently; the new elements begin at its offset.
    outs = [base[1:1] for base in bases]
    case.into(outs)
    for base, end, out, result in zip(bases, ends, outs, results, strict=True):
        if out.shape != result.shape:
            yield f"out= was not resized: it has the shape {list(out.shape)} instead of {list(result.shape)}"
            continue
        yield from differences(out, as_array(result))
        rows, whole = as_array(result).reshape(-1), as_array(base)
        # NaN differs from itself, in the dtypes as well that NumPy takes for raw bytes, such as bfloat16.
        same = (whole[1:-1] == rows) | ((whole[1:-1] != whole[1:-1]) & (rows != rows))
        if not same.all() or whole[[0, -1]].tobytes() != end:
            yield "out= was resized, and its elements are not where it began in its memory"


def check_method(case: Case) -> Iterator[str]:
    """Compare the method, or the attribute, with the function."""
    definition = case.definition
    args = case.sample.args
    attribute = definition.has_property
    public = (definition.has_method or attribute) and not case.random
    if not (public and args and isinstance(args[0], TensorBase)):
        yield SKIPPED
        return
    member: Any = getattr(args[0], definition.signature.name)
    result = member if attribute else member(*args[1:], **case.sample.kwargs)
    if definition.name in UNDEFINED:
        return
    one, other = list(tensors_in(result)), list(tensors_in(case.result))
    if [(t.dtype, t.shape, t.device) for t in one] != [(t.dtype, t.shape, t.device) for t in other]:
        yield f"the method returns {one}, the function {other}"
        return
    yield from differences(result, as_array(case.result))
