"""The base of all exceptions, how they are pickled, and how messages name a value."""

from __future__ import annotations

from types import CodeType, MemberDescriptorType
from typing import Any, Final, cast

from tt.core.errors.aliases import as_called

_VARARGS: Final = 0x04  # inspect.CO_VARARGS, without the import of inspect


def describe(value: Any) -> str:
    """Return the short name of a value's type, as error messages print it."""
    return type(value).__name__


class FromText(type):
    """Lets libraries make an error of the same class with a longer text, as by ``type(error)(f"{error} in layer 3")``.

    Constructors take facts, of which they make the text; one that cannot take a single text is passed over.
    """

    _takes_facts: bool

    def __init__(cls, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        constructor: Any = cls.__init__  # type: ignore[misc]  # of this very class
        code = getattr(constructor, "__code__", None)
        cls._takes_facts = code is not None and not _takes_one(constructor, code)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return an error of facts, or of its text."""
        if cls._takes_facts and len(args) == 1 and not kwargs and isinstance(args[0], str):
            return _restored(cast(type[BaseException], cls), args)
        return super().__call__(*args, **kwargs)


def _takes_one(function: Any, code: CodeType) -> bool:
    """Return whether a method can be called with one argument by position."""
    most = code.co_argcount - 1
    least = most - len(function.__defaults__ or ())
    required = code.co_kwonlyargcount > len(function.__kwdefaults__ or ())
    return not required and least <= 1 and (most >= 1 or bool(code.co_flags & _VARARGS))


class TTError(Exception, metaclass=FromText):
    """The base of every exception that tt raises on purpose."""

    def __init__(self, *args: Any) -> None:
        if args and isinstance(args[0], str):
            # Messages name the function as the user called it, by an alias perhaps.
            args = (as_called(args[0]), *args[1:])
        super().__init__(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        # PyTorch reads its own classes, where `import torch` gives tt: they are called with the text.
        if type(self).__module__.partition(".")[0] == "torch":
            return type(self), self.args, {**_members(self), **self.__dict__}
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
