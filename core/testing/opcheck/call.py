"""Calls: one form of an operator with all its arguments, copied, changed and run again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tt.core.errors import (
    ArgumentError,
    DispatchError,
    KernelContractError,
    NoKernelError,
    TTError,
    UnsupportedError,
)
from tt.core.schema.model import Argument, OpDefinition, Signature
from tt.core.tensor.base import TensorBase

if TYPE_CHECKING:
    from tt.core.dispatch.call.callers import OpOverload
    from tt.core.dispatch.call.operator import Operator

__all__ = ["CheckedCall", "bind", "in_words", "map_tensors", "refused", "tensors_in", "undefined", "unserved"]


def tensors_in(value: Any) -> Iterator[Any]:
    """Yield the tensors of an argument or a result, in order."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)


def map_tensors(value: Any, function: Callable[[Any], Any]) -> Any:
    """Return the value with the function applied to every tensor in it."""
    if isinstance(value, TensorBase):
        return function(value)
    if isinstance(value, Mapping):
        return {name: map_tensors(item, function) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([map_tensors(item, function) for item in value])
    return value


@dataclass(frozen=True)
class CheckedCall:
    """One call.

    Attributes
    ----------
    caller : OpOverload
        One form of one operator.
    args : tuple
        All arguments in the order of the schema.
    on : str
        How the arguments were made from those that the user gave.
    """

    caller: OpOverload
    args: tuple[Any, ...]
    on: str = "the given arguments"

    @property
    def operator(self) -> Operator:
        """The operator."""
        operator: Operator = self.caller.operator
        return operator

    @property
    def definition(self) -> OpDefinition:
        """What the schema says of the operator."""
        return self.operator.definition

    @property
    def signature(self) -> Signature:
        """The signature of the form."""
        return self.operator.signature(self.caller.form)

    @property
    def tags(self) -> tuple[str, ...]:
        """The operator's tags."""
        return self.definition.tags

    def named(self) -> Iterator[tuple[Argument, Any]]:
        """Yield every argument of the schema with its value."""
        yield from zip(self.signature.arguments, self.args, strict=True)

    def tensors(self) -> Iterator[tuple[Argument, str, Any]]:
        """Yield every tensor with its argument and its name: "x", or "xs[1]" in a list."""
        for argument, value in self.named():
            if isinstance(value, TensorBase):
                yield argument, argument.name, value
            else:
                for index, tensor in enumerate(tensors_in(value)):
                    yield argument, f"{argument.name}[{index}]", tensor

    def with_tensors(self, tensors: Sequence[Any], on: str | None = None) -> CheckedCall:
        """Return the same call with other tensors, in the order of `tensors`."""
        rest = iter(tensors)
        return replace(
            self, args=map_tensors(self.args, lambda _: next(rest)), on=self.on if on is None else on
        )

    def map(self, function: Callable[[Any], Any], on: str | None = None) -> CheckedCall:
        """Return the same call with a function applied to every tensor."""
        return self.with_tensors([function(t) for t in tensors_in(self.args)], on)

    def run(self) -> Any:
        """Make the call."""
        return self.caller.dispatch(self.args)


def bind(op: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> CheckedCall:
    """Return the call that `op(*args, **kwargs)` makes.

    Parameters
    ----------
    op : operator, CustomOp or str
        `tt.ops.acme.twice`, what `custom_op` returned, or "acme::twice".
    args, kwargs : sequence, mapping
        Of the call.

    Raises
    ------
    ArgumentError
        When `op` is no operator or does not take the arguments.
    """
    from tt.core.dispatch.call.callers import OpOverload
    from tt.core.dispatch.call.overloads import PacketOp

    if isinstance(args, TensorBase) or not isinstance(args, list | tuple):
        raise ArgumentError(
            "opcheck",
            f"args must be a tuple of the operator's arguments, not {type(args).__name__}",
            hint="opcheck(op, (x,))",
        )
    found = find(op)
    named = dict(kwargs or {})
    if isinstance(found, PacketOp):
        for caller in found.callers.values():
            try:
                return CheckedCall(caller, PacketOp._bind(caller, tuple(args), named))
            except ArgumentError:
                continue
        raise found._refusal(tuple(args), named)
    if not isinstance(found, OpOverload):
        raise ArgumentError(
            "opcheck",
            f"{op!r} is no operator",
            hint="give tt.ops.namespace.name, what custom_op returned, or 'namespace::name'",
        )
    return CheckedCall(found, PacketOp._bind(found, tuple(args), named))


def find(op: Any) -> Any:
    """Return the caller of an operator, or its overloads, that a user named in one of several ways."""
    from tt.core.custom_op.custom_op import CustomOp
    from tt.core.dispatch.registry.registry import REGISTRY, ops
    from tt.core.startup import start

    start()
    if isinstance(op, CustomOp):
        return REGISTRY.caller(op.name)
    if isinstance(op, str):
        found: Any = ops
        for part in op.removeprefix("tt::").replace("::", ".").split("."):
            found = getattr(found, part)
        return found
    return op


def unserved(error: Exception) -> bool:
    """Tell whether an error says that nothing serves a call."""
    return isinstance(error, NoKernelError | UnsupportedError)


def refused(error: Exception) -> bool:
    """Tell whether an error says on purpose that the operator does not take these values, rather than that it broke."""
    return isinstance(error, TTError) and not isinstance(error, DispatchError | KernelContractError)


def undefined(call: CheckedCall) -> bool:
    """Tell whether the values of the results are whatever was in the memory."""
    return call.definition.signature.namespace == "tt" and "empty" in call.definition.name


def in_words(error: Exception) -> str:
    """Return the kind of an error and the first line of its text."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
