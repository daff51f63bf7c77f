"""Tables, which plugins fill when they are imported and pass to a hook.

Filling a table registers nothing.  A plugin's `tt_register` hook gives its tables to the registry, which notes who
brought them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeGuard, TypeVar

from tt.core.errors import ArgumentError, ValueRangeError

if TYPE_CHECKING:
    from tt.core.schema.model import Signature

__all__ = [
    "CompositeTable",
    "Form",
    "HalfPolicy",
    "Kernel",
    "KernelTable",
    "LayerTable",
    "LazyKernelTable",
    "is_layer_table",
    "taken_names",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Form = Literal["functional", "out", "inplace"]
HalfPolicy = Literal["float32", "native", "same"]

_STARRED = CO_VARARGS | CO_VARKEYWORDS


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A kernel as its author declared it.

    Attributes
    ----------
    op : str
        Qualified name of the operator's overload, for instance "max.dim".
    function : callable
        A plain function over native handles.
    dtypes : str or tuple of str
        The compute dtypes that it serves: a named class ("floating") or names.
    form : str
        functional, out or inplace.
    takes : tuple of str or None
        The schema arguments that it takes; None: read from its parameters.
    half : str
        "float32": float16 and bfloat16 are computed in float32; "native": the kernel serves them itself; "same": it
        serves them itself where all arguments are of the dtype, and numbers or tensors of others stay in float32.
    priority : int
        The highest wins among kernels of one device.
    override : bool
        Replaces, rather than conflicts with, an earlier kernel of the same priority.
    check : bool
        Run the shape rule before the kernel, because it accepts arguments that the operator refuses.
    native : bool
        Compiled: goes before the other kernels of the same plugin and priority, which serve where it is not built.
        Raises none of NumPy's floating-point warnings.
    tensors : bool
        The kernel gets tensors and returns tensors, as a composite does: for results whose layout depends on more
        than the layouts of the arguments, or handles that are made of other tensors' handles.
    available : callable or None
        Tells why the kernel cannot serve here, for instance because a library is not installed, or None if it can.
        Asked when a call is resolved; the answer is what `explain` shows of a kernel that is passed over.
    same_dtype : bool
        The kernel serves only calls whose tensors all have its dtype already: for operators whose composite looks at
        the dtypes that the arguments have before they are promoted.
    by : str
        What computes, in a word, where it is not the kernel's own code: the name of a library.  `explain` shows it.
    """

    op: str
    function: Callable[..., Any]
    dtypes: str | tuple[str, ...] = "all"
    form: Form = "functional"
    takes: tuple[str, ...] | None = None
    half: HalfPolicy = "float32"
    priority: int = 0
    override: bool = False
    check: bool = False
    native: bool = False
    tensors: bool = False
    available: Callable[[], str | None] | None = None
    by: str = ""
    same_dtype: bool = False


@cache
def _parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    # Of a bound method without the instance, which the call adds.
    if type(function) is MethodType:
        return _parameter_names(function.__func__)[1:]
    code = function.__code__ if type(function) is FunctionType else None
    if (
        code is None
        or code.co_flags & _STARRED
        or not {"__wrapped__", "__signature__"}.isdisjoint(vars(function))
    ):
        return tuple(inspect.signature(function).parameters)
    # The same names, thirty times as fast: every plugin's kernels are compared when it registers.
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def taken_names(kernel: Kernel, signature: Signature) -> tuple[str, ...]:
    """Return the schema arguments that a kernel takes: as declared, of a ufunc the first ones, else by its parameters.

    Raises
    ------
    ValueError, TypeError
        When the parameters of a builtin are unknown; register it with `takes`.
    """
    if kernel.takes is not None:
        return kernel.takes
    # NumPy names no parameters of ufuncs: their inputs are the first arguments of the schema.
    inputs = getattr(kernel.function, "nin", None)
    if isinstance(inputs, int):
        return tuple(argument.name for argument in signature.arguments[:inputs])
    names = _parameter_names(kernel.function)
    # The last parameters of an `out` kernel are its targets, which the schema does not list.
    return names[: len(names) - len(signature.returns)] if kernel.form == "out" else names


class KernelTable:
    """Kernels for one device and layout.

    Parameters
    ----------
    device : str
        The device type.
    layout : str or tuple of str
        The layout of the tensors, or the layouts that occur together in a mixed call.
    result : str, optional
        The layout of the results; by default that of the tensors, the one that is not strided in a mixed call.
    by : str, optional
        What computes, for kernels that do not say so themselves; see `Kernel`.

    Examples
    --------
    >>> import numpy as np
    >>> from tt.core.library import KernelTable
    >>> table = KernelTable(device="cpu")
    >>> _ = table.kernel("exp", np.exp, dtypes="floating_complex")
    >>> @table.kernel("hypot", dtypes="floating")
    ... def hypot(self, other):
    ...     return np.hypot(self, other)
    >>> [kernel.op for kernel in table.kernels]
    ['exp', 'hypot']
    """

    def __init__(
        self,
        device: str,
        layout: str | tuple[str, ...] = "strided",
        result: str | None = None,
        kernels: list[Kernel] | None = None,
        by: str = "",
    ) -> None:
        self.device, self.layout, self.result, self.by = device, layout, result, by
        self.kernels: list[Kernel] = [] if kernels is None else kernels

    @property
    def layouts(self) -> tuple[str, ...]:
        """The layouts of a call that the kernels serve."""
        return _layouts_of(self.layout)

    @property
    def ops(self) -> Collection[str]:
        """The operators that have kernels in the table."""
        return dict.fromkeys(kernel.op for kernel in self.kernels)

    def kernel(
        self,
        op: str,
        function: Callable[..., Any] | None = None,
        *,
        dtypes: str | Iterable[str] = "all",
        form: Form = "functional",
        takes: Iterable[str] | None = None,
        half: HalfPolicy = "float32",
        priority: int = 0,
        override: bool = False,
        check: bool = False,
        native: bool = False,
        tensors: bool = False,
        available: Callable[[], str | None] | None = None,
        by: str = "",
        same_dtype: bool = False,
    ) -> Callable[[Function], Function]:
        """Add a kernel; without a function, return a decorator that adds it.

        See `Kernel` for the parameters.
        """
        if form not in ("functional", "out", "inplace"):
            raise ValueRangeError(f"form must be functional, out or inplace, not {form!r}")

        def add(function: Function) -> Function:
            self.kernels.append(
                Kernel(
                    op,
                    function,
                    dtypes if isinstance(dtypes, str) else tuple(dtypes),
                    form,
                    None if takes is None else tuple(takes),
                    half,
                    priority,
                    override,
                    check,
                    native,
                    tensors,
                    available,
                    by or self.by,
                    same_dtype,
                )
            )
            return function

        return add if function is None else add(function)

    def kernels_of(self, functions: Mapping[str, Callable[..., Any]], **options: Any) -> None:
        """Add several kernels that share their options: {op: function}."""
        for op, function in functions.items():
            self.kernel(op, function, **options)


class LazyKernelTable:
    """Kernels for one device and layout that are made when their operator is first used.

    For a backend of many families, whose modules a short program should not import: `make` imports the one that is
    asked for.  `FamilyIndex` says which modules have an operator.

    Parameters
    ----------
    device : str
        The device type.
    ops : collection of str
        The operators that may have kernels.
    make : callable
        Returns the kernels of one of them, in the order in which a `KernelTable` would hold them.  Called once for an
        operator; again if it raised.
    layout : str or tuple of str
        The layout of the tensors, or the layouts that occur together in a mixed call.
    result : str, optional
        The layout of the results, as in `KernelTable`.

    Raises
    ------
    ArgumentError
        When the operators are one word, or nothing can be called to make the kernels.

    Examples
    --------
    >>> from tt.core.library import KernelTable, LazyKernelTable
    >>> def make(op):
    ...     import numpy as np
    ...     table = KernelTable(device="cpu")
    ...     table.kernel(op, getattr(np, op), dtypes="floating")
    ...     return table.kernels
    >>> table = LazyKernelTable("cpu", ("exp", "log"), make)
    >>> [kernel.op for kernel in table.make("log")]
    ['log']
    """

    def __init__(
        self,
        device: str,
        ops: Collection[str],
        make: Callable[[str], Iterable[Kernel]],
        layout: str | tuple[str, ...] = "strided",
        result: str | None = None,
    ) -> None:
        if isinstance(ops, str) or not callable(make):
            raise ArgumentError(
                "LazyKernelTable",
                "takes the names of operators, and a function that makes the kernels of one",
            )
        self.device, self.ops, self.make, self.layout, self.result = device, ops, make, layout, result

    @property
    def layouts(self) -> tuple[str, ...]:
        """The layouts of a call that the kernels serve."""
        return _layouts_of(self.layout)


def _layouts_of(layout: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the layouts of a call, in the order in which the registry compares them."""
    # Sorted, since the layouts of a call are a set: `(strided, csr)` and `(csr, strided)` are one combination.
    return (layout,) if isinstance(layout, str) else tuple(sorted(layout))


class CompositeTable:
    """Operators written in other operators.

    Examples
    --------
    >>> from tt.core.library import CompositeTable, ops
    >>> table = CompositeTable()
    >>> @table.composite("square")
    ... def square(self):
    ...     return ops.mul(self, self)
    """

    def __init__(self, functions: dict[str, Callable[..., Any]] | None = None) -> None:
        self.functions: dict[str, Callable[..., Any]] = {} if functions is None else functions

    def composite(
        self, op: str, function: Callable[..., Any] | None = None
    ) -> Callable[[Function], Function]:
        """Add a composite; it gets all arguments of the schema positionally."""

        def add(function: Function) -> Function:
            self.functions[op] = function
            return function

        return add if function is None else add(function)


class LayerTable(Protocol):
    """A plugin's registrations for a layer: formulas, batching rules.

    What else it holds is between whoever makes it and the layer that accepts it.
    """

    @property
    def layer(self) -> str:
        """The name of the layer that it is for."""


def is_layer_table(table: object) -> TypeGuard[LayerTable]:
    """Return whether an object names the layer that it is for."""
    return isinstance(getattr(table, "layer", None), str)
