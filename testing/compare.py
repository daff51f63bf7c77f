"""assert_close: comparing tensors with the tolerances of their dtypes, as PyTorch's testing does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import tt
from tt.core.tensor.base import TensorBase
from tt.core.types.complex32 import decode_complex32
from tt.core.types.dtype import dtype as Dtype

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["assert_close", "tolerances"]

_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
    # Quantized tensors are compared as the float32 numbers that they stand for.
    **dict.fromkeys(("qint8", "quint8", "qint32"), (1.3e-6, 1e-5)),
}


def tolerances(*dtypes: Dtype) -> tuple[float, float]:
    """Return (rtol, atol) for values of these dtypes: the loosest; zero for integers and bools."""
    pairs = [_TOLERANCES.get(d.name, (0.0, 0.0)) for d in dtypes]
    return max(r for r, _ in pairs), max(a for _, a in pairs)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless two tensors, numbers, or nested sequences or mappings of them are close.

    Parameters
    ----------
    actual, expected : tensor, number, sequence or mapping
        What to compare.
    allow_subclasses : bool
        Whether two values may be of different classes, of which one is a subclass of the other; otherwise values are
        of one class.
    rtol, atol : float
        Given both or neither; by default they follow from the dtypes as PyTorch's table says.
    equal_nan : bool
        Whether NaN equals NaN.
    check_device, check_dtype, check_layout, check_stride : bool
        Whether these must agree, too.
    msg : str or callable, optional
        The message in case of a difference, or a function that returns it for the message that would be raised.

    Raises
    ------
    AssertionError
        Saying where the largest difference is.
    TypeError
        When two values are of different classes, and `allow_subclasses` is False.
    ValueError
        When only one of rtol and atol is given.

    Examples
    --------
    >>> import tt
    >>> tt.testing.assert_close(tt.tensor([1.0]), tt.tensor([1.0 + 1e-7]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be given or both be left out")
    checks = (check_device, check_dtype, check_layout, check_stride)
    try:
        for path, one, two in _pairs(actual, expected, ""):
            if not allow_subclasses and type(one) is not type(two):
                raise TypeError(
                    f"{path}assert_close(): the values are of the classes {type(one).__name__} and "
                    f"{type(two).__name__}, and allow_subclasses=False"
                )
            _compare(one, two, rtol, atol, equal_nan, checks, path)
    except AssertionError as error:
        if msg is None:
            raise
        raise AssertionError(msg(str(error)) if callable(msg) else msg) from None


def _pairs(actual: Any, expected: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the values that are compared with each other, each pair after the indices that lead to it."""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            raise AssertionError(
                f"{place}The keys differ: {sorted(map(str, actual))} and {sorted(map(str, expected))}"
            )
        for key in actual:
            yield from _pairs(actual[key], expected[key], f"{place}[{key!r}] ")
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise AssertionError(f"{place}The lengths differ: {len(actual)} and {len(expected)}")
        for i, (one, two) in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(one, two, f"{place}[{i}] ")
    else:
        yield place, actual, expected


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | TensorBase)


def _compare(
    actual: Any,
    expected: Any,
    rtol: float | None,
    atol: float | None,
    equal_nan: bool,
    checks: tuple[bool, bool, bool, bool],
    msg: str,
) -> None:
    check_device, check_dtype, check_layout, check_stride = checks
    if actual is None and expected is None:
        return
    if actual is None or expected is None:
        raise AssertionError(f"{msg}None mismatch: {actual} is not {expected}")
    one: Any
    two: Any
    one, two = (value if isinstance(value, TensorBase) else tt.tensor(value) for value in (actual, expected))
    if one.shape != two.shape:
        raise AssertionError(f"{msg}The shapes differ: {tuple(one.shape)} and {tuple(two.shape)}")
    if check_device and one.device != two.device:
        raise AssertionError(f"{msg}The devices differ: {one.device} and {two.device}")
    if check_dtype and one.dtype is not two.dtype:
        raise AssertionError(f"{msg}The dtypes differ: {one.dtype} and {two.dtype}")
    if check_layout and one.layout is not two.layout:
        raise AssertionError(f"{msg}The layouts differ: {one.layout} and {two.layout}")
    if check_stride and one.stride() != two.stride():
        raise AssertionError(f"{msg}The strides differ: {one.stride()} and {two.stride()}")
    if rtol is None or atol is None:
        rtol, atol = tolerances(one.dtype, two.dtype)
    left, right = (_values(value) for value in (one, two))
    # inf - inf is NaN without a warning, and `isclose` takes equal infinities for close.
    with np.errstate(all="ignore"):
        close = np.isclose(left, right, rtol=rtol, atol=atol, equal_nan=equal_nan)
        if close.all():
            return
        difference = np.where(close, 0, np.abs(left - right))
    # A NaN is worse than any number.
    worst = np.unravel_index(
        int(np.nanargmax(np.where(np.isnan(difference), np.inf, difference))), close.shape
    )
    position = tuple(int(i) for i in worst)
    raise AssertionError(
        f"{msg}Tensors are not close: {int((~close).sum())} of {close.size} elements differ "
        f"(rtol={rtol:g}, atol={atol:g})\n"
        f"  largest difference {difference[worst]:g} at {position}: {left[worst]} and {right[worst]}"
    )


def _values(tensor: Tensor) -> np.ndarray[Any, Any]:
    """Return the values in a dtype wide enough to compare: float64 or complex128; integers as they are."""
    if tensor.is_nested:  # rows that have been found to be of the same lengths
        tensor = tensor.detach().contiguous().values()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    array = tensor.numpy(force=True)
    if array.dtype.kind in "iub":
        # Exact as Python integers: uint64 and int64 have no common NumPy integer.
        return np.asarray(array, dtype=object if array.dtype == np.uint64 else np.int64)
    array = decode_complex32(array)
    return np.asarray(array, dtype=np.complex128 if array.dtype.kind == "c" else np.float64)
