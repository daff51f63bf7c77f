"""All functions of jagged tensors by operator, and their tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from tt.core.library import REGISTRY, KernelTable, Storage, Tensor, errors, handle_of, wrap
from tt.plugins.nested.copies import COPIES, IN_PLACE
from tt.plugins.nested.handle import JaggedHandle
from tt.plugins.nested.pointwise import on_values, pointwise_functions
from tt.plugins.nested.products import PRODUCTS
from tt.plugins.nested.raggedness import Raggedness
from tt.plugins.nested.reduction import reduction_functions
from tt.plugins.nested.rows import along, glu, implicit, log_softmax, softmax
from tt.plugins.nested.shaping import SHAPING

__all__ = ["functions", "tables"]

ALONG: Final = (
    "argsort", "cummax", "cummin", "cumprod", "cumsum", "logcumsumexp", "normalize", "sort",
)  # fmt: skip
"""Operators along one dimension whose results have the size of their argument."""


@cache
def functions() -> dict[str, Callable[..., Any]]:
    """Return the function of each operator: it gets all arguments, and calls operators of the values."""
    return {
        **pointwise_functions(),
        **reduction_functions(),
        **{op: along(op) for op in ALONG},
        "softmax": softmax,
        "log_softmax": log_softmax,
        "softmax.implicit": implicit("softmax"),
        "log_softmax.implicit": implicit("log_softmax"),
        "glu": glu,
        "view.dtype": on_values("view.dtype"),
        **PRODUCTS,
        **SHAPING,
        **COPIES,
    }


# --- its own operators -----------------------------------------------------------------------------------------------


def _tensor_of(handle: JaggedHandle, values: Tensor) -> Tensor:
    backend = REGISTRY.backend(values.device.type, "jagged")
    return wrap(handle, backend.spec(values.dtype, values.device))


def _in_memory_of(source: Tensor, new: Tensor) -> Tensor:
    """Return a new tensor with the storage of another, so that a write through one is a new version of both.

    The storage is that of the values, whichever of the two was there first.
    """
    storage = source._ensure_storage()
    if type(storage) is not Storage:
        return new  # of arrays that never change: writes reach no other tensor
    handle = handle_of(source)
    if isinstance(handle, JaggedHandle) and storage.backend.layout == "jagged":
        arrays = REGISTRY.backend(source.device.type)
        storage.owner, storage.backend = arrays.storage_owner(handle.values), arrays
    if source._root is not None:
        storage.may_overlap = True  # the new tensor is not a view, but may have the strides of one
    new._storage = storage
    return new


def _jagged(values: Tensor, offsets: Sequence[int], lengths: Sequence[int] | None, jagged_dim: int) -> Tensor:
    rows = Raggedness(offsets, lengths)
    if not 0 < jagged_dim <= values.ndim:
        raise errors.ValueRangeError(
            f"nested::jagged(): jagged_dim must be from 1 to {values.ndim}, the number of dimensions of values, got "
            f"{jagged_dim}"
        )
    rows.check("nested::jagged()", int(values.shape[jagged_dim - 1]))
    return _in_memory_of(values, _tensor_of(JaggedHandle(handle_of(values), rows, jagged_dim), values))


def _jagged_view(
    values: Tensor, offsets: Sequence[int], lengths: Sequence[int] | None, jagged_dim: int
) -> Tensor:
    return _as_view(values, _jagged(values, offsets, lengths, jagged_dim))


def _values(self: Tensor) -> Tensor:
    spec = REGISTRY.backend(self.device.type).spec(self.dtype, self.device)
    return _as_view(self, _in_memory_of(self, wrap(handle_of(self).values, spec)))


def _as_view(source: Tensor, new: Tensor) -> Tensor:
    new._root = source if source._root is None else source._root
    return new


def _with_values(self: Tensor, values: Tensor, ragged_dim: int | None) -> Tensor:
    own: Any = handle_of(self)
    dim = own.ragged_dim if ragged_dim is None else ragged_dim
    rows: Raggedness = own.raggedness
    size = int(values.shape[dim - 1]) if 0 < dim <= values.ndim else -1
    # Rows without gaps fill the values; behind those with gaps more may follow.
    if size < rows.end or (rows.contiguous and size != rows.end):
        raise errors.ShapeError(
            f"nested::with_values(): values of shape {list(values.shape)} do not have the {rows.end} places of the "
            f"rows in dimension {dim - 1}"
        )
    return _in_memory_of(values, _tensor_of(JaggedHandle(handle_of(values), own.raggedness, dim), values))


def tables(device: str) -> list[KernelTable]:
    """Return the tables of a device, with jagged tensors alone and together with strided ones."""
    strided, alone = KernelTable(device, "strided"), KernelTable(device, "jagged")
    mixed = KernelTable(device, ("jagged", "strided"))
    strided.kernel("nested::jagged", _jagged, tensors=True)
    strided.kernel("nested::jagged_view", _jagged_view, tensors=True)
    alone.kernel("nested::values", _values, tensors=True)
    mixed.kernel("nested::with_values", _with_values, tensors=True)
    alone.kernel("alias", lambda self: self)
    for op, function in functions().items():
        definition = REGISTRY.operator(op).definition
        names = [argument.name for argument in definition.signature.arguments]
        alone.kernel(op, function, takes=names, dtypes=definition.dtypes, tensors=True)
        if sum(argument.type.is_tensor for argument in definition.signature.arguments) > 1 or op in LISTS:
            mixed.kernel(op, function, takes=names, dtypes=definition.dtypes, tensors=True)
    for op, function in IN_PLACE.items():
        names = [argument.name for argument in REGISTRY.operator(op).definition.signature.arguments]
        alone.kernel(op, function, takes=names, form="inplace", tensors=True)
        mixed.kernel(op, function, takes=names, form="inplace", tensors=True)
    return [strided, alone, mixed]


LISTS: Final = frozenset({"cat", "index", "stack"})
"""Operators of lists of tensors."""
