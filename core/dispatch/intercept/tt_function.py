"""`__tt_function__`: classes and modes that intercept the user's call before the operator runs.

This is the protocol of PyTorch's `__torch_function__`.  Instances of subclasses of `Tensor` carry a key bit, so that a
call with plain tensors never looks for it; other classes are looked at where an operator would refuse its arguments.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tt.core.blocks import Block
from tt.core.dispatch.intercept.further_forms import call_in_further_form
from tt.core.errors import NoOverrideError
from tt.core.tensor.tensor import Tensor, disabled_tt_function_impl
from tt.core.types.protocols import FUNCTION_METHODS, method_of
from tt.core.types.state import STATE, without
from tt.core.types.thread_state import THREAD

if TYPE_CHECKING:
    from tt.core.dispatch.call.op_overload import OpOverload
    from tt.core.errors import ArgumentError

__all__ = [
    "NOT_HANDLED",
    "DisableTTFunction",
    "DisableTTFunctionSubclass",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "call_overrides",
    "call_refused",
    "call_with_overrides",
    "flat",
    "function_modes",
    "intercept",
    "listening",
    "name_of",
    "operator_of",
    "overloaded",
    "overrides",
    "seen",
    "unseen",
]

NOT_HANDLED: Any = object()
"""Returned by `intercept` for a call that no class or mode intercepts."""

SUBCLASSES: set[weakref.ref[type]] = set()
"""The subclasses of `Tensor` that take part; while the set is empty, calls do not look for their instances.

Each backward pass looks twice: a `WeakSet` would take a thousand instructions each time, to compute its length."""


# --- switching off -------------------------------------------------------------------------------------------------


class DisableTTFunctionSubclass(Block):
    """Turn the `__tt_function__` of classes off in a `with` block; function modes stay on.

    Examples
    --------
    >>> import tt
    >>> class Image(tt.Tensor):
    ...     pass
    >>> x = tt.ones(2).as_subclass(Image)
    >>> with tt.overrides.DisableTTFunctionSubclass():
    ...     type(x + 1).__name__, type(x).__name__
    ('Tensor', 'Image')
    """

    _functions = True

    def _look(self) -> tuple[bool, bool]:
        return THREAD.functions, THREAD.subclasses

    def _begin(self) -> None:
        THREAD.subclasses = False
        THREAD.functions = THREAD.functions and self._functions

    def _end(self, before: tuple[bool, bool]) -> None:
        THREAD.functions, THREAD.subclasses = before


class DisableTTFunction(DisableTTFunctionSubclass):
    """Turn both the `__tt_function__` of classes and function modes off in a `with` block.

    Examples
    --------
    >>> import tt
    >>> class Refuse(tt.overrides.TTFunctionMode):
    ...     def __tt_function__(self, func, types, args=(), kwargs=None):
    ...         raise ValueError("not now")
    >>> with Refuse(), tt.overrides.DisableTTFunction():
    ...     tt.ones(2) + 1
    tensor([2., 2.])
    """

    _functions = False


# PyTorch's names of the same classes, which its programs use.
DisableTorchFunctionSubclass = DisableTTFunctionSubclass
DisableTorchFunction = DisableTTFunction


# --- who takes part ------------------------------------------------------------------------------------------------


def overrides(kind: type) -> bool:
    """Return whether the arguments of a class intercept calls."""
    name = method_of(kind, FUNCTION_METHODS)
    return name is not None and kind is not Tensor and not _disabled(getattr(kind, name))


def _disabled(found: Any) -> bool:
    return getattr(found, "__func__", found) is disabled_tt_function_impl


def flat(args: Iterable[Any]) -> Iterator[Any]:
    """Yield arguments, and the elements of those that are lists or tuples."""
    for value in args:
        if isinstance(value, list | tuple):
            yield from value
        else:
            yield value


def overloaded(args: Iterable[Any]) -> list[Any]:
    """Return the first argument of each class that intercepts calls, subclasses before their bases."""
    ordered: list[Any] = []
    known: set[type] = set()
    # One argument of each class is asked, as in PyTorch and NumPy: a class decides, not its instances.
    for value in args:
        kind = type(value)
        if kind in known:
            continue
        known.add(kind)
        if overrides(kind):
            # In front of its first base: a subclass knows how to handle its base, and not the other way round.
            position = next(
                (i for i, other in enumerate(ordered) if issubclass(kind, type(other))), len(ordered)
            )
            ordered.insert(position, value)
    return ordered


# --- intercepting --------------------------------------------------------------------------------------------------


def function_modes() -> list[Any]:
    """Return the function modes of this thread, the outermost first."""
    return [mode for mode in THREAD.modes if mode.sees == "function"] if THREAD.functions else []


def intercept(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, out: Any = None) -> Any:
    """Let the innermost function mode, or the classes of the arguments, handle a call; else return `NOT_HANDLED`.

    The operator takes the arguments; only the value of `out=`, which is among `kwargs`, too, may be anything.

    Raises
    ------
    NoOverrideError
        If every `__tt_function__` returned NotImplemented.
    """
    asked = function_modes() or (SUBCLASSES and THREAD.subclasses)
    if not asked and not any(overrides(type(value)) for value in flat((out,))):
        return NOT_HANDLED
    return call_overrides(public(function), flat((*args, *(kwargs or {}).values())), args, kwargs or {})


def call_overrides(
    function: Any, relevant: Iterable[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Do as `intercept`, looking at the arguments in `relevant`."""
    # Only the innermost mode is asked; with it off, the next call that it makes meets the one further out.
    modes = function_modes()
    candidates = overloaded(relevant) if THREAD.functions and THREAD.subclasses else []
    if not modes and not candidates:
        return NOT_HANDLED
    types = tuple(map(type, candidates))
    mode = None
    if modes:
        mode, before = modes[-1], THREAD.modes
        THREAD.modes = without(before, mode)
        try:
            result = mode.__tt_function__(function, types, args, kwargs)
        finally:
            THREAD.modes = before
        # A mode that returns NotImplemented leaves the call to the classes.
        if result is not NotImplemented:
            return result
    for value in candidates:
        name = method_of(type(value), FUNCTION_METHODS)
        assert name is not None  # that makes it a candidate
        result = getattr(value, name)(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    names = [kind.__name__ for kind in types]
    raise NoOverrideError(
        name_of(function), "__tt_function__", names, None if mode is None else type(mode).__name__
    )


def operator_of(function: Any) -> Any:
    """Return the operator that a function calls, or one of those among which it chooses; None for other functions."""
    overloads = getattr(function, "op_overloads", None)
    return getattr(next(iter(overloads.values())) if overloads else function, "operator", None)


def name_of(function: Any) -> str:
    """Return the public name of a function: "tt.nn.functional.linear", "tt.Tensor.add_", "tt.ops.acme.twice"."""
    operator = operator_of(function)
    if operator is not None:
        base: str = operator.name.partition(".")[0]
        if "::" in base:
            return "tt.ops." + base.replace("::", ".")
        if function.form == "inplace":
            owner = "Tensor" if operator.definition.has_method else operator.definition.module
            return f"tt.{owner or 'Tensor'}.{base}_"
        publics = operator.definition.public_names
        if publics:
            return f"tt.{publics[0]}"
        return f"tt.Tensor.{base}" if operator.definition.has_method else f"tt.ops.{base}"
    own = getattr(function, "__self__", None)
    if isinstance(own, property):  # the __get__ of a property of Tensor
        return f"tt.Tensor.{getattr(own.fget, '__name__', 'property')}.{function.__name__}"
    module, name = getattr(function, "__module__", None), getattr(function, "__name__", repr(function))
    # tt.numel, not tt._functions.inquiries.numel
    return f"{module.partition('._')[0]}.{name}" if module else str(name)


# --- used by overloads ---------------------------------------------------------------------------------------------


def public(function: Any) -> Any:
    """Return the public function: `tt.max` for the default overload of `max`."""
    operator = getattr(function, "operator", None)
    if operator is not None and "." not in operator.name:
        return operator.registry.packets.get((operator.name, function.form), function)
    return function


def call_with_overrides(
    overload: OpOverload,
    bound: tuple[Any, ...],
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
) -> Any:
    """Make a call one of whose arguments is an instance of a subclass of `Tensor`."""
    result = intercept(function, args, kwargs)
    return overload.dispatch(bound) if result is NOT_HANDLED else result


def call_refused(
    function: Any, error: ArgumentError, args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> Any:
    """Make a call that the operator refuses in a form that its schema lacks, or let classes handle it, or raise."""
    # Before the classes: a further form calls the function again, and they see that call.
    result = call_in_further_form(function, args, kwargs)
    if result is not NotImplemented:
        return result
    if THREAD.functions and THREAD.subclasses:
        relevant = list(flat((*args, *(kwargs or {}).values())))
        if any(overrides(type(value)) for value in relevant):
            return call_overrides(public(function), relevant, args, kwargs or {})
    raise error


class _Internal(Block):
    """Calls that a plugin makes for itself: neither classes nor function modes see them."""

    def _look(self) -> tuple[bool, bool, tuple[bool, bool] | None]:
        return THREAD.functions, THREAD.subclasses, THREAD.outside

    def _begin(self) -> None:
        # Kept, so that a user's function inside of the plugin's code is seen as it would be outside; see `_Users`.
        THREAD.outside = THREAD.functions, THREAD.subclasses
        THREAD.functions = THREAD.subclasses = False

    def _end(self, before: tuple[bool, bool, tuple[bool, bool] | None]) -> None:
        THREAD.functions, THREAD.subclasses, THREAD.outside = before


class _Users(_Internal):
    """Calls of a user's function that a plugin runs: they are seen as outside of the plugin."""

    def _begin(self) -> None:
        outside, THREAD.outside = THREAD.outside, None
        THREAD.functions, THREAD.subclasses = (True, True) if outside is None else outside


def listening() -> bool:
    """Return whether a class or a mode may want to see calls; if not, `intercept` can be skipped."""
    return bool(STATE.modes or SUBCLASSES)


def unseen() -> Any:
    """Return a context that hides calls from classes and function modes; it is free if there are none."""
    return _Internal() if listening() else _NOTHING


def seen() -> Any:
    """Return a context for a user's function (a hook, say) inside of `unseen`: its calls are seen again."""
    return _NOTHING if THREAD.outside is None else _Users()


class _Nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...


_NOTHING = _Nothing()
