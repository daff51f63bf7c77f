"""Packets: one name for several overloads, on the path of every call of such a name.

This is a hot module: plain Python that Cython compiles with the C types of `packets.pxd`.  `PacketOp`, the class that
users see, chooses among overloads for arguments of new types, raises errors and handles `out=`.
"""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.call.argument_kinds import FALL_THROUGH
from tt.core.tensor.base import TensorBase

if TYPE_CHECKING:
    from tt.core.dispatch.call.op_overload import OpOverload


class OpOverloadPacket:
    """The overloads of one name.

    Attributes
    ----------
    choices : dict
        The overload that took arguments of these types (and these keywords) before.
    unary : OpOverload or None
        The overload that a tensor alone calls.
    recent : tuple of (tuple of type, OpOverload)
        The types of the last call without keywords, and what took them.
    """

    choices: dict[Any, OpOverload]
    unary: OpOverload | None
    recent: tuple[tuple[type, ...], OpOverload | None]

    def __init__(self, unary: OpOverload | None) -> None:
        self.choices = {}
        self.unary = unary
        self.recent = ((), None)

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the overload that takes the arguments."""
        return self.call(args, kwargs)

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the overload that takes the arguments; apart from `__call__`, which has no C form."""
        if kwargs:
            key: tuple[Any, ...] = (*[type(value) for value in args], *kwargs)
            overload = self.choices.get(key)
        else:
            count = len(args)
            if count == 1 and self.unary is not None and isinstance(args[0], TensorBase):
                return self.unary.one(args[0])
            recent = self.recent
            key = recent[0]
            overload = recent[1] if count == len(key) else None
            if overload is not None:
                for place in range(count):
                    if type(args[place]) is not key[place]:
                        overload = None
                        break
            if overload is None:
                key = tuple([type(value) for value in args])
                overload = self.choices.get(key)
                if overload is not None:
                    self.recent = (key, overload)
        if overload is not None:
            result = overload.fast_path(args, kwargs)
            if result is not FALL_THROUGH:
                return result
        return self.choose(args, kwargs, key)

    def choose(self, args: tuple[Any, ...], kwargs: dict[str, Any], key: Any) -> Any:
        """Call the first overload that takes the arguments, and note it for arguments of these types."""
        raise NotImplementedError
