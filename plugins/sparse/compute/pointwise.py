"""Operators that work element by element and keep zeros: the strided operator on the stored elements.

Note [Operators on the stored elements]
---------------------------------------
A function that maps zero to zero changes only stored elements.  So its kernel for every sparse layout and device is the
same operator on the tensor of the values.  Written over tensors, it is also how the function is
differentiated: by its parts, `sparse::values` and `sparse::with_values`, so that the gradient of a sparse tensor is
sparse with the same pattern.
"""

from __future__ import annotations

import cmath
import operator
from collections.abc import Callable
from typing import Any, Final

from tt.core.library import REGISTRY, Scalar, Tensor, errors, handle_of, ops
from tt.plugins.sparse.parts import as_tensor_of, component

__all__ = [
    "COMPARISONS",
    "LINEAR",
    "ZERO_PRESERVING",
    "expanded",
    "kernels_of_one",
    "kernels_of_two",
    "with_dense",
]

LINEAR: Final[tuple[str, ...]] = (
    "neg", "positive", "conj", "conj_physical", "real", "imag", "resolve_conj", "resolve_neg",
)  # fmt: skip
"""Those that may be taken of the summands of an element that is stored several times."""

ZERO_PRESERVING: Final[tuple[str, ...]] = (
    *LINEAR, "abs", "angle", "asin", "asinh", "atan", "atanh", "ceil", "celu", "deg2rad", "elu", "erf", "erfinv",
    "expm1", "floor", "frac", "gelu", "hardshrink", "isinf", "isnan", "isneginf", "isposinf", "leaky_relu", "log1p",
    "mish", "nan_to_num", "rad2deg", "relu", "relu6", "round", "round.decimals", "selu", "sgn", "sign", "signbit",
    "silu", "sin", "sinh", "softshrink", "softsign", "special_erfinv", "sqrt", "square", "tan", "tanh", "tanhshrink",
    "trunc",
)  # fmt: skip
"""Functions of one tensor that map zero to zero for all values of their other arguments."""

COMPARISONS: Final = {
    "eq": operator.eq, "ge": operator.ge, "gt": operator.gt, "le": operator.le, "lt": operator.lt, "ne": operator.ne,
}  # fmt: skip


def _stored(self: Tensor, linear: bool) -> Tensor:
    """Return a tensor whose elements are stored once, unless the function is linear."""
    if not linear and self.layout.name == "sparse_coo" and not handle_of(self).coalesced:
        return ops.sparse.coalesce(self)
    return self


def on_values(function: Callable[..., Tensor], self: Tensor, *rest: Any, linear: bool = False) -> Tensor:
    """Return a sparse tensor with a function of its values; see Note [Operators on the stored elements]."""
    stored = _stored(self, linear)
    if not handle_of(stored).known:  # no data, of unknown size: only the dtype can be determined
        values = function(component(handle_of(stored).values, stored.device), *rest)
        return as_tensor_of(handle_of(stored).with_values(handle_of(values)), stored.device)
    return ops.sparse.with_values(stored, function(ops.sparse.values(stored), *rest))


def _names(op: str) -> tuple[str, ...]:
    return tuple(a.name for a in REGISTRY.operator(op).definition.signature.arguments)


def _of_values(op: str, *, linear: bool = False) -> Callable[..., Tensor]:
    function = REGISTRY.operator(op).overload()

    def kernel(self: Tensor, *rest: Any) -> Tensor:
        return on_values(lambda *args: function.dispatch(args), self, *rest, linear=linear)

    return kernel


# --- one tensor --------------------------------------------------------------------------------------------------


def kernels_of_one() -> dict[str, tuple[Callable[..., Tensor], tuple[str, ...]]]:
    """Return the kernels of one sparse tensor, and numbers: op -> (function over tensors, the arguments it takes)."""
    known = set(REGISTRY.names())
    kernels = {op: (_of_values(op, linear=op in LINEAR), _names(op)) for op in ZERO_PRESERVING if op in known}
    kernels |= {op: (_compared(op), _names(op)) for op in COMPARISONS}
    kernels["pow"] = (_power, _names("pow"))
    return kernels


def _compared(op: str) -> Callable[..., Tensor]:
    compare, kernel = COMPARISONS[op], _of_values(op)

    def compared(self: Tensor, other: Any) -> Tensor:
        # Where nothing is stored zero is compared, and the result must not be stored there either.
        if not isinstance(other, Tensor) and not compare(0, other):
            return kernel(self, other)
        raise errors.ValueRangeError(
            f"{op}(): a sparse tensor is compared with a number for which the result is False where nothing is stored, "
            f"not with {'a tensor' if isinstance(other, Tensor) else other}\n  try: self.to_dense()"
        )

    return compared


def _power(self: Tensor, exponent: Tensor | Scalar) -> Tensor:
    if isinstance(exponent, Tensor) or not isinstance(self, Tensor):
        raise errors.ValueRangeError(
            "pow(): a sparse tensor is raised to a number, not to a tensor\n  try: self.to_dense()"
        )
    # Zero to such a power is not zero.
    if complex(exponent).real <= 0 or cmath.isnan(exponent):
        raise errors.ValueRangeError(
            f"pow(): cannot raise a sparse tensor to the power {exponent}; it would make the result tensor dense\n"
            "  try: self.to_dense()"
        )
    return _of_values("pow")(self, exponent)


# --- a tensor and a number, or a tensor without dimensions -------------------------------------------------------


def _times(self: Tensor | Scalar, other: Tensor | Scalar) -> Tensor:
    if isinstance(self, Tensor) and isinstance(other, Tensor):
        return with_dense(self, other)
    return _of_values("mul", linear=True)(self, other)


def with_dense(self: Tensor, other: Tensor) -> Tensor:
    """Multiply stored elements by the elements of a dense tensor at the same positions."""
    sparse, dense = (other, self) if self.layout.name == "strided" else (self, other)
    if dense.ndim == 0:
        return on_values(ops.mul, sparse, dense, linear=True)
    dense = expanded(dense, sparse)
    values = ops.mul(ops.sparse.values(sparse), ops.sparse.values_at(dense, sparse))
    return ops.sparse.with_values(sparse, values)


def expanded(dense: Tensor, sparse: Tensor) -> Tensor:
    """Return a dense tensor in the size of a sparse one."""
    if tuple(dense.shape) == tuple(sparse.shape):
        return dense
    try:
        return ops.expand(dense, tuple(sparse.shape))
    except errors.TTError as error:
        raise errors.ShapeError(
            f"mul(): a dense tensor of size {list(dense.shape)} does not broadcast to the size {list(sparse.shape)} "
            "of the sparse one, which is not broadcast itself"
        ) from error


def _divided(op: str) -> Callable[..., Tensor]:
    function = REGISTRY.operator(op).overload()

    def divide(self: Tensor | Scalar, other: Tensor | Scalar, *rest: Any) -> Tensor:
        if (
            isinstance(self, Tensor)
            and self.layout.name != "strided"
            and not (isinstance(other, Tensor) and (other.ndim or other.layout.name != "strided"))
        ):
            # Without rounding, summands of an element may be divided one by one.
            return on_values(lambda *args: function.dispatch(args), self, other, *rest, linear=op == "div")
        raise errors.ValueRangeError(
            "div(): Sparse division requires a scalar or zero-dim dense tensor divisor: the elements that a sparse "
            "tensor does not store are zeros\n  try: self.to_dense() / other.to_dense()"
        )

    return divide


def kernels_of_two() -> dict[str, tuple[Callable[..., Tensor], tuple[str, ...]]]:
    """Return the kernels of a sparse tensor and a number or a dense tensor."""
    kernels = {"mul": (_times, _names("mul"))}
    for op in ("div", "div.mode"):
        kernels[op] = (_divided(op), _names(op))
    return kernels
