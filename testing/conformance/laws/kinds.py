"""The laws of the kinds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.tensor.base import TensorBase
from tt.testing.checks.call import UNDEFINED, tensors_in
from tt.testing.checks.case import SKIPPED, Case
from tt.testing.checks.results import wrong_results
from tt.testing.checks.values import differences
from tt.testing.conformance.laws.base import Law
from tt.testing.references import as_array

__all__ = ["KIND_LAWS"]


def pointwise(case: Case) -> Iterator[str]:
    """Compare the shape with the broadcast one, and the last row with the call on last rows only."""
    shape = np.broadcast_shapes(*(tuple(t.shape) for t in case.tensors))
    results = list(tensors_in(case.result))
    for result in results:
        if tuple(result.shape) != shape:
            yield f"arguments that broadcast to {list(shape)} give {list(result.shape)}"
            return
    if case.random or case.inplace_only or not shape or shape[0] < 2 or case.definition.name in UNDEFINED:
        return

    def last(value: Any) -> Any:
        # Arguments that broadcast along the first dimension belong to every row.
        if isinstance(value, TensorBase) and value.ndim == len(shape) and value.shape[0] > 1:
            rows: Any = value
            return rows[-1:]
        return value

    alone = case.run_bound({name: last(value) for name, value in case.bound.items()})
    for part, whole in zip(tensors_in(alone), results, strict=True):
        for message in differences(part, as_array(whole)[-1:], case.steps):
            yield f"the last row depends on other rows: {message}"


def reduction(case: Case) -> Iterator[str]:
    """Compare the shape with the kept dimensions, and the last slice of one of these with the call on it alone."""
    tensor = case.tensors[0]
    dims = _reduced(case, tensor.ndim)
    scans = str(case.definition.meta).startswith("scan")
    keep = bool(case.bound.get("keepdim", False)) or scans
    shape = [
        size if d not in dims or scans else 1 for d, size in enumerate(tensor.shape) if keep or d not in dims
    ]
    for result in tensors_in(case.result):
        if list(result.shape) != shape:
            yield f"{list(tensor.shape)} without the dimensions {sorted(dims)} gives {list(result.shape)}"
            return
    kept = [d for d in range(tensor.ndim) if d not in dims and tensor.shape[d] > 1]
    if not kept:
        return
    dim = kept[0]
    # Dimensions that are gone move those behind them to the front.
    at = dim if keep else dim - sum(d < dim for d in dims)
    name = next(name for name, value in case.bound.items() if value is tensor)
    alone = case.run_bound({**case.bound, name: tensor.narrow(dim, tensor.shape[dim] - 1, 1)})
    for part, whole in zip(tensors_in(alone), tensors_in(case.result), strict=True):
        array = as_array(whole)
        for message in differences(part, np.take(array, [array.shape[at] - 1], axis=at), case.steps):
            yield f"the last slice of dimension {dim} depends on the others: {message}"


def _reduced(case: Case, ndim: int) -> set[int]:
    dim = case.bound.get("dim")
    if case.definition.name == "trace":
        return {0, 1}
    # As in PyTorch, no dims mean all of them; for `all` and `any` they mean none.
    if dim is None or (dim in ([], ()) and case.definition.name not in ("all.dim", "any.dim")):
        return set(range(ndim))
    dims = dim if isinstance(dim, list | tuple) else [dim]
    return {d % ndim if ndim else d for d in dims} & set(range(ndim))


def view(case: Case) -> Iterator[str]:
    """Look for the memory of the argument behind each result."""
    base = case.tensors[0]
    backend = base._spec.backend
    if case.inplace_only or not backend.has_views:
        yield SKIPPED  # where the core keeps track of views, the check `view` sees whether they work
        return
    for result in tensors_in(case.result):
        if result.numel() and backend.storage_owner(result._handle) is not backend.storage_owner(
            base._handle
        ):
            yield "the result has memory of its own"


def factory(case: Case) -> Iterator[str]:
    """Compare size, dtype and device with the request."""
    bound = case.bound
    size, dtype = bound.get("size"), bound.get("dtype")
    for result in tensors_in(case.result):
        if size is not None and list(result.shape) != list(size):
            yield f"the size {list(size)} was requested, and the result has {list(result.shape)}"
        if dtype is not None and result.dtype is not dtype:
            yield f"{dtype} was requested, and the result has {result.dtype}"
        like = case.tensors[0] if case.tensors else None
        if (
            size is None
            and like is not None
            and "like" in case.definition.name
            and result.shape != like.shape
        ):
            yield f"the argument has the shape {list(like.shape)}, the result {list(result.shape)}"


def composite(case: Case) -> Iterator[str]:
    """Look for a composite, and for kernels that the schema does not allow: those that do not get tensors."""
    name = case.definition.name
    if REGISTRY.composite(name) is None:
        yield "it has no composite"
    for registration in REGISTRY.kernels_of(name, case.device_type, ("strided",)):
        if not registration.kernel.tensors:
            yield f"a kernel is registered: {registration}"


def other(case: Case) -> Iterator[str]:
    """Compare number and types of the results with the signature."""
    if case.operator.mutates:
        return  # the result of the case is what has become of the arguments
    yield from (finding.message for finding in wrong_results(case.given, case.result))


KIND_LAWS: Final[dict[str, Law]] = {
    "pointwise": Law(
        "The shape is that to which the tensors broadcast, and each element depends on elements at its place only.",
        pointwise, every=True,
    ),
    "reduction": Law(
        "The dimensions that are combined are gone, or have size 1 with keepdim=True (a scan keeps them); slices along "
        "the others do not depend on each other.",
        reduction, every=True,
    ),
    "view": Law("The result shares the memory and the version of its argument; nothing is copied.", view, every=True),
    "factory": Law("The result has the size, the dtype and the device that were requested.", factory, every=True),
    "composite": Law("It has a composite and no kernel.", composite),
    "other": Law("It returns what its signature names.", other, every=True),
}  # fmt: skip
