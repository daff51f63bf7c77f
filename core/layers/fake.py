"""Fake tensors: tensors of any device, also of absent ones, that have a shape and a dtype but no data.

A fake tensor carries the key bit of the layer "fake" in addition to those of its device.  Its handle is a
`MetaHandle`, and its spec names the meta backend, so that strides, storage and printing need no device.

Note [A layer at the bottom]
----------------------------
The layer handles every call itself, with the operator's shape rule; no call goes below it.  So it needs no kernel,
no composite and no device driver, and gets the calls that otherwise take the dispatcher's slow path for mixed devices.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from functools import cache, wraps
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.call.mutation import refuse_written, targets_of, with_targets_of
from tt.core.dispatch.intercept.layers import Layer, LayerFunction
from tt.core.dispatch.intercept.modes import Mode, cached_call_with_modes
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.dispatch.resolve.components import component_tensors
from tt.core.dispatch.resolve.no_kernel_errors import lacks_fake, missing_fake
from tt.core.errors import CastError, DataDependentError, DeviceMismatchError, DispatchError, InplaceError
from tt.core.meta import bound_rule, depends_on_data, describe, to_handles
from tt.core.schema.number_ranges import refuse_wide
from tt.core.tensor.base import TensorBase, TensorSpec
from tt.core.tensor.storage import Storage
from tt.core.tensor.tensor import Tensor, wrap
from tt.core.types.device import Device, get_default_device, to_device
from tt.core.types.keys import KEYS, PYTHON
from tt.core.types.layout import layout, strided
from tt.core.types.promotion import can_cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from tt.core.dispatch.call.cached_call import CachedCall
    from tt.core.dispatch.call.op_overload import OpOverload
    from tt.core.dispatch.call.operator import Operator
    from tt.core.tensor.backend import Backend
    from tt.core.types.dtype import dtype

__all__ = ["FakeLayer", "FakeMode", "fake_mode", "is_fake", "to_fake"]

# The arguments that may stay on the CPU when their operator runs on another device.
_INDICES = {"index": "indices", "index_put": "indices"}


# --- making fake tensors ---------------------------------------------------------------------------------------


def _meta_backend(laid_out: str = "strided") -> Backend:
    return REGISTRY.backend("meta", laid_out)


@cache
def fake_spec(d: dtype, device: Device, laid_out: layout = strided) -> TensorSpec:
    """Return the (one) spec of fake tensors of a dtype on a device, in a layout."""
    # The bit of the device that it stands for, so that what depends on the device type acts as with data.
    keys = KEYS.bit("device", device.type) | laid_out.bit | KEYS.bit("layer", "fake")
    return TensorSpec(d, device, laid_out, _meta_backend(laid_out.name), keys)


def make_fake(
    handle: Any, device: Device, base: TensorBase | None = None, laid_out: layout = strided
) -> Tensor:
    """Return a fake tensor over a handle of the meta device; `base` is the tensor whose memory it shares."""
    new = wrap(handle, fake_spec(handle.dtype, device, laid_out))
    if base is None:
        new._storage = Storage(handle, new._spec.backend)
    else:
        new._storage = base._ensure_storage()
        new._root = base if base._root is None else base._root
    return new


def is_fake(value: Any) -> bool:
    """Return whether a value is a fake tensor."""
    return isinstance(value, TensorBase) and bool(value._keys & KEYS.bit("layer", "fake"))


def to_fake(tensor: TensorBase, device: Device | str | None = None) -> Tensor:
    """Return a fake tensor with the shape, strides and dtype of a tensor.

    Parameters
    ----------
    tensor : Tensor
        With data or without; of a layout that is not strided, if the meta device has such tensors.
    device : Device or str, optional
        Where the fake tensor seems to be; by default where the tensor is.

    Raises
    ------
    DispatchError
        For a layout without a list of components.

    Examples
    --------
    >>> import tt
    >>> from tt.core.layers.fake import to_fake
    >>> to_fake(tt.zeros(2, 3), "cuda").device
    device(type='cuda')
    """
    resolved = tensor.device if device is None else to_device(device)
    new = make_fake(_without_data(tensor), resolved, laid_out=tensor.layout)
    if getattr(tensor, "requires_grad", False):
        new.requires_grad = True
    return new


def _without_data(tensor: TensorBase) -> Any:
    """Return the handle of the meta device for a tensor."""
    if tensor.layout is strided:
        return describe(tensor)
    if is_fake(tensor) or tensor.device.type == "meta":
        return tensor._handle
    parts = component_tensors(tensor)
    if not parts:
        raise DispatchError(
            "to_fake",
            f"tensors of the layout {tensor.layout} do not list their components",
            hint="x.to_dense()",
        )
    facts = tensor._spec.backend.facts(tensor._handle)
    named = {name: describe(part) for name, part in parts.items()}
    return _meta_backend(tensor.layout.name).assemble(named, tuple(tensor.shape), facts)


# --- the layer -------------------------------------------------------------------------------------------------


class FakeLayer(Layer):
    """Answers calls with fake tensors from the shape rules."""

    name = "fake"
    order = 5
    terminal = True

    def rule(self, operator: Operator, form: str) -> LayerFunction | None:
        """Return what runs the shape rule; out= reaches the layer as its functional form and a copy."""
        definition = operator.definition
        if form == "out":
            return None
        if depends_on_data(definition):
            return _refuse
        # Of strided tensors or of others: what runs on the meta device runs on fake tensors.
        on_meta = [r for r in operator.registry.kernels.get(operator.name, ()) if r.device == "meta"]
        # Results that are arguments need no rule, so an operator without other results needs none either.
        if operator.mutates and (on_meta or definition.meta or all(p >= 0 for p in operator.returned)):
            return _change_arguments
        # A kernel over tensors decides on the layout of its result itself, which a rule cannot.
        by_tensors = any(r.kernel.tensors and r.layouts == (strided.name,) for r in on_meta)
        if (not definition.meta and on_meta) or by_tensors:
            return _run_on_meta
        if definition.meta:
            return _run
        if operator.registry.composite(operator.name) is None and lacks_fake(operator):
            return _missing
        return None

    def around_composite(self, function: Callable[..., Any], devices: Sequence[str]) -> Callable[..., Any]:
        """Return what runs a composite whose factories make fake tensors."""
        factories = _FakeFactories(devices)

        @wraps(function)
        def around(*args: Any) -> Any:
            with factories:
                return function(*args)

        return around


def _refuse(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    raise DataDependentError(cached.operator.name, "fake")


def _missing(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    raise missing_fake(cached.operator, args)


def _run(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    """Run the shape rule and make fake results; for other layouts the meta device has more information."""
    operator, definition = cached.operator, cached.operator.definition
    if cached.keys & KEYS.mask("layout") != strided.bit:
        return _run_on_meta(cached, args)
    device = common_device(operator, cached.form, args)
    described = [describe(value) for value in args]
    try:
        refuse_wide(definition, described)
        outcome = bound_rule(definition)(described)
    except DataDependentError as error:
        raise DataDependentError(error.op, "fake") from None
    handles = to_handles(
        outcome, cached.resolution.results, described, cached.operator.definition.signature.name
    )
    # An in-place call makes no tensor: only the target's metadata and version change.
    if cached.form == "inplace":
        return _change(operator, args[0], handles, cached.resolution.results[0])
    if isinstance(outcome, list) and isinstance(handles, list):
        return tuple(
            _wrap(result, handle, device, args) for result, handle in zip(outcome, handles, strict=True)
        )
    if isinstance(outcome, tuple) and isinstance(handles, tuple):
        new = [_wrap(result, handle, device, args) for result, handle in zip(outcome, handles, strict=True)]
        return operator.return_type(new)
    return _wrap(outcome, handles, device, args)


def _change_arguments(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    """Do as if an operator changed its arguments: only its results have to be made."""
    operator = cached.operator
    targets = targets_of(operator, args)
    # All are checked before the call: nothing is changed where one of them has data.
    for target in targets:
        if not is_fake(target):
            raise InplaceError(f"{operator.name}(): a fake tensor cannot be written into a tensor with data")
    refuse_written(cached, targets, args)
    result = _run_on_meta(cached, args)
    for target in targets:
        target._bump_version()
    return with_targets_of(operator, args, result)


def _run_on_meta(cached: CachedCall, args: tuple[Any, ...]) -> Any:
    """Run the kernel for meta tensors: for custom operators without a shape rule."""
    device = common_device(cached.operator, cached.form, args)
    at = cached.operator.device_at

    # On the meta device proper, whose kernels do not know fake tensors.
    def on_meta(value: Any) -> Any:
        if isinstance(value, TensorBase):
            backend = _meta_backend(value.layout.name)
            return wrap(_without_data(value), backend.spec(value.dtype))
        return [on_meta(item) for item in value] if type(value) is list else value

    def fake(value: Any) -> Any:
        if isinstance(value, TensorBase):
            return make_fake(value._handle, device, laid_out=value.layout)
        return [fake(item) for item in value] if type(value) is list else value

    moved = [on_meta(value) for value in args]
    # A factory names the device of its result, where it would make one with data.
    if at >= 0:
        moved[at] = Device("meta")
    if cached.form == "inplace":
        result = cached.operator.overload("inplace").execute(tuple(moved))
        args[0]._set_data(result._handle, fake_spec(result.dtype, args[0].device, result.layout))
        args[0]._bump_version()
        return args[0]
    result = cached.operator.overload().execute(tuple(moved))
    if isinstance(result, TensorBase) or not isinstance(result, tuple):
        return fake(result)
    make = cached.operator.return_type if len(cached.operator.definition.signature.returns) > 1 else tuple
    return make(map(fake, result))


def _wrap(result: Any, handle: Any, device: Device, args: tuple[Any, ...]) -> Tensor:
    # A result with an offset is a view: it lies in the memory of the first argument.
    shares = result.offset is not None and isinstance(args[0], TensorBase)
    return make_fake(handle, device, args[0] if shares else None)


def _change(operator: Operator, target: TensorBase, handle: Any, found: dtype | None) -> TensorBase:
    """Do as if the target of an in-place call were changed."""
    name = operator.definition.inplace_name
    if not is_fake(target):
        raise InplaceError(f"{name}(): a fake tensor cannot be written into a tensor with data")
    if operator.definition.kind == "view" or "metadata_inplace" in operator.definition.tags:
        target._set_data(handle, target._spec)
    else:
        if found is not None and not can_cast(found, target.dtype):
            raise CastError(name, found.name, target.dtype.name)
        if handle.shape != tuple(target._handle.shape):
            raise InplaceError(
                f"{name}(): the result has shape {list(handle.shape)}, which the target of shape "
                f"{list(target._handle.shape)} cannot hold"
            )
    target._bump_version()
    return target


class _FakeFactories(Mode):
    """Makes fake what a composite creates on the devices of its fake arguments; see Note [Factories in composites].

    Note [Factories in composites]
    ------------------------------
    A composite that fills a tensor on `self.device` calls a factory without any tensor, so no key tells that the
    device may be absent.  While a composite runs on fake tensors, factories that name a device of these run on the meta
    device, as all of them do in a `FakeMode`.  Factories that name no device, or another, make tensors with data as
    ever: a composite may read the numbers in them.
    """

    def __init__(self, devices: Sequence[str]) -> None:
        self.devices = frozenset(devices)

    def handle(self, overload: OpOverload, args: tuple[Any, ...]) -> Any:
        """Make a factory's result fake if it is meant for a device of the fake tensors."""
        operator = overload.operator
        at = operator.device_at
        named = at >= 0 and args[at] is not None
        if named and not any(True for _ in _named_tensors(operator, args)):
            device = to_device(args[at])
            if device.type in self.devices:
                return make_on_meta(overload, args, device)
        return overload.dispatch(args)

    def from_array(self, array: Any, device: Device) -> Tensor | None:
        """Return a fake tensor for an array's content on a device of the fake tensors, else None."""
        if device.type not in self.devices:
            return None
        return make_fake(_meta_backend().from_numpy(array, device), device)


def make_on_meta(overload: OpOverload, args: tuple[Any, ...], device: Device) -> Any:
    """Run a factory on the meta device, and mark the result as being on another."""
    at = overload.operator.device_at
    new = overload.dispatch((*args[:at], Device("meta"), *args[at + 1 :]))
    if isinstance(new, TensorBase):
        return make_fake(new._handle, device, laid_out=new.layout)
    return type(new)(make_fake(t._handle, device, laid_out=t.layout) for t in new)


# --- devices ---------------------------------------------------------------------------------------------------


def common_device(operator: Operator, form: str, args: tuple[Any, ...]) -> Device:
    """Return the device of a call's results.

    Raises
    ------
    DeviceMismatchError
        For tensors on several devices that do not go together; it names each argument.
    """
    # `device=` decides, whatever the tensors are on: `zeros_like(x, device=...)` moves nothing.
    if operator.device_at >= 0 and args[operator.device_at] is not None:
        return to_device(args[operator.device_at])
    tensors = list(_named_tensors(operator, args))
    moving = operator.name == "copy" and form == "inplace"
    # If all may come along (zero-dimensional tensors of the CPU), they decide among themselves.
    fixed = [t for name, t in tensors if not _may_come_along(operator, name, t)] or [t for _, t in tensors]
    # In place the target decides, and an indexed tensor does: they are never the ones that move.
    if form == "inplace" or operator.name in _INDICES:
        fixed.insert(0, tensors[0][1])
    device: Device = fixed[0].device
    if not moving and any(not _same(t.device, device) for t in fixed):
        raise DeviceMismatchError(
            operator.definition.signature.name, [(n, str(t.device)) for n, t in tensors]
        )
    return device


def _named_tensors(operator: Operator, args: Sequence[Any]) -> Iterator[tuple[str, TensorBase]]:
    for argument, value in zip(operator.arguments, args, strict=False):
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, TensorBase):
                yield argument.name, item


def _may_come_along(operator: Operator, name: str, tensor: TensorBase) -> bool:
    """Return whether a CPU tensor may take part in a call on another device."""
    if tensor.device.type != "cpu":
        return False
    if _INDICES.get(operator.name) == name:
        return True
    grouped = operator.positions[name] in operator.group
    return operator.definition.kind == "pointwise" and grouped and tensor.ndim == 0


def _same(one: Device, other: Device) -> bool:
    """Return whether two devices are one; no index means the first."""
    return one.type == other.type and (one.index or 0) == (other.index or 0)


# --- the mode --------------------------------------------------------------------------------------------------


class FakeMode(Mode):
    """Makes every tensor of its block fake: factories need no device, tensors with data lend only their shape.

    Examples
    --------
    >>> import tt
    >>> with tt.FakeMode():
    ...     x = tt.zeros(1000, 1000, device="cuda") @ tt.ones(1000, 3, device="cuda")
    >>> x.shape, x.device
    (tt.Size([1000, 3]), device(type='cuda'))
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[TensorBase], Tensor]] = {}

    def handle(self, overload: OpOverload, args: tuple[Any, ...]) -> Any:
        """Give the call fake tensors, or make a factory's result fake."""
        operator = overload.operator
        makes = operator.is_factory or operator.device_at >= 0  # `range` is a composite
        if makes and not any(True for _ in _named_tensors(operator, args)):
            return self._make(overload, args)
        if any(tensor._keys & PYTHON for _, tensor in _named_tensors(operator, args)):
            # Their class makes other calls of this one, and those are of fake tensors.
            with self:
                return cached_call_with_modes(overload, args).run(args)
        return overload.dispatch(self._convert(args))

    def lift(self, tensor: Tensor) -> Tensor:
        """Return the fake counterpart of a tensor just made from data."""
        return to_fake(tensor)

    def from_array(self, array: Any, device: Device) -> Tensor:
        """Return a fake tensor for an array's content on a device, which need not exist."""
        handle = _meta_backend().from_numpy(array, device)
        return make_fake(handle, device)

    def from_tensor(self, tensor: TensorBase) -> Tensor:
        """Return the fake counterpart of a tensor, the same one at each call while the tensor lives."""
        # By identity through a weak reference: the number of an object is used again when the object is gone.
        known = self._known.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]
        fake = to_fake(tensor)
        key = id(tensor)
        # Weak, so that the mode keeps no tensor with data alive.
        self._known[key] = weakref.ref(tensor, lambda _: self._known.pop(key, None)), fake
        return fake

    def _convert(self, value: Any) -> Any:
        if isinstance(value, TensorBase):
            return value if is_fake(value) else self.from_tensor(value)
        if type(value) in (list, tuple):
            return type(value)(self._convert(item) for item in value)
        return value

    def _make(self, overload: OpOverload, args: tuple[Any, ...]) -> Any:
        """Make a factory's result fake, on the requested device."""
        at = overload.operator.device_at
        if at < 0:
            return overload.dispatch(args)
        return make_on_meta(overload, args, get_default_device() if args[at] is None else to_device(args[at]))


def fake_mode() -> FakeMode:
    """Return a new `FakeMode`, for use in a `with` statement.

    Examples
    --------
    >>> import tt
    >>> with tt.fake_mode():
    ...     tt.randn(2, 3, device="cuda").sum(0).shape
    tt.Size([3])
    """
    return FakeMode()
