"""Packets: one name for several overloads, `tt.max(x)`, `tt.max(x, dim)`, `tt.max(x, other)`.

`OpOverloadPacket.call` is on the path of every call of such a name; `PacketOp`, the class that users see, chooses among
overloads for arguments of new types, raises errors and handles `out=`.  This is a hot module: plain Python that Cython
compiles with the C types of `packet.pxd`.
"""

from __future__ import annotations

from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any

from tt.core import plugins
from tt.core.dispatch.call.codes import FALL_THROUGH
from tt.core.dispatch.call.results import FACTORY_OPTIONS, with_options
from tt.core.dispatch.intercept.tt_function import NOT_HANDLED, call_refused, intercept, overrides
from tt.core.dispatch.mutate.out import call_with_out
from tt.core.dispatch.registry.registry import Operators, ops
from tt.core.errors import ArgumentError, UnknownOpError
from tt.core.tensor.base import TensorBase
from tt.core.types.spelling import SPELLING

if TYPE_CHECKING:
    from tt.core.dispatch.call.op_overload import OpOverload
    from tt.core.dispatch.registry.registry import Registry

__all__ = ["OpOverloadPacket", "PacketOp", "lookup"]


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

    # As an overload does: a method of tensors and of what is like one, else a plain value.
    def __get__(self, instance: Any, owner: Any) -> Any:
        if isinstance(instance, TensorBase) or (instance is not None and overrides(type(instance))):
            return MethodType(self, instance)
        return self

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
            # One tuple, replaced as a whole: another thread never sees the types
            # of one call with the overload of another.
            recent = self.recent
            key = recent[0]
            overload = recent[1] if count == len(key) else None
            if overload is not None:
                for index in range(count):
                    if type(args[index]) is not key[index]:
                        overload = None
                        break
            if overload is None:
                # Through a list: a generator costs more than the look-up.
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


# An extension type has neither attributes for the overloads nor a property `__doc__`.
class PacketOp(OpOverloadPacket):
    """Chooses among the overloads of one name by the arguments.

    The overloads are attributes: `tt.max.dim`, `tt.max.default`.
    """

    def __init__(self, name: str, op_overloads: dict[str, OpOverload]) -> None:
        super().__init__(
            next((overload for overload in op_overloads.values() if overload.leading == 1), None)
        )
        self.__name__ = self.__qualname__ = self.name = name
        self.__annotations__ = {}  # as functions written in C: `typing.get_type_hints` asks for them
        self.op_overloads = op_overloads
        # A tensor of one integer could be a dim, too, so overloads with more tensors come first.
        self._in_turn = sorted(op_overloads.values(), key=_fewest_tensors_last)
        for overload_name, overload in op_overloads.items():
            setattr(self, overload_name or "default", overload)

    @property
    def __module__(self) -> str:  # type: ignore[override]  # mypy takes it for an attribute
        return SPELLING.spelled(next(iter(self.op_overloads.values())).operator.module)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]  # mypy takes it for an attribute
        return "\n\n".join(str(overload.__doc__) for overload in self.op_overloads.values())

    def overloads(self) -> list[str]:
        """Return the names of the overloads."""
        return [name or "default" for name in self.op_overloads]

    @property
    def form(self) -> str:
        """The form of the overloads: functional or inplace."""
        return next(iter(self.op_overloads.values())).form

    def _makes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Return whether a call makes a tensor: `normal` of numbers does, `normal` of tensors does not."""
        factories = [overload.operator.is_factory for overload in self.op_overloads.values()]
        of_tensors = any(isinstance(value, TensorBase) for value in (*args, *kwargs.values()))
        return all(factories) or (any(factories) and not of_tensors)

    def choose(self, args: tuple[Any, ...], kwargs: dict[str, Any], key: Any) -> Any:
        """Call the first overload that takes the arguments."""
        options: dict[str, Any] = {name: kwargs[name] for name in FACTORY_OPTIONS if name in kwargs}
        # The tensor of `out=` is hidden: it does not turn a factory into an operator of tensors.
        if options and self._makes(args, {**kwargs, "out": None}):
            result = self(*args, **{name: value for name, value in kwargs.items() if name not in options})
            return with_options(result, options, filled=kwargs.get("out") is not None)
        if "out" in kwargs:
            return self._call_with_out(args, kwargs)
        # The overload chosen for arguments of these types before is tried first.
        overload = self.choices.get(key)
        if overload is not None:
            try:
                bound = self._bind(overload, args, kwargs)
            except ArgumentError:
                pass
            else:
                return overload.called(bound, self, args, kwargs)
        for overload in self._in_turn:
            try:
                bound = self._bind(overload, args, kwargs)
            except ArgumentError:
                continue
            self.choices[key] = overload
            return overload.called(bound, self, args, kwargs)
        return call_refused(self, self._refusal(args, kwargs), args, kwargs)

    def _call_with_out(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        kwargs = dict(kwargs)
        out = kwargs.pop("out")
        if out is None:
            return self(*args, **kwargs)
        # Overloads with as many results as `out=` come first: `max(x, y, out=z)` is not the reduction, which fills two
        # tensors.  Overloads without an out= form come last; their error says so.
        count = len(out) if isinstance(out, list | tuple) else 1

        def fit(overload: OpOverload) -> int:
            operator = overload.operator
            return 2 if not operator.definition.has_out else int(operator.out_count != count)

        for overload in sorted(self.op_overloads.values(), key=fit):
            try:
                bound = self._bind(overload, args, kwargs)
            except ArgumentError:
                continue
            result = intercept(self, args, {**kwargs, "out": out}, out)
            return call_with_out(overload.operator, bound, out) if result is NOT_HANDLED else result
        return call_refused(self, self._refusal(args, kwargs), args, {**kwargs, "out": out})

    @staticmethod
    def _bind(overload: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        binder = overload.binder or overload.operator.binder(overload)
        bound: tuple[Any, ...] = binder(args, kwargs)
        return bound

    def _refusal(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ArgumentError:
        types = [type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()]
        return ArgumentError(
            self.name,
            f"received an invalid combination of arguments - got ({', '.join(types)})",
            signatures=[str(overload.schema) for overload in self.op_overloads.values()],
        )

    def __repr__(self) -> str:
        return f"<op {self.name} with overloads {', '.join(o or 'default' for o in self.op_overloads)}>"

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return _reload, (self.name, self.form)


def _fewest_tensors_last(overload: OpOverload) -> int:
    arguments = overload.operator.definition.signature.arguments
    return -sum(str(a.type) == "Tensor" for a in arguments)


def _reload(name: str, form: str) -> Any:
    return getattr(ops, name)


def lookup(registry: Registry, namespace: str, name: str) -> Any:
    """Return the packet or overload for `ops.<name>`; see `Operators`.

    Raises
    ------
    UnknownOpError
        With the nearest names.
    """
    qualified = f"{namespace}::{name}" if namespace else name
    form = "functional"
    overloads = registry.overloads(qualified)
    if not overloads and not namespace:
        original = registry.definition_table.original(name)
        if original != name:
            return lookup(registry, namespace, original)
    if not overloads and name.endswith("_") and not name.endswith("__"):
        overloads, form = registry.overloads(qualified[:-1]), "inplace"
        overloads = tuple(o for o in overloads if registry.operator(o).definition.has_inplace)
    if overloads:
        members = {o.removeprefix(qualified.removesuffix("_")).lstrip("_").lstrip("."): registry.overload(o, form)
                   for o in overloads}  # fmt: skip
        # A single overload needs no choice, so the name is the overload itself.  Where others may add overloads, a
        # named one is found by its name.
        if len(members) == 1 and (not namespace or "" in members):
            return next(iter(members.values()))
        # One object for `tt.max`, `tt.Tensor.max` and all aliases: `__tt_function__` compares functions.
        return registry.packets.setdefault(
            (qualified.removesuffix("_" * (form == "inplace")), form), PacketOp(name, members)
        )
    known = any(n.startswith(f"{name}::") for n in list(registry.definition_table.added))
    if not namespace and (known or plugins().activate("namespace", name)):
        return Operators(registry, name)
    raise UnknownOpError(qualified, partial(known_names, registry))


def known_names(registry: Registry) -> list[str]:
    """Return the names of all operators, and their namespaces, which may be what was misspelled."""
    names = registry.names()
    return [*names, *dict.fromkeys(name.partition("::")[0] for name in names if "::" in name)]
