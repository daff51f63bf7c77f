"""Making tensors from what files say of them.

Each function has PyTorch's name of the one that files call, and takes the arguments that files have for it.  They
trust nothing: types are checked here, places in memory where tensors are made.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import tt
from tt.errors import CorruptFileError, MemberError, UnsupportedError
from tt.serialization.storages import LoadedStorage

__all__ = ["Rebuilder", "functions_of_pickles"]


class Rebuilder:
    """The functions that files call, for one file.

    Parameters
    ----------
    path : str
        The file, for messages.
    find_storage : callable
        Returns the `LoadedStorage` behind a loaded storage of the file.
    restore : callable
        Puts a storage where a location says.
    """

    def __init__(
        self,
        path: str,
        find_storage: Callable[[Any], LoadedStorage],
        restore: Callable[[LoadedStorage, str], LoadedStorage],
    ) -> None:
        self._path, self._find, self._restore = path, find_storage, restore

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Return what may be called with `weights_only=True`, by its name in files."""
        return {
            "torch._utils._rebuild_tensor": self.tensor,
            "torch._utils._rebuild_tensor_v2": self.tensor_v2,
            "torch._utils._rebuild_tensor_v3": self.tensor_v3,
            "torch._utils._rebuild_parameter": self.parameter,
            "torch._utils._rebuild_parameter_with_state": self.parameter_with_state,
            "torch._utils._rebuild_sparse_tensor": self.sparse,
            "torch._utils._rebuild_meta_tensor_no_storage": self.meta,
            "torch._utils._rebuild_wrapper_subclass": self.wrapper,
            "torch._utils._rebuild_device_tensor_from_cpu_tensor": self.device_tensor,
            "torch._utils._rebuild_device_tensor_from_numpy": self.device_tensor,
            "torch._utils._rebuild_qtensor": self.quantized,
            "torch._utils._rebuild_nested_tensor": _nested,
            "torch.nested._internal.nested_tensor._rebuild_njt": self.jagged,
            "torch._dynamo.decorators._DimRange": _ignored,
            "torch._tensor._rebuild_from_type_v2": self.from_type,
            "torch._tensor._rebuild_from_type": self.from_type_without_state,
            "torch.nn.parameter.Parameter": self.plain_parameter,
            "torch.serialization._get_layout": self.layout,
            "torch.Size": self.size,
            "torch.device": self.device,
            "collections.OrderedDict": self.ordered_dict,
            "collections.Counter": self.counter,
            "builtins.set": self.new_set,
            "builtins.frozenset": self.new_frozenset,
            "builtins.complex": self.complex,
            "builtins.bytearray": self.new_bytearray,
            "builtins.bytes": self.new_bytes,
            "_codecs.encode": self.encode,
        }

    def _check(self, right: bool, what: str) -> None:
        if not right:
            raise CorruptFileError(self._path, f"its pickle is damaged: {what}")

    def _numbers(self, values: Any, what: str) -> tuple[int, ...]:
        # By the exact type, for `bool` is an int to `isinstance`.
        self._check(
            isinstance(values, tuple | list) and all(type(n) is int for n in values),
            f"{what} of a tensor is not a list of integers",
        )
        return tuple(values)

    # --- tensors ---------------------------------------------------------------------------------------------

    def tensor(self, storage: object, storage_offset: int, size: object, stride: object) -> tt.Tensor:
        """Return a tensor in a storage."""
        stored = self._find(storage)
        return self._placed(stored, stored.dtype, storage_offset, size, stride)

    def _placed(
        self, storage: LoadedStorage, dtype: Any, offset: Any, size: object, stride: object
    ) -> tt.Tensor:
        self._check(type(offset) is int, "the offset of a tensor is not an integer")
        self._check(isinstance(dtype, tt.dtype), "the dtype of a tensor is none")
        return storage.placed(
            dtype, self._numbers(size, "the size"), self._numbers(stride, "the stride"), offset
        )

    def tensor_v2(
        self,
        storage: object,
        storage_offset: int,
        size: object,
        stride: object,
        requires_grad: object = False,
        backward_hooks: object = None,
        metadata: object = None,
    ) -> tt.Tensor:
        """Return a tensor in a storage of its dtype."""
        new = self.tensor(storage, storage_offset, size, stride)
        return self._finished(new, requires_grad, metadata)

    def tensor_v3(
        self,
        storage: object,
        storage_offset: int,
        size: object,
        stride: object,
        requires_grad: object,
        backward_hooks: object,
        dtype: object,
        metadata: object = None,
    ) -> tt.Tensor:
        """Return a tensor in a storage that has no dtype, or another one."""
        new = self._placed(self._find(storage), dtype, storage_offset, size, stride)
        return self._finished(new, requires_grad, metadata)

    def _finished(self, new: tt.Tensor, requires_grad: object, metadata: Any) -> tt.Tensor:
        if metadata:
            self._check(isinstance(metadata, dict), "the metadata of a tensor are not a dict")
            if metadata.get("conj"):
                # tt conjugates and negates at once, so the values are computed here.
                new = new.conj_physical()
            if metadata.get("neg"):
                new = new.neg()
        if requires_grad is True:
            try:
                new.requires_grad = True
            except MemberError:
                _ = (
                    new.requires_grad
                )  # raises where autograd is broken; where it is left out, the values are enough
        return new

    def parameter(self, data: object, requires_grad: object, backward_hooks: object = None) -> Any:
        """Return a parameter over a tensor."""
        self._check(isinstance(data, tt.Tensor), "a parameter is made of something that is not a tensor")
        return tt.nn.Parameter(data, requires_grad is True)

    def plain_parameter(self, data: object, requires_grad: object = True) -> Any:
        """Return a parameter, as calling its class does."""
        return self.parameter(data, requires_grad)

    def parameter_with_state(
        self, data: object, requires_grad: object, backward_hooks: object, state: object
    ) -> Any:
        """Return a parameter that has attributes."""
        new = self.parameter(data, requires_grad)
        self.set_attributes(new, state)
        return new

    def set_attributes(self, new: tt.Tensor, state: Any) -> None:
        """Give a tensor the attributes of a state, besides its data."""
        slots = None
        if isinstance(state, tuple) and len(state) == 2:
            state, slots = state
        self._check(not slots, "a tensor has attributes in slots")
        if state is None:
            return
        self._check(
            isinstance(state, dict) and all(type(k) is str and not k.startswith("__") for k in state),
            "the attributes of a tensor are not a dict of names",
        )
        kept = (
            {name: value for name, value in state.items() if name not in _OF_NESTED}
            if new.is_nested
            else state
        )
        new.__dict__.update(kept)

    def from_type(self, function: Any, kind: object, args: object, state: object) -> Any:
        """Return a tensor of a subclass, or one with attributes."""
        new = self.from_type_without_state(function, kind, args, state)
        setter = getattr(type(new), "__setstate__", None)
        if setter is not None and setter is not getattr(tt.Tensor, "__setstate__", None):
            setter(new, state)  # of a class that the user allowed
        else:
            self.set_attributes(new, state)
        return new

    def from_type_without_state(self, function: Any, kind: object, args: Any, state: object = None) -> Any:
        """Return a tensor of a subclass."""
        # By equality: each access makes another bound method of the same function.
        known = any(function == own for own in self.functions().values())
        self._check(known and isinstance(args, tuple), "a tensor is made by something that makes none")
        new = function(*args)
        self._check(
            isinstance(new, tt.Tensor) and isinstance(kind, type) and issubclass(kind, tt.Tensor),
            "the class of a tensor is none",
        )
        if type(new) is not kind and kind is not tt.Tensor:
            gradient = new.requires_grad
            # The subclass must be the leaf, not a result of the plain tensor.
            new = new.as_subclass(kind) if not gradient else new.detach().as_subclass(kind).requires_grad_()
        return new

    def sparse(self, layout: Any, data: Any) -> tt.Tensor:
        """Return a sparse tensor, whose indices are checked."""
        self._check(isinstance(data, tuple) and len(data) >= 3, "the parts of a sparse tensor are not there")
        name = str(layout).rpartition(".")[2]
        if name == "sparse_coo":
            indices, values, size, *more = data
            self._check_parts(indices, values)
            shape = list(self._numbers(size, "the size"))
            known = bool(more and more[0]) or None
            # Unchecked indices of a damaged file would let kernels write outside of their memory.
            new = tt.sparse_coo_tensor(
                indices, values.detach(), shape, check_invariants=True, is_coalesced=known
            )
            return self._finished(new, values.requires_grad, None)
        self._check(
            name in ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"), "a sparse layout is none"
        )
        self._check(len(data) == 4, "the parts of a sparse tensor are not there")
        compressed, plain, values, size = data
        self._check_parts(compressed, plain, values)
        shape = list(self._numbers(size, "the size"))
        new = tt.sparse_compressed_tensor(
            compressed, plain, values.detach(), shape, layout=layout, check_invariants=True
        )
        return self._finished(new, values.requires_grad, None)

    def _check_parts(self, *parts: Any) -> None:
        self._check(
            all(isinstance(part, tt.Tensor) for part in parts), "a part of a sparse tensor is not a tensor"
        )

    def jagged(self, parts: Any) -> tt.Tensor:
        """Return a nested tensor, whose offsets are checked."""
        self._check(isinstance(parts, dict), "the parts of a nested tensor are not there")
        values, offsets, lengths = (parts.get(name) for name in ("values", "offsets", "lengths"))
        ragged = parts.get("_ragged_idx", 1)
        self._check(
            all(isinstance(part, tt.Tensor) and part.layout is tt.strided for part in (values, offsets))
            and (lengths is None or isinstance(lengths, tt.Tensor)) and type(ragged) is int,
            "a part of a nested tensor is not a tensor",
        )  # fmt: skip
        new = tt.nested.nested_tensor_from_jagged(values, offsets, lengths, jagged_dim=ragged)
        return self._finished(new, parts.get("requires_grad"), None)

    def quantized(
        self,
        storage: object,
        storage_offset: int,
        size: object,
        stride: object,
        quantizer: Any,
        requires_grad: object = False,
        backward_hooks: object = None,
    ) -> tt.Tensor:
        """Return a quantized tensor: integers in a storage, and a scheme with its parameters."""
        from tt._compat.quantized import over_integers  # start-up: few files hold quantized tensors

        ints = self.tensor(storage, storage_offset, size, stride)
        self._check(
            ints.dtype in (tt.int8, tt.uint8, tt.int32)
            and isinstance(quantizer, tuple)
            and len(quantizer) > 2,
            "the integers or parameters of a quantized tensor are not there",
        )
        scheme, *parameters = quantizer
        if scheme in (tt.per_tensor_affine, tt.per_tensor_symmetric):
            scale, point = parameters[:2]
            self._check(
                type(scale) is float and type(point) is int, "the scale of a quantized tensor is not a number"
            )
            return self._finished(over_integers(ints, scale, point), requires_grad, None)
        self._check(
            isinstance(scheme, tt.qscheme) and len(parameters) == 3 and type(parameters[2]) is int
            and all(isinstance(p, tt.Tensor) for p in parameters[:2]),
            "the scales of a quantized tensor are not tensors",
        )  # fmt: skip
        return self._finished(over_integers(ints, *parameters), requires_grad, None)

    def meta(self, dtype: Any, size: object, stride: object, requires_grad: object) -> tt.Tensor:
        """Return a tensor without data."""
        self._check(isinstance(dtype, tt.dtype), "the dtype of a tensor is none")
        shape, steps = self._numbers(size, "the size"), self._numbers(stride, "the stride")
        # Larger numbers overflow where strides and sizes are multiplied.
        self._check(
            all(-(2**62) < n < 2**62 for n in (*shape, *steps)), "the size of a tensor is out of range"
        )
        new = tt.empty_strided(shape, steps, dtype=dtype, device="meta")
        return self._finished(new, requires_grad, None)

    def wrapper(
        self,
        kind: object,
        dtype: Any,
        size: object,
        stride: object,
        storage_offset: Any,
        layout: Any,
        device: Any,
        requires_grad: object,
    ) -> Any:
        """Return a tensor of a class that handles all operators itself."""
        self._check(isinstance(kind, type) and issubclass(kind, tt.Tensor), "the class of a tensor is none")
        return tt.Tensor._make_wrapper_subclass(
            kind,
            self._numbers(size, "the size"),
            strides=self._numbers(stride, "the stride"),
            storage_offset=storage_offset,
            dtype=dtype,
            layout=layout,
            device=device,
            requires_grad=requires_grad is True,
        )

    def device_tensor(self, data: Any, dtype: Any, device: Any, requires_grad: object) -> tt.Tensor:
        """Return a tensor of a device whose memory files do not hold as it is."""
        values = data if isinstance(data, tt.Tensor) else tt.from_numpy(data)
        # An empty storage is enough to learn where `map_location` puts the device.
        empty = LoadedStorage(tt.empty(0, dtype=tt.uint8), tt.uint8)
        target = self._restore(empty, str(device)).device
        return self._finished(values.to(dtype=dtype, device=target), requires_grad, None)

    # --- values ----------------------------------------------------------------------------------------------

    def layout(self, name: Any) -> Any:
        """Return a layout by its name, `torch.strided`."""
        return _layout(self._path, name)

    def size(self, values: object = ()) -> Any:
        """Return a `Size`."""
        return tt.Size(self._numbers(values, "the size"))

    def device(self, name: Any, index: int | None = None) -> Any:
        """Return a device."""
        self._check(isinstance(name, str), "the name of a device is not a string")
        return tt.device(name, index)

    def ordered_dict(self, pairs: object = ()) -> Any:
        """Return an `OrderedDict` of pairs."""
        self._check(
            isinstance(pairs, dict)
            or (
                isinstance(pairs, list | tuple)
                and all(type(p) in (list, tuple) and len(p) == 2 for p in pairs)
            ),
            "an OrderedDict is made of something other than pairs",
        )
        return OrderedDict(
            checked_keys(self._path, pairs if isinstance(pairs, dict) else dict_of(self._path, pairs))
        )

    def counter(self, counts: Any = ()) -> Any:
        """Return a `Counter` of a dict."""
        self._check(
            isinstance(counts, dict) or counts == (), "a Counter is made of something that is not a dict"
        )
        return Counter(counts)

    def new_set(self, values: Any = ()) -> set[Any]:
        """Return a set."""
        self._check(isinstance(values, list | tuple), "a set is made of something that is not a list")
        return {hashable(self._path, value) for value in values}

    def new_frozenset(self, values: object = ()) -> frozenset[Any]:
        """Return a frozenset."""
        return frozenset(self.new_set(values))

    def complex(self, real: Any, imag: Any = 0.0) -> complex:
        """Return a complex number."""
        self._check(type(real) is float and type(imag) is float, "the parts of a complex number are none")
        return complex(real, imag)

    def new_bytearray(self, *args: Any) -> bytearray:
        """Return a bytearray: of bytes, or of text that stands for bytes."""
        return bytearray(self.new_bytes(*args))

    def new_bytes(self, values: object = b"", encoding: object = None) -> bytes:
        """Return bytes: of bytes, or of text that stands for them."""
        if isinstance(values, bytes | bytearray) and encoding is None:
            return bytes(values)
        return self.encode(values, encoding) if values != () else b""

    def encode(self, text: object, encoding: object = None) -> bytes:
        """Return the bytes that a text stands for, as pickles of Python 2 write them."""
        self._check(
            isinstance(text, str) and encoding in ("latin1", "latin-1"), "bytes are made of something unusual"
        )
        try:
            return text.encode("latin-1") if isinstance(text, str) else b""
        except UnicodeEncodeError as error:
            raise CorruptFileError(self._path, f"its pickle is damaged: {error}") from error


def _nested(*args: Any) -> Any:
    raise UnsupportedError(
        "tt has nested tensors of the layout jagged only\n  try: saving tensor.unbind(), or layout=torch.jagged"
    )


class Ignored:
    """Notes of PyTorch's compiler about a tensor, which do not affect its data."""


def _ignored(*args: Any) -> Ignored:
    return Ignored()


_OF_NESTED = frozenset([
    "_ragged_idx", "_values", "_offsets", "_lengths", "_metadata_cache", "_dynamo_propagated_dynamic_indices",
])  # fmt: skip
"""Attributes that PyTorch writes for its class of nested tensors, which the parts give already."""


# --- keys ----------------------------------------------------------------------------------------------------

_MOST_NODES = 10_000
_DEEPEST = 50


def hashable(path: str, value: Any) -> Any:
    """Return a value that is to be hashed, unless that would take forever or exhaust the stack.

    A tuple can contain the same tuple twice, and so on for a hundred levels: it is small, and its hash is computed
    2 ** 100 times.
    """
    if type(value) not in (tuple, frozenset):
        return value
    # Level by level: a tuple whose parts are shared takes exponential time to hash, and a deep one
    # overflows the stack.
    level, seen = [value], 0
    for _ in range(_DEEPEST):
        level = [part for node in level for part in node if type(part) in (tuple, frozenset)]
        seen += len(level)
        if not level:
            return value
        if seen > _MOST_NODES:
            break
    raise CorruptFileError(path, "its pickle is damaged: a key is nested too deeply")


def dict_of(path: str, pairs: Any) -> dict[Any, Any]:
    """Return the dict of some pairs."""
    return {hashable(path, key): value for key, value in pairs}


def checked_keys(path: str, table: dict[Any, Any]) -> dict[Any, Any]:
    """Return a dict whose keys are checked to be hashable soon."""
    for key in table:
        hashable(path, key)
    return table


_LAYOUTS = ("strided", "jagged", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


def _layout(path: str, name: Any) -> Any:
    short = str(name).removeprefix("torch.")
    if short not in _LAYOUTS:
        raise UnsupportedError(f"{path}: tt has no layout {name!r}")
    return getattr(tt, short)


def _get_layout(name: str) -> tt.layout:
    """Return a layout by PyTorch's name of it, as pickles have it.

    Examples
    --------
    >>> from tt.serialization import _get_layout
    >>> _get_layout("torch.sparse_coo")
    tt.sparse_coo
    """
    layout: tt.layout = _layout("a pickle", name)
    return layout


# --- pickles that are no files -------------------------------------------------------------------------------------


def _storage_in(storage: Any) -> LoadedStorage:
    """Return a storage of a program as one of a file."""
    if isinstance(storage, LoadedStorage):
        return storage
    untyped = storage.untyped() if isinstance(storage, tt.TypedStorage) else storage
    dtype = storage.dtype if isinstance(storage, tt.TypedStorage) else tt.uint8
    return LoadedStorage(tt.empty(0, dtype=tt.uint8).set_(untyped), dtype)


def functions_of_pickles() -> dict[str, Callable[..., Any]]:
    """Return the functions that a pickle of PyTorch's calls, by the names that it has for them.

    Examples
    --------
    >>> import tt
    >>> from tt.serialization.rebuilding import functions_of_pickles
    >>> make = functions_of_pickles()["torch._utils._rebuild_tensor_v2"]
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):  # storages with a dtype are deprecated
    ...     storage = tt.ones(2, 2).storage()
    >>> make(storage, 1, (2,), (2,), False, None)
    tensor([1., 1.])
    """
    return Rebuilder("a pickle", _storage_in, lambda storage, location: storage).functions()
