"""`out=`: running an operator and writing the result into tensors of the caller's."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from tt.core.errors import ArgumentError, CastError, DeviceMismatchError, describe
from tt.core.promotion import can_cast
from tt.core.tensor_base import TensorBase

if TYPE_CHECKING:
    from tt.core.dispatch.entry import Entry
    from tt.core.dispatch.operator import Operator

__all__ = ["call_with_out", "run_out"]


def call_with_out(operator: Operator, bound: tuple[Any, ...], out: Any) -> Any:
    """Dispatch the out form; `out` is a tensor, or a tuple of them for several results."""
    count = operator.out_count
    name = operator.definition.signature.name
    if not operator.definition.has_out:
        raise ArgumentError(
            name, "got an unexpected keyword argument 'out'", signatures=[str(operator.signature())]
        )
    outs = tuple(out) if isinstance(out, list | tuple) else (out,)
    if len(outs) != count or not all(isinstance(o, TensorBase) for o in outs):
        wanted = "a Tensor" if count == 1 else f"a tuple of {count} Tensors"
        found = describe(out) if len(outs) == 1 else f"({', '.join(map(describe, outs))})"
        raise ArgumentError(name, f"argument 'out' must be {wanted}, not {found}")
    return operator.caller("out").dispatch((*bound, *outs))


def run_out(entry: Entry, args: tuple[Any, ...]) -> Any:
    """Run the functional form and write its results into the tensors at the end of the arguments."""
    operator = entry.operator
    count = operator.out_count
    inputs, outs = args[:-count], args[-count:]
    results = operator.caller().execute(inputs)
    several = count > 1
    for out, result in zip(outs, results if several else (results,), strict=True):
        _write(operator.definition.signature.name, out, result)
    return operator.return_type(outs) if several else outs[0]


def _write(name: str, out: TensorBase, result: TensorBase) -> None:
    if out.device != result.device:
        raise DeviceMismatchError(name, [("self", str(result.device)), ("out", str(out.device))])
    if not can_cast(result.dtype, out.dtype):
        raise CastError(name, result.dtype.name, out.dtype.name)
    if out.shape != result.shape:
        if out.shape.numel():
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does "
                f"not match the required output shape {list(result.shape)}. Pass an empty tensor or one of that shape.",
                UserWarning,
                stacklevel=4,
            )
        out.resize_(tuple(result.shape))  # type: ignore[attr-defined]
    out.copy_(result)  # type: ignore[attr-defined]
