"""make_tensor: tensors of random values for tests, as PyTorch's testing makes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tt
from tt.core.errors import ValueRangeError
from tt.core.tensor.tensor import Tensor
from tt.core.types.device import Device
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import finfo, iinfo

__all__ = ["make_tensor"]

# The bounds that PyTorch documents.
_BOUNDS = {"bool": (0, 2), "unsigned": (0, 10), "signed": (-9, 10), "floating": (-9, 9), "complex": (-9, 9)}


def make_tensor(
    *shape: int | Sequence[int],
    dtype: Dtype,
    device: Device | str,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor of random values from `low` to before `high`, drawn from tt's generator.

    Parameters
    ----------
    *shape : ints, or one sequence of them
        The shape.
    dtype, device : dtype, Device or str
        Of the tensor.
    low, high : float, optional
        The bounds; by default 0 and 2 for bool, 0 and 10 for unsigned, -9 and 10 for signed integers, -9 and 9 for
        floating-point and complex numbers (of which they bound both parts).  They are cut to the range of the dtype.
    requires_grad : bool
        Whether the tensor requires a gradient; for floating-point and complex dtypes.
    noncontiguous : bool
        Leave gaps between the elements in memory; tensors of fewer than two elements stay contiguous.
    exclude_zero : bool
        Replace zeros by the smallest positive number.
    memory_format : memory_format, optional
        Of the tensor; not together with `noncontiguous`.

    Raises
    ------
    ValueError
        When `low` is not below `high`, a bound is NaN, the dtype holds nothing between them, or two options exclude
        each other.

    Examples
    --------
    >>> import tt
    >>> from tt.testing import make_tensor
    >>> x = make_tensor(2, 3, dtype=tt.float32, device="cpu", low=0, high=1)
    >>> x.shape, bool(((x >= 0) & (x < 1)).all())
    (tt.Size([2, 3]), True)
    """
    listed = shape[0] if len(shape) == 1 else None
    size: Any = tuple(listed) if isinstance(listed, Sequence) else shape
    if noncontiguous and memory_format is not None:
        raise ValueRangeError(
            f"make_tensor(): noncontiguous=True and memory_format={memory_format} exclude each other"
        )
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueRangeError(
            f"make_tensor(): requires_grad=True needs a floating-point or complex dtype, not {dtype}"
        )
    first, last = _bounds(dtype, low, high)
    tensor: Any
    if dtype.is_floating_point:
        tensor = _uniform(size, dtype, device, first, last)
    elif dtype.is_complex:
        part = dtype.to_real()
        tensor = tt.complex(*(_uniform(size, part, device, first, last) for _ in range(2)))
    else:
        # `randint` has int64 bounds and makes no bools, so these dtypes are cast.
        wide = dtype if dtype.kind != "bool" and dtype.name != "uint64" else tt.int64
        tensor = tt.randint(math.ceil(first), math.ceil(last), size, dtype=wide, device=device).to(dtype)
    if exclude_zero:
        tensor = tt.where(tensor == 0, tt.full_like(tensor, _smallest(dtype)), tensor)
    if noncontiguous and tensor.numel() > 1:
        tensor = tt.repeat_interleave(tensor, 2, dim=-1)[..., ::2]
    elif memory_format is not None:
        tensor = tensor.clone(memory_format=memory_format)
    result: Tensor = tensor.requires_grad_() if requires_grad else tensor
    return result


def _bounds(dtype: Dtype, low: float | None, high: float | None) -> tuple[float, float]:
    """Return the bounds of the values, cut to the range of the dtype."""
    default = _BOUNDS[dtype.kind]
    first, last = default[0] if low is None else low, default[1] if high is None else high
    if math.isnan(first) or math.isnan(last):
        raise ValueRangeError(f"make_tensor(): `low` and `high` cannot be NaN, but are {first} and {last}")
    if first >= last:
        raise ValueRangeError(f"make_tensor(): `low` must be less than `high`, but {first} >= {last}")
    smallest, largest = _range(dtype)
    if first > largest or last < smallest:
        raise ValueRangeError(f"make_tensor(): {dtype} holds no value from {first} to {last}")
    # `high` itself is excluded, so an integer dtype may have one more than its largest number there.
    first, last = (
        max(first, smallest),
        min(last, largest + (0 if dtype.is_floating_point or dtype.is_complex else 1)),
    )
    if not (dtype.is_floating_point or dtype.is_complex) and math.ceil(first) >= math.ceil(last):
        raise ValueRangeError(f"make_tensor(): {dtype} holds no value from {first} to before {last}")
    return first, last


def _range(dtype: Dtype) -> tuple[float, float]:
    if dtype.kind == "bool":
        return 0, 1
    if dtype.is_floating_point or dtype.is_complex:
        limits = finfo(dtype)
        return limits.min, limits.max
    whole = iinfo(dtype)
    # One more than this, the excluded bound, still has to be an int64.
    return whole.min, min(whole.max, 2**63 - 2)


def _uniform(size: Sequence[int], dtype: Dtype, device: Device | str, low: float, high: float) -> Any:
    # Drawn in float64, so that one seed gives each dtype the same numbers, rounded.
    share = tt.rand(size, dtype=tt.float64, device=device)
    # Halves first: the difference of the bounds need not be a number of the dtype.
    scaled = (low * (1 - share) + high * share).to(dtype)
    compared = scaled.to(tt.float32) if dtype.itemsize == 1 else scaled  # float8 has no order of its own
    return tt.where(compared >= high, tt.full_like(scaled, low), scaled)  # rounding may reach the upper bound


def _smallest(dtype: Dtype) -> float:
    return finfo(dtype).tiny if dtype.is_floating_point or dtype.is_complex else 1
