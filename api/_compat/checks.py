"""Checks that PyTorch's own library and programs make with underscored functions, and the shape as a tensor."""

from __future__ import annotations

from collections.abc import Callable

import tt
from tt.errors import ArgumentError, ElementCountError, ValueRangeError
from tt.overrides import handle_tt_function, has_tt_function

__all__ = [
    "_assert",
    "_assert_async",
    "_check",
    "_check_index",
    "_check_is_size",
    "_check_not_implemented",
    "_check_tensor_all",
    "_check_type",
    "_check_value",
    "_shape_as_tensor",
    "require_tensor",
]

Message = Callable[[], str] | None


def _assert(condition: bool | tt.Tensor, message: str) -> None:
    """Raise AssertionError with a message if a condition, possibly a tensor of one element, does not hold.

    Examples
    --------
    >>> import tt
    >>> tt._assert(tt.ones(1) > 0, "positive")
    """
    if type(condition) is not bool and has_tt_function((condition,)):
        handle_tt_function(_assert, (condition,), condition, message)
    elif not condition:
        raise AssertionError(message)


def _assert_async(input: tt.Tensor, assert_msg: str = "") -> None:
    """Raise RuntimeError unless a tensor of one element is true; here at once, in PyTorch when a GPU gets there.

    Examples
    --------
    >>> import tt
    >>> tt._assert_async(tt.tensor(1))
    """
    if input.numel() != 1:
        raise ElementCountError(f"_assert_async(): takes a tensor of one element, not of {input.numel()}")
    if not input:
        raise ValueRangeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _raise_unless(kind: type[Exception], cond: bool, message: Message) -> None:
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise kind("Expected cond to be True, but got False.")
    # A callable, so that a long message is only written when the condition fails.
    if not callable(message):
        raise TypeError("message must be a callable")
    raise kind(str(message()))


def _check(cond: bool, message: Message = None) -> None:
    """Raise RuntimeError if a condition does not hold, with the text that `message()` returns.

    Examples
    --------
    >>> import tt
    >>> tt._check(2 > 3, lambda: "two is not more than three")
    Traceback (most recent call last):
        ...
    RuntimeError: two is not more than three
    """
    _raise_unless(RuntimeError, cond, message)


def _check_index(cond: bool, message: Message = None) -> None:
    """Raise IndexError if a condition does not hold."""
    _raise_unless(IndexError, cond, message)


def _check_value(cond: bool, message: Message = None) -> None:
    """Raise ValueError if a condition does not hold."""
    _raise_unless(ValueError, cond, message)


def _check_type(cond: bool, message: Message = None) -> None:
    """Raise TypeError if a condition does not hold."""
    _raise_unless(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: Message = None) -> None:
    """Raise NotImplementedError if a condition does not hold."""
    _raise_unless(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raise RuntimeError unless a number can be the size of a dimension, at most `max`."""
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all(cond: tt.Tensor, message: Message = None) -> None:
    """Raise RuntimeError unless all elements of a bool tensor are True."""
    if not tt.is_tensor(cond):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype != tt.bool:
        raise TypeError(f"cond tensor must have dtype tt.bool, but got {cond.dtype}")
    _check(bool(cond.all().item()), message)


def require_tensor(function: str, value: object, argument: str = "input") -> None:
    """Raise an `ArgumentError` unless an argument of a function is a tensor."""
    if not tt.is_tensor(value):
        raise ArgumentError(function, f"argument '{argument}' must be Tensor, not {type(value).__name__}")


def _shape_as_tensor(self: tt.Tensor) -> tt.Tensor:
    """Return the shape of a tensor as an int64 tensor.

    Examples
    --------
    >>> import tt
    >>> tt._shape_as_tensor(tt.ones(2, 3))
    tensor([2, 3])
    """
    return tt.tensor(list(self.shape), dtype=tt.int64)
