"""What a module's methods do to its parameters, gradients and buffers: moving, converting and resetting them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import tt
from tt.library import warn_user
from tt.nn.parameter import Parameter
from tt.types import Device

if TYPE_CHECKING:
    from tt.nn.modules.module import Module

__all__ = [
    "convert_members",
    "converter",
    "parse_to",
    "replica",
    "reset_gradients",
    "swaps_tensors",
    "to_floating",
]

M = TypeVar("M", bound="Module")


def _takes_data(old: tt.Tensor, new: tt.Tensor) -> bool:
    """Return whether a parameter or gradient stays the object that it is and gets the new data.

    Meta tensors have no data to exchange with others, and a tensor does not change its layout.
    """
    return (
        not _overwrites()
        and old.layout == new.layout
        and (old.device.type == "meta") == (new.device.type == "meta")
    )


def _overwrites() -> bool:
    from tt import __future__ as future

    return future.get_overwrite_module_params_on_conversion()


def swaps_tensors() -> bool:
    """Return whether a parameter exchanges its content with the new one, and stays the object that it is."""
    from tt import __future__ as future

    return future.get_swap_module_params_on_conversion()


def parse_to(
    args: tuple[Any, ...],
    device: Device,
    dtype: tt.dtype | None,
    non_blocking: Any,
    memory_format: Any,
) -> tuple[Any, Any, bool, Any]:
    """Return device, dtype, non_blocking and memory format of the forms that `Module.to` takes."""
    rest = list(args)
    if rest and isinstance(rest[0], tt.Tensor):
        other = rest.pop(0)
        device, dtype = other.device, other.dtype
    elif rest and isinstance(rest[0], tt.dtype):
        dtype = rest.pop(0)
    elif rest:
        device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], tt.dtype)):
            dtype = rest.pop(0)
        elif rest:
            non_blocking = None  # the second is a dtype
    if rest and non_blocking is not None:
        non_blocking = rest.pop(0)
    if rest or not isinstance(non_blocking, int):
        raise TypeError(
            f"Module.to() received an invalid combination of arguments: {args!r}\n"
            "  to(device=None, dtype=None, non_blocking=False), to(dtype, non_blocking=False), "
            "to(tensor, non_blocking=False), to(memory_format=...)"
        )
    if device is not None and not isinstance(device, tt.device):
        device = tt.device(device)
    return device, dtype, bool(non_blocking), memory_format


def convert_members(module: Module, fn: Callable[[Any], Any], recurse: bool = True) -> None:
    """Replace each parameter, its gradient and each buffer by the result of a function for it."""
    if recurse:
        # By method, since subclasses override `_apply`.
        for child in module.children():
            child._apply(fn)
    for name, param in module._parameters.items():
        if param is None:
            continue
        grad: Any = param.grad
        with tt.no_grad():
            new = fn(param)
            new_grad: Any = None if grad is None else fn(grad)
        of_another_class = type(new) is not type(param)
        if swaps_tensors() or (
            of_another_class and type(new).__tt_dispatch__ is not tt.Tensor.__tt_dispatch__
        ):
            _swap(param, new, new_grad)  # data alone do not make a parameter of another class
            continue
        if _takes_data(param, new):
            param.data = new
        elif hasattr(type(param), "of_rows"):  # divided among ranks, whose groups know the object
            _swap(param, cast(Any, param).of_rows(new), new_grad)
            continue
        else:
            param = module._parameters[name] = Parameter(new, param.requires_grad)
        if grad is None:
            continue
        if _takes_data(grad, new_grad):
            grad.data = new_grad
        else:
            grad = new_grad.requires_grad_(grad.requires_grad)
        if param.grad is not grad:
            param.grad = None  # of another dtype or device than the parameter has now
            param.grad = grad
    for name, buffer in module._buffers.items():
        if buffer is not None:
            module._buffers[name] = fn(buffer)


def to_floating(dtype: tt.dtype) -> Callable[[tt.Tensor], tt.Tensor]:
    """Return the function that converts floating-point tensors to a dtype, and returns others as they are."""
    return lambda t: t.to(dtype) if t.is_floating_point() else t


def converter(
    args: tuple[Any, ...],
    device: Device,
    dtype: tt.dtype | None,
    non_blocking: Any,
    memory_format: Any,
) -> Callable[[tt.Tensor], tt.Tensor]:
    """Return the function by which `Module.to` replaces tensors; the arguments are its own."""
    device, dtype, non_blocking, memory_format = parse_to(args, device, dtype, non_blocking, memory_format)
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(
            f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
        )
    if dtype is not None and dtype.is_complex:
        warn_user(
            "Complex modules are a new feature: some do not compute with complex parameters as they are meant to\n"
            "  try: to check outputs, then type(dtype), which does not say this"
        )
    dims = {tt.channels_last: (4,), tt.channels_last_3d: (5,)}.get(memory_format, (4, 5))

    def convert(t: tt.Tensor) -> tt.Tensor:
        # Integers, such as counts of batches, keep their dtype.
        target = dtype if t.is_floating_point() or t.is_complex() else None
        options = {} if memory_format is None or t.dim() not in dims else {"memory_format": memory_format}
        return t.to(
            t.device if device is None else device,
            t.dtype if target is None else target,
            non_blocking=non_blocking,
            **options,
        )

    return convert


def reset_gradients(module: Module, set_to_none: bool) -> None:
    """Set the gradients of all parameters to None or zero, see `Module.zero_grad`."""
    if module.__dict__.get("_is_replica"):
        warn_user(
            "zero_grad(): the parameters of a replica of DataParallel are copies that have no .grad\n"
            "  try: zero_grad() of the module that was replicated, or tt.autograd.grad in forward"
        )
    for param in module.parameters():
        grad = param.grad
        if grad is None:
            continue
        if set_to_none:
            param.grad = None
        else:
            # With create_graph=True a gradient has a history, in which zeros must not be recorded.
            if grad.grad_fn is not None:
                grad.detach_()
            else:
                grad.requires_grad_(False)
            grad.zero_()


def _swap(param: tt.Tensor, new: tt.Tensor, grad: tt.Tensor | None) -> None:
    """Exchange a parameter's content with that of a new one; references to it see the new values."""
    from tt.utils import swap_tensors

    if not isinstance(new, Parameter):
        new = Parameter(new, param.requires_grad)
    param.grad = None
    swap_tensors(param, new)
    if grad is not None:
        param.grad = grad


def replica(module: M) -> M:
    """Return a shallow copy of a module with tables of its own, for another device."""
    copy = module.__new__(type(module))
    copy.__dict__.update(module.__dict__)
    # The parameters of a replica are results of copies, so `replicate` sets them as plain attributes.
    for table in ("_parameters", "_buffers", "_modules"):
        copy.__dict__[table] = {} if table == "_parameters" else dict(module.__dict__[table])
    copy.__dict__["_is_replica"] = True
    return copy
