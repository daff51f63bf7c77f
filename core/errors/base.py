"""The base of all exceptions, how they are pickled, and how messages name a value."""

from __future__ import annotations

from types import MemberDescriptorType
from typing import Any

from tt.core.errors.aliases import as_called


def describe(value: Any) -> str:
    """Return the short name of a value's type, as error messages print it."""
    return type(value).__name__


class TTError(Exception):
    """The base of every exception that tt raises on purpose."""

    def __init__(self, *args: Any) -> None:
        if args and isinstance(args[0], str):
            # Messages name the function as the user called it, by an alias perhaps.
            args = (as_called(args[0]), *args[1:])
        super().__init__(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        # Not by calling the class: constructors take facts, and `args` is the text that they made of them.
        return _restored, (type(self), self.args), {**_members(self), **self.__dict__}

    def __setstate__(self, state: dict[str, Any] | None) -> None:
        _set(self, state or {})


def _set(error: BaseException, state: dict[str, Any]) -> None:
    for name, value in state.items():
        setattr(error, name, value)


def _restored(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """Return an exception as it was, from its class and arguments; its fields follow."""
    new = kind.__new__(kind)
    new.args = args
    return new


def _members(error: BaseException) -> dict[str, Any]:
    """Return the fields of an exception that are not in its `__dict__`: slots, and those of built-in classes."""
    return {
        name: getattr(error, name)
        for base in reversed(type(error).__mro__)
        if base is not BaseException
        for name, member in vars(base).items()
        if isinstance(member, MemberDescriptorType) and name != "__weakref__" and hasattr(error, name)
    }
