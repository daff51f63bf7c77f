"""Tensor: the class that users see, and how the dispatcher makes one.

`Tensor` is an ordinary class, so that subclassing, attributes, weak references and pickling work as users expect.
Its operators come from the schema (`methods`), its other members from `members`, and those of plugins from their
manifests.
"""

from __future__ import annotations

from typing import Any

from tt.core.tensor_base import TensorBase, TensorSpec

__all__ = ["Tensor", "alias", "wrap"]


class Tensor(TensorBase):
    """A multi-dimensional array of one dtype on one device.

    Make one with `tt.tensor`, `tt.zeros`, `tt.from_numpy` and the other factories.

    Examples
    --------
    >>> import tt
    >>> tt.tensor([[1.0, 2.0], [3.0, 4.0]]).sum()
    tensor(10.)
    """

    # NumPy then leaves `array * tensor` to Tensor.__rmul__.
    __array_priority__ = 1000


def wrap(handle: Any, spec: TensorSpec, kind: type[Tensor] = Tensor) -> Tensor:
    """Return a tensor over a native handle.

    Parameters
    ----------
    handle : object
        What the backend calls an array.
    spec : TensorSpec
        dtype, device, layout and backend of the handle.
    kind : type
        The class of the result.
    """
    new = kind.__new__(kind)
    new.handle = handle
    new.spec = spec
    new.keys = spec.keys
    new.promotion = spec.dim_bit if handle.ndim else spec.zero_dim_bit
    new.storage = None
    new.record = None
    new.base = None
    return new


def alias(tensor: TensorBase, clear: int = 0) -> Tensor:
    """Return a tensor with the same handle and storage that the layers in `clear` do not hold.

    Parameters
    ----------
    tensor : Tensor
        The tensor to alias; it gets a storage, so that both share one version.
    clear : int
        Key bits that the alias shall not have.
    """
    new = wrap(tensor.handle, tensor.spec)
    new.keys = tensor.keys & ~clear
    if tensor.spec.backend.functionalised:
        from tt.core.functionalise import share

        new.storage = share(tensor)
    else:
        new.storage = tensor.ensure_storage()
    return new
