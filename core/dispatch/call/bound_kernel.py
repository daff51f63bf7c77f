"""Bound kernels: a kernel with the positions of the arguments that it takes.

This is a hot module: plain Python that Cython compiles with the C types of `bound_kernel.pxd`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt.core.tensor.base import TensorBase


class BoundKernel:
    """A kernel together with the arguments that it takes.

    Attributes
    ----------
    function : callable
        Gets the arguments positionally.
    takes : tuple of int
        Their positions in the schema.
    omitted : tuple of (int, object)
        Positions that it does not take, with their defaults: it serves calls that leave these unchanged.
    leading : int
        How many arguments it takes, if these are exactly the leading positions; else -1.
    registration : object
        What brought it.
    """

    __slots__ = ("function", "leading", "omitted", "registration", "takes")

    function: Callable[..., Any]
    takes: tuple[int, ...]
    omitted: tuple[tuple[int, Any], ...]
    registration: Any
    leading: int

    def __init__(
        self,
        function: Callable[..., Any],
        takes: tuple[int, ...],
        omitted: tuple[tuple[int, Any], ...],
        registration: Any,
    ) -> None:
        self.function = function
        self.takes = takes
        self.omitted = omitted
        self.registration = registration
        self.leading = len(takes) if takes == tuple(range(len(takes))) else -1

    def accepts(self, args: tuple[Any, ...]) -> bool:
        """Return whether a call with these arguments leaves all omitted ones at their defaults."""
        for position, default in self.omitted:
            value = args[position]
            # `is` first: comparing tensors or arrays with == would not give a bool.
            # A bool is not the number that it equals: `alpha=True`.
            if value is not default and (
                isinstance(value, TensorBase) or value != default or type(value) is bool
            ):
                return False
        return True
