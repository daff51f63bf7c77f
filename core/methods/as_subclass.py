"""Tensors as instances of a subclass of `Tensor`, made without calling the subclass."""

from __future__ import annotations

from typing import Any, TypeVar

from tt.core.dispatch.intercept.tt_function import DisableTTFunctionSubclass
from tt.core.dispatch.registry.registry import ops
from tt.core.errors import ChoiceError
from tt.core.layers.tt_dispatch import make_wrapper_subclass as make
from tt.core.methods.memory.host_access import detached
from tt.core.tensor.base import wrap_handle
from tt.core.tensor.storage import Storage
from tt.core.tensor.tensor import Tensor, sibling
from tt.core.types.keys import KEYS, OVERRIDDEN, PYTHON

__all__ = ["SUBCLASS_MEMBERS", "as_kind", "as_subclass", "fresh_wrapper", "is_wrapper"]

Kind = TypeVar("Kind", bound=Tensor)


def as_kind(tensor: Any, kind: type[Kind]) -> Kind:
    """Return a fresh tensor, without other references, as an instance of a subclass, without calling the subclass.

    The result does not count as a view, whatever memory it shares.
    """
    # The new class decides about interception; a spec with the bit is a wrapper's and keeps it.
    keys = tensor._keys & ~(OVERRIDDEN & ~tensor._spec.keys) | kind._class_keys
    new = wrap_handle(kind, tensor._handle, tensor._spec, keys, tensor._promotion)
    # The record is the history: the new object takes the place of the old one.
    new._storage, new._record = tensor._storage, tensor._record
    return new


def as_subclass(self: Tensor, cls: type[Kind]) -> Kind:
    """Return the tensor as an instance of a subclass of `Tensor`; both share memory and history.

    Examples
    --------
    >>> import tt
    >>> class Image(tt.Tensor):
    ...     pass
    >>> type(tt.ones(2).as_subclass(Image)).__name__
    'Image'
    """
    kind: Any = cls
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise ChoiceError("as_subclass", f"takes a subclass of Tensor, and {cls!r} is none")
    if is_wrapper(self):
        raise TypeError(
            f"as_subclass(): a {type(self).__name__} has no data of its own that another class could show\n"
            "  try: the methods of its class"
        )

    # Calls that make the instance are none that its class should see.
    with DisableTTFunctionSubclass():
        view = ops.alias(self)
    new = as_kind(view, cls)
    new._root = view._root
    return new


def is_wrapper(tensor: Any) -> bool:
    """Return whether a tensor has no data of its own, because its class handles all operators."""
    return bool(tensor._spec.keys & PYTHON)


def fresh_wrapper(tensor: Any) -> Tensor:
    """Return a wrapper tensor like another, with a storage of its own and without attributes or history."""
    # All layers are cleared but those of the spec, which belong to every wrapper.
    new = sibling(tensor, KEYS.mask("layer") & ~tensor._spec.keys)
    new.__dict__ = {}
    new._storage = Storage(new._handle, new._spec.backend)
    return new


def make_subclass(cls: type[Kind], data: Tensor, require_grad: bool = False) -> Kind:
    """Return an instance of a subclass of `Tensor` over the memory of a tensor, without its history.

    Examples
    --------
    >>> import tt
    >>> class Image(tt.Tensor):
    ...     pass
    >>> tt.Tensor._make_subclass(Image, tt.ones(2), require_grad=True)
    Image([1., 1.], requires_grad=True)
    """
    kind: Any = cls
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise TypeError(f"_make_subclass() takes a subclass of Tensor, and {cls!r} is none")
    new = as_kind(detached(data), cls)
    if require_grad:
        new.requires_grad = True
    return new


def make_wrapper_subclass(cls: type[Kind], size: Any, **options: Any) -> Kind:
    """Return a tensor of a class with `__tt_dispatch__` that has no data; see `tt.core.layers.tt_dispatch`."""
    new: Kind = make(cls, size, **options)
    return new


SUBCLASS_MEMBERS: dict[str, Any] = {
    "_make_subclass": staticmethod(make_subclass),
    "_make_wrapper_subclass": staticmethod(make_wrapper_subclass),
    "as_subclass": as_subclass,
}
