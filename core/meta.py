"""Meta tensors: shape, strides and dtype without data, and the backend that runs every shape rule on them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.dispatch.resolve.dtypes import dtypes_on, resolve_dtypes
from tt.core.errors import DataDependentError, ShapeError, SizeLimitError, UnknownNameError
from tt.core.schema.number_ranges import refuse_wide
from tt.core.shapes import Result, find_rule
from tt.core.shapes.geometry import broadcast, like_strides
from tt.core.tensor.backend import Backend, contiguous_strides, dtype_of
from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import dtype, from_numpy_dtype, to_dtype
from tt.core.types.memory_format import ORDERS, order_of_strides, strides_in_order
from tt.core.types.promotion import DIM_BITS, ZERO_DIM_BITS, scalar_bit

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator
    from tt.core.schema.model import OpDefinition
    from tt.core.shapes import Outcome
    from tt.core.types.device import Device

__all__ = ["MetaBackend", "MetaHandle", "describe", "dtype_of", "run_rule"]


@dataclass(frozen=True, slots=True)
class MetaHandle:
    """A tensor without data: its shape, dtype and other metadata.

    Attributes
    ----------
    shape : tuple of int
        The sizes.
    dtype : dtype
        The dtype.
    strides : tuple of int
        In elements.
    offset : int
        Position of the first element in the memory, in elements.
    extent : int or None
        Number of elements in the whole memory, if known.

    Examples
    --------
    >>> import tt
    >>> from tt.core.meta import MetaHandle
    >>> MetaHandle((2, 3), tt.float32, (3, 1), 0).ndim
    2
    """

    shape: tuple[int, ...]
    dtype: dtype
    strides: tuple[int, ...]
    offset: int = 0
    extent: int | None = None

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """The size of the whole memory in bytes."""
        return (prod(self.shape) if self.extent is None else self.extent) * self.dtype.itemsize


def fresh(shape: Sequence[int], d: dtype, strides: Sequence[int] | None = None) -> MetaHandle:
    """Return the handle of a tensor with memory of its own."""
    size = tuple(shape)
    if strides is None:
        return MetaHandle(size, d, contiguous_strides(size), 0, prod(size))
    # The memory reaches to the last element, which with gaps lies behind the product of the sizes.
    last = sum((n - 1) * stride for n, stride in zip(size, strides, strict=True))
    return MetaHandle(size, d, tuple(strides), 0, 0 if 0 in size else last + 1)


# --- describing arguments --------------------------------------------------------------------------------------


def describe(value: Any, backend: Backend | None = None) -> Any:
    """Return an argument as shape rules see it: tensors and native arrays become `MetaHandle`s.

    Parameters
    ----------
    value : object
        An argument of an operator; lists are described item by item, other values stay.
    backend : Backend, optional
        The backend of native arrays; NumPy arrays need none.
    """
    if isinstance(value, MetaHandle):
        return value
    if isinstance(value, TensorBase):
        handle = value._handle
        return (
            handle
            if isinstance(handle, MetaHandle)
            else _describe_handle(handle, value._spec.backend, value.dtype)
        )
    if isinstance(value, list | tuple):
        return [describe(item, backend) for item in value]
    if isinstance(value, np.ndarray):
        # NumPy counts strides in bytes, and a dtype may have none.
        strides = tuple(stride // (value.itemsize or 1) for stride in value.strides)
        return MetaHandle(value.shape, from_numpy_dtype(value.dtype), strides)
    if backend is not None and isinstance(value, backend.handle_type):
        return _describe_handle(value, backend, dtype_of(value, backend))
    # The dtype of a library may be a class that has these attributes, too.
    if hasattr(value, "shape") and hasattr(value, "ndim") and not isinstance(value, np.dtype | type):
        return MetaHandle(tuple(value.shape), dtype_of(value, backend), contiguous_strides(value.shape))
    return value


def _describe_handle(handle: Any, backend: Backend, d: dtype) -> MetaHandle:
    # The whole memory counts, since `as_strided` may reach beyond what a view shows.
    extent = None
    if backend.layout == "strided" and backend.has_views:
        extent = backend.storage_nbytes(backend.storage_owner(handle)) // d.itemsize
    if backend.layout != "strided":  # of other layouts, rules see only the shape
        return fresh(handle.shape, d)
    return MetaHandle(tuple(handle.shape), d, tuple(backend.strides(handle)), backend.offset(handle), extent)


# --- running a rule --------------------------------------------------------------------------------------------


@cache
def bound_rule(definition: OpDefinition) -> Callable[[Sequence[Any]], Outcome]:
    """Return the shape rule of an operator as a function of its described arguments.

    Raises
    ------
    NotImplementedError
        When the operator declares none.
    UnknownNameError
        If the declared name does not exist.
    """
    if not definition.meta:
        raise NotImplementedError(f"{definition.name} has no shape rule")
    arguments = definition.signature.arguments
    names = [argument.name for argument in arguments]
    tensors = [position for position, argument in enumerate(arguments) if argument.type.is_tensor]
    rule = find_rule(definition.meta).bind(definition.signature.name, names, tensors)
    deciding = [names.index(name) for name in definition.format_of]
    if not deciding:
        return rule

    def in_format(args: Sequence[Any]) -> Outcome:
        outcome = rule(args)
        for position in deciding:
            order = _order_of(args[position])
            if order is not None:
                return _in_order(outcome, order)
        return outcome

    return in_format


def _order_of(value: Any) -> str | None:
    """Return the order of a described tensor's dimensions if its channels are last, or that of all of a list."""
    if isinstance(value, list | tuple):
        orders = {_order_of(item) for item in value}
        # All of a list have to agree; the order of a row-major tensor is None.
        return orders.pop() if len(orders) == 1 else None
    return None if value is None else order_of_strides(value.shape, value.strides)


def _in_order(outcome: Outcome, order: str) -> Outcome:
    if isinstance(outcome, Result):
        return _with_order(outcome, order)
    results = [_with_order(result, order) for result in outcome]
    return tuple(results) if isinstance(outcome, tuple) else results


def _with_order(result: Result, order: str) -> Result:
    if len(result.shape) != len(ORDERS[order]):
        return result
    return replace(result, strides=strides_in_order(result.shape, order))


def run_rule(
    definition: OpDefinition, args: Sequence[Any], backend: Backend | None = None
) -> MetaHandle | tuple[MetaHandle, ...] | list[MetaHandle]:
    """Return the metadata of an operator's results, or raise PyTorch's error.

    Parameters
    ----------
    definition : OpDefinition
        The operator.
    args : sequence
        All arguments in the order of the schema: tensors, native arrays or `MetaHandle`s among them.
    backend : Backend, optional
        The backend of native arrays, if they are not NumPy's.

    Raises
    ------
    TTError
        When the shapes do not fit.
    NotImplementedError
        When the operator has no shape rule.
    """
    described = [describe(value, backend) for value in args]
    outcome = bound_rule(definition)(described)
    return to_handles(
        outcome, _result_dtypes(definition, described, backend), described, definition.signature.name
    )


def _result_dtypes(
    definition: OpDefinition, args: Sequence[Any], backend: Backend | None
) -> tuple[dtype | None, ...]:
    """Return the dtypes that the dispatcher would resolve for described arguments."""
    operator = REGISTRY.operator(definition.name)
    bits = 0
    for position in operator.group:
        items = args[position] if isinstance(args[position], list) else [args[position]]
        for item in items:
            if isinstance(item, MetaHandle):
                bits |= (DIM_BITS if item.ndim else ZERO_DIM_BITS)[item.dtype.code]
            elif item is not None:
                bits |= scalar_bit(item)
    for position, shift in operator.others:
        # The first tensor of a list decides, as in `Operator._deciding_list`.
        value = args[position]
        if isinstance(value, list):
            value = next((item for item in value if isinstance(item, MetaHandle)), None)
        if isinstance(value, MetaHandle):
            bits |= (value.dtype.code + 1) << shift
    if operator.dtype_at >= 0 and args[operator.dtype_at] is not None:
        # Only the backend understands its own dtype objects; its kernel decides the result's dtype.
        with contextlib.suppress(UnknownNameError):
            bits |= (to_dtype(args[operator.dtype_at]).code + 1) << operator.dtype_shift
    if backend is None:
        return resolve_dtypes(operator, "functional", bits).results
    return dtypes_on(backend, operator, "functional", bits).results


def to_handles(
    outcome: Outcome, dtypes: Sequence[dtype | None], args: Sequence[Any], op: str = "this operator"
) -> MetaHandle | tuple[MetaHandle, ...] | list[MetaHandle]:
    """Return the handles of a rule's results.

    Parameters
    ----------
    outcome : Result, tuple or list
        The result of the rule.
    dtypes : sequence
        Of each result of the operator; a list of tensors has one for all.
    args : sequence
        The described arguments, of which the first owns the memory of views.
    op : str
        The operator's name, for messages.

    Raises
    ------
    SizeLimitError
        When no tensor can have the shape of a result.
    """
    if isinstance(outcome, list):
        return [_handle(result, dtypes[0], args, op) for result in outcome]
    if isinstance(outcome, tuple):
        return tuple(_handle(result, d, args, op) for result, d in zip(outcome, dtypes, strict=True))
    return _handle(outcome, dtypes[0], args, op)


def expect_possible(op: str, shape: Sequence[int], itemsize: int = 1, d: dtype | None = None) -> None:
    """Raise unless sizes, and the bytes of a tensor that has them, fit in 63 bits.

    Examples
    --------
    >>> from tt.core.meta import expect_possible
    >>> expect_possible("zeros", (0, 2**62), 4)
    >>> expect_possible("zeros", (2**61, 1), 4)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    tt.core.errors.SizeLimitError: zeros(): a tensor of shape [2305843009213693952, 1] would be larger than any ...
    """
    # PyTorch counts both in int64.
    if prod(shape) * itemsize < 2**63 and max(shape, default=0) < 2**63:
        return
    raise SizeLimitError(op, shape, None if d is None else str(d))


def _handle(result: Result, d: dtype | None, args: Sequence[Any], op: str) -> MetaHandle:
    result_dtype = result.dtype if d is None else d
    if result.offset is None:
        expect_possible(op, result.shape, result_dtype.itemsize, result_dtype)
        return fresh(result.shape, result_dtype, result.strides)
    expect_possible(op, result.shape)  # elements that are one in memory have to be counted, too
    extent = None
    base = args[0] if args and isinstance(args[0], MetaHandle) else None
    if base is not None and base.extent is not None:
        # `view(dtype)` leaves the bytes as they are, so that the number of elements changes.
        extent = base.extent * base.dtype.itemsize // result_dtype.itemsize
        if op == "resize":  # the memory grows
            extent = max(extent, result.offset + prod(result.shape))
    return MetaHandle(result.shape, result_dtype, result.full_strides, result.offset, extent)


def depends_on_data(definition: OpDefinition) -> bool:
    """Return whether the metadata of an operator's result depends on the values of its tensors."""
    return "data_dependent" in definition.tags or "data_dependent_shape" in definition.tags


# --- the backend -----------------------------------------------------------------------------------------------


class MetaBackend(Backend):
    """The device "meta": every operator with a shape rule runs, and no element exists.

    Examples
    --------
    >>> import tt
    >>> (tt.zeros(2, 1, device="meta") + tt.zeros(3, device="meta")).shape
    tt.Size([2, 3])
    """

    device_type = "meta"
    handle_type = MetaHandle
    silence_numpy = False
    autocast_dtypes = ()

    def generic_kernel(self, operator: Operator) -> Callable[..., Any] | None:
        """Return a kernel that runs the operator's shape rule, or None if it has none."""
        definition = operator.definition
        if depends_on_data(definition):
            return _refuse(definition.name)
        if not definition.meta:
            # An operator that only changes its arguments has no result, so it needs no shape rule.
            return _nothing if operator.mutates and all(p >= 0 for p in operator.returned) else None
        rule = bound_rule(definition)

        def meta_kernel(args: Sequence[Any], result_dtypes: Sequence[dtype | None]) -> Any:
            refuse_wide(definition, args)
            handles = to_handles(rule(args), result_dtypes, args, definition.signature.name)
            return (
                handles if result_dtypes else None
            )  # an operator without results still has its arguments checked

        return meta_kernel

    # --- handles -----------------------------------------------------------------------------------------------

    def native_dtype(self, dtype: dtype) -> Any:
        """Return the dtype itself."""
        return dtype

    def cast(self, handle: MetaHandle, native_dtype: Any) -> MetaHandle:
        """Return a handle of another dtype."""
        return fresh(handle.shape, native_dtype, like_strides(handle))

    def empty(self, shape: Sequence[int], native_dtype: Any) -> MetaHandle:
        """Return a row-major handle."""
        return fresh(shape, native_dtype)

    def from_numpy(self, array: np.ndarray[Any, Any], device: Device | None = None) -> MetaHandle:
        """Return a handle with the array's shape and strides, without its content."""
        return self.cast(describe(array), from_numpy_dtype(array.dtype))

    def to_numpy(self, handle: MetaHandle) -> np.ndarray[Any, Any]:
        """Refuse: a meta tensor has no content."""
        raise DataDependentError("numpy", "meta")

    def item(self, handle: MetaHandle) -> bool | int | float | complex:
        """Refuse: a meta tensor has no content."""
        raise DataDependentError("item", "meta")

    def clone(self, handle: MetaHandle) -> MetaHandle:
        """Return a handle with memory of its own, dense in the same order of dimensions."""
        return self.cast(handle, handle.dtype)

    def copy_into(self, target: MetaHandle, source: Any) -> None:
        """Check that the shapes fit; there is nothing to copy."""
        shape = tuple(source.shape)
        if broadcast("copy_", target.shape, shape) != target.shape:
            raise ShapeError(
                f"copy_(): the result has shape {list(shape)}, which the target of shape "
                f"{list(target.shape)} cannot hold"
            )

    # --- memory ------------------------------------------------------------------------------------------------

    def strides(self, handle: MetaHandle) -> tuple[int, ...]:
        """Return the strides in elements."""
        return handle.strides

    def offset(self, handle: MetaHandle) -> int:
        """Return the position of the first element."""
        return handle.offset


def _nothing(args: Sequence[Any], result_dtypes: Sequence[dtype | None]) -> None:
    return None


def _refuse(name: str) -> Callable[..., Any]:
    def refuse(args: Sequence[Any], result_dtypes: Sequence[dtype | None]) -> Any:
        raise DataDependentError(name, "meta")

    return refuse
