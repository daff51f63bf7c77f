"""`out=`: running an operator and writing the result into the caller's tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt.core.dispatch.mutate.overlap import refuse_held, refuse_overlap, refuse_self_overlap, shares_memory
from tt.core.errors import (
    ArgumentError,
    CastError,
    DeviceMismatchError,
    DtypeError,
    InplaceError,
    ShapeError,
    TargetDtypeError,
    describe,
)
from tt.core.tensor.base import TensorBase
from tt.core.tensor.read_only import refuse_read_only
from tt.core.types.promotion import can_cast
from tt.core.types.user_warnings import warn_user

if TYPE_CHECKING:
    from tt.core.dispatch.call.cached_call import CachedCall
    from tt.core.dispatch.call.operator import Operator
    from tt.core.schema.model import OpDefinition
    from tt.core.tensor.tensor import Tensor

__all__ = ["FILL_LISTS", "call_with_out", "run_out"]


_WHOLE = ("bernoulli",)
"""Operators whose floating point results are zeros and ones, which every dtype holds."""


_ROWS = (
    "arange",
    "arange.start",
    "arange.start_step",
    "linspace",
    "linspace.tensors",
    "logspace",
    "logspace.tensors",
    "range",
    "range.step",
)
"""Factories that fill a tensor of as many elements in its own shape."""


FILL_LISTS = ("split_copy", "split_with_sizes_copy", "unbind_copy")
"""Operators that write to a list of as many tensors as they find, which no out form of the schema can name."""


def call_with_out(operator: Operator, bound: tuple[Any, ...], out: Any) -> Any:
    """Dispatch the out form; `out` is a tensor, or a tuple of them for several results."""
    count = operator.out_count
    name = operator.definition.signature.name
    if name in FILL_LISTS:
        _fill_list(operator, bound, out)
        return None
    if not operator.definition.has_out:
        raise ArgumentError(
            name, "got an unexpected keyword argument 'out'", signatures=[str(operator.signature())]
        )
    outs = tuple(out) if isinstance(out, list | tuple) else (out,)
    if len(outs) != count or not all(isinstance(o, TensorBase) for o in outs):
        expected = "a Tensor" if count == 1 else f"a tuple of {count} Tensors"
        actual = describe(out) if len(outs) == 1 else f"({', '.join(map(describe, outs))})"
        raise ArgumentError(name, f"argument 'out' must be {expected}, not {actual}")
    if operator.is_factory and operator.tensor_at < 0:
        bound = _of_the_dtype(operator, bound, outs[0])
    return operator.overload("out").dispatch((*bound, *outs))


def _fill_list(operator: Operator, bound: tuple[Any, ...], out: Any) -> None:
    """Write each result of an operator that returns a list into a tensor of a list; as in PyTorch, return nothing."""
    name = operator.definition.signature.name
    results = operator.overload().dispatch(bound)
    outs = list(out) if isinstance(out, list | tuple) else None
    if outs is None or not all(isinstance(o, TensorBase) for o in outs):
        actual = describe(out) if outs is None else f"({', '.join(map(describe, outs))})"
        raise ArgumentError(name, f"argument 'out' must be a list of Tensors, not {actual}")
    if len(outs) != len(results):
        raise ShapeError(f"{name}(): argument 'out' must have {len(results)} tensors, and it has {len(outs)}")
    copy = operator.registry.operator("alias_copy")
    # By an operator with `out=`, so that dtype, device and overlap are checked as anywhere.
    for result, target in zip(results, outs, strict=True):
        call_with_out(copy, (result,), target)


def _of_the_dtype(operator: Operator, bound: tuple[Any, ...], out: TensorBase) -> tuple[Any, ...]:
    """Return the arguments of a factory with the dtype of the tensor that it fills; another `dtype=` is refused."""
    at = operator.dtype_at
    asked = bound[at]
    if asked is not None and asked is not out.dtype:
        raise DtypeError(
            f"{operator.definition.signature.name}(): the dtype asked for is {asked}, that of out is {out.dtype}"
        )
    return (*bound[:at], out.dtype, *bound[at + 1 :])


def run_out(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    """Run the functional form and write its results into the tensors at the end of the arguments."""
    operator = cached.operator
    count = operator.out_count
    inputs, outs = args[:-count], args[-count:]
    refuse_read_only(operator.definition.signature.name, *outs)
    refuse_held(operator.registry, *outs)
    if "out_decides" in operator.definition.tags:
        inputs = _in_dtype_of_out(operator, inputs, outs[0])
    if inputs and isinstance(inputs[0], list):
        _refuse_parts(operator.definition.signature.name, inputs[0], outs)
    # `execute`, since modes and overrides have seen this call already, with its `out=`.
    results = operator.overload().execute(inputs)
    several = count > 1
    for out, result in zip(outs, results if several else (results,), strict=True):
        _check(operator.definition, out, result)
        if out.shape == result.shape or "exact_out" in operator.definition.tags:
            _refuse_shared(operator.definition, out, inputs, result)
        # PyTorch fills a matrix with `arange(6, out=m)` in row-major order.
        if operator.name in _ROWS and out.numel() == result.numel():
            result = result.reshape(tuple(out.shape))
        _write(out, result)
    return operator.return_type(outs) if several else outs[0]


def _in_dtype_of_out(operator: Operator, inputs: tuple[Any, ...], out: TensorBase) -> tuple[Any, ...]:
    """Return the arguments with `dtype=` set to that of `out=`; another one is refused."""
    at = operator.dtype_at
    if inputs[at] is None:
        return (*inputs[:at], out.dtype, *inputs[at + 1 :])
    if inputs[at] is not out.dtype:
        raise CastError(operator.definition.signature.name, inputs[at].name, out.dtype.name)
    return inputs


def _check(definition: OpDefinition, out: TensorBase, result: TensorBase) -> None:
    """Refuse an output on another device, or of a dtype to which the result is not cast."""
    name = definition.signature.name
    if out.device != result.device:
        raise DeviceMismatchError(name, [("self", str(result.device)), ("out", str(out.device))])
    exact = "exact_out" in definition.tags or "exact_target" in definition.tags
    if exact and out.dtype is not result.dtype:
        raise TargetDtypeError(name, result.dtype.name, out.dtype.name)
    if not can_cast(result.dtype, out.dtype) and definition.name not in _WHOLE:
        raise CastError(name, result.dtype.name, out.dtype.name)


def _refuse_shared(
    definition: OpDefinition, out: TensorBase, inputs: tuple[Any, ...], result: TensorBase
) -> None:
    """Refuse an output that overlaps with itself or with an input; reductions read all before they write."""
    if out._storage is None:
        return
    name = definition.signature.name
    refuse_self_overlap(name, out)
    exact = "exact_out" in definition.tags
    if definition.kind == "reduction" and not exact:
        return
    for position, value in enumerate(inputs):
        for tensor in value if isinstance(value, list | tuple) else (value,):
            if not isinstance(tensor, TensorBase):
                continue
            if out.shape != result.shape:  # it will be resized, and may then overlap other memory
                _refuse_span(definition, position, tensor, out, result.shape.numel())
                continue
            if not shares_memory(tensor, out):
                continue
            # An operator that changes its first argument may write its result there.
            if exact and not (tensor is out and position == 0 and definition.has_inplace):
                _refuse_span(definition, position, tensor, out)
            elif tensor is not out:
                refuse_overlap(name, out, tensor)


def _refuse_span(
    definition: OpDefinition, position: int, value: Any, out: Any, elements: int | None = None
) -> None:
    """Raise if an output (of so many elements) lies where an argument has elements, or between them."""
    if not shares_memory(value, out):
        return
    start, stop = _span(out)
    # After the resize the output lies without gaps from its offset on.
    if elements is not None:
        start = out.storage_offset() * out.dtype.itemsize
        stop = start + elements * out.dtype.itemsize
    first, last = _span(value)
    if value._handle.shape and first < stop and start < last:
        raise InplaceError(
            f"{definition.signature.name}(): the out tensor and the argument "
            f"{definition.signature.arguments[position].name!r} share memory\n  try: out.clone()"
        )


def _span(tensor: Any) -> tuple[int, int]:
    """Return the bytes of the storage between which the elements of a tensor lie."""
    if not tensor.numel():
        return 0, 0
    start = tensor.storage_offset()
    last = start + sum(
        (size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    )
    return start * tensor.dtype.itemsize, (last + 1) * tensor.dtype.itemsize


def _refuse_parts(name: str, joined: list[Any], outs: tuple[Any, ...]) -> None:
    """Raise if an output shares memory with one of the tensors that are joined in it."""
    for out in outs:
        start, stop = _span(out)
        for tensor in joined:
            first, last = _span(tensor)
            overlap = first < stop and start < last
            if tensor is out or (overlap and shares_memory(tensor, out)):
                raise InplaceError(
                    f"{name}(): the out tensor shares memory with a tensor that is joined\n  try: out.clone()"
                )


def _write(out: Tensor, result: Tensor) -> None:
    if out.shape != result.shape:
        if out.shape.numel():
            warn_user(
                # PyTorch's words: programs that filter the warning do so by its beginning
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does "
                f"not match the required output shape {list(result.shape)}: pass an empty tensor or one of that shape",
            )
        # `resize_` keeps the object, so the caller's tensor is the one that is filled.
        out.resize_(tuple(result.shape))
    out.copy_(result)
