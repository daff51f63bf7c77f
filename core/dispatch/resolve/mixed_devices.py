"""Calls with tensors on several device types: the slow path, which permits what PyTorch permits.

Permitted are zero-dimensional CPU tensors next to tensors of another device in pointwise operators, CPU indices of
tensors on another device, a zero-dimensional value that `fill_` or an assignment to indices writes, and the operators
that move data (`copy_`, `_to_copy`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from tt.core.dispatch.call.kernel_errors import method_failed
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.dispatch.resolve.components import component_tensors
from tt.core.errors import DeviceMismatchError, NoDataError
from tt.core.tensor.base import TensorBase
from tt.core.tensor.read_only import refuse_read_only
from tt.core.tensor.tensor import Tensor, wrap
from tt.core.types.device import Device
from tt.core.types.memory_format import is_preserve

if TYPE_CHECKING:
    from tt.core.dispatch.call.cached_call import CachedCall
    from tt.core.dispatch.call.operator import Operator

__all__ = ["Operand", "plan", "run_mixed", "transfer"]

# Operators that move data: their operands may be anywhere.
_MOVERS = ("_to_copy", "copy")
_INDEX_ARGUMENTS = {
    "index": "indices", "index_put": "indices", "lstm.data": "batch_sizes", "gru.data": "batch_sizes",
    "rnn_tanh.data": "batch_sizes", "rnn_relu.data": "batch_sizes", "_rnn_layer": "batch_sizes",
    "_rnn_layer_backward": "batch_sizes", "_pad_packed_sequence": "batch_sizes", "_pack_padded_sequence": "lengths",
}  # fmt: skip
# Operators that write one number into many elements -> which argument, from whatever device.
_NUMBERS = {"fill": "value", "index_put": "values"}
# Operators that read integers on the host -> their overload for lists, and which arguments these are.
_READ_ARGUMENTS = {"ctc_loss": ("ctc_loss.IntList", (2, 3))}


def transfer(tensor: TensorBase, device: Device, non_blocking: bool = False) -> Tensor:
    """Return a copy of a tensor on another device, through the host; components are copied one by one.

    The meta device takes only the shape and the order in memory; nothing can be copied from it.
    """
    if parts := component_tensors(tensor):
        there = REGISTRY.backend(device.type, tensor.layout.name)
        there.require_available()
        resolved = there.place(device)
        moved = {name: transfer(part, resolved, non_blocking)._handle for name, part in parts.items()}
        facts = tensor._spec.backend.facts(tensor._handle)
        # Parts are assembled by the other backend, whose layout may hold them in another way.
        try:
            moved_handle = there.assemble(moved, tuple(tensor.shape), facts)
        except Exception as error:
            method_failed(error, there, "assemble", "copying to another device", *moved.values())
        return wrap(moved_handle, there.spec(tensor.dtype, None if device.type == "meta" else resolved))
    source = tensor._spec.backend
    target = REGISTRY.backend(device.type, "strided")
    if device.type == "meta":
        described = target.empty(tuple(tensor._handle.shape), target.native_dtype(tensor.dtype))
        # A clone is dense and keeps the order of the strides, as the clone of a tensor with data does.
        if not source.is_row_major(tensor._handle):
            described = target.clone(replace(described, strides=source.strides(tensor._handle)))
        return wrap(described, target.spec(tensor.dtype))
    if tensor.device.type == "meta":
        raise NoDataError
    target.require_available()
    resolved = target.place(device)
    if source.device_type == "cpu":
        array = source.to_numpy(tensor._handle)
        try:
            moved_handle = target.from_host(array, resolved, non_blocking)
        except Exception as error:
            method_failed(error, target, "from_host", "copying to another device", array, resolved)
        return wrap(moved_handle, target.spec(tensor.dtype, resolved))
    try:
        # A copy that does not block needs memory of the host that nothing else uses, which `to_host` provides.
        array = source.to_host(tensor._handle, True) if non_blocking else source.to_numpy(tensor._handle)
    except Exception as error:
        method_failed(error, source, "to_numpy", "copying to another device", tensor._handle)
    if not non_blocking and (array is tensor._handle or array.base is not None or not array.flags.writeable):
        array = array.copy()  # both backends may share memory with the host, and the result shares none
    try:
        handle = target.from_numpy(array, resolved)
    except Exception as error:
        method_failed(error, target, "from_numpy", "copying to another device", array, resolved)
    return wrap(handle, target.spec(tensor.dtype, resolved))


class Operand(NamedTuple):
    """A tensor of a mixed call, with the facts that decide whether it may be moved.

    Attributes
    ----------
    name : str
        Its argument: "self", "tensors[1]", "out".
    position : int
        Of the argument in the schema.
    device : str
        Where it is.
    zero_dim : bool
        Whether it has no dimensions.
    """

    name: str
    position: int
    device: str
    zero_dim: bool

    @property
    def type(self) -> str:
        """The device type."""
        return self.device.partition(":")[0]


def plan(operator: Operator, form: str, operands: list[Operand]) -> str:
    """Return the device on which a mixed call runs.

    Raises
    ------
    DeviceMismatchError
        When an operand is elsewhere and may not be moved.
    """
    # An operator that moves tensors has operands on two devices by intention.
    if operator.name in _MOVERS:
        return operands[0].device
    main = _main(operator, form, operands)
    for operand in operands:
        if operand.type != main.type and not _may_move(operator, operand):
            raise DeviceMismatchError(
                operator.definition.signature.name, [(o.name, o.device) for o in operands]
            )
    return main.device


def _main(operator: Operator, form: str, operands: list[Operand]) -> Operand:
    """Return the operand that decides where the call runs: the target in place, else the first one with dimensions."""
    if form == "inplace" or operator.name in _INDEX_ARGUMENTS or operator.name in _NUMBERS:
        return operands[0]
    # Not the operand on the CPU, which is the one that may move.
    return next((o for o in operands if not o.zero_dim), None) or next(o for o in operands if o.type != "cpu")


def _may_move(operator: Operator, operand: Operand) -> bool:
    if operand.zero_dim and operand.name == _NUMBERS.get(operator.name):
        return True
    if operand.type != "cpu":
        return False
    if operand.name.partition("[")[0] == _INDEX_ARGUMENTS.get(operator.name):
        return True
    if operand.position in _READ_ARGUMENTS.get(operator.name, ("", ()))[1]:
        return True
    return operand.zero_dim and operator.definition.kind == "pointwise" and operand.position in operator.group


def run_mixed(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    """Move the movable operands and dispatch again, or refuse."""
    operator, form = cached.operator, cached.form
    if operator.name == "_to_copy":
        return _to_copy(operator, args)
    if operator.name == "copy" and form == "inplace":
        refuse_read_only("copy_", args[0])
        if _copied_straight(*args):
            return args[0]
    if operator.name == "to.other":
        self, other, *options = args
        to_device = operator.registry.operator("to.device").overload()
        return to_device.execute((self, other.device, other.dtype, *options))
    overload, positions = _READ_ARGUMENTS.get(operator.name, ("", ()))
    # Reading integers from a device would wait for it; on the host they are at hand.
    if overload and all(_is_read(args[position]) for position in positions):
        listed = {position: args[position].reshape(-1).tolist() for position in positions}
        values = tuple(listed.get(position, value) for position, value in enumerate(args))
        return operator.registry.operator(overload).overload().execute(values)
    home = Device(plan(operator, form, _operands(operator, args)))
    return operator.overload(form).execute(tuple(_move(value, home) for value in args))


def _is_read(value: Any) -> bool:
    return value.device.type == "cpu" and value.dtype.kind in ("signed", "unsigned")


def _operands(operator: Operator, args: tuple[Any, ...]) -> list[Operand]:
    operands: list[Operand] = []
    for position, value in enumerate(args):
        name = operator.arguments[position].name if position < len(operator.arguments) else "out"
        if isinstance(value, TensorBase):
            operands.append(Operand(name, position, str(value.device), value.ndim == 0))
        elif isinstance(value, list | tuple):
            operands += [
                Operand(f"{name}[{i}]", position, str(item.device), item.ndim == 0)
                for i, item in enumerate(value)
                if isinstance(item, TensorBase)
            ]
    return operands


def _move(value: Any, home: Device) -> Any:
    if isinstance(value, TensorBase):
        return value if value.device.type == home.type else transfer(value, home)
    if isinstance(value, list):
        return [_move(item, home) for item in value]
    return value


def _copied_straight(target: TensorBase, source: TensorBase, non_blocking: bool) -> bool:
    """Copy between the host and a device without a tensor in between, if both are alike; return whether it was done."""
    # The two memories may be copied as they are only if no element changes its type or place.
    if (
        target.layout.name != "strided"
        or source.layout.name != "strided"
        or target._spec.dtype is not source._spec.dtype
    ):
        return False
    done = False
    if target.device.type == "cpu":
        backend = source._spec.backend
        try:
            done = backend.copy_to_host(source._handle, target._handle, non_blocking)
        except Exception as error:
            method_failed(error, backend, "copy_to_host", "copying to another device", source._handle)
    elif source.device.type == "cpu":
        backend = target._spec.backend
        try:
            done = backend.copy_from_host(target._handle, source._handle, non_blocking)
        except Exception as error:
            method_failed(error, backend, "copy_from_host", "copying to another device", source._handle)
    # The backend wrote beside the dispatcher, which counts versions otherwise.
    if done:
        target._bump_version()
    return done


def _to_copy(operator: Operator, args: tuple[Any, ...]) -> Any:
    """Move to another device, then do the other requested conversions there."""
    moved = transfer(args[0], args[operator.device_at], bool(args[operator.positions["non_blocking"]]))
    if args[operator.dtype_at] in (None, moved.dtype) and is_preserve(
        args[operator.positions["memory_format"]]
    ):
        return moved
    return operator.overload().execute((moved, *args[1:]))
