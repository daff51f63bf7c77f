"""Checks of the other forms of an operator: they do what the functional form does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.tensor.base import TensorBase
from tt.core.testing.conformance.case import SKIPPED, UNDEFINED, Case, copy_of, tensors_in
from tt.core.testing.conformance.differences import differences
from tt.core.testing.references import as_array
from tt.core.types.promotion import can_cast

__all__ = ["check_inplace", "check_method", "check_out"]


def check_inplace(case: Case) -> Iterator[str]:
    """Compare the in-place form with the functional one."""
    if not case.definition.has_inplace or case.inplace_only or case.random:
        yield SKIPPED
        return
    args = case.sample.args
    if not isinstance(args[0], TensorBase):
        yield SKIPPED
        return
    expected = case.call((copy_of(args[0]), *args[1:]))
    target = copy_of(args[0])
    version = target._version
    view = case.definition.kind == "view"
    exact = "exact_target" in case.definition.tags and expected.dtype is not target.dtype
    castable = can_cast(expected.dtype, target.dtype) and not exact
    fits = view or (expected.shape == target.shape and castable)
    if not fits:
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
    if not case.definition.has_out or case.random or case.definition.name in UNDEFINED or case.inplace_only:
        yield SKIPPED
        return
    results = list(tensors_in(case.result))
    outs = [copy_of(t) for t in results]
    for out in outs:
        out.fill_(0)
    returned = case.call(case.sample.args, out=outs[0] if len(outs) == 1 else tuple(outs))
    for out, back in zip(outs, tensors_in(returned), strict=True):
        if back is not out:
            yield "the out= form does not return its target"
    for out, result in zip(outs, results, strict=True):
        yield from differences(out, as_array(result))


def check_method(case: Case) -> Iterator[str]:
    """Compare the method, or the attribute, with the function."""
    definition = case.definition
    args = case.sample.args
    attribute = definition.has_property
    if (
        not (definition.has_method or attribute)
        or case.random
        or not args
        or not isinstance(args[0], TensorBase)
    ):
        yield SKIPPED
        return
    found: Any = getattr(args[0], definition.signature.name)
    result = found if attribute else found(*args[1:], **case.sample.kwargs)
    if definition.name in UNDEFINED:
        return
    one, other = list(tensors_in(result)), list(tensors_in(case.result))
    if [(t.dtype, t.shape, t.device) for t in one] != [(t.dtype, t.shape, t.device) for t in other]:
        yield f"the method returns {one}, the function {other}"
        return
    yield from differences(result, as_array(case.result))
