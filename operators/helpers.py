"""Helpers shared by several families of composites."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.dispatch.resolve.dtypes import upcast_of
from tt.core.errors import DataDependentError, LayoutError
from tt.core.meta import run_rule
from tt.core.schema.number_ranges import refuse_wide
from tt.core.shapes.geometry import wrap_dim
from tt.core.tensor.base import TensorBase
from tt.core.tensor.common_dtype import common_dtype
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import iinfo, int64
from tt.core.types.keys import KEYS

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = [
    "alone",
    "as_type",
    "check_integers",
    "check_shapes",
    "computed",
    "expect_strided",
    "floating",
    "is_integral",
    "log1p_exp",
    "moments",
    "number",
    "operand",
    "python_value",
    "widened",
    "wrap",
]


def as_type(self: Any, dtype: Dtype) -> Tensor:
    """Return the tensor in a dtype, itself if it has it."""
    return self if self.dtype is dtype else ops._to_copy(self, dtype=dtype)


def number(value: Any, like: Any, dtype: Dtype | None = None) -> Tensor:
    """Return a number as a tensor without dimensions, with the device and (unless given) the dtype of another."""
    return ops.full((), value, dtype=dtype or like.dtype, device=like.device)


def operand(value: Any, other: Any) -> Any:
    """Return an operand as a tensor: a number in the dtype to which it promotes with the other operand."""
    if isinstance(value, TensorBase):
        return value
    dtype = common_dtype(value, other)
    if isinstance(value, int) and dtype.kind in ("signed", "unsigned") and dtype.itemsize < 8:
        limits = iinfo(dtype)
        # A number that does not fit wraps around when the operator casts it.
        dtype = dtype if limits.min <= value <= limits.max else int64
    return number(value, other, dtype)


def is_integral(dtype: Dtype) -> bool:
    """Return whether a dtype holds integers or bools."""
    return dtype.kind in ("bool", "signed", "unsigned")


def widened(self: Any) -> Tensor:
    """Return half precision in float32 or complex64, in which composites of many steps compute it."""
    return as_type(self, upcast_of(self.dtype) or self.dtype)


def floating(self: Tensor) -> Tensor:
    """Return integers and bools in the default dtype."""
    return as_type(self, common_dtype(self, 1.0) if is_integral(self.dtype) else self.dtype)


def moments(self: Tensor, dims: Sequence[int], keepdim: bool) -> tuple[Tensor, Tensor]:
    """Return variance and mean without a correction; those of no elements, too, are computed without a warning."""
    if self.numel():
        var, mean = ops.var_mean(self, dims, correction=0, keepdim=keepdim)
        return var, mean
    mean = ops.mean.dim(self, dims, True)
    var = ops.mean.dim(ops.square(ops.sub(self, mean)), dims, keepdim)
    return var, ops.reshape(mean, tuple(var.shape))


def computed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a composite of many steps: it takes integers in the default dtype and half precision in float32."""

    @wraps(function)
    def composite(self: Tensor, *rest: Any) -> Tensor:
        self = floating(self)
        return as_type(function(widened(self), *rest), self.dtype)

    return composite


def check_shapes(op: str, *args: Any) -> None:
    """Run the shape rule of an operator on its leading arguments; it raises for a wrong call."""
    operator = REGISTRY.operator(op)
    run_rule(operator.definition, (*args, *operator.defaults[len(args) :]))


def expect_strided(op: str, *tensors: Any) -> None:
    """Refuse tensors of other layouts, whose parts are copies, and whose fill skips elements that they do not store."""
    for tensor in tensors:
        if tensor.layout.name != "strided":
            raise LayoutError(
                f"{op}(): takes no tensor of the layout tt.{tensor.layout.name}\n  try: to_dense() first"
            )


def check_integers(op: str, *args: Any) -> None:
    """Refuse arguments of the type `int` that 64 bits do not hold, where Python would compute with them."""
    refuse_wide(REGISTRY.operator(op).definition, args)


def alone(view: Tensor) -> Tensor:
    """Return a view of a tensor that nobody else can see, as the tensor of its own right that it is."""
    view._root = None
    for name in KEYS.names("layer", view._keys & KEYS.mask("layer")):
        if name in REGISTRY.layers:
            REGISTRY.layers[name].forget_view(view)
    return view


def log1p_exp(x: Tensor) -> Tensor:
    """Return log(1 + exp(x)), the softplus function, without overflow.

    An operator as a whole has derivatives without the kinks at 0 of the absolute values that it is computed with.
    """
    return ops.logaddexp(x, number(0, x))


def python_value(self: Any) -> Any:
    """Return the number in a tensor, or None where the tensor has no data (meta, fake)."""
    try:
        return self.item()
    except DataDependentError:
        return None


def wrap(op: str, dim: int, self: Tensor) -> int:
    """Return a dimension counted from the front."""
    return wrap_dim(op, dim, self.ndim)
