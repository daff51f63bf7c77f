"""Memory: copies of arguments that lie as the originals do, what a call changed in them, and who shares with whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tt.core.testing.opcheck.call import CheckedCall, map_tensors, tensors_in

__all__ = ["Snapshot", "copied", "is_strided", "overlap", "plain", "values"]

Array = np.ndarray[Any, Any]


def plain(tensor: Any) -> Any:
    """Return the tensor without its history."""
    return tensor.detach() if getattr(tensor, "requires_grad", False) else tensor


def is_strided(tensor: Any) -> bool:
    """Tell whether a tensor is strided."""
    return bool(tensor.layout.name == "strided")


def values(tensor: Any) -> Array:
    """Return the values as a NumPy array of its own."""
    found = plain(tensor)
    if not is_strided(found):
        found = found.to_dense()
    return np.array(found.to("cpu").numpy())


def whole(tensor: Any) -> Any:
    """Return the whole memory behind a strided tensor as a tensor of one dimension, or the tensor itself."""
    if not is_strided(tensor):
        return tensor
    found = plain(tensor)
    size = found.untyped_storage().nbytes() // found.dtype.itemsize
    reach = 1 + sum((n - 1) * s for n, s in zip(found.shape, found.stride(), strict=True))
    if 0 in found.shape or found.storage_offset() + reach > size:
        return found
    return found.as_strided((size,), (1,), 0)


def beside(tensor: Any) -> Array:
    """Return what is in the memory of a tensor besides its elements."""
    memory = whole(tensor)
    if memory is tensor or memory.numel() == tensor.numel() or not tensor.numel():
        return np.zeros(0)
    places: Any = np.full(tuple(tensor.shape), tensor.storage_offset())
    for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        places = places + (np.arange(size) * stride).reshape((-1,) + (1,) * (tensor.ndim - dim - 1))
    return np.delete(values(memory), np.unique(places))


def copied(args: Any, *, requires_grad: bool = True) -> Any:
    """Return copies of arguments: in the same memory layout, and sharing memory where the originals do.

    Parameters
    ----------
    args : object
        Arguments; everything that is no tensor stays.
    requires_grad : bool
        Whether copies of tensors that require a gradient do so, too.
    """
    known: dict[Any, Any] = {}
    same: dict[int, Any] = {}

    def copy(tensor: Any) -> Any:
        if id(tensor) not in same:
            same[id(tensor)] = made(tensor)
        return same[id(tensor)]

    def made(tensor: Any) -> Any:
        base = plain(tensor)
        memory = whole(base)
        if memory is base or not is_strided(base):
            new = base.clone()
        else:
            key = (id(base._ensure_storage()), base.dtype)
            if key not in known:
                known[key] = memory.clone()
            new = known[key].as_strided(tuple(base.shape), tuple(base.stride()), base.storage_offset())
        new = new.detach() if hasattr(new, "detach") else new
        return new.requires_grad_() if requires_grad and getattr(tensor, "requires_grad", False) else new

    return map_tensors(args, copy)


# --- sharing ---------------------------------------------------------------------------------------------------


def overlap(one: Any, other: Any) -> bool:
    """Tell whether two tensors share memory (the ranges of their addresses meet)."""
    if one is other:
        return True
    if not (is_strided(one) and is_strided(other)) or one.device != other.device:
        return False
    if not one.numel() or not other.numel():
        return False
    if one._storage is not None and one._storage is other._storage and not one._spec.backend.has_views:
        return True
    first, second = span(one), span(other)
    if first is None or second is None:
        backend = one._spec.backend
        return backend.storage_owner(one._handle) is backend.storage_owner(other._handle)
    return first[0] < second[1] and second[0] < first[1]


def span(tensor: Any) -> tuple[int, int] | None:
    """Return the addresses of the first byte of a tensor and of the one behind its last; None where there are none."""
    start = tensor.data_ptr()
    if not start:
        return None
    reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    return start, start + (reach + 1) * tensor.dtype.itemsize


# --- what a call changed ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """What a call did to one tensor of its arguments.

    Attributes
    ----------
    name : str
        Of the argument: "x", "xs[1]".
    kind : str
        "values", "outside" (its memory beside its elements), "metadata" or "version".
    text : str
        In words.
    """

    name: str
    kind: str
    text: str


class Snapshot:
    """What the tensors of a call were before it."""

    def __init__(self, call: CheckedCall) -> None:
        self.call = call
        self.names = [name for _, name, _ in call.tensors()]
        self.tensors = list(tensors_in(call.args))
        self.lists = [(a.name, v, [id(i) for i in v]) for a, v in call.named() if isinstance(v, list)]
        self.before = [_State.of(t) for t in self.tensors]

    def changes(self) -> Iterator[Change]:
        """Yield what is different now."""
        for name, tensor, before in zip(self.names, self.tensors, self.before, strict=True):
            after = _State.of(tensor)
            if before.metadata != after.metadata:
                yield Change(name, "metadata", f"{before.metadata} became {after.metadata}")
                continue
            if before.values.tobytes() != after.values.tobytes():
                yield Change(name, "values", f"{short(before.values)} became {short(after.values)}")
            if before.beside.tobytes() != after.beside.tobytes():
                yield Change(name, "outside", f"{short(before.beside)} became {short(after.beside)}")
            if before.version != after.version:
                yield Change(name, "version", f"from {before.version} to {after.version}")
        for name, value, known in self.lists:
            if [id(item) for item in value] != known:
                yield Change(name, "list", f"it had {len(known)} elements, and has {len(value)}")


def short(array: Array) -> str:
    """Return the values of an array in a few words."""
    if array.size <= 12:
        return str(array.tolist())
    return f"{array.size} values beginning with {array.reshape(-1)[:4].tolist()}"


@dataclass(frozen=True)
class _State:
    values: Array
    beside: Array
    version: int
    metadata: str

    @staticmethod
    def of(tensor: Any) -> _State:
        grad = ", requires_grad" if getattr(tensor, "requires_grad", False) else ""
        text = f"{tensor.dtype} {list(tensor.shape)} on {tensor.device}{grad}"
        if is_strided(tensor):
            text += f", strides {list(tensor.stride())}, offset {tensor.storage_offset()}"
        return _State(values(tensor), beside(tensor), tensor._version, text)
