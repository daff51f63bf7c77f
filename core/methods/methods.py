"""Methods: puts operators on `Tensor`, from the schema, and members that are not operators.

`Tensor.add` is found through a small descriptor that looks the operator up at first use and then takes its place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tt.core.dispatch.call.packet import lookup
from tt.core.dispatch.intercept.further_forms import number_as_tensor
from tt.core.dispatch.intercept.tt_function import overrides
from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.methods import creation
from tt.core.methods.array_operands import ARRAYS, from_array, of_one_dtype
from tt.core.methods.attributes import LATE_MEMBERS, MEMBERS
from tt.core.methods.lazy_member import LazyMember
from tt.core.methods.left_out_members import NAMES, LeftOutMember, without_left_out
from tt.core.schema.snapshot import methods, properties
from tt.core.tensor.base import TensorBase
from tt.core.tensor.generator import Generator
from tt.core.tensor.storage import provide_members
from tt.core.tensor.tensor import Tensor, answers_operators
from tt.core.types.device import Device
from tt.core.types.protocols import FUNCTION_METHODS, spell_both

__all__ = ["LazyMethod", "install"]


class LazyMethod:
    """Represents an operator on `Tensor` until it is used first."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        method = lookup(REGISTRY, "", self.name)
        # On the class, so that this object is asked once for each name.
        setattr(Tensor, self.name, method)
        return method.__get__(instance, owner)


def _attribute(name: str, doc: str) -> property:
    """Return an operator that takes nothing but the tensor as an attribute of it."""

    def get(self: Any) -> Any:
        return getattr(ops, name)(self)

    def assign(self: Any, value: Any) -> None:
        get(self)[...] = value

    get.__name__ = name
    return property(get, assign if name in ("real", "imag") else None, doc=doc)


# --- Python's operators ----------------------------------------------------------------------------------------

# The types that tt's operators accept as other operand, the most frequent first; for others Python tries the other
# operand's method.
_OPERANDS = (Tensor, TensorBase, int, float, complex, np.number, np.bool_)


def _binary(dunder: str, name: str) -> Callable[[Any, Any], Any]:
    """Return a method that looks its operator up when it is first called, and then leaves its place to a faster one."""

    def first_call(self: Any, other: Any) -> Any:
        operator = getattr(ops, name)
        operator = getattr(
            operator, "default", operator
        )  # of several overloads the one whose first operand is a tensor
        method = (_multiplying if name == "matmul" else _calling)(getattr(operator, "two", operator))
        method.__name__ = method.__qualname__ = dunder
        # In place of this function: later calls go straight to the overload.
        setattr(Tensor, dunder, method)
        return method(self, other)

    return first_call


def _calling(two: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        # Known types first; `overrides` looks at attributes of the class.
        if isinstance(other, _OPERANDS) or overrides(type(other)):
            return two(self, other)
        return two(self, from_array(other)) if type(other) in ARRAYS else NotImplemented

    return method


def _multiplying(two: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Do the same for matrix products, which promote the dtypes of arrays only."""

    def method(self: Any, other: Any) -> Any:
        if isinstance(other, _OPERANDS) or overrides(type(other)):
            return two(self, other)
        return two(*of_one_dtype(self, from_array(other))) if type(other) in ARRAYS else NotImplemented

    return method


def _rmatmul(self: Any, other: Any) -> Any:
    if type(other) in ARRAYS:
        return ops.matmul(*of_one_dtype(from_array(other), self))
    return (
        ops.matmul(other, self) if isinstance(other, _OPERANDS) or overrides(type(other)) else NotImplemented
    )


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, _OPERANDS) or overrides(type(other)):
            return function(self, other)
        return function(self, from_array(other)) if type(other) in ARRAYS else NotImplemented

    return method


def _inplace(name: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, _OPERANDS) or overrides(type(other)):
            return getattr(ops, name)(self, other)
        return getattr(ops, name)(self, from_array(other)) if type(other) in ARRAYS else NotImplemented

    return method


def _as_tensor(other: Any, like: Any) -> Any:
    """Return the other operand as a tensor."""
    return other if isinstance(other, TensorBase) or overrides(type(other)) else number_as_tensor(other, like)


def _rdiv(self: Any, other: Any) -> Any:
    # As in PyTorch, whose result rounds differently from that of a division.
    return ops.mul(ops.reciprocal(self), other)


def _rpow(self: Any, other: Any) -> Any:
    return ops.pow(other, self)


DUNDERS: dict[str, Callable[..., Any]] = {
    "__add__": _binary("__add__", "add"),
    "__radd__": _binary("__radd__", "add"),
    "__sub__": _binary("__sub__", "sub"),
    "__rsub__": _binary("__rsub__", "rsub"),
    "__mul__": _binary("__mul__", "mul"),
    "__rmul__": _binary("__rmul__", "mul"),
    "__truediv__": _binary("__truediv__", "div"),
    "__rtruediv__": _reflected(_rdiv),
    "__rdiv__": _reflected(_rdiv),
    "__floordiv__": _binary("__floordiv__", "floor_divide"),
    # `floor_divide` has no form for numbers, so the number becomes a tensor of the common dtype.
    "__rfloordiv__": _reflected(lambda self, other: ops.floor_divide(_as_tensor(other, self), self)),
    "__mod__": _binary("__mod__", "remainder"),
    "__rmod__": _reflected(lambda self, other: ops.remainder(other, self)),
    "__pow__": _binary("__pow__", "pow"),
    "__rpow__": _reflected(_rpow),
    "__matmul__": _binary("__matmul__", "matmul"),
    "__rmatmul__": _rmatmul,
    "__and__": _binary("__and__", "bitwise_and"),
    "__rand__": _binary("__rand__", "bitwise_and"),
    "__or__": _binary("__or__", "bitwise_or"),
    "__ror__": _binary("__ror__", "bitwise_or"),
    "__xor__": _binary("__xor__", "bitwise_xor"),
    "__rxor__": _binary("__rxor__", "bitwise_xor"),
    "__lshift__": _binary("__lshift__", "bitwise_left_shift"),
    "__rlshift__": _reflected(lambda self, other: ops.bitwise_left_shift(other, self)),
    "__rshift__": _binary("__rshift__", "bitwise_right_shift"),
    "__rrshift__": _reflected(lambda self, other: ops.bitwise_right_shift(other, self)),
    "__eq__": _binary("__eq__", "eq"),
    "__ne__": _binary("__ne__", "ne"),
    "__lt__": _binary("__lt__", "lt"),
    "__le__": _binary("__le__", "le"),
    "__gt__": _binary("__gt__", "gt"),
    "__ge__": _binary("__ge__", "ge"),
    "__neg__": lambda self: ops.neg(self),
    "__pos__": lambda self: self,
    "__abs__": lambda self: ops.abs(self),
    "__invert__": lambda self: ops.bitwise_not(self),
    "__iadd__": _inplace("add_"),
    "__isub__": _inplace("sub_"),
    "__imul__": _inplace("mul_"),
    "__itruediv__": _inplace("div_"),
    "__ifloordiv__": _inplace("floor_divide_"),
    "__imod__": _inplace("remainder_"),
    "__ipow__": _inplace("pow_"),
    "__iand__": _inplace("bitwise_and_"),
    "__ior__": _inplace("bitwise_or_"),
    "__ixor__": _inplace("bitwise_xor_"),
    "__ilshift__": _inplace("bitwise_left_shift_"),
    "__irshift__": _inplace("bitwise_right_shift_"),
}


def _rename(member: Any, name: str) -> None:
    """Give a function the name that it has on `Tensor`, which handlers see, unless it has another one there."""
    own = getattr(member, "__name__", None)
    if own is not None and own != name and MEMBERS.get(own) is not member:
        member.__name__, member.__qualname__ = name, f"Tensor.{name}"


# --- constructor and subclasses: see Note [Members above the dispatcher] ---------------------------------------------


def _new(cls: type[Tensor], *args: Any, device: Any = None, **data: Any) -> Tensor:
    """Make a tensor of sizes or data; see `legacy_constructor`."""
    from tt.core.methods.legacy_constructor import construct  # which most programs do without

    return construct(cls, *args, device=device, **data)


def _init_subclass(cls: type[Tensor], /, **options: Any) -> None:
    super(Tensor, cls).__init_subclass__(**options)
    from tt.core.methods.tensor_subclasses import prepare_subclass  # which looks at what is installed here

    prepare_subclass(cls)


def _tt_function(
    cls: type[Tensor],
    func: Any,
    types: tuple[type, ...],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call a function with instances of a subclass; its results are of the subclass, too.

    A subclass that overrides this sees each call of an operator, a method or a property with its instances, and
    carries it out with `super().__tt_function__(func, types, args, kwargs)`.

    Parameters
    ----------
    func : callable
        The called function.
    types : tuple of type
        The classes of the arguments that have `__tt_function__`.
    args, kwargs
        The arguments as they were written.

    Returns
    -------
    object
        The result, or NotImplemented to leave the call to the class of another argument.
    """
    from tt.core.methods.tensor_subclasses import call_preserving  # which looks at what is installed here

    return call_preserving(cls, func, types, args, kwargs)


CONSTRUCTING: dict[str, Any] = {
    "__new__": staticmethod(_new),
    "__init_subclass__": classmethod(_init_subclass),
    "__tt_function__": classmethod(_tt_function),
}


def _prepare_subclasses(kind: type[Tensor]) -> None:
    """Prepare the subclasses that were defined before `__init_subclass__` was there."""
    for subclass in kind.__subclasses__():
        spell_both(subclass, FUNCTION_METHODS)
        if overrides(subclass) or answers_operators(subclass):
            from tt.core.methods.tensor_subclasses import (
                prepare_subclass,  # which looks at what is installed here
            )

            prepare_subclass(subclass)
        _prepare_subclasses(subclass)


def _get_state(self: Generator) -> Tensor:
    """Return seed and offset as a tensor of 16 bytes."""
    return creation.from_array(self.state_bytes(), Device("cpu"))


def _storage_bytes() -> Any:
    from tt.core.methods.memory import storage_bytes  # which few programs use

    return storage_bytes


def _storage_sharing() -> Any:
    from tt.core.methods.memory import storages  # which few programs use

    return storages


def install() -> None:
    """Put operators, Python's operators and the core's members on `Tensor`; doing it twice does nothing."""
    if "__add__" in vars(Tensor):
        return

    # Members first, so that a method of the schema does not take their place.
    for name, member in MEMBERS.items():
        _rename(member, name)
        setattr(Tensor, name, member)
    for name, module in LATE_MEMBERS.items():
        setattr(Tensor, name, LazyMember(Tensor, name, partial("{}:{}".format, module, name)))
    for name in methods():
        if name not in vars(Tensor):
            setattr(Tensor, name, LazyMethod(name))
    for name, doc in properties().items():
        setattr(Tensor, name, _attribute(name, doc))
    # The names show in tracebacks and in `__tt_function__`.
    for name, function in {**DUNDERS, "__dir__": without_left_out}.items():
        function.__name__ = function.__qualname__ = name
        setattr(Tensor, name, function)
    # Last: a left-out name that a plugin or the schema brings is not left out.
    for name in NAMES:
        if name not in vars(Tensor):
            setattr(Tensor, name, LeftOutMember(name))
    for name, bound in CONSTRUCTING.items():
        bound.__func__.__name__, bound.__func__.__qualname__ = name, f"Tensor.{name}"
        setattr(Tensor, name, bound)
    spell_both(Tensor, FUNCTION_METHODS)
    _get_state.__name__, _get_state.__qualname__ = "get_state", "Generator.get_state"
    Generator.get_state = _get_state  # type: ignore[method-assign]  # as those of tensors
    provide_members(_storage_bytes, _storage_sharing)
    # Equality is elementwise, but tensors are hashed by identity, as PyTorch's are.
    Tensor.__hash__ = lambda self: id(self)  # type: ignore[method-assign]  # made here, as all methods are
    _prepare_subclasses(Tensor)
