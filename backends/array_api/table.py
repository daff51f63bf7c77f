"""NamespaceTable: kernels as functions of an array namespace, from which each library gets kernels of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MethodType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tt.core.library import Kernel, KernelTable

if TYPE_CHECKING:
    from tt.backends.array_api.namespace import Namespace

__all__ = ["NamespaceTable"]

Function = TypeVar("Function", bound=Callable[..., Any])


class Row(NamedTuple):
    """A kernel of any library.

    Attributes
    ----------
    op : str
        The operator.
    function : callable or str
        A function of the namespace and the arguments, or the name of a function of the library that is the kernel.
    needs : str
        The functions that the library must have, separated by spaces ("take linalg.svd").
    options : dict
        What else `KernelTable.kernel` takes.
    """

    op: str
    function: Callable[..., Any] | str
    needs: str
    options: Mapping[str, Any]


class NamespaceTable:
    """Kernels over any namespace of the array API standard, whose first argument is the namespace.

    Only functions of the standard (2024.12) are called.  A library without a function that a kernel needs is served by
    composites instead.

    Parameters
    ----------
    needs : str
        The functions that all kernels need.

    Examples
    --------
    >>> import numpy as np
    >>> from tt.backends.array_api import ArrayApiBackend
    >>> from tt.backends.array_api.table import NamespaceTable
    >>> table = NamespaceTable()
    >>> @table.kernel("frac", dtypes="floating")
    ... def frac(xp, self):
    ...     return self - xp.trunc(self)
    >>> table.functions("sin cos", takes=("self",), dtypes="floating")
    >>> kernels = table.bind(ArrayApiBackend(np, "mine").kernel_namespace)
    >>> [kernel.op for kernel in kernels], kernels[0].function(np.float64(1.5))
    (['frac', 'sin', 'cos'], np.float64(0.5))
    """

    def __init__(self, needs: str = "") -> None:
        self.needs, self.rows = needs, list[Row]()

    def kernel(
        self, op: str, function: Callable[..., Any] | None = None, *, needs: str = "", **options: Any
    ) -> Callable[[Function], Function]:
        """Add a kernel; without a function, return a decorator that adds it."""

        def add(function: Function) -> Function:
            self.rows.append(Row(op, function, needs, options))
            return function

        return add if function is None else add(function)

    def functions(
        self, names: str | Mapping[str, str], *, takes: Iterable[str] = ("self",), **options: Any
    ) -> None:
        """Add functions of the library as they are: names that operators share, or operator -> name of the function."""
        pairs = dict.fromkeys(names.split()) if isinstance(names, str) else names
        for op, name in pairs.items():
            self.rows.append(Row(op, name or op, name or op, {"takes": takes, **options}))

    def bind(self, xp: Namespace) -> list[Kernel]:
        """Return the kernels of one library, in the order in which they were added."""
        table = KernelTable(xp.backend.device_type, by=xp.library)
        for op, function, needs, options in self.rows:
            if xp.has(f"{self.needs} {needs}"):
                # A bound method costs a call nothing: less than a partial, and as little as a closure.
                bound = xp.find(function) if isinstance(function, str) else MethodType(function, xp)
                table.kernel(op, bound, **options)
        return table.kernels
