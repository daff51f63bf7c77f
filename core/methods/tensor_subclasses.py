"""Subclasses of `Tensor`: their members are seen by `__tt_function__`, and results are of the subclass."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from functools import wraps
from types import MethodType
from typing import Any

from tt.core import start
from tt.core.dispatch.intercept.tt_function import (
    NOT_HANDLED,
    SUBCLASSES,
    DisableTTFunctionSubclass,
    intercept,
    overrides,
)
from tt.core.methods.attributes import LATE_MEMBERS, MEMBERS
from tt.core.methods.lazy_member import LazyMember
from tt.core.methods.left_out_members import LeftOutMember
from tt.core.methods.methods import DUNDERS
from tt.core.schema.snapshot import methods, properties
from tt.core.tensor.base import TensorBase
from tt.core.tensor.tensor import Tensor, answers_operators
from tt.core.types.keys import FUNCTION, PYTHON
from tt.core.types.protocols import DISPATCH_METHODS, FUNCTION_METHODS, spell_both

__all__ = ["UNSEEN", "SeenMember", "call_preserving", "member_names", "prepare_subclass"]


def prepare_subclass(kind: type[Tensor]) -> None:
    """Note which protocols a new subclass of `Tensor` takes part in, and let it see its members being used."""
    spell_both(kind, FUNCTION_METHODS)
    spell_both(kind, DISPATCH_METHODS)
    keys = PYTHON if answers_operators(kind) else 0
    if overrides(kind):
        keys |= FUNCTION
        # Weak: a class that is made in a function may go.
        SUBCLASSES.add(weakref.ref(kind, SUBCLASSES.discard))
        _see_members(kind)
    kind._class_keys = keys


class SeenMember:
    """Wraps a member that is not an operator on a subclass of `Tensor`: its use goes through `__tt_function__`.

    Plain tensors do not have it, so that theirs cost nothing more.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def _member(self) -> Any:
        member = vars(Tensor).get(self.name)
        if member is None:
            # A few members are on the compiled base class.
            member = vars(TensorBase)[self.name]
        return member.resolve() if isinstance(member, LazyMember) else member

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        member = self._member()
        if instance is None:
            return member.__get__(None, owner) if hasattr(type(member), "__get__") else member
        # A property or slot: reading it is the call that is seen.
        if hasattr(type(member), "__set__"):
            return _through(member.__get__, instance)
        if self.name in instance.__dict__:  # as for a method: an attribute hides it
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
    result = intercept(function, args, kwargs)
    return function(*args, **kwargs) if result is NOT_HANDLED else result


# Of TensorBase.
_PROPERTIES = ("shape", "ndim", "dtype", "device", "layout")
# `__iter__` calls `unbind`, which is seen; the others make tensors of a class, or restore them.
UNSEEN = frozenset(
    (
        "__iter__",
        "as_subclass",
        "__setstate__",
        "__array_namespace__",
        "_make_subclass",
        "_make_wrapper_subclass",
    )
)


def member_names() -> list[str]:
    """Return the members of `Tensor` that are not operators and whose use is seen."""
    start()
    # Members that are neither operators nor the core's belong to plugins.
    own = {*MEMBERS, *LATE_MEMBERS, *methods(), *properties(), *DUNDERS}
    brought = [
        name
        for name, member in vars(Tensor).items()
        if name not in own and not name.startswith("_") and not isinstance(member, LeftOutMember)
    ]
    return [
        name
        for name in dict.fromkeys((*_PROPERTIES, *MEMBERS, *LATE_MEMBERS, *brought))
        if name not in UNSEEN
    ]


def _see_members(kind: type[Tensor]) -> None:
    for name in member_names():
        # Only members that the class inherits from `Tensor`: its own, and those of bases between, stay theirs.
        owner = next((k for k in kind.__mro__ if name in vars(k)), None)
        if owner is Tensor or owner is TensorBase:
            setattr(kind, name, SeenMember(name))


def call_preserving(
    kind: type[Tensor], function: Any, types: Iterable[type], args: tuple[Any, ...], kwargs: Any
) -> Any:
    """Do what `Tensor.__tt_function__` does."""
    # As in PyTorch: with a type that is no base of the class, the call is not this class's to answer.
    if not all(issubclass(kind, other) for other in types):
        return NotImplemented
    with DisableTTFunctionSubclass():
        result = function(*args, **(kwargs or {}))
        if _keeps_class(function):
            return result
        return _convert(result, kind)


def _keeps_class(function: Any) -> bool:
    member = getattr(function, "__self__", None)
    # The gradient and the base of a view have the class that they have.
    return isinstance(member, property) and member in (vars(Tensor).get("grad"), vars(Tensor).get("_base"))


def _convert(result: Any, kind: type[Tensor]) -> Any:
    if isinstance(result, Tensor):
        # Results of a class with __tt_dispatch__ are returned unchanged.
        if kind is Tensor or isinstance(result, kind) or kind._class_keys & PYTHON:
            return result
        return result.as_subclass(kind)
    if isinstance(result, tuple | list):
        items = [_convert(item, kind) for item in result]
        # Named tuples are made by `_make`, and lists and tuples from one iterable.
        make = getattr(type(result), "_make", type(result))
        return make(items)
    return result
