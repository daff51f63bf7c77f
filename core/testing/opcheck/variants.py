"""Variants: what opcheck makes of the arguments that it was given: other layouts in memory, sizes, dtypes, devices."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from tt.core.errors import TTError
from tt.core.testing.opcheck.call import CheckedCall, tensors_in
from tt.core.testing.opcheck.memory import is_strided, plain
from tt.core.types.dtype import dtype as Dtype

__all__ = [
    "contiguous",
    "converted",
    "empties",
    "flipped",
    "layouts",
    "main_dtype",
    "moved",
    "resized",
    "sizes",
]


def _like(new: Any, old: Any) -> Any:
    """Return a new tensor as a leaf that requires a gradient where the old one does."""
    new = plain(new)
    new = new.detach() if hasattr(new, "detach") else new
    return new.requires_grad_() if getattr(old, "requires_grad", False) else new


# --- layouts in memory -----------------------------------------------------------------------------------------

LAYOUTS: Final = ("transposed", "strided", "offset")


def contiguous(call: CheckedCall) -> CheckedCall:
    """Return the call with row-major copies of its tensors."""
    return call.map(lambda t: _like(plain(t).contiguous().clone() if is_strided(t) else plain(t).clone(), t))


def layouts(call: CheckedCall) -> Iterator[CheckedCall]:
    """Yield the call with the same values in other places of memory; those that change no tensor are left out."""
    if not all(is_strided(t) for t in tensors_in(call.args)):
        return
    for name in LAYOUTS:
        changed = [t for t in tensors_in(call.args) if _arrangeable(t, name)]
        if changed:
            yield call.map(partial(arranged, layout=name), f"{name} tensors")


def _arrangeable(tensor: Any, layout: str) -> bool:
    return bool(tensor.numel()) and tensor.ndim > (1 if layout == "transposed" else 0)


def arranged(tensor: Any, layout: str) -> Any:
    """Return a tensor with the same values that lies in memory otherwise."""
    from tt.core.dispatch.registry.registry import ops

    base = plain(tensor).contiguous()
    if not _arrangeable(base, layout):
        return _like(base.clone(), tensor)
    if layout == "transposed":
        order = list(range(base.ndim - 1, -1, -1))
        return _like(ops.permute(ops.permute(base, order).contiguous(), order), tensor)
    # Between strided elements there is no number, so that whoever reads it is found; elsewhere a one, so that whoever
    # changes it is.
    number = float("nan") if base.dtype.is_floating_point and layout == "strided" else 1
    filler = ops.full_like(base, number)
    if layout == "strided":
        return _like(ops.select(ops.stack([base, filler], -1), -1, 0), tensor)
    return _like(ops.select(ops.stack([filler, base], 0), 0, 1), tensor)


# --- sizes -----------------------------------------------------------------------------------------------------


def resized(call: CheckedCall, size: int, new: int, on: str | None = None) -> CheckedCall | None:
    """Return the call with every dim of one size cut or repeated to another; None where no tensor has one."""
    if not any(size in t.shape for t in tensors_in(call.args)):
        return None
    return call.map(lambda t: _resize(t, size, new), on)


def _resize(tensor: Any, size: int, new: int) -> Any:
    from tt.core.dispatch.registry.registry import ops

    if size not in tensor.shape or not is_strided(tensor):
        return tensor
    found = plain(tensor)
    for dim in [d for d, n in enumerate(found.shape) if n == size]:
        if new <= size:
            found = ops.narrow(found, dim, 0, new)
        else:
            found = ops.cat([found, ops.narrow(found, dim, 0, new - size)], dim)
    found = found.contiguous().clone() if tensor.is_contiguous() else found
    return _like(found, tensor)


def sizes(call: CheckedCall) -> Iterator[CheckedCall]:
    """Yield the call with each size larger, so that a constant for it is found."""
    known = sorted({n for t in tensors_in(call.args) for n in t.shape if n > 1})
    for size in known:
        new = next(n for n in range(size + 1, size + 2 + len(known)) if n not in known)
        larger = resized(call, size, new, f"sizes {new} in the place of {size}")
        if larger is not None:
            yield larger


def empties(call: CheckedCall) -> Iterator[CheckedCall]:
    """Yield the call with no elements along the dims of each size."""
    for size in sorted({n for t in tensors_in(call.args) for n in t.shape if n > 0}):
        empty = resized(call, size, 0, f"no elements in the place of {size}")
        if empty is not None:
            yield empty


# --- values ----------------------------------------------------------------------------------------------------


def flipped(tensor: Any) -> Any:
    """Return a tensor with the same values in the opposite order."""
    from tt.core.dispatch.registry.registry import ops

    base = plain(tensor)
    return ops.flip(base, list(range(base.ndim))) if is_strided(base) else base.clone()


# --- dtypes and devices ----------------------------------------------------------------------------------------


def main_dtype(call: CheckedCall) -> Dtype | None:
    """Return the dtype of the first floating-point tensor of a call, else that of the first tensor."""
    found = [t.dtype for t in tensors_in(call.args)]
    wide = [d for d in found if d.is_floating_point or d.is_complex]
    first: Dtype | None = (wide or found or [None])[0]
    return first


def converted(call: CheckedCall, dtype: Dtype) -> CheckedCall:
    """Return the call with the tensors of its main dtype in another one; indices and masks stay."""
    main = main_dtype(call)

    def convert(tensor: Any) -> Any:
        if tensor.dtype is not main:
            return tensor
        base = plain(tensor)
        if dtype.kind == "unsigned" and not base.dtype.is_complex and base.dtype.kind != "bool":
            base = base.abs()
        new = base.to(dtype)
        return _like(new, tensor) if dtype.is_floating_point or dtype.is_complex else new

    return call.map(convert, f"{dtype.name}")


def moved(call: CheckedCall, device: str) -> CheckedCall | None:
    """Return the call on another device, or None where its tensors cannot go there."""
    from tt.core.types.device import Device

    try:
        made = call.map(lambda t: _like(plain(t).to(device), t), f"device {device}")
    except (TTError, KeyError, TypeError):
        return None
    args = tuple(Device(device) if isinstance(a, Device) else a for a in made.args)
    return CheckedCall(made.caller, args, made.on)
