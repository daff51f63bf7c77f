"""Pickling objects with tensors, under PyTorch's names.

Note [Two picklers]
-------------------
Files name PyTorch's classes and functions, which are not there to be found; so every such name is written as that of
a `ForeignName`, with a random number in it, and replaced in the finished pickle.  That works for protocols up to 3,
where a name is a line, and keeps Python's fast pickler.  For later protocols, and for objects of tt's own classes that
PyTorch has too (whole modules), the pickler in Python writes the right names in the first place.
"""

from __future__ import annotations

import io
import os
import pickle
import re
import sys
from collections import OrderedDict
from types import FunctionType, ModuleType
from typing import IO, Any, ClassVar, cast

import numpy as np

import tt
from tt.errors import UnsupportedError
from tt.library import Storage
from tt.serialization.locations import has_packages, location_tag
from tt.serialization.names import STORAGE_NAMES, operator_to_torch, to_torch
from tt.serialization.storages import LoadedStorage, bytes_of

__all__ = ["StorageTable", "host_bytes", "pickled", "with_tables"]

_MODULE = "tt.serialization.foreign_names"
# Random, so that no text of the program's data can look like one of these lines.
_NONCE = "N" + os.urandom(16).hex()
_LINE = re.compile(rf"c{_MODULE}\n{_NONCE}([^\n ]*) ([^\n]*)\n".encode())


class ForeignName:
    """A class or function of PyTorch, of which only the name is there."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name
        self.__module__ = _MODULE
        # Without dots, which would be looked up one after the other.
        self.line = f"{_NONCE}{module.replace('.', '/')} {name.replace('.', '/')}"
        setattr(_holder(), self.line, self)

    def __reduce__(self) -> str:
        return self.line

    def __call__(self, *args: Any) -> Any:
        """Stand for the function in the pickle, where it has to be callable."""
        raise NotImplementedError(f"{self.module}.{self.name} is only a name here")


def _holder() -> ModuleType:
    """Return the module in which the fast pickler looks the names up."""
    return sys.modules.setdefault(_MODULE, ModuleType(_MODULE))


_known: dict[tuple[str, str], ForeignName] = {}


def foreign(module: str, name: str) -> ForeignName:
    """Return what stands for a name of PyTorch."""
    key = (module, name)
    result = _known.get(key)
    if result is None:
        result = _known[key] = ForeignName(module, name)
    return result


def _with_torch_names(data: bytes) -> bytes:
    def line(match: re.Match[bytes]) -> bytes:
        module, name = (part.replace(b"/", b".") for part in match.groups())
        return b"c" + module + b"\n" + name + b"\n"

    return _LINE.sub(line, data)


# --- storages ----------------------------------------------------------------------------------------------------


Memory = np.ndarray[Any, Any] | tt.Tensor


def host_bytes(memory: Memory) -> np.ndarray[Any, Any]:
    """Return the bytes of a storage in the host's memory."""
    return memory if isinstance(memory, np.ndarray) else bytes_of(memory.cpu())


class StorageReference:
    """A placeholder for a storage while objects are pickled: the pickler writes its id."""

    __slots__ = ("id",)

    def __init__(self, *id: Any) -> None:
        self.id = id


class StorageTable:
    """The storages that a file holds, in the order in which they were met.

    Attributes
    ----------
    tensors : list of Memory
        All bytes of each storage: as an array in the host's memory, or as a tensor on another device.
    widths : list of int
        Bytes of an element of each, as its first tensor has them.
    """

    def __init__(self, legacy: bool = False) -> None:
        self._bytes = (
            foreign("torch", "ByteStorage") if legacy else foreign("torch.storage", "UntypedStorage")
        )
        self._more = (None,) if legacy else ()  # of which storage it is a part
        self.clear()

    def clear(self) -> None:
        """Forget all storages."""
        self.tensors: list[Memory] = []
        self.widths: list[int] = []
        self._locations: list[str] = []
        self._keys: dict[Any, tuple[str, str]] = {}
        self._kept: list[Any] = []

    def place_of(self, tensor: Any) -> tuple[StorageReference, int, tuple[int, ...], tuple[int, ...], bool]:
        """Return where a tensor lies: storage, offset, size, stride, and whether the storage is of its dtype."""
        dtype, original = tensor.dtype, tensor
        if tensor.is_quantized and tensor.device.type != "cpu":
            tensor = tensor.int_repr()  # whose bytes every device can read
        storage = _storage_of(tensor)
        if storage is None:  # memory that cannot be described by strides: the values are saved
            tensor = tensor.detach().cpu().contiguous().clone()
            storage = tensor.untyped_storage()
        nbytes = storage.nbytes()
        # Views share memory and must share it after loading. Empty storages all have the address 0.
        key = (str(tensor.device), storage.data_ptr() if nbytes else id(storage), nbytes)
        known = self._keys.get(key)
        kind = STORAGE_NAMES.get(dtype.name)
        if known is None:
            whole = _all_bytes(tensor, storage, nbytes)
            known = self._keys[key] = (str(len(self.tensors)), kind or "")
            self.tensors.append(whole)
            self._locations.append(location_of(whole) if tensor is original else location_tag(original))
            self.widths.append(dtype.itemsize if kind else 1)
            # While objects are pickled no other memory may get one of these addresses.
            self._kept.append((storage, tensor))
        number, first = known
        typed = kind is not None and kind == first and nbytes % dtype.itemsize == 0
        name = foreign("torch", kind) if typed and kind else self._bytes
        # A second dtype in the same memory refers to it as bytes.
        count = nbytes // dtype.itemsize if typed else nbytes
        location = self._locations[int(number)]
        reference = StorageReference("storage", name, number, location, count, *self._more)
        return reference, tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), typed

    def of_storage(self, storage: Any) -> StorageReference:
        """Return what stands for a storage that is saved itself."""
        if isinstance(storage, LoadedStorage):
            return self.place_of(storage.tensor())[0]
        if isinstance(storage, Storage):
            if not isinstance(storage.owner, np.ndarray):
                raise UnsupportedError(f"tt.save() saves no {storage!r}\n  try: saving a tensor of it")
            memory = storage.owner.reshape(-1, order="A").view(np.uint8)
            _, _, number, location, count, *more = self.place_of(tt.from_numpy(memory))[0].id
            return StorageReference("storage", self._bytes, number, location, count, *more)
        return self.place_of(storage._elements)[0]


def _storage_of(tensor: tt.Tensor) -> Any:
    """Return the storage of a strided tensor, or None if its memory is not a plain row of bytes."""
    storage = tensor.untyped_storage()
    owner = getattr(storage, "owner", None)
    if owner is None:
        return None
    flags = getattr(owner, "flags", None)
    if flags is not None and not (flags.c_contiguous or flags.f_contiguous):
        return None
    # Files know strides that are not negative, from the beginning of the storage.
    offset, width, strides = tensor.storage_offset(), tensor.element_size(), tensor.stride()
    if offset < 0 or (strides and min(strides) < 0):
        return None
    last = offset + sum((n - 1) * step for n, step in zip(tensor.shape, strides, strict=True))
    if tensor.numel():
        inside = (last + 1) * width <= storage.nbytes()
        if not inside or tensor.data_ptr() != storage.data_ptr() + offset * width:
            return None
    return storage


def location_of(memory: Memory) -> str:
    """Return the name of the place of some memory."""
    if isinstance(memory, np.ndarray):
        return location_tag(tt.from_numpy(memory)) if has_packages() else "cpu"
    return location_tag(memory)


def _all_bytes(tensor: tt.Tensor, storage: Any, nbytes: int) -> Memory:
    """Return all memory behind a tensor as bytes."""
    if isinstance(storage.owner, np.ndarray) and tensor.device.type == "cpu":
        return storage.owner.reshape(-1, order="A").view(np.uint8)
    width = tensor.element_size()
    flat = tensor.detach().as_strided((nbytes // width,), (1,), 0)
    if nbytes % width:
        # Bytes that are no multiple of the element: all of them have to be reached through a view of
        # bytes.
        flat = tensor.detach().as_strided((0,), (1,), 0).view(tt.uint8).as_strided((nbytes,), (1,), 0)
    return flat.view(tt.uint8) if flat.dtype != tt.uint8 else flat


# --- what objects become -----------------------------------------------------------------------------------------

_TENSOR_V2 = ("torch._utils", "_rebuild_tensor_v2")
_NESTED = ("torch.nested._internal.nested_tensor", "_rebuild_njt")
_NOT_OURS = object()


class _NeedsNamesError(Exception):
    """An object whose names only the pickler in Python can write."""


def _reduce_tensor(tensor: tt.Tensor, table: StorageTable) -> tuple[Any, ...]:
    """Return the function and arguments that rebuild a tensor's data, whatever its class."""
    kind = type(tensor)
    gradient = bool(tensor.requires_grad)
    if tensor.is_nested:
        return foreign(*_NESTED), (_nested_parts(tensor, gradient),)
    if tensor.is_quantized:
        storage, offset, size, stride, _ = table.place_of(tensor)
        quantizer = _quantizer(tensor)
        return foreign("torch._utils", "_rebuild_qtensor"), (
            storage, offset, size, stride, quantizer, gradient, OrderedDict(),
        )  # fmt: skip
    if tensor.layout != tt.strided:
        return foreign("torch._utils", "_rebuild_sparse_tensor"), (tensor.layout, _sparse_parts(tensor))
    # A wrapper has no memory of its own; its attributes hold the data.
    if kind.__tt_dispatch__ is not tt.Tensor.__tt_dispatch__ and _is_wrapper(tensor):
        return foreign("torch._utils", "_rebuild_wrapper_subclass"), (
            kind, foreign("torch", tensor.dtype.name), tuple(tensor.shape), tuple(tensor.stride()),
            tensor.storage_offset(), tensor.layout, tensor.device, gradient,
        )  # fmt: skip
    if tensor.device.type == "meta":
        return foreign("torch._utils", "_rebuild_meta_tensor_no_storage"), (
            foreign("torch", tensor.dtype.name), tuple(tensor.shape), tuple(tensor.stride()), gradient,
        )  # fmt: skip
    if kind is not tt.Tensor:
        tensor = tensor.detach().as_subclass(tt.Tensor)
    storage, offset, size, stride, typed = table.place_of(tensor)
    if typed:
        return foreign(*_TENSOR_V2), (storage, offset, size, stride, gradient, OrderedDict())
    return foreign("torch._utils", "_rebuild_tensor_v3"), (
        storage, offset, size, stride, gradient, OrderedDict(), foreign("torch", tensor.dtype.name),
    )  # fmt: skip


def _is_wrapper(tensor: tt.Tensor) -> bool:
    try:
        tensor.detach().as_subclass(tt.Tensor)
    except TypeError:
        return True
    return False


def _quantizer(tensor: Any) -> tuple[Any, ...]:
    """Return the scheme of a quantized tensor and its parameters."""
    scheme = tensor.qscheme()
    named = foreign("torch", scheme.name)
    if scheme is tt.per_tensor_affine:
        return named, tensor.q_scale(), tensor.q_zero_point()
    return (
        named,
        tensor.q_per_channel_scales(),
        tensor.q_per_channel_zero_points(),
        tensor.q_per_channel_axis(),
    )


def _sparse_parts(tensor: tt.Tensor) -> tuple[Any, ...]:
    """Return the parts of a sparse tensor; the values say whether it requires a gradient, as in PyTorch's files."""
    bare = tensor.detach()
    values = (bare._values() if bare.layout == tt.sparse_coo else bare.values()).detach()
    values.requires_grad = tensor.requires_grad
    if bare.layout == tt.sparse_coo:
        return bare._indices(), values, tt.Size(bare.shape), bool(bare.is_coalesced())
    if bare.layout in (tt.sparse_csr, tt.sparse_bsr):
        return bare.crow_indices(), bare.col_indices(), values, tt.Size(bare.shape)
    if bare.layout in (tt.sparse_csc, tt.sparse_bsc):
        return bare.ccol_indices(), bare.row_indices(), values, tt.Size(bare.shape)
    raise UnsupportedError(
        f"tt.save() has no form for tensors of the layout {bare.layout}\n  try: tensor.to_dense()"
    )


def _nested_parts(tensor: tt.Tensor, gradient: bool) -> dict[str, Any]:
    bare = tensor.detach()
    ragged = next(d for d, n in enumerate(bare.shape) if type(n) is not int)
    return {
        "values": bare.values(), "offsets": bare.offsets(), "lengths": bare.lengths(), "_ragged_idx": ragged,
        "_metadata_cache": {}, "requires_grad": gradient,
    }  # fmt: skip


def _state_of(tensor: tt.Tensor) -> dict[str, Any]:
    return dict(tensor.__dict__)


def reduced(obj: object, table: StorageTable) -> Any:
    """Return how an object of tt is written, in the form of `__reduce__`; `_NOT_OURS` if it is none of tt."""
    if isinstance(obj, tt.Tensor):
        # A class with rows of one rank would need the ranks to be loaded.
        if hasattr(
            type(obj), "to_local"
        ):  # divided among ranks: a file has the rows of the rank that writes it
            rows = cast(Any, obj).to_local()
            obj = tt.nn.Parameter(rows, obj.requires_grad) if isinstance(obj, tt.nn.Parameter) else rows
        kind: Any = type(obj)
        if kind.__reduce_ex__ is not tt.Tensor.__reduce_ex__ or kind.__reduce__ is not tt.Tensor.__reduce__:
            return _NOT_OURS  # a class with a form of its own
        state = _state_of(obj)
        if kind is tt.nn.Parameter:
            data = obj.detach().as_subclass(tt.Tensor)
            if state:
                return foreign("torch._utils", "_rebuild_parameter_with_state"), (
                    data, bool(obj.requires_grad), OrderedDict(), state,
                )  # fmt: skip
            return foreign("torch._utils", "_rebuild_parameter"), (
                data,
                bool(obj.requires_grad),
                OrderedDict(),
            )
        function, args = _reduce_tensor(obj, table)
        if kind is tt.Tensor and not state:
            return function, args
        named = foreign("torch", "Tensor") if kind is tt.Tensor else kind
        return foreign("torch._tensor", "_rebuild_from_type_v2"), (function, named, args, state)
    if isinstance(obj, tt.device):
        return foreign("torch", "device"), (obj.type,) if obj.index is None else (obj.type, obj.index)
    if isinstance(obj, tt.layout):
        return foreign("torch.serialization", "_get_layout"), (f"torch.{obj.name}",)
    if type(obj) is tt.Size:
        return foreign("torch", "Size"), (tuple(obj),)
    return _NOT_OURS


class _TensorPickler:
    """The base of both picklers: writing objects of tt, and the ids of storages."""

    table: StorageTable

    def persistent_id(self, obj: Any) -> Any:
        """Return the id of a storage."""
        kind = type(obj)
        if kind is StorageReference:
            return obj.id
        # By name, so that nothing has to be imported for a check of every object.
        if kind in (LoadedStorage, Storage) or kind.__name__ == "TypedStorage":
            return self.table.of_storage(obj).id
        return None


def _fast(base: Any) -> Any:
    """Return a pickler for files whose names can be replaced afterwards."""

    class FastPickler(_TensorPickler, base):  # type: ignore[misc]  # of a module that the user chooses
        def __init__(self, file: IO[bytes], protocol: int, table: StorageTable) -> None:
            super().__init__(file, protocol=protocol)
            self.table = table

        def reducer_override(self, obj: object) -> Any:
            if isinstance(obj, ForeignName):
                return obj.line
            result = reduced(obj, self.table)
            if result is not _NOT_OURS:
                return result
            if torch_name_of(obj) is not None or _is_of_nn(type(obj)):
                raise _NeedsNamesError
            return NotImplemented

    return FastPickler


def _thorough(base: Any) -> Any:
    """Return a pickler that writes every name itself."""

    class ThoroughPickler(_TensorPickler, base):  # type: ignore[misc]  # of a module that the user chooses
        # The table of the base holds the base's `save_global`, not the one below.
        dispatch: ClassVar[dict[Any, Any]] = {
            **base.dispatch,
            FunctionType: lambda self, obj: self.save_global(obj),
        }

        def __init__(self, file: IO[bytes], protocol: int, table: StorageTable) -> None:
            super().__init__(file, protocol=protocol)
            self.table = table

        def reducer_override(self, obj: object) -> Any:
            if not isinstance(obj, type | FunctionType) and (named := torch_name_of(obj)) is not None:
                return named[1]
            result = reduced(obj, self.table)
            if result is _NOT_OURS:
                return _reduce_module(obj, self.proto)
            return result

        def save_global(self, obj: object, name: Any = None) -> None:
            theirs = torch_name_of(obj)
            if theirs is None:
                super().save_global(obj, name)
                return
            # From protocol 4 on names are texts on the stack.
            if self.proto >= 4:
                self.save(theirs[0])
                self.save(theirs[1])
                self.write(pickle.STACK_GLOBAL)
            else:
                self.write(pickle.GLOBAL + f"{theirs[0]}\n{theirs[1]}\n".encode())
            self.memoize(obj)

    return ThoroughPickler


_HOOKS = """
    _backward_pre_hooks _backward_hooks _forward_hooks _forward_hooks_with_kwargs _forward_hooks_always_called
    _forward_pre_hooks _forward_pre_hooks_with_kwargs _state_dict_hooks _state_dict_pre_hooks
    _load_state_dict_pre_hooks _load_state_dict_post_hooks
"""
"""The tables that a module of PyTorch always has, and one of tt when it needs them."""


def _is_of_nn(kind: type) -> bool:
    """Return whether a class is one of `tt.nn`, which says torch where `import torch` gives tt."""
    return kind.__module__.startswith(("tt.nn.", "torch.nn."))


def _reduce_module(obj: Any, protocol: int) -> Any:
    """Return how a whole module of a class that PyTorch has too is written: with all that PyTorch's has."""
    if isinstance(obj, type) or not hasattr(obj, "_modules") or not _is_of_nn(type(obj)):
        return NotImplemented
    function, args, state, *more = obj.__reduce_ex__(protocol)
    return function, args, with_tables(state), *more


def with_tables(state: Any) -> Any:
    """Return the state of a module with the tables that PyTorch reads without a default."""
    if not isinstance(state, dict):
        return state
    tables: dict[str, Any] = {name: OrderedDict() for name in _HOOKS.split()}
    return {"_is_full_backward_hook": None, **tables, **state}


def torch_name_of(obj: object) -> tuple[str, str] | None:
    """Return PyTorch's name of a class, a function or a dtype, if it has one."""
    if isinstance(obj, ForeignName):
        return obj.module, obj.name
    if isinstance(obj, tt.dtype):
        return "torch", obj.name
    if isinstance(obj, type | FunctionType):
        return to_torch(obj.__module__, obj.__qualname__)
    return operator_to_torch(obj) if callable(obj) else None


def pickled(obj: object, protocol: int, pickle_module: ModuleType, table: StorageTable) -> bytes:
    """Return the pickle of an object; the storages that it needs are in the table afterwards."""
    base = pickle_module.Pickler
    python = base if hasattr(base, "save_global") else pickle._Pickler  # the one in Python
    # Python's fast pickler writes names as lines up to protocol 3, see Note [Two picklers].
    if protocol < 4 and python is not base:
        file = io.BytesIO()
        try:
            _fast(base)(file, protocol, table).dump(obj)
            return _with_torch_names(file.getvalue())
        except _NeedsNamesError:
            # What the failed attempt has noted would be saved as well.
            table.clear()
    file = io.BytesIO()
    _thorough(python)(file, protocol, table).dump(obj)
    return file.getvalue()
