"""`tt.overrides`: modes and functions for authors of tensor-like classes, as in `torch.overrides`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Final, TypeVar, cast

from tt.core.dispatch.intercept.modes import Mode
from tt.core.dispatch.intercept.tt_function import (
    NOT_HANDLED,
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    DisableTTFunction,
    DisableTTFunctionSubclass,
    call_overrides,
    flat,
    function_modes,
    name_of,
    overrides,
)
from tt.core.errors import NoOverrideError
from tt.core.tensor.base import TensorBase
from tt.core.tensor.tensor import Tensor, disabled_tt_dispatch_impl, disabled_tt_function_impl
from tt.core.types.protocols import FUNCTION_METHODS, method_of, spell_both
from tt.core.types.state import STATE
from tt.core.types.thread_state import THREAD

__all__ = [
    "BaseTTFunctionMode",
    "BaseTorchFunctionMode",
    "DisableTTFunction",
    "DisableTTFunctionSubclass",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TTFunctionMode",
    "TorchFunctionMode",
    "disabled_tt_dispatch_impl",
    "disabled_tt_function_impl",
    "handle_torch_function",
    "handle_tt_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "has_tt_function",
    "has_tt_function_unary",
    "has_tt_function_variadic",
    "is_tensor_like",
    "mark_overridable",
    "overridable",
    "wrap_torch_function",
    "wrap_tt_function",
]


Function = TypeVar("Function", bound=Callable[..., Any])


# --- modes ---------------------------------------------------------------------------------------------------------


class TTFunctionMode(Mode):
    """Intercepts the user's calls in a `with` block, before autograd: override `__tt_function__`.

    A mode is off inside its own handler, so `func(*args, **kwargs)` there goes to the next mode further out, then to
    the classes of the arguments, then to the operator.  Where a mode returns NotImplemented, the classes of the
    arguments are tried.

    Examples
    --------
    >>> import tt
    >>> class Log(tt.overrides.TTFunctionMode):
    ...     def __tt_function__(self, func, types, args=(), kwargs=None):
    ...         print(tt.overrides.resolve_name(func))
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     _ = tt.nn.functional.softmax(tt.ones(2) + 1, 0)
    tt.ones
    tt.add
    tt.softmax
    """

    sees = "function"

    def __init_subclass__(cls, /, **options: Any) -> None:
        super().__init_subclass__(**options)
        spell_both(cls, FUNCTION_METHODS)

    def __tt_function__(
        self,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Answer a call, or return NotImplemented.

        Parameters
        ----------
        func : callable
            What was called.
        types : tuple of type
            The classes of the arguments that have `__tt_function__`.
        args, kwargs
            The arguments as they were written.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define __tt_function__")

    __torch_function__ = __tt_function__


class BaseTTFunctionMode(TTFunctionMode):
    """A function mode that changes nothing.

    Examples
    --------
    >>> import tt
    >>> with tt.overrides.BaseTTFunctionMode():
    ...     tt.ones(2) + 1
    tensor([2., 2.])
    """

    def __tt_function__(
        self,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Make the call."""
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> TTFunctionMode | None:
    """Return the innermost function mode of this thread, or None."""
    modes = function_modes()
    return modes[-1] if modes else None


def _get_current_function_mode_stack() -> list[TTFunctionMode]:
    """Return the function modes of this thread, the outermost first."""
    return list(function_modes())


# --- functions that can be overridden ------------------------------------------------------------------------------


def has_tt_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether a call with these arguments is to be handed to `handle_tt_function`.

    Examples
    --------
    >>> import tt
    >>> class Duck:
    ...     def __tt_function__(self, func, types, args=(), kwargs=None):
    ...         return "quack"
    >>> tt.overrides.has_tt_function((tt.ones(2), Duck())), tt.overrides.has_tt_function((tt.ones(2),))
    (True, False)
    """
    if function_modes():
        return True
    return THREAD.functions and THREAD.subclasses and any(overrides(type(value)) for value in relevant_args)


def has_tt_function_unary(relevant_arg: Any) -> bool:
    """Do as `has_tt_function` for one argument."""
    return has_tt_function((relevant_arg,))


def has_tt_function_variadic(*relevant_args: Any) -> bool:
    """Do as `has_tt_function` for arguments given one by one."""
    return has_tt_function(relevant_args)


def handle_tt_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Let function modes and the classes of arguments answer a call of a function written in Python.

    Parameters
    ----------
    public_api : callable
        The public function.
    relevant_args : iterable
        The arguments whose classes are tried.
    args, kwargs
        All arguments.

    Raises
    ------
    TypeError
        If all of them returned NotImplemented, or there were none.

    Examples
    --------
    >>> import tt
    >>> from tt.overrides import handle_tt_function, has_tt_function
    >>> def half(x):
    ...     if has_tt_function((x,)):
    ...         return handle_tt_function(half, (x,), x)
    ...     return x / 2
    >>> class Duck:
    ...     def __tt_function__(self, func, types, args=(), kwargs=None):
    ...         return f"quack, {func.__name__}"
    >>> half(Duck()), half(tt.ones(2))
    ('quack, half', tensor([0.5000, 0.5000]))
    """
    relevant = list(relevant_args)
    result = call_overrides(public_api, relevant, args, kwargs)
    if result is NOT_HANDLED:
        raise NoOverrideError(name_of(public_api), "__tt_function__", [], None)
    return result


def wrap_tt_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """Make a function written in Python one that tensor-likes and function modes can override.

    Parameters
    ----------
    dispatcher : callable
        Takes the function's arguments and returns those whose classes are tried.

    Examples
    --------
    >>> import tt
    >>> @tt.overrides.wrap_tt_function(lambda x: (x,))
    ... def half(x):
    ...     return x / 2
    >>> class Duck:
    ...     def __tt_function__(self, func, types, args=(), kwargs=None):
    ...         return "quack"
    >>> half(Duck())
    'quack'
    """

    def decorate(function: Any) -> Any:
        @wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_tt_function(relevant):
                return handle_tt_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def overridable(function: Function) -> Function:
    """Make a function of tt's that is written in Python one that tensor-likes and function modes can override.

    As for an operator, every argument counts, and the elements of lists.  A call with plain tensors and numbers pays
    for a look at their types.

    Examples
    --------
    >>> from tt.core.methods.tt_function_api import overridable
    >>> @overridable
    ... def half(x):
    ...     return x / 2
    >>> class Duck:
    ...     def __tt_function__(self, func, types, args=(), kwargs=None):
    ...         return f"quack, {func.__name__}"
    >>> half(Duck())
    'quack, half'
    """

    @wraps(function)
    def asking(*args: Any, **kwargs: Any) -> Any:
        # Plain types only: nothing can intercept, and no list has to be flattened.
        if kwargs or STATE.modes or not _PLAIN.issuperset(map(type, args)):
            relevant = flat((*args, *kwargs.values()))
            result = call_overrides(asking, relevant, args, kwargs)
            if result is not NOT_HANDLED:
                return result
        return function(*args, **kwargs)

    return mark_overridable(cast("Function", asking))


def mark_overridable(function: Function) -> Function:
    """Note that a function lets tensor-likes handle its calls, for the lists of `tt.overrides`."""
    function._overridable = True  # type: ignore[attr-defined]  # a mark on the function
    return function


_PLAIN: Final = frozenset({Tensor, bool, int, float, complex, str, type(None)})
"""Types of arguments that have no `__tt_function__`, nor elements with one."""


def is_tensor_like(inp: Any) -> bool:
    """Return whether an object is a tensor, or its class defines `__tt_function__`.

    Examples
    --------
    >>> import tt
    >>> tt.overrides.is_tensor_like(tt.ones(2)), tt.overrides.is_tensor_like([1.0])
    (True, False)
    """
    return isinstance(inp, TensorBase) or method_of(type(inp), FUNCTION_METHODS) is not None


# PyTorch's names of the same things, which its programs use.
has_torch_function = has_tt_function
has_torch_function_unary = has_tt_function_unary
has_torch_function_variadic = has_tt_function_variadic
handle_torch_function = handle_tt_function
wrap_torch_function = wrap_tt_function
TorchFunctionMode = TTFunctionMode
BaseTorchFunctionMode = BaseTTFunctionMode
