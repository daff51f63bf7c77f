"""Faults, and calls as they see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from tt.core.library import OpDefinition

__all__ = ["Call", "Fault", "arrays_in", "changed", "each"]

Array = np.ndarray[Any, Any]


@dataclass
class Call:
    """One call of a function with a fault.

    Attributes
    ----------
    definition : OpDefinition
        The operator.
    sound : callable
        What does it right, called with all arguments in their order.
    args : dict
        The arguments by name: arrays for kernels, tensors for rules.
    memory : dict
        The memory of a fault from one call to the next.
    argument : str
        The argument that the fault is about, if it is about one.
    deviates : bool
        Whether the fault has shown so far.
    result, error : object, Exception or None
        What `run` returned or raised last.
    """

    definition: OpDefinition
    sound: Callable[..., Any]
    args: dict[str, Any]
    memory: dict[Any, Any]
    argument: str = ""
    deviates: bool = False
    result: Any = None
    error: Exception | None = None

    def run(self, /, **changes: Any) -> Any:
        """Do it right, with some arguments changed."""
        self.deviates |= any(not equal(self.args[name], value) for name, value in changes.items())
        try:
            self.result = self.sound(*(self.args | changes).values())
        except Exception as error:
            self.error = error
            raise
        return self.result

    @property
    def arrays(self) -> list[Array]:
        """The arrays among the arguments."""
        return list(arrays_in(list(self.args.values())))

    @property
    def first(self) -> Array:
        """The first array."""
        return self.arrays[0]


@dataclass(frozen=True)
class Fault:
    """A way to be wrong.

    Attributes
    ----------
    name : str
        The fault, in words.
    checks : tuple of str
        The checks that must name it: one of them has to.
    says : str
        A regular expression that the message matches.
    make : callable
        Does a call wrongly.
    level : str
        kernel: `make` stands before the kernels of an operator; rule, inplace, out, method: before the function, the
        in-place form, the `out=` form or the method, on tensors; cast: before the backend's casts; formula: before the
        formulas of the gradient, on the CPU; swapped formulas: the first two of these change places.
    applies : callable
        Which operators can be wrong in this way.
    dtypes : tuple of str
        The dtypes with which they are.
    excluded : dict
        Operators that are left out, each with the reason.
    inert : str
        Why it may be that the fault changes nothing for an operator to which it applies; nothing if it may not.
    half : bool
        Whether the kernel serves half precision itself.
    raises : bool
        Whether it raises errors.
    """

    name: str
    checks: tuple[str, ...]
    says: str
    make: Callable[[Call], Any]
    applies: Callable[[OpDefinition], bool]
    level: Literal["kernel", "rule", "inplace", "out", "method", "cast", "formula", "swapped formulas"] = (
        "kernel"
    )
    dtypes: tuple[str, ...] = ("float32",)
    excluded: Mapping[str, str] = field(default_factory=dict)
    inert: str = ""
    half: bool = False
    raises: bool = False


def arrays_in(value: Any) -> Iterator[Array]:
    """Yield the arrays of an argument."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from arrays_in(item)


def equal(one: Any, other: Any) -> bool:
    """Return whether two arguments are the same."""
    if isinstance(one, int | float | complex | str | None) and isinstance(
        other, int | float | complex | str | None
    ):
        return type(one) is type(other) and one == other
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return one is other


def each(result: Any, function: Callable[[Array], Any]) -> Any:
    """Return a result with a function applied to each array of it."""
    if isinstance(result, list | tuple):
        items = [each(item, function) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    if result is None:
        return None
    if isinstance(result, np.ndarray | np.generic):
        return function(np.asarray(result))
    return function(np.asarray(result)).item()  # of an operator that gives a Python value


def changed(array: Any) -> Array:
    """Return values that all differ from those of an array, in its dtype."""
    array = np.asarray(array)
    if array.dtype.kind == "b":
        return ~array
    if array.dtype.kind in "iu":
        return array ^ array.dtype.type(1)
    with np.errstate(all="ignore"):
        wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
        moved = np.where(np.abs(wide) < 100, wide * 1.5 + 1, wide / 2)
        return np.where(np.isfinite(wide), moved, 0).astype(array.dtype)
