"""Checks of what is known without data: shape, dtype, device and strides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tt.core.errors import DataDependentError
from tt.core.testing.conformance.case import Case, tensors_in, to_meta
from tt.core.testing.samples import Sample

__all__ = ["check_meta"]


def check_meta(case: Case) -> Iterator[str]:
    """Compare shape, dtype and strides with those of the same call without data."""
    tags = case.definition.tags
    if "data_dependent" in tags or "data_dependent_shape" in tags:
        try:
            case.run([to_meta(value) for value in case.sample.args])
        except DataDependentError:
            return
        yield "the result depends on data, and the call succeeded without"
        return
    kwargs = {
        name: "meta" if name == "device" else to_meta(value) for name, value in case.sample.kwargs.items()
    }
    twin = Case(case.operator, "meta", case.dtype, Sample(case.sample.args, kwargs), None)
    try:
        expected = list(tensors_in(twin.run([to_meta(value) for value in case.sample.args])))
    except DataDependentError as error:
        if not _has_mask(case.tensors) and case.definition.name not in _SOMETIMES_DEPENDENT:
            yield f"the call is refused without data: {error}"
        return
    found = list(tensors_in(case.result))
    if len(found) != len(expected):
        yield f"{len(found)} results instead of {len(expected)}"
        return
    exact = case.definition.kind == "view" or all(t.is_contiguous() for t in case.tensors)
    for one, other in zip(found, expected, strict=True):
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            yield f"{one.dtype} {list(one.shape)} instead of {other.dtype} {list(other.shape)}"
        elif exact and one._spec.backend.has_views and one.numel() and one.stride() != other.stride():
            yield f"strides {one.stride()} instead of {other.stride()}"


_SOMETIMES_DEPENDENT: Final = frozenset(
    {"one_hot", "repeat_interleave.Tensor", "repeat_interleave.self_Tensor"}
)
"""Whose shape depends on data unless a number that says it is given."""


def _has_mask(value: Any) -> bool:
    return any(t.dtype.name in ("bool", "uint8") for t in tensors_in(value))
