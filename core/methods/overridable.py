"""The functions that `__tt_function__` can override, and their names: the lists of `tt.overrides`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tt.core.by_name import module_named
from tt.core.dispatch.intercept.tt_function import name_of, operator_of
from tt.core.dispatch.registry.registry import ops
from tt.core.methods.namespaces import names_of
from tt.core.methods.tensor_subclasses import UNSEEN, SeenMember, member_names
from tt.core.schema.snapshot import definitions, methods
from tt.core.tensor.tensor import Tensor

if TYPE_CHECKING:
    from types import ModuleType

__all__ = [
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "is_tensor_method_or_property",
    "resolve_name",
]

_NAMESPACES = ("", "nn.functional", "linalg", "special", "fft")
_FURTHER = ("nn.init", "nn.utils.rnn", "autograd")
"""Modules whose functions take part, besides those of operators."""


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
    overridable: dict[Any, list[Callable[..., Any]]] = {}
    for module in _NAMESPACES:
        overridable[_module(module)] = list(dict.fromkeys(_operators(module).values()))
    for name, function in _functions():
        overridable.setdefault(_module(name.rpartition(".")[0]), []).append(function)
    overridable[Tensor] = list(dict.fromkeys(_members().values()))
    return overridable


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the overridable functions that are no operators, with their names below `tt`."""
    for module in (*_NAMESPACES, *_FURTHER):
        home = _module(module)
        for name in dir(home):
            value = None if name.startswith("_") else getattr(home, name, None)
            if value is not None and "_overridable" in getattr(value, "__dict__", ()):
                yield f"{module}.{name}".lstrip("."), value


def _module(name: str) -> ModuleType:
    return module_named(f"tt.{name}" if name else "tt")


def _members() -> dict[str, Callable[..., Any]]:
    """Return the overridable members of `Tensor`: methods, and the `__get__` of properties."""
    members: dict[str, Callable[..., Any]] = {}
    for name in member_names():
        member = SeenMember(name)._member()
        members[name] = member.__get__ if hasattr(type(member), "__set__") else getattr(Tensor, name)
    for name in methods():
        members.setdefault(name, getattr(Tensor, name))
    return members


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
    return {getattr(api, name) for name in names} | {getattr(Tensor, name) for name in sorted(UNSEEN)}


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
    overrides: dict[Callable[..., Any], Callable[..., Any]] = {}
    for functions in get_overridable_functions().values():
        for function in functions:
            overrides.setdefault(function, _dummy(function))
    return overrides


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
    if "_overridable" in getattr(f, "__dict__", ()):
        return next((f"tt.{name}" for name, function in _functions() if function is f), None)
    own = getattr(f, "__self__", None)
    for name in member_names():
        if own is not None and SeenMember(name)._member() is own:
            return f"tt.Tensor.{name}.{f.__name__}"
    return None
