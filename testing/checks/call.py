"""Calls of operators, the tensors in their arguments, and copies with the memory layout of the originals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.dispatch.resolve.fallback import strided_tensor
from tt.core.dispatch.resolve.mixed_devices import transfer
from tt.core.errors import DispatchError, KernelContractError, NoKernelError, TTError, UnsupportedError
from tt.core.meta import describe
from tt.core.schema.model import Argument, OpDefinition, Signature
from tt.core.tensor.base import TensorBase
from tt.core.tensor.tensor import wrap
from tt.core.types.device import Device

if TYPE_CHECKING:
    from tt.core.dispatch.call.op_overload import OpOverload
    from tt.core.dispatch.call.operator import Operator
    from tt.core.tensor.tensor import Tensor
    from tt.core.types.dtype import dtype as Dtype

__all__ = [
    "UNDEFINED",
    "Array",
    "CheckedCall",
    "copied",
    "dense",
    "in_words",
    "is_strided",
    "map_tensors",
    "on_cpu",
    "plain",
    "refused",
    "tensors_in",
    "to_meta",
    "undefined",
    "unserved",
    "values",
]

Array = np.ndarray[Any, Any]
UNDEFINED: Final = frozenset(
    {"empty", "empty_permuted", "empty_strided", "empty_like", "new_empty", "new_empty_strided"}
)
"""Operators whose values are undefined."""

# --- tensors in arguments and results --------------------------------------------------------------------------


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


def on_cpu(value: Any) -> Any:
    """Return the same argument on the CPU: tensors, and devices that it names."""
    if isinstance(value, Device):
        return Device("cpu")
    return map_tensors(value, lambda t: t if t.device.type == "cpu" else t.to("cpu"))


def to_meta(value: Any) -> Any:
    """Return the same argument without data."""

    def without(tensor: Tensor) -> Any:
        if not is_strided(tensor):
            return transfer(tensor, Device("meta"))
        return wrap(describe(plain(tensor)), spec(tensor.dtype))

    spec = REGISTRY.backend("meta").spec
    return map_tensors(value, without)


def plain(tensor: Tensor) -> Any:
    """Return the tensor without its history."""
    return tensor.detach() if getattr(tensor, "requires_grad", False) else tensor


def is_strided(tensor: Tensor) -> bool:
    """Return whether a tensor is strided."""
    return bool(tensor.layout.name == "strided")


def dense(tensor: Any) -> Any:
    """Return a tensor with the same values that is strided and has no history."""
    return plain(tensor) if is_strided(tensor) else strided_tensor(plain(tensor))


def values(tensor: Tensor) -> Array:
    """Return the values as a NumPy array of its own."""
    return np.array(dense(tensor).to("cpu").numpy())


def whole(tensor: Tensor) -> Any:
    """Return the whole memory behind a strided tensor as a tensor of one dimension, or the tensor itself."""
    # Where arrays have no views, a tensor has no more memory than its own.
    if not is_strided(tensor) or not tensor._spec.backend.has_views:
        return tensor
    inner = plain(tensor)
    size = inner.untyped_storage().nbytes() // inner.dtype.itemsize
    reach = 1 + sum((n - 1) * s for n, s in zip(inner.shape, inner.stride(), strict=True))
    if 0 in inner.shape or inner.storage_offset() + reach > size:
        return inner
    return inner.as_strided((size,), (1,), 0)


def copied(args: Any, *, requires_grad: bool = True) -> Any:
    """Return copies of arguments: in the same memory layout, and sharing memory where the originals do.

    Parameters
    ----------
    args : object
        Arguments; values other than tensors stay.
    requires_grad : bool
        Whether copies of tensors that require a gradient do so, too.
    """
    # Two views of one memory stay two views of one copy: an operator may treat overlapping arguments otherwise.
    known: dict[Any, Any] = {}
    same: dict[int, Any] = {}

    def copy(tensor: Tensor) -> Any:
        if id(tensor) not in same:
            same[id(tensor)] = made(tensor)
        return same[id(tensor)]

    def made(tensor: Tensor) -> Any:
        base = plain(tensor)
        memory = whole(base)
        if memory is base:
            new = base.clone()
        else:
            # The dtype belongs to the key, as memory may be seen through two dtypes.
            key = (id(base._ensure_storage()), base.dtype)
            if key not in known:
                known[key] = memory.clone()
            new = known[key].as_strided(tuple(base.shape), tuple(base.stride()), base.storage_offset())
        new = new.detach() if hasattr(new, "detach") else new
        return new.requires_grad_() if requires_grad and getattr(tensor, "requires_grad", False) else new

    return map_tensors(args, copy)


def like(new: Any, old: Any) -> Any:
    """Return a new tensor as a leaf that requires a gradient where the old one does."""
    new = plain(new)
    new = new.detach() if hasattr(new, "detach") else new
    return new.requires_grad_() if getattr(old, "requires_grad", False) else new


def main_dtype(call: CheckedCall) -> Dtype | None:
    """Return the dtype of the first floating-point tensor of a call, else that of the first tensor."""
    dtypes = [t.dtype for t in tensors_in(call.args)]
    return next((d for d in dtypes if d.is_floating_point or d.is_complex), dtypes[0] if dtypes else None)


def device_type(call: CheckedCall) -> str:
    """Return the device type of a call's tensors."""
    return next((str(t.device.type) for t in tensors_in(call.args)), "cpu")


# --- calls -----------------------------------------------------------------------------------------------------


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
        return self.caller.operator

    @property
    def definition(self) -> OpDefinition:
        """The operator's definition in the schema."""
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


def unserved(error: Exception) -> bool:
    """Return whether an error says that nothing serves a call."""
    return isinstance(error, NoKernelError | UnsupportedError)


def refused(error: Exception) -> bool:
    """Return whether an error is a deliberate refusal of the values, not a failure of the operator."""
    return isinstance(error, TTError) and not isinstance(error, DispatchError | KernelContractError)


def undefined(call: CheckedCall) -> bool:
    """Return whether the values of the results are whatever was in the memory."""
    # A plugin's operator may have "empty" in its name and defined values.
    return call.definition.signature.namespace == "tt" and "empty" in call.definition.name


def in_words(error: Exception) -> str:
    """Return the kind of an error and the first line of its text."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
