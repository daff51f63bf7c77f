"""Calls with tensors on several device types: the slow path, which permits what PyTorch permits.

Permitted are zero-dimensional CPU tensors beside tensors of another device in pointwise operators, CPU indices of
tensors on another device, and the operators that move data (`copy_`, `_to_copy`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt.core.errors import DeviceMismatchError
from tt.core.tensor import Tensor, wrap
from tt.core.tensor_base import TensorBase

if TYPE_CHECKING:
    from tt.core.device import Device
    from tt.core.dispatch.entry import Entry
    from tt.core.dispatch.operator import Operator

__all__ = ["run_mixed", "transfer"]

_INDEX_ARGUMENTS = {"index": "indices", "index_put": "indices"}


def transfer(tensor: TensorBase, device: Device) -> Tensor:
    """Return a copy of a strided tensor on another device, by way of the host.

    To the meta device only the shape goes; from it nothing can come.
    """
    from tt.core.dispatch.registry import REGISTRY
    from tt.core.errors import DeviceError

    source = tensor.spec.backend
    target = REGISTRY.backend(device.type, "strided")
    if device.type == "meta":
        return wrap(
            target.empty(tuple(tensor.handle.shape), target.native_dtype(tensor.dtype)),
            target.spec(tensor.dtype),
        )
    if tensor.device.type == "meta":
        raise DeviceError("a meta tensor has no data to copy\n  try: tt.empty_like(x, device=...)")
    target.require_available()
    array = source.to_numpy(tensor.handle)
    handle = target.from_numpy(array.copy() if source.device_type == "cpu" else array, device)
    return wrap(handle, target.spec(tensor.dtype, device))


def run_mixed(entry: Entry, args: tuple[Any, ...]) -> Any:
    """Move what may be moved and dispatch again, or refuse."""
    operator = entry.operator
    name = operator.name
    if name == "_to_copy":
        return _to_copy(operator, args)
    if name == "copy" and entry.form == "inplace":
        moved = transfer(args[1], args[0].device)
        return operator.caller("inplace").execute((args[0], moved, *args[2:]))
    device = _main_device(entry, args)
    may_move = _INDEX_ARGUMENTS.get(name)
    new = []
    for position, value in enumerate(args):
        argument = operator.arguments[position].name if position < len(operator.arguments) else "out"
        zero_dim = operator.definition.kind == "pointwise" and position in operator.group
        new.append(_move(value, device, zero_dim=zero_dim, index=argument == may_move))
    args = tuple(new)
    keys, _ = operator.caller(entry.form).scan(args)
    from tt.core.keys import KEYS

    if len(KEYS.names("device", keys)) > 1:
        found = [(name, str(tensor.device)) for name, tensor in _tensors(operator, args)]
        raise DeviceMismatchError(operator.definition.signature.name, found)
    return operator.caller(entry.form).execute(args)


def _move(value: Any, device: Device, *, zero_dim: bool, index: bool) -> Any:
    if isinstance(value, TensorBase):
        movable = (
            value.device.type == "cpu" and device.type != "cpu" and (index or (zero_dim and value.ndim == 0))
        )
        return transfer(value, device) if movable else value
    if index and isinstance(value, list):
        return [_move(item, device, zero_dim=False, index=True) for item in value]
    return value


def _to_copy(operator: Operator, args: tuple[Any, ...]) -> Any:
    """Move to another device, then convert what else is asked for there."""
    device = args[operator.device_at]
    moved = transfer(args[0], device)
    rest = list(args)
    rest[0] = moved
    same_dtype = args[operator.dtype_at] in (None, moved.dtype)
    return moved if same_dtype else operator.caller().execute(tuple(rest))


def _tensors(operator: Operator, args: tuple[Any, ...]) -> list[tuple[str, TensorBase]]:
    """Return the tensors of a call with the names of their arguments: "self", "tensors[1]", "out"."""
    found: list[tuple[str, TensorBase]] = []
    for position, value in enumerate(args):
        name = operator.arguments[position].name if position < len(operator.arguments) else "out"
        if isinstance(value, TensorBase):
            found.append((name, value))
        elif isinstance(value, list | tuple):
            found += [(f"{name}[{i}]", item) for i, item in enumerate(value) if isinstance(item, TensorBase)]
    return found


def _main_device(entry: Entry, args: tuple[Any, ...]) -> Device:
    """Return the device that the call shall run on: the target's in place, else the first one with dimensions."""
    tensors = _tensors(entry.operator, args)
    if entry.form == "inplace" or entry.operator.name in _INDEX_ARGUMENTS:
        return tensors[0][1].device
    candidates = [t for _, t in tensors if t.ndim] or [t for _, t in tensors if t.device.type != "cpu"]
    return candidates[0].device
