"""Written-out calls: where the hot modules are interpreted, each operator is called by a function made for it.

Note [Written-out calls]
------------------------
Interpreted, a look at a description (`Caller.quick`) costs many times what the thing described costs.  So the loop over
the parameters, the table of choices and the wrapping of results are written out as Python functions: one for each
shape of a signature and one for each shape of an entry, compiled once for all operators of the same shape.  They do
what `Caller.quick` and `Entry.run` do, compare the same numbers (keys, bits, epoch) with an entry that `Caller.find`
gave, and leave what those leave; each function keeps a last entry of its own, since `caller.last` costs a search in a
dictionary.  A function learns the text of the first entry that it serves, and calls others.  An operator gets its
function when it is resolved first.  Compiled modules never come here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from tt.core import compiled
from tt.core.dispatch.callers import Caller
from tt.core.dispatch.packets import Packet
from tt.core.dispatch.quick import MISSED
from tt.core.dispatch.short_callers import BinaryCaller, UnaryCaller
from tt.core.dispatch.written_calls import PLACES, as_written, written
from tt.core.dispatch.written_text import ABSENT
from tt.core.tensor_base import TensorBase

__all__ = ["ACTIVE", "bound_by_c", "take_over", "take_over_packet", "written"]

ACTIVE: Final = not compiled.status().active
"""Whether calls are written out: where nothing is compiled."""

_PLAIN_CALLS: Final = tuple(kind.__call__ for kind in (Caller, UnaryCaller, BinaryCaller))


def bound_by_c(method: Any) -> Any:
    """Return a descriptor that gives an operator to the class and binds it to instances, without a call in Python.

    What is not CPython does without.
    """
    try:
        from ctypes import py_object, pythonapi

        make = pythonapi.PyInstanceMethod_New
    except (ImportError, AttributeError):
        return method
    make.restype, make.argtypes = py_object, [py_object]
    return make(method)


def take_over(caller: Caller) -> None:
    """Let calls of an operator go to its written-out function."""
    kind = type(caller)
    if kind.__call__ not in _PLAIN_CALLS:
        return

    def missed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = caller.quick(args, kwargs)
        return caller.general(args, kwargs) if result is MISSED else result

    function = written(caller, missed)
    if function is not None:
        _become(caller, function)


def take_over_packet(packet: Packet) -> None:
    """Let calls of several overloads under one name go to the function of the one that takes the arguments."""
    if type(packet).__call__ is not Packet.__call__:
        return
    functions: dict[Any, Callable[..., Any] | None] = {}
    find = functions.get
    general = packet.call

    def learn(args: tuple[Any, ...]) -> Any:
        """Make a call, and write out what took arguments of these types."""
        result = general(args, {})
        types = tuple(map(type, args))
        caller = packet.choices.get(types)
        if caller is None and len(args) == 1 and isinstance(args[0], TensorBase):
            caller = packet.unary
        if types not in functions and caller is not None and caller.last.epoch >= 0:
            functions[types] = written(caller, general, types, settled=partial(prefer, types, caller))
        return result

    def prefer(types: tuple[type, ...], caller: Caller) -> None:
        """Let calls with arguments of the types that settle first begin in the function for them."""
        kind = type(packet)
        if vars(kind)["__call__"].__func__ is call and 0 < len(types) <= PLACES:
            function = written(caller, general, types, otherwise=call)
            if function is not None:
                kind.__call__ = staticmethod(function)  # type: ignore[method-assign]

    # The types and the function of the last call, for one, two and three arguments; each is replaced as a whole.
    last1: Any = (ABSENT, None)
    last2: Any = (ABSENT, None, None)
    last3: Any = (ABSENT, None, None, None)

    def call(p0: Any = ABSENT, p1: Any = ABSENT, p2: Any = ABSENT, /, *more: Any, **named: Any) -> Any:
        nonlocal last1, last2, last3
        if named or more or p0 is ABSENT:
            args = as_written((p0, p1, p2), more)
            return general(args, named) if named or not more else further(args)
        if p1 is ABSENT:
            t0, function = last1
            if type(p0) is not t0:
                function = find((type(p0),))
                if function is None:
                    return learn((p0,))
                last1 = type(p0), function
            return function(p0)
        if p2 is ABSENT:
            t0, t1, function = last2
            if type(p0) is not t0 or type(p1) is not t1:
                function = find((type(p0), type(p1)))
                if function is None:
                    return learn((p0, p1))
                last2 = type(p0), type(p1), function
            return function(p0, p1)
        t0, t1, t2, function = last3
        if type(p0) is not t0 or type(p1) is not t1 or type(p2) is not t2:
            function = find((type(p0), type(p1), type(p2)))
            if function is None:
                return learn((p0, p1, p2))
            last3 = type(p0), type(p1), type(p2), function
        return function(p0, p1, p2)

    def further(args: tuple[Any, ...]) -> Any:
        function = find(tuple(map(type, args)))
        return learn(args) if function is None else function(*args)

    _become(packet, call)


def _become(thing: Any, function: Callable[..., Any]) -> None:
    """Make a function what an object does when it is called: the object's class gets it as `__call__`."""
    kind = type(thing)
    names = {"__call__": staticmethod(function), "__slots__": (), "__qualname__": kind.__qualname__}
    names |= {name: vars(kind)[name] for name in ("__doc__", "__module__") if name in vars(kind)}
    thing.__class__ = type(kind.__name__, (kind,), names)
