"""What every family of inputs gets: gaps in memory, four dimensions, no element, special values, and a wrong call.

A family yields samples peculiar to its operators.  If these lack one of the kinds below, a sample of that kind is made
by changing the tensors of one of the family's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import finfo
from tt.operators._samples.base import Inputs, Sample, as_array

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor
    from tt.core.types.dtype import dtype as Dtype

__all__ = ["completion", "special_values"]

# Families of operators that move elements, add them up or compare them: NaN and infinities are elements like others.
_ANY_VALUES: Final = frozenset({"shaping", "indexing", "scattering", "scan", "reduction"})
# But matrices with NaN have no singular values, which nuclear norms add up.
_NUMBERS_ONLY: Final = frozenset({"norm_name"})
# sinc, hardswish: PyTorch multiplies first, which overflows where the result does not.
# lerp: the difference of the ends overflows; PyTorch sees it at some weights only.  gelu: PyTorch has NaN in half
# precision.  trapezoid: PyTorch takes the ends from the sum of all, infinity from infinity.
# complex, polar, view_as_complex: the array API makes complex numbers by a product with 1j, and of infinity it is NaN.
# special_ndtri: the composite takes differences of subnormal numbers, which have few bits.
_LEFT_OUT: Final[dict[str, tuple[str, ...]]] = {
    "sinc": ("max", "min"), "hardswish": ("max", "min"), "lerp": ("max", "min"), "lerp.Scalar": ("max", "min"),
    "complex": ("inf", "-inf"), "polar": ("inf", "-inf"), "view_as_complex": ("inf",),
    "gelu": ("inf", "-inf", "max", "min"), "trapezoid": ("inf",), "special_ndtri": ("smallest",),
    # SciPy has infinity or NaN where PyTorch has a number.
    **{f"special_{scaled}modified_bessel_{k}": ("smallest",) for scaled in ("", "scaled_") for k in ("k0", "k1")},
}  # fmt: skip
"""Special values for which an operator does not promise a result."""


def completion(make: Inputs, found: Sequence[Sample], family: str) -> Iterator[Sample]:
    """Yield the samples that a family left out.

    Parameters
    ----------
    make : Inputs
        For which operator, device and dtype.
    found : sequence of Sample
        The family's samples.
    family : str
        The module of the family.
    """
    definition = make.definition
    if all(s.error is None for s in found) and "inplace_only" not in definition.tags:
        yield from no_tensor(found)
    plain = [s for s in found if s.error is None and any(True for _ in tensors_of(s))]
    base = next((s for s in reversed(plain) if all(t.ndim and t.numel() > 1 for t in tensors_of(s))), None)
    if base is None or definition.kind == "factory":
        return
    tensors = [t for s in plain for t in tensors_of(s)]
    strides_count = definition.kind == "view" or definition.name.startswith("as_strided")
    if not strides_count and all(t.is_contiguous() for t in tensors):
        yield changed(base, lambda t: spread(make, t), f"not contiguous: {base.name}")
    if definition.kind == "pointwise":
        if all(t.ndim < 4 for t in tensors):
            yield changed(
                base, lambda t: t[(None,) * (4 - t.ndim)] if t.ndim < 4 else t, f"4 dims: {base.name}"
            )
        if all(t.numel() for t in tensors):
            yield changed(base, lambda t: t[..., :0], f"empty: {base.name}")
    named = any(s.name.startswith("extreme values") for s in plain)
    if (
        not make.dtype.is_floating_point
        or "random" in definition.tags
        or named
        or any(map(_has_nan, tensors))
    ):
        return
    if definition.kind == "pointwise":
        yield from specials(make, plain)
    elif definition.kind == "view" or (family in _ANY_VALUES and definition.samples not in _NUMBERS_ONLY):
        yield changed(base, lambda t: with_nan(make, t), f"NaN and infinity: {base.name}")


def no_tensor(found: Sequence[Sample]) -> Iterator[Sample]:
    """Yield a call with a string where a tensor must be."""
    for sample in found:
        if sample.args and isinstance(sample.args[0], TensorBase):
            yield Sample(("text", *sample.args[1:]), sample.kwargs, "error: no tensor", TypeError)
            return


def tensors_of(sample: Sample) -> Iterator[Any]:
    """Yield the tensors of a sample."""
    for value in [*sample.args, *sample.kwargs.values()]:
        for item in value if isinstance(value, list | tuple) else [value]:
            if isinstance(item, TensorBase):
                yield item


def changed(sample: Sample, change: Callable[[Any], Any], name: str) -> Sample:
    """Return a sample with other tensors."""

    def apply(value: Any) -> Any:
        if isinstance(value, TensorBase):
            return change(value)
        if isinstance(value, list | tuple) and any(isinstance(item, TensorBase) for item in value):
            return type(value)(map(apply, value))
        return value

    kwargs = {key: apply(value) for key, value in sample.kwargs.items()}
    return Sample(tuple(map(apply, sample.args)), kwargs, name)


def spread(make: Inputs, tensor: Tensor) -> Tensor:
    """Return a tensor with the same elements and gaps between them."""
    if not tensor.ndim or tensor.numel() < 2:
        return tensor
    values = as_array(tensor)
    return make.arrange(values.shape, lambda size: _with_gaps(values, tuple(size)), "strided")


def _with_gaps(values: Any, size: tuple[int, ...]) -> Any:
    room = np.zeros(size, values.dtype)
    room[..., ::2] = values
    return room


# --- values ------------------------------------------------------------------------------------------------------


def special_values(dtype: Dtype) -> dict[str, float]:
    """Return the values of a floating point dtype at which kernels go wrong, with 1 and -1, by name."""
    limits = finfo(dtype)
    tiny, smallest = float(limits.tiny), float(np.nextafter(dtype.numpy.type(0), dtype.numpy.type(1)))
    values = {
        "nan": float("nan"), "inf": float("inf"), "-inf": -float("inf"), "zero": 0.0, "-zero": -0.0, "one": 1.0,
        "-one": -1.0, "tiny": tiny, "-tiny": -tiny, "smallest": smallest,
    }  # fmt: skip
    if dtype.itemsize > 2:  # composites that round to half precision overflow near the largest number
        values |= {"max": float(limits.max), "min": float(limits.min)}
    return values


def specials(make: Inputs, plain: Sequence[Sample]) -> Iterator[Sample]:
    """Yield a sample in which each special value meets others."""
    # Tensors of one shape, in which values meet place by place.
    same = [s for s in plain if len({(t.shape, t.dtype) for t in tensors_of(s)}) == 1]
    base = next((s for s in same if all(t.ndim and t.dtype is make.dtype for t in tensors_of(s))), None)
    if base is None:
        return
    left_out = _LEFT_OUT.get(make.definition.name, ())
    values = [value for name, value in special_values(make.dtype).items() if name not in left_out]
    turn = iter(range(100))

    def special(tensor: Tensor) -> Tensor:
        # Each argument begins elsewhere, so that values meet others and not themselves.
        by = 5 * next(turn)
        return make.of(np.roll(np.array(values), by), tensor.dtype)

    yield changed(base, special, "special values")


def with_nan(make: Inputs, tensor: Tensor) -> Tensor:
    """Return a tensor of numbers with NaN as its first element and infinity as its last."""
    if not tensor.dtype.is_floating_point or tensor.numel() < 2:
        return tensor
    values = np.array(as_array(tensor))
    values.flat[0] = np.nan
    if "inf" not in _LEFT_OUT.get(make.definition.name, ()):
        values.flat[-1] = np.inf
    return make.of(values, tensor.dtype)


def _has_nan(tensor: Tensor) -> bool:
    return bool(tensor.dtype.is_floating_point and np.isnan(as_array(tensor)).any())
