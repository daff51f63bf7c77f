"""TensorBase: the data and the keys of a tensor, without operators.

This is a hot module: plain Python that Cython compiles with the C types of `base.pxd` where it can.  It holds nothing
that a call does not need.

Note [Epochs]
-------------
A transform of functions must know whether the function that it runs made a tensor, or captured it.  Each transform
begins a new epoch of the process, and a tensor remembers in which epoch it was made: a number that is copied when the
tensor is made, so that nothing is looked up and no list of tensors is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from tt.core.tensor import blank
from tt.core.tensor.storage import Storage
from tt.core.types.size import Size, unchecked_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from tt.core.tensor.backend import Backend
    from tt.core.types.device import Device
    from tt.core.types.dtype import dtype as Dtype
    from tt.core.types.layout import layout as Layout

Kind = TypeVar("Kind", bound="TensorBase")

_EPOCH = 0


def begin_epoch() -> int:
    """Begin a new epoch and return its number; see Note [Epochs]."""
    global _EPOCH
    _EPOCH += 1
    return _EPOCH


class TensorSpec:
    """The common description of tensors of one dtype, device and layout; there is one object for each combination.

    Attributes
    ----------
    dtype, device, layout : dtype, Device, layout
        As the tensor shows them.
    backend : Backend
        The backend of the handles.
    keys : int
        Level-1 bits of a tensor that no layer holds.
    dim_bit, zero_dim_bit : int
        Level-2 bits of a tensor with and without dimensions.
    code : int
        The code of the dtype.
    memory_format : callable or None
        The backend's method; None where the tensors have no strides.
    """

    __slots__ = (
        "__weakref__",
        "backend",
        "code",
        "device",
        "dim_bit",
        "dtype",
        "keys",
        "layout",
        "memory_format",
        "zero_dim_bit",
    )

    dtype: Dtype
    device: Device
    layout: Layout
    backend: Backend
    keys: int
    dim_bit: int
    zero_dim_bit: int
    code: int
    memory_format: Callable[[Any], str | None] | None

    def __init__(self, dtype: Dtype, device: Device, layout: Layout, backend: Backend, keys: int) -> None:
        self.dtype = dtype
        self.device = device
        self.layout = layout
        self.backend = backend
        self.keys = keys
        self.code = dtype.code
        self.dim_bit = 1 << (2 * dtype.code)
        self.zero_dim_bit = 2 << (2 * dtype.code)
        self.memory_format = backend.memory_format if layout.name == "strided" else None

    def __repr__(self) -> str:
        return f"TensorSpec({self.dtype}, {self.device}, {self.layout})"


class TensorBase:
    """The data and keys of a tensor.

    Attributes
    ----------
    _handle : object
        The backend's native array; `handle_of` for those who write kernels.
    _epoch : int
        When it was made; see Note [Epochs].
    _keys : int
        Level-1 bits: device, layout, and the layers that hold the tensor.
    _promotion : int
        Its level-2 bit.
    _spec : TensorSpec
        dtype, device, layout and backend.
    _storage : Storage or None
        The memory that it shares with others; None while it shares with no other tensor and never changed.
    _record : object
        Opaque to the core: data of the layer that holds the tensor.
    _root : Tensor or None
        The tensor that this one is a view of; never a view itself.
    """

    __slots__ = (
        "__weakref__",
        "_epoch",
        "_handle",
        "_keys",
        "_promotion",
        "_record",
        "_root",
        "_spec",
        "_storage",
    )

    _epoch: int
    _handle: Any
    _keys: int
    _promotion: int
    _record: Any
    # A tensor; Any, because the class of tensors with operators is not known here.
    _root: Any
    _spec: TensorSpec
    # A Storage, or a layer's substitute for one (see core/layers/functionalise.py), or None.
    _storage: Any

    @property
    def shape(self) -> Size:
        """The shape of the tensor."""
        return unchecked_size(Size, self._handle.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        ndim: int = self._handle.ndim
        return ndim

    @property
    def dtype(self) -> Dtype:
        """The type of the elements."""
        return self._spec.dtype

    @property
    def device(self) -> Device:
        """The device of the data."""
        return self._spec.device

    @property
    def layout(self) -> Layout:
        """The layout of the data."""
        return self._spec.layout

    @property
    def _version(self) -> int:
        """The number of in-place changes of the memory."""
        storage = self._storage
        return 0 if storage is None else storage.version

    def _ensure_storage(self) -> Any:
        """Return the storage, making it if the tensor has none yet."""
        storage = self._storage
        if storage is None:
            backend = self._spec.backend
            storage = Storage(backend.storage_owner(self._handle), backend)
            self._storage = storage
        return storage

    def _bump_version(self) -> None:
        """Note that the memory was changed in place."""
        storage = self._storage
        if storage is None:
            storage = self._ensure_storage()
        storage.version += 1

    def _set_data(self, handle: Any, spec: TensorSpec) -> None:
        """Point the tensor to another handle, keeping its layer bits (for metadata ops and `data`)."""
        # Layer bits are the tensor's own, the others come from the spec.
        layers = self._keys & ~self._spec.keys
        self._handle = handle
        self._spec = spec
        self._keys = spec.keys | layers
        self._promotion = spec.dim_bit if handle.ndim else spec.zero_dim_bit


def wrap_handle(kind: type[Kind], handle: Any, spec: TensorSpec, keys: int, promotion: int) -> Kind:
    """Return a tensor that shares its memory with no other one: the one place where tensors are made.

    Parameters
    ----------
    kind : type
        `Tensor` or a subclass, whose constructor is not called.
    handle : object
        The backend's native array.
    spec : TensorSpec
        dtype, device, layout and backend of the handle.
    keys, promotion : int
        The bits of levels 1 and 2.
    """
    new = blank.instance(TensorBase, kind)
    new._epoch = _EPOCH
    new._handle = handle
    new._spec = spec
    new._keys = keys
    new._promotion = promotion
    new._storage = None
    new._record = None
    new._root = None
    return new
