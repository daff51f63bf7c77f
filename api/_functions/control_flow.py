"""Control flow as functions, and functions of symbolic numbers on plain ones: programs are not captured as graphs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import tt
from tt.errors import ArgumentError, ValueRangeError
from tt.library import overridable

__all__ = [
    "cond",
    "sym_constrain_range",
    "sym_constrain_range_for_size",
    "sym_float",
    "sym_fresh_size",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
    "while_loop",
]


# --- control flow --------------------------------------------------------------------------------------------------


def cond(
    pred: Any,
    true_fn: Any,
    false_fn: Any,
    operands: Iterable[Any] = (),
) -> Any:
    """Call the first of two functions if a condition holds, otherwise the second, and return its result.

    Parameters
    ----------
    pred : bool, or Tensor of one element
        The condition.
    true_fn, false_fn : callable
        The functions; both take the operands.
    operands : tuple or list
        The arguments of the function.

    Examples
    --------
    >>> import tt
    >>> tt.cond(tt.tensor(True), lambda x: x + 1, lambda x: x - 1, (tt.ones(1),))
    tensor([2.])
    """
    if not isinstance(pred, bool | int) and not (tt.is_tensor(pred) and pred.numel() == 1):
        what = f"a tensor of shape {list(pred.shape)}" if tt.is_tensor(pred) else type(pred).__name__
        raise RuntimeError(f"cond(): pred is a bool or a tensor of one element, not {what}")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("cond(): true_fn and false_fn are callable")
    if not isinstance(operands, tuple | list):
        raise RuntimeError(f"cond(): operands is a tuple or a list, not {type(operands).__name__}")
    # Without a graph only the branch that is taken runs, so the other one is not checked.
    return true_fn(*operands) if bool(pred) else false_fn(*operands)


def while_loop(cond_fn: Any, body_fn: Any, carried_inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Call a function repeatedly, each time with its last results, while a condition holds.

    Parameters
    ----------
    cond_fn : callable
        Returns a bool, or a tensor of one element.
    body_fn : callable
        Returns as many values as it takes.
    carried_inputs : tuple or list
        The first values.

    Examples
    --------
    >>> import tt
    >>> tt.while_loop(lambda i: i < 3, lambda i: (i + 1,), (tt.tensor(0),))
    (tensor(3),)
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("while_loop(): cond_fn and body_fn are callable")
    if not isinstance(carried_inputs, tuple | list):
        raise RuntimeError(
            f"while_loop(): carried_inputs is a tuple or a list, not {type(carried_inputs).__name__}"
        )
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        outputs = body_fn(*carried)
        outputs = tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)
        if len(outputs) != len(carried):
            raise RuntimeError(
                f"while_loop(): body_fn took {len(carried)} values and returned {len(outputs)}"
            )
        carried = outputs
    return carried


# --- numbers that are not symbols --------------------------------------------------------------------------------


@overridable
def sym_int(a: float, /) -> int:
    """Return a number as an int, as `int` does.

    Examples
    --------
    >>> import tt
    >>> tt.sym_int(2.5)
    2
    """
    return int(a)


@overridable
def sym_float(a: float, /) -> float:
    """Return a number as a float.

    Examples
    --------
    >>> import tt
    >>> tt.sym_float(2)
    2.0
    """
    return float(a)


@overridable
def sym_not(a: object, /) -> bool:
    """Return whether a condition does not hold.

    Examples
    --------
    >>> import tt
    >>> tt.sym_not(2 > 1)
    False
    """
    return not a


@overridable
def sym_max(a: float, b: float) -> Any:
    """Return the larger of two numbers; a float if one of them is.

    Examples
    --------
    >>> import tt
    >>> tt.sym_max(2, 1.0)
    2.0
    """
    return _common(max(a, b), a, b)


@overridable
def sym_min(a: float, b: float) -> Any:
    """Return the smaller of two numbers; a float if one of them is.

    Examples
    --------
    >>> import tt
    >>> tt.sym_min(2, 1)
    1
    """
    return _common(min(a, b), a, b)


def _common(found: Any, a: Any, b: Any) -> Any:
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


@overridable
def sym_sum(args: Iterable[Any]) -> Any:
    """Return the sum of numbers.

    Examples
    --------
    >>> import tt
    >>> tt.sym_sum([1, 2, 3])
    6
    """
    return sum(args)


@overridable
def sym_sqrt(a: float, /) -> float:
    """Return the square root of a number.

    Examples
    --------
    >>> import tt
    >>> tt.sym_sqrt(4)
    2.0
    """
    return math.sqrt(a)


@overridable
def sym_ite(b: object, t: object, f: object) -> Any:
    """Return `t` if a condition holds, else `f`, which is of the same type.

    Examples
    --------
    >>> import tt
    >>> tt.sym_ite(True, 1, 2)
    1
    """
    if type(t) is not type(f):
        raise ArgumentError(
            "sym_ite", f"both values are of one type, not {type(t).__name__} and {type(f).__name__}"
        )
    return t if b else f


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Check that a number lies in a range; both bounds belong to it.

    Parameters
    ----------
    size : int, float, or Tensor of one element
        The number; its fraction does not count.
    min, max : int, optional
        The bounds.

    Raises
    ------
    ValueRangeError
        If it does not, or if max is below min.

    Examples
    --------
    >>> import tt
    >>> tt.sym_constrain_range(5, min=2, max=9)
    """
    number = int(size.item() if tt.is_tensor(size) else size)
    low, high = -(2**63) if min is None else min, 2**63 - 1 if max is None else max
    if low > high:
        raise ValueRangeError(
            f"sym_constrain_range(): max must be greater than or equal to min, got min={low} max={high}"
        )
    if not low <= number <= high:
        raise ValueRangeError(f"sym_constrain_range(): {number} is not between {low} and {high}")


def sym_constrain_range_for_size(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Check that a number can be a size in a range: `sym_constrain_range` from 0 on.

    Raises
    ------
    ValueRangeError
        If it cannot, or if max is 2 or less.

    Examples
    --------
    >>> import tt
    >>> tt.sym_constrain_range_for_size(5, max=9)
    """
    if max is not None and max <= 2:
        raise ValueRangeError(f"sym_constrain_range_for_size(): max must be greater than 2, got {max}")
    sym_constrain_range(size, min=0 if min is None else min, max=max)


def sym_fresh_size(expr: int) -> Any:
    """Return a number as a size that nothing is known of: the number itself, as sizes are plain integers.

    Examples
    --------
    >>> import tt
    >>> tt.sym_fresh_size(5)
    5
    """
    return tt.tensor(expr).item()
