"""Operators that compute with quantized tensors: activations, order, joining, reductions.

What keeps the scale computes with the integers; the others compute with real numbers, and their results are rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tt.core.library import REGISTRY, Tensor, errors, ops
from tt.plugins.quantized.copies import number, real_of
from tt.plugins.quantized.handle import ints_of, is_quantized, like, made, per_tensor, quantizer_of, refuse
from tt.plugins.quantized.quantizer import PerTensor
from tt.plugins.quantized.rounding import LIMITS, centred, held, rounded

__all__ = ["COMPUTE", "JOINING", "by_level", "with_levels"]

Function = Callable[..., Any]


def with_levels(self: Tensor, levels: Tensor, point: int) -> Tensor:
    """Return a tensor like another from integers less their zero point, which need not be whole numbers."""
    return like(self, held(ops.round(ops.add(levels, point)), self.dtype))


def by_level(op: str, run: Function | None = None) -> Function:
    """Return a linear operator as a function of quantized tensors: it computes with integers less their zero point."""

    def kernel(self: Tensor, *args: Any) -> Tensor:
        point = per_tensor(op, self).zero_point
        function = REGISTRY.overload(op).execute if run is None else lambda given: run(*given)
        return with_levels(self, function((centred(ints_of(self), point), *args)), point)

    return kernel


def _rounded_again(op: str) -> Function:
    """Return an operator that computes with real numbers, with the scale of its argument for its result."""

    def kernel(self: Tensor, *args: Any) -> Tensor:
        quantizer = per_tensor(op, self)
        result = REGISTRY.overload(op).execute((real_of(self), *args))
        return like(self, rounded(result, quantizer, self.dtype))

    return kernel


# --- activations ----------------------------------------------------------------------------------------------------


def relu(self: Tensor) -> Tensor:
    """Return the numbers that are not negative, and 0 in place of the others."""
    # The zero point stands for 0, and integers below it for negative numbers.
    return like(self, ops.clamp_min(ints_of(self), per_tensor("relu", self).zero_point))


def relu6(self: Tensor, inplace: bool = False) -> Tensor:
    """Return the numbers held between 0 and 6."""
    result = clamp(self, 0, 6)
    return ops.copy_(self, result) if inplace else result


def clamp(self: Tensor, min: Any, max: Any) -> Tensor:
    """Return the numbers held between two bounds, which are rounded."""
    per_tensor("clamp", self)
    if any(isinstance(bound, Tensor) for bound in (min, max)):
        raise refuse("clamp", "bounds of a quantized tensor are numbers")
    if min is None and max is None:
        raise errors.ValueRangeError("clamp(): at least one of 'min' or 'max' must not be None")
    low, high = (None if bound is None else number("clamp", self, bound) for bound in (min, max))
    return like(self, ops.clamp(ints_of(self), low, high))


def _onto(op: str, signed: bool) -> Function:
    """Return a function with values from 0 to 1, or from -1 to 1, which are spread over all integers of the dtype."""

    def kernel(self: Tensor, *args: Any) -> Tensor:
        per_tensor(op, self)
        result = REGISTRY.overload(op).execute((real_of(self), *args))
        low, high = LIMITS[self.dtype.name]
        scale = (2.0 if signed else 1.0) / (high - low + 1)
        point = (high + low + 1) // 2 if signed else low
        # As PyTorch, which leaves it at 0 here.
        if self.dtype.name == "qint32":
            point = 0
        quantizer = PerTensor(scale, point)
        return made(rounded(result, quantizer, self.dtype), self.dtype, quantizer)

    return kernel


# --- order ----------------------------------------------------------------------------------------------------------


def _ordered(op: str) -> Function:
    """Return an operator that selects elements, alone or with their places."""

    def kernel(self: Tensor, *args: Any) -> Any:
        per_tensor(op, self)
        # A positive scale keeps the order, so the integers may be compared.
        result = REGISTRY.overload(op).execute((ints_of(self), *args))
        if isinstance(result, Tensor):
            return like(self, result)
        values, indices = result
        return like(self, values), indices

    return kernel


def argsort(self: Tensor, *args: Any) -> Tensor:
    """Return the places of the elements in order."""
    per_tensor("argsort", self)
    result: Tensor = REGISTRY.overload("argsort").execute((ints_of(self), *args))
    return result


# --- joining --------------------------------------------------------------------------------------------------------


def cat(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Return tensors one after another, with the scale of the first."""
    first = _joinable("cat", tensors)
    quantizer = per_tensor("cat", first)
    parts = [
        ints_of(tensor)
        if quantizer_of(tensor).same(quantizer)
        else rounded(real_of(tensor), quantizer, first.dtype)
        for tensor in tensors
    ]
    return like(first, ops.cat(parts, dim))


def _joinable(op: str, tensors: Sequence[Tensor]) -> Tensor:
    if not all(is_quantized(tensor) for tensor in tensors):
        raise refuse(op, "all tensors must be quantized, or none", "dequantize() of those that are")
    first = tensors[0]
    for tensor in tensors:
        if tensor.dtype is not first.dtype:
            raise errors.DtypeError(
                f"{op}(): all quantized tensors must share one dtype: {first.dtype}, {tensor.dtype}"
            )
        per_tensor(op, tensor)
    return first


def constant_pad_nd(self: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    """Return the tensor with the number next to a value around it."""
    return like(self, ops.constant_pad_nd(ints_of(self), pad, number("constant_pad_nd", self, value)))


def pad(self: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Return the tensor with elements around it: a number, or its own."""
    if mode == "constant":
        return constant_pad_nd(self, pad, 0 if value is None else value)
    per_tensor("pad", self)
    # float64 holds every integer of 32 bits exactly.
    levels = ops.pad(ops.to.dtype(ints_of(self), "float64"), pad, mode, value)
    return like(self, ops.to.dtype(levels, ints_of(self).dtype))


def mean(self: Tensor, dtype: Any = None) -> Tensor:
    """Return the mean of all elements, rounded."""
    return mean_dim(self, None, False, dtype)


def mean_dim(self: Tensor, dim: Any, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """Return the mean along dimensions, rounded."""
    if dtype is not None and dtype is not self.dtype:
        raise errors.DtypeError(
            f"mean(): the mean of a quantized tensor of {self.dtype} is not one of {dtype}"
        )
    requested = range(self.ndim) if dim is None or (not isinstance(dim, int) and not len(dim)) else dim
    dims = {d % max(self.ndim, 1) for d in ([requested] if isinstance(requested, int) else requested)}
    last = dims == set(range(self.ndim - len(dims), self.ndim))
    # As in PyTorch, where halves of a mean are rounded in one of two ways.
    result: Tensor = (by_level if last else _rounded_again)("mean.dim")(self, dim, keepdim, None)
    return result


SELECTING: Final = (
    "flip", "index", "index_select", "max", "max.dim", "min", "min.dim", "sort", "topk",
)  # fmt: skip
"""Operators whose values are elements of their argument."""
COMPUTE: Final[dict[str, Function]] = {
    **{op: _ordered(op) for op in SELECTING},
    **{op: _rounded_again(op) for op in ("gelu", "leaky_relu", "std", "threshold")},
    **{op: _onto(op, signed=False) for op in ("hardsigmoid", "sigmoid")},
    "argsort": argsort, "clamp": clamp, "constant_pad_nd": constant_pad_nd,
    "hardtanh": lambda self, min_val, max_val: clamp(self, min_val, max_val),
    "mean": mean, "mean.dim": mean_dim, "pad": pad, "relu": relu, "relu6": relu6,
    "tanh": _onto("tanh", signed=True),
}  # fmt: skip
"""Operator -> its function."""
JOINING: Final[dict[str, Function]] = {"cat": cat}
"""Operators of several tensors, which may be dense by mistake -> their function."""
