"""Placement: tensors of device types that have several devices.

Note [Several devices of one type]
----------------------------------
Kernels get bare handles and cannot choose among several devices for new ones.  Tensors of a backend
with more than one device carry the key bit of this layer, which finds the device that the tensors of a call (or its
`device=`) name, refuses a call whose tensors are on several, makes that device the current one while the kernel runs,
and notes it in the results.  Types with one device never meet it, so their calls cost nothing more.

Rejected: the device as an argument of every kernel, which the functions of array libraries do not take; and a check in
`CachedCall.run_kernel`, which every call of every backend would pay for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.call.codes import KERNEL
from tt.core.dispatch.call.kernel_errors import names_methods
from tt.core.dispatch.intercept.layers import Layer, LayerFunction
from tt.core.errors import DeviceMismatchError
from tt.core.tensor.base import TensorBase
from tt.core.tensor.tensor import wrap
from tt.core.types.device import Device, get_default_device

if TYPE_CHECKING:
    from tt.core.dispatch.call.cached_call import CachedCall
    from tt.core.dispatch.call.operator import Operator

__all__ = ["PlacementLayer"]


class PlacementLayer(Layer):
    """Runs a call on the device of its tensors."""

    name = "placement"
    order = 5  # below functionalisation, whose takes and writes are calls of the backend, not of operators

    def rule(self, operator: Operator, form: str) -> LayerFunction | None:
        """Return how the layer handles a form of an operator: kernels run here, all else meets the layer again."""
        # `out=` arrives as the functional form and a copy.
        if form == "out":
            return None
        return _copy_to if operator.name == "_to_copy" else _copy_from if operator.name == "copy" else _run


def _named_tensors(operator: Operator, args: Sequence[Any]) -> Iterator[tuple[str, TensorBase]]:
    """Yield the tensors of a call with the names of their arguments."""
    for position, value in enumerate(args):
        name = operator.arguments[position].name
        if isinstance(value, TensorBase):
            yield name, value
        elif isinstance(value, list | tuple):
            for index, item in enumerate(value):
                if isinstance(item, TensorBase):
                    yield f"{name}[{index}]", item


def _home(operator: Operator, args: Sequence[Any]) -> Device:
    """Return the device of a call; its tensors all have to be there.

    Raises
    ------
    DeviceMismatchError
        When they are on several devices.
    """
    tensors = list(_named_tensors(operator, args))
    asked = args[operator.device_at] if operator.device_at >= 0 else None
    if asked is not None or not tensors:
        return asked or get_default_device()
    home = tensors[0][1].device
    # By identity: there is one object for each device.
    if any(tensor.device is not home for _, tensor in tensors):
        raise DeviceMismatchError(
            operator.definition.signature.name, [(name, str(tensor.device)) for name, tensor in tensors]
        )
    return home


@names_methods
def _run(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    below = cached.below
    if below.kind != KERNEL:
        return below.run(args)  # a composite or a mixed call: its parts meet the layer
    if below.choose(args) is None:
        return below.operator.resolve_rest(below).run(args)
    backend = below.backend
    device = backend.place(_home(cached.operator, args))
    with backend.guard(device):
        return _placed(below.run(args), device, args)


def _placed(result: Any, device: Device, args: Sequence[Any]) -> Any:
    """Note the device in the tensors that a kernel returned."""
    if isinstance(result, TensorBase):
        # An argument that is returned keeps its device: the call has not made it.
        if result._spec.device is not device and not any(result is value for value in args):
            result._set_data(result._handle, result._spec.backend.spec(result.dtype, device))
    elif isinstance(result, list | tuple):
        for item in result:
            _placed(item, device, args)
    return result


@names_methods
def _copy_to(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    """Copy to the requested device, which may be another one of the same type."""
    operator, source = cached.operator, args[0]
    asked = args[operator.device_at]
    if asked is None or asked.type != source.device.type:
        return _run(cached, (*args[: operator.device_at], source.device, *args[operator.device_at + 1 :])
                    if asked is None else args)  # fmt: skip
    backend = source._spec.backend
    target = backend.place(asked)
    # A kernel runs with one device current; the backend's copy knows both.
    if target is not source.device:
        source = wrap(backend.copy_to(source._handle, target), backend.spec(source.dtype, target))
        if args[operator.dtype_at] in (None, source.dtype):
            return source
    return _run(cached, (source, *args[1 : operator.device_at], target, *args[operator.device_at + 1 :]))


@names_methods
def _copy_from(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    """Copy into a tensor from one that may be on another device of the same type."""
    target, source = args[0], args[1]
    if source.device is not target.device and source.device.type == target.device.type:
        backend = target._spec.backend
        moved = backend.copy_to(source._handle, target.device)
        args = (target, wrap(moved, backend.spec(source.dtype, target.device)), *args[2:])
    return _run(cached, args)
