"""Shape rules of random operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt.core.errors import DtypeError, ShapeError, ValueRangeError
from tt.core.shapes.geometry import Described, broadcast, check_size, like_strides
from tt.core.shapes.registry import Result, RuleTable
from tt.operators.pointwise.shapes import format_strides

rule = RuleTable()

Shape = tuple[int, ...]


@rule("randint")
def randint(low: int, high: int, size: Sequence[int], *, op: str) -> Shape:
    """Integers from low to before high."""
    expect_range(op, low, high)
    return check_size(op, size)


@rule("randint_like")
def randint_like(self: Described, high: int, low: int = 0, memory_format: Any = None, *, op: str) -> Result:
    """Integers from low to before high, like a tensor."""
    expect_range(op, low, high)
    return Result(self.shape, format_strides(op, self, memory_format))


def expect_range(op: str, low: int, high: int) -> None:
    """Raise unless there is an integer between the bounds."""
    if low >= high:
        raise ShapeError(
            f"{op}(): random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )


@rule("randperm")
def randperm(n: int, *, op: str) -> Shape:
    """The integers before n in random order."""
    if n < 0:
        raise ShapeError(f"{op}(): n must be non-negative, got {n}")
    return (n,)


@rule("multinomial")
def multinomial(self: Described, num_samples: int, replacement: bool = False, *, op: str) -> Shape:
    """Indices drawn with the weights in each row."""
    if self.ndim not in (1, 2):
        raise ShapeError(f"{op}(): prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise ShapeError(f"{op}(): cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > self.shape[-1]:
        raise ShapeError(f"{op}(): cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    return (*self.shape[:-1], num_samples)


@rule("binomial")
def binomial(count: Described, prob: Described, *, op: str) -> Shape:
    """One number for each pair of a count and a probability."""
    return broadcast(op, count.shape, prob.shape)


@rule("normal_tensors")
def normal_tensors(mean: Described, std: Described, *, op: str) -> Shape:
    """One number for each pair of a mean and a standard deviation."""
    expect_real(op, std)
    return broadcast(op, mean.shape, std.shape)


@rule("normal_std")
def normal_std(std: Described, *, op: str) -> Result:
    """One number for each standard deviation."""
    expect_real(op, std)
    return Result(std.shape, like_strides(std))


def expect_real(op: str, std: Described) -> None:
    """Raise for a complex standard deviation."""
    if std.dtype.is_complex:
        raise DtypeError(f"{op}(): a standard deviation is real, and this one is {std.dtype}")


@rule("native_dropout")
def native_dropout(input: Described, p: float, *, op: str) -> tuple[Shape, Shape]:
    """The remaining part of a tensor, and its position."""
    if not 0 <= p <= 1:
        raise ValueRangeError(f"{op}(): the dropout probability p is between 0 and 1, not {p}")
    return input.shape, input.shape


@rule("native_dropout_backward")
def native_dropout_backward(grad_output: Described, mask: Described, *, op: str) -> Shape:
    """The gradient where a mask is true."""
    if mask.shape != grad_output.shape:
        raise ShapeError(
            f"{op}(): the mask has the shape {list(mask.shape)}, and the gradient {list(grad_output.shape)}"
        )
    if mask.dtype.kind != "bool":
        raise DtypeError(f"{op}(): a mask holds bools, not {mask.dtype}")
    return grad_output.shape
