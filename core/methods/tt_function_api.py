"""`tt.overrides`: tools for authors of tensor-like classes and function modes, as in `torch.overrides`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from importlib import import_module
from types import MethodType
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.intercept.modes import Mode
from tt.core.dispatch.intercept.tt_function import (
    NOT_HANDLED,
    SUBCLASSES,
    DisableTTFunction,
    DisableTTFunctionSubclass,
    call_overrides,
    function_modes,
    intercept,
    name_of,
    operator_of,
    overrides,
)
from tt.core.dispatch.registry.registry import ops
from tt.core.errors import NoOverrideError
from tt.core.methods.attributes import MEMBERS
from tt.core.methods.lazy_member import LazyMember
from tt.core.methods.methods import DUNDERS
from tt.core.methods.namespaces import names_of
from tt.core.schema.snapshot import definitions, methods, properties
from tt.core.startup import start
from tt.core.tensor.base import TensorBase
from tt.core.tensor.tensor import Tensor, disabled_tt_function_impl
from tt.core.types.keys import FUNCTION, PYTHON
from tt.core.types.thread_state import THREAD

if TYPE_CHECKING:
    from types import ModuleType

__all__ = [
    "BaseTTFunctionMode",
    "DisableTTFunction",
    "DisableTTFunctionSubclass",
    "TTFunctionMode",
    "call_preserving",
    "disabled_tt_function_impl",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_tt_function",
    "has_tt_function",
    "has_tt_function_unary",
    "has_tt_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "prepare_subclass",
    "resolve_name",
    "wrap_tt_function",
]


# --- subclasses of Tensor ------------------------------------------------------------------------------------------


def prepare_subclass(kind: type[Tensor]) -> None:
    """Note which protocols a new subclass of `Tensor` takes part in, and let it see its members being used."""
    keys = PYTHON if getattr(kind, "__tt_dispatch__", None) is not None else 0
    if overrides(kind):
        keys |= FUNCTION
        SUBCLASSES.add(kind)
        _see_members(kind)
    kind._class_keys = keys


class SeenMember:
    """Wraps a member that is not an operator on a subclass of `Tensor`: its use goes through `__tt_function__`.

    Plain tensors do not have it, so that theirs cost nothing more.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def _member(self) -> Any:
        found = vars(Tensor).get(self.name)
        if found is None:
            found = vars(TensorBase)[self.name]
        return found.resolve() if isinstance(found, LazyMember) else found

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        member = self._member()
        if instance is None:
            return member.__get__(None, owner) if hasattr(type(member), "__get__") else member
        if hasattr(type(member), "__set__"):
            return _through(member.__get__, instance)
        if self.name in instance.__dict__:  # as where there is only a method: an attribute hides it
            return instance.__dict__[self.name]
        if not instance._keys & FUNCTION:
            return member.__get__(instance, owner)

        @wraps(member)
        def seen(self: Any, *args: Any, **kwargs: Any) -> Any:
            return _through(member, self, *args, **kwargs)

        return MethodType(seen, instance)

    def __set__(self, instance: Any, value: Any) -> None:
        member = self._member()
        if hasattr(type(member), "__set__"):
            _through(member.__set__, instance, value)
        else:
            instance.__dict__[self.name] = value

    def __delete__(self, instance: Any) -> None:
        member = self._member()
        if hasattr(type(member), "__delete__"):
            _through(member.__delete__, instance)
        else:
            del instance.__dict__[self.name]


def _through(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    found = intercept(function, args, kwargs)
    return function(*args, **kwargs) if found is NOT_HANDLED else found


# Of TensorBase.
_PROPERTIES = ("shape", "ndim", "dtype", "device", "layout")
# `__iter__` calls `unbind`, which is seen; the others make tensors of a class, or restore them.
_UNSEEN = frozenset(
    (
        "__iter__",
        "as_subclass",
        "__setstate__",
        "__array_namespace__",
        "_make_subclass",
        "_make_wrapper_subclass",
    )
)


def _member_names() -> list[str]:
    start()
    # Members that are neither operators nor the core's belong to plugins.
    own = {*MEMBERS, *methods(), *properties(), *DUNDERS}
    brought = [name for name in vars(Tensor) if name not in own and not name.startswith("_")]
    return [name for name in dict.fromkeys((*_PROPERTIES, *MEMBERS, *brought)) if name not in _UNSEEN]


def _see_members(kind: type[Tensor]) -> None:
    for name in _member_names():
        owner = next((k for k in kind.__mro__ if name in vars(k)), None)
        if owner is Tensor or owner is TensorBase:
            setattr(kind, name, SeenMember(name))


def call_preserving(
    kind: type[Tensor], function: Any, types: Iterable[type], args: tuple[Any, ...], kwargs: Any
) -> Any:
    """Do what `Tensor.__tt_function__` does."""
    if not all(issubclass(kind, other) for other in types):
        return NotImplemented
    with DisableTTFunctionSubclass():
        result = function(*args, **(kwargs or {}))
        if _keeps_class(function):
            return result
        return _convert(result, kind)


def _keeps_class(function: Any) -> bool:
    member = getattr(function, "__self__", None)
    return isinstance(member, property) and member in (vars(Tensor).get("grad"), vars(Tensor).get("_base"))


def _convert(result: Any, kind: type[Tensor]) -> Any:
    if isinstance(result, Tensor):
        # Results of a class with __tt_dispatch__ are returned unchanged.
        if kind is Tensor or isinstance(result, kind) or kind._class_keys & PYTHON:
            return result
        return result.as_subclass(kind)
    if isinstance(result, tuple | list):
        items = [_convert(item, kind) for item in result]
        make = getattr(type(result), "_make", type(result))
        return make(items)
    return result


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
    found = call_overrides(public_api, relevant, args, kwargs)
    if found is NOT_HANDLED:
        raise NoOverrideError(name_of(public_api), "__tt_function__", [], None)
    return found


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


def is_tensor_like(inp: Any) -> bool:
    """Return whether an object is a tensor, or its class defines `__tt_function__`.

    Examples
    --------
    >>> import tt
    >>> tt.overrides.is_tensor_like(tt.ones(2)), tt.overrides.is_tensor_like([1.0])
    (True, False)
    """
    return isinstance(inp, TensorBase) or hasattr(type(inp), "__tt_function__")


# --- which functions there are -------------------------------------------------------------------------------------

_NAMESPACES = ("", "nn.functional", "linalg", "special", "fft")


def _operators(module: str) -> dict[str, Any]:
    own = {definition.signature.name for definition in definitions().values()}
    return {
        name: getattr(ops, operator)
        for name, operator in names_of(module).items()
        if operator.removesuffix("_") in own
    }


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """Return all functions that arrive at `__tt_function__`, by the module or class where users find them.

    Examples
    --------
    >>> import tt
    >>> found = tt.overrides.get_overridable_functions()
    >>> tt.add in found[tt], tt.nn.functional.linear in found[tt.nn.functional]
    (True, True)
    >>> tt.Tensor.__getitem__ in found[tt.Tensor], tt.Tensor.shape.__get__ in found[tt.Tensor]
    (True, True)
    """
    found: dict[Any, list[Callable[..., Any]]] = {}
    for module in _NAMESPACES:
        found[_module(module)] = list(dict.fromkeys(_operators(module).values()))
    found[Tensor] = list(dict.fromkeys(_members().values()))
    return found


def _module(name: str) -> ModuleType:
    return import_module(f"tt.{name}" if name else "tt")


def _members() -> dict[str, Callable[..., Any]]:
    """Return the overridable members of `Tensor`: methods, and the `__get__` of properties."""
    found: dict[str, Callable[..., Any]] = {}
    for name in _member_names():
        member = SeenMember(name)._member()
        found[name] = member.__get__ if hasattr(type(member), "__set__") else getattr(Tensor, name)
    for name in methods():
        found.setdefault(name, getattr(Tensor, name))
    return found


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Return public functions that never arrive at `__tt_function__`.

    Examples
    --------
    >>> import tt
    >>> tt.from_numpy in tt.overrides.get_ignored_functions()
    True
    """
    api = _module("")
    names = (
        "tensor", "as_tensor", "asarray", "from_numpy", "from_dlpack", "frombuffer", "is_tensor", "promote_types",
        "can_cast", "get_default_dtype", "set_default_dtype", "manual_seed", "seed", "initial_seed", "no_grad",
        "enable_grad", "set_grad_enabled", "is_grad_enabled",
    )  # fmt: skip
    return {getattr(api, name) for name in names} | {getattr(Tensor, name) for name in sorted(_UNSEEN)}


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Return the functions whose results `Tensor.__tt_function__` leaves as they are."""
    return {SeenMember(name)._member().__get__ for name in ("grad", "_base")}


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """Return, for each overridable function, a function of the same signature that returns -1.

    Examples
    --------
    >>> import inspect, tt
    >>> found = tt.overrides.get_testing_overrides()
    >>> str(inspect.signature(found[tt.exp])), found[tt.exp](None)
    ('(self, *, out=None)', -1)
    """
    found: dict[Callable[..., Any], Callable[..., Any]] = {}
    for functions in get_overridable_functions().values():
        for function in functions:
            found.setdefault(function, _dummy(function))
    return found


def _dummy(function: Callable[..., Any]) -> Callable[..., Any]:
    def dummy(*args: Any, **kwargs: Any) -> int:
        return -1

    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # several overloads, or a descriptor of C
        return dummy
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    vars(dummy)["__signature__"] = inspect.Signature(plain)  # what `inspect` looks for
    return dummy


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Return whether a function is found on `Tensor` and nowhere else.

    Examples
    --------
    >>> import tt
    >>> tt.overrides.is_tensor_method_or_property(tt.Tensor.shape.__get__)
    True
    """
    return func in _members().values() or getattr(func, "__name__", "") == "__get__"


def resolve_name(f: Callable[..., Any]) -> str | None:
    """Return the name under which users find a function; None for functions that are not tt's.

    Examples
    --------
    >>> import tt
    >>> tt.overrides.resolve_name(tt.Tensor.add), tt.overrides.resolve_name(tt.linalg.svd)
    ('tt.add', 'tt.linalg.svd')
    >>> tt.overrides.resolve_name(tt.Tensor.__getitem__), tt.overrides.resolve_name(tt.Tensor.shape.__get__)
    ('tt.Tensor.__getitem__', 'tt.Tensor.shape.__get__')
    """
    if operator_of(f) is not None:
        return name_of(f)
    for name, member in _members().items():
        if member == f:
            return f"tt.Tensor.{name}" + (".__get__" if getattr(f, "__name__", "") == "__get__" else "")
    own = getattr(f, "__self__", None)
    for name in _member_names():
        if own is not None and SeenMember(name)._member() is own:
            return f"tt.Tensor.{name}.{f.__name__}"
    return None
