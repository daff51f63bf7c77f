"""Members of tensors that plugins bring: found at first use, then as fast as any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt.core.by_name import object_named
from tt.core.errors import (
    MemberError,
    PluginConflictError,
    PluginError,
    PluginFailedError,
    PluginMissingError,
)

__all__ = ["IdleMember", "IdleMethod", "LazyMember", "MissingMember"]


class LazyMember:
    """Stands on a class for a function, property or other descriptor of a plugin until it is first used.

    The first use activates the plugin, imports the target and puts it in place of this object.

    Parameters
    ----------
    owner : type
        The class that carries it.
    name : str
        The name of the attribute.
    target : callable
        Activates the plugin and returns "module:attribute" of what takes its place; raises when the plugin failed, is
        blocked or not installed, or several bring the member.
    """

    def __init__(self, owner: type, name: str, target: Callable[[], str]) -> None:
        self.owner, self.name, self._target = owner, name, target

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]  # mypy takes it for an attribute
        return getattr(self.resolve(), "__doc__", None)

    def resolve(self) -> Any:
        """Activate the plugin, replace this object by its target, and return the target."""
        target = self._find()
        try:
            member = object_named(target)
        except (ImportError, AttributeError) as error:
            raise PluginError(
                f"the member {self.name!r} of {self.owner.__name__} cannot be found at {target}: {error}"
            ) from error
        # On the class that declared it, so that the next use finds the member itself.
        setattr(self.owner, self.name, member)
        return member

    def _find(self) -> str:
        try:
            return self._target()
        except PluginConflictError:
            raise  # the plugins work: the user has to choose
        except (PluginError, PluginFailedError, PluginMissingError) as error:
            explained = MemberError(str(error))
            for note in getattr(error, "__notes__", ()):
                explained.add_note(note)
            raise explained from error

    # The target is bound here rather than looked up again: a subclass may override the name and call super().

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        member = self.resolve()
        bind = getattr(type(member), "__get__", None)
        return member if bind is None else bind(member, instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        member = self.resolve()
        if hasattr(type(member), "__set__"):
            member.__set__(instance, value)
        # As Python does for a function on the class: an attribute of the instance hides it.
        else:
            instance.__dict__[self.name] = value

    def __delete__(self, instance: Any) -> None:
        member = self.resolve()
        if hasattr(type(member), "__delete__"):
            member.__delete__(instance)
        else:
            object.__delattr__(instance, self.name)

    def __repr__(self) -> str:
        return f"<member {self.name!r} of {self.owner.__name__}, to be found at its first use>"


class MissingMember(LazyMember):
    """Stands for a member that a known plugin would bring, if it were usable: every use raises, with the reason."""


class IdleMember(MissingMember):
    """Stands for a member that has one value as long as its plugin is left out: what it does happens to no tensor.

    Reading it, and setting it to that value, is what programs do that run without the plugin; anything else raises.

    Parameters
    ----------
    owner, name, target
        As for `LazyMember`; the target raises, with the reason.
    value : object
        The value.
    """

    def __init__(self, owner: type, name: str, target: Callable[[], str], value: Any) -> None:
        super().__init__(owner, name, target)
        self.value = value

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return super().__get__(instance, owner) if instance is None else self.value

    def __set__(self, instance: Any, value: Any) -> None:
        if value is not self.value:
            self.resolve()

    def __delete__(self, instance: Any) -> None:
        """Do nothing: the member has its value already."""


class IdleMethod(IdleMember):
    """A method that gives one value, or, where that is NotImplemented, the tensor; called with False if anything."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return LazyMember.__get__(self, instance, owner)

        def method(*args: Any, **kwargs: Any) -> Any:
            if self.value is NotImplemented:
                # Called with nothing or with True it would have to act, and the plugin is left out.
                if any((*args, *kwargs.values())) or not (args or kwargs):
                    self.resolve()
                return instance
            return self.value

        return method
