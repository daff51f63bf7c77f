"""Sparse tensors without data: conversions, and elements that depend on data.

Note [Kernels without data]
---------------------------
The result of a kernel is determined without data: the size and the dtype by the operator's shape rule, the layout
by the table of the kernel.  So `mirrored` makes the tables of the meta device from those of the CPU.  The number of
elements stays unknown, save where an operator keeps the pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from tt.core.library import (
    REGISTRY,
    KernelTable,
    MetaHandle,
    OpDefinition,
    Tensor,
    contiguous_strides,
    handle_of,
    run_rule,
    to_dtype,
)
from tt.core.library import dtype as Dtype
from tt.plugins.sparse.convert import Conversion
from tt.plugins.sparse.layouts import HANDLES, CooHandle, SparseHandle
from tt.plugins.sparse.parts import component

__all__ = ["convert", "mirrored", "unknown"]


def _empty(shape: tuple[int, ...], dtype: Dtype) -> MetaHandle:
    return MetaHandle(shape, dtype, contiguous_strides(shape), 0, 0)


def unknown(wanted: Conversion, shape: tuple[int, ...], dtype: Dtype) -> SparseHandle:
    """Return the handle of a tensor with an unknown number of stored elements."""
    int64, kind = to_dtype("int64"), HANDLES[wanted.layout]
    dense = shape[len(shape) - wanted.dense_dim :]
    if kind is CooHandle:
        return CooHandle(
            _empty((wanted.sparse_dim, 0), int64), _empty((0, *dense), dtype), shape, known=False
        )
    end = len(shape) - wanted.dense_dim
    batch, matrix = shape[: end - 2], shape[end - 2 : end]
    block = wanted.blocksize or (1, 1)
    axis = 0 if kind.rows else 1
    starts = (*batch, matrix[axis] // block[axis] + 1)
    values = (*batch, 0, *(block if kind.blocked else ()), *dense)
    compressed: SparseHandle = kind(
        _empty(starts, int64), _empty((*batch, 0), int64), _empty(values, dtype), shape, known=False
    )
    return compressed


def convert(handle: SparseHandle | MetaHandle, wanted: Conversion) -> Any:
    """Return the known facts of a converted handle."""
    if isinstance(handle, SparseHandle) and handle.layout == wanted.layout and wanted.blocksize is None:
        return handle
    dtype = handle.dtype if isinstance(handle, MetaHandle) else handle.values.dtype
    result = unknown(wanted, tuple(handle.shape), dtype)
    if isinstance(result, CooHandle):
        result.coalesced = True
    return result


# --- kernels -------------------------------------------------------------------------------------------------------


def values_at(self: Tensor, mask: Tensor) -> Tensor:
    """Return meta values for the elements at the pattern of a sparse tensor."""
    return component(_empty(tuple(handle_of(mask).values.shape), self.dtype), self.device)


OVER_TENSORS: Final = {"sparse::values_at": values_at}
"""Kernels with more information than the shape rule."""


def mirrored(tables: Iterable[KernelTable]) -> list[KernelTable]:
    """Return tables for the meta device; see Note [Kernels without data].

    Kernels that get tensors are left out: the operators that they call handle the device.
    """
    result = []
    for table in tables:
        mirror = KernelTable("meta", table.layout, table.result)
        layout = table.result or next(name for name in table.layouts if name != "strided")
        for op in dict.fromkeys(kernel.op for kernel in table.kernels if not kernel.tensors):
            definition = REGISTRY.definition(op)
            if op in OVER_TENSORS:
                mirror.kernel(op, OVER_TENSORS[op], tensors=True)
                continue
            if definition is None or not definition.meta or _depends_on_data(definition):
                continue
            names = [argument.name for argument in definition.signature.arguments]
            dtypes = {word for kernel in table.kernels if kernel.op == op for word in _words(kernel.dtypes)}
            function = _without_data(definition, layout)
            mirror.kernel(op, function, dtypes=tuple(sorted(dtypes)), takes=names, half="native")
        result.append(mirror)
    return result


def _words(dtypes: str | tuple[str, ...]) -> tuple[str, ...]:
    return (dtypes,) if isinstance(dtypes, str) else dtypes


def _depends_on_data(definition: OpDefinition) -> bool:
    return "data_dependent" in definition.tags or "data_dependent_shape" in definition.tags


def _without_data(definition: OpDefinition, layout: str) -> Callable[..., Any]:
    """Return a kernel that runs the shape rule of an operator and returns handles of a layout."""

    def kernel(*args: Any) -> Any:
        outcome = run_rule(definition, args)
        sparse = [value for value in _flat(args) if isinstance(value, SparseHandle)]
        # Functions of the stored elements keep the pattern, and so the number of elements.
        keeps = definition.kind == "pointwise" and len(sparse) == 1
        if isinstance(outcome, tuple | list):
            return type(outcome)(_laid_out(result, layout, sparse, keeps) for result in outcome)
        return _laid_out(outcome, layout, sparse, keeps)

    return kernel


def _flat(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _flat(value)
        else:
            yield value


def _laid_out(result: MetaHandle, layout: str, sparse: list[SparseHandle], keeps: bool) -> Any:
    """Return a rule's result in a layout."""
    if layout == "strided" or not isinstance(result, MetaHandle):
        return result
    first: Any = sparse[0] if sparse else None
    if keeps and first.layout == layout and tuple(first.shape) == tuple(result.shape):
        return first.with_values(_empty(tuple(first.values.shape), result.dtype))
    dense = first.dense_dim if first is not None else 0
    sparse_dim = max(len(result.shape) - dense, 0)
    blocksize = first.blocksize if getattr(first, "blocked", False) else (1, 1)
    conversion = Conversion(layout, sparse_dim, blocksize, len(result.shape) - sparse_dim)
    return unknown(conversion, tuple(result.shape), result.dtype)
