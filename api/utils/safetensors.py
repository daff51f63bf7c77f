"""tt.utils.safetensors: the format of the library safetensors, both ways, without the library.

A file is a header in JSON, which names each tensor with its dtype, shape and place, and then their bytes.  It holds
nothing that could run.  Checkpoints that are split over several files have an index, `model.safetensors.index.json`.
"""

from __future__ import annotations

import json
import math
import mmap as mmap_module
import os
import struct
import sys
from collections.abc import Iterator, Mapping
from io import BufferedReader
from typing import Any

import numpy as np

import tt
from tt.errors import CorruptFileError, UnsupportedError, ValueRangeError
from tt.library import empty_bytes, read_into
from tt.serialization.atomic_file import AtomicFile, write_all

__all__ = ["load", "load_file", "load_sharded", "save", "save_file", "save_sharded"]

_NAMES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "uint16": "U16", "float16": "F16", "bfloat16": "BF16",
    "int32": "I32", "uint32": "U32", "float32": "F32", "float64": "F64", "int64": "I64", "uint64": "U64",
    "complex64": "C64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0",
    "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ",
}  # fmt: skip
_DTYPES = {name: getattr(tt, dtype) for dtype, name in _NAMES.items()}
_LONGEST_HEADER = 100_000_000
INDEX = "model.safetensors.index.json"


# --- writing -----------------------------------------------------------------------------------------------------


def save(tensors: Mapping[str, tt.Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """Return tensors as the bytes of a file.

    Parameters
    ----------
    tensors : dict of str to Tensor
        Strided tensors that share no memory with each other.
    metadata : dict of str to str, optional
        Texts for the header.

    Examples
    --------
    >>> import tt
    >>> from tt.utils import safetensors
    >>> data = safetensors.save({"weight": tt.ones(2)})
    >>> safetensors.load(data)
    {'weight': tensor([1., 1.])}
    """
    return b"".join(_pieces(tensors, metadata))


def save_file(
    tensors: Mapping[str, tt.Tensor],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Save tensors to a file, which is whole or as it was before.

    Parameters
    ----------
    tensors : dict of str to Tensor
        Strided tensors that share no memory with each other.
    filename : str or os.PathLike
        The file.
    metadata : dict of str to str, optional
        Texts for the header.

    Raises
    ------
    ValueRangeError
        When tensors share memory, which the format cannot say.
    UnsupportedError
        When the format has no such dtype or layout.

    Examples
    --------
    >>> import os, tempfile
    >>> import tt
    >>> from tt.utils.safetensors import load_file, save_file
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> save_file({"weight": tt.arange(3)}, path, {"format": "pt"})
    >>> load_file(path)
    {'weight': tensor([0, 1, 2])}
    """
    pieces = _pieces(tensors, metadata)
    with AtomicFile(filename) as file:
        for piece in pieces:
            write_all(file, piece)


def _pieces(tensors: Mapping[str, tt.Tensor], metadata: Mapping[str, str] | None) -> list[Any]:
    """Return the header and the bytes of each tensor."""
    _check(tensors, metadata)
    # Wide elements first, so that all are aligned without padding, which the format lacks; the library
    # does the same.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    pieces: list[Any] = []
    offset = 0
    for name, tensor in ordered:
        array = _host_bytes(tensor)
        span = [offset, offset + array.nbytes]
        header[name] = {
            "dtype": _NAMES[tensor.dtype.name],
            "shape": list(tensor.shape),
            "data_offsets": span,
        }
        offset += array.nbytes
        pieces.append(array.data)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    # Data begins at a multiple of 8.
    text += b" " * (-len(text) % 8)
    return [struct.pack("<Q", len(text)) + text, *pieces]


def _host_bytes(tensor: tt.Tensor) -> np.ndarray[Any, Any]:
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    array: np.ndarray[Any, Any] = flat.view(tt.uint8).numpy()
    return _little(array, tensor.dtype)


def _little(array: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
    width = dtype.to_real().itemsize
    if sys.byteorder == "little" or width == 1:
        return array
    return array.view(f"u{width}").byteswap().view(np.uint8)


def _check(tensors: object, metadata: Any) -> None:
    if not isinstance(tensors, Mapping):
        raise TypeError(f"safetensors saves a dict of tensors, not {type(tensors).__name__}")
    for key, text in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(text, str):
            raise TypeError(f"the metadata of a safetensors file are texts, and {key!r} is {text!r}")
    owners: dict[Any, str] = {}
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, tt.Tensor):
            raise TypeError(
                f"safetensors saves tensors under names, but got {type(tensor).__name__} under {name!r}"
            )
        if tensor.layout != tt.strided or tensor.device.type == "meta":
            raise UnsupportedError(
                f"safetensors has no form for {name!r}, of layout {tensor.layout} on {tensor.device}\n"
                "  try: tensor.to_dense(), or tt.save"
            )
        if tensor.dtype.name not in _NAMES:
            raise UnsupportedError(
                f"safetensors has no dtype for {name!r}, of {tensor.dtype}\n  try: tt.save"
            )
        if tensor.numel():
            memory = (str(tensor.device), tensor.untyped_storage().data_ptr())
            if memory in owners:
                raise ValueRangeError(
                    f"the tensors {owners[memory]!r} and {name!r} share memory, which a safetensors file cannot say\n"
                    "  try: leaving one out, or clone() for a copy"
                )
            owners[memory] = name


# --- reading -----------------------------------------------------------------------------------------------------


def load(data: bytes) -> dict[str, tt.Tensor]:
    """Return the tensors in the bytes of a file.

    Raises
    ------
    CorruptFileError
        When they are cut off or damaged.

    Examples
    --------
    >>> import tt
    >>> from tt.utils import safetensors
    >>> sorted(safetensors.load(safetensors.save({"a": tt.ones(1), "b": tt.zeros(1)})))
    ['a', 'b']
    """
    path = "<bytes>"
    entries = _entries(data[:8], len(data), path, lambda size: data[8 : 8 + size])
    return {
        name: _tensor(np.frombuffer(data, np.uint8, size, begin).copy(), dtype, shape)
        for name, dtype, shape, begin, size in entries
    }


def load_file(
    filename: str | os.PathLike[str], device: str | int | tt.device = "cpu", *, mmap: bool = False
) -> dict[str, tt.Tensor]:
    """Return the tensors in a file.

    Parameters
    ----------
    filename : str or os.PathLike
        The file.
    device : Device or str
        Where the tensors go.
    mmap : bool
        Map the file: tensors are read when they are used, and changes of them stay in memory.

    Raises
    ------
    CorruptFileError
        When the file is cut off or damaged.
    UnsupportedError
        When tt does not have the dtype of a tensor.

    Examples
    --------
    >>> import os, tempfile
    >>> import tt
    >>> from tt.utils.safetensors import load_file, save_file
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> save_file({"bias": tt.zeros(2, dtype=tt.bfloat16)}, path)
    >>> load_file(path, mmap=True)
    {'bias': tensor([0., 0.], dtype=tt.bfloat16)}
    """
    if isinstance(device, Mapping) or not isinstance(device, str | int | tt.device):
        raise RuntimeError(
            "a safetensors file goes to one device, and does not say from which its tensors came"
        )
    path = os.fsdecode(os.fspath(filename))
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        entries = list(_entries(file.read(8), size, path, file.read))
        read = _mapping(file, size) if mmap else _reading(file, path)
        tensors = {}
        for name, dtype, shape, begin, count in entries:
            tensor = _tensor(read(begin, count), dtype, shape)
            tensors[name] = tensor if tt.device(device).type == "cpu" else tensor.to(device)
    return tensors


def _reading(file: BufferedReader, path: str) -> Any:
    def read(begin: int, count: int) -> np.ndarray[Any, Any]:
        memory = empty_bytes(count)
        if read_into(file, begin, memory)[0] != count:
            raise CorruptFileError(
                path, f"the file is cut off: {count} bytes from byte {begin} on are not there"
            )
        return memory

    return read


def _mapping(file: BufferedReader, size: int) -> Any:
    # Private and writable: tensors may change, and the file does not.
    mapped = mmap_module.mmap(file.fileno(), 0, access=mmap_module.ACCESS_COPY) if size else b""
    return lambda begin, count: (
        np.frombuffer(mapped, np.uint8, count, begin) if count else np.empty(0, np.uint8)
    )


def _tensor(memory: np.ndarray[Any, Any], dtype: Any, shape: list[int]) -> tt.Tensor:
    raw = tt.from_numpy(_little(memory, dtype))
    if memory.nbytes and raw.data_ptr() % dtype.itemsize:  # a mapped file has no padding between tensors
        raw = raw.clone()
    # Strides of tensors without elements must not be 0.
    steps = [math.prod(shape[at + 1 :]) for at in range(len(shape))]
    return tt.library.tensor_in_storage(raw, dtype, shape, [max(step, 1) for step in steps])


def _entries(head: bytes, size: int, path: str, read: Any) -> Iterator[tuple[str, Any, list[int], int, int]]:
    """Yield name, dtype, shape, first byte and size of each tensor, after everything is checked."""
    length = struct.unpack("<Q", head)[0] if len(head) == 8 else -1
    if not 2 <= length <= min(size - 8, _LONGEST_HEADER):
        raise CorruptFileError(
            path, f"it is not a safetensors file, or cut off: its header would have {length} bytes"
        )
    try:
        # JSON allows a name twice, and readers would differ in which one counts.
        header = json.loads(read(length).decode(), object_pairs_hook=_unique)
        metadata = header.pop("__metadata__", {})
        if not all(isinstance(text, str) for text in metadata.values()):
            raise ValueError("its metadata are not strings")
        entries = [_entry(name, entry, path) for name, entry in header.items()]
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, UnsupportedError | CorruptFileError):
            raise
        raise CorruptFileError(path, f"its header is damaged: {error}") from error
    end = 0
    # No gaps and no overlaps: nothing may hide between tensors, and none may share memory.
    for name, _, _, begin, count in sorted(entries, key=lambda entry: entry[3:]):
        if begin != end:
            raise CorruptFileError(path, f"the tensor {name!r} does not begin where the one before it ends")
        end = begin + count
    if end != size - 8 - length:
        raise CorruptFileError(
            path, f"its tensors have {end} bytes, and the file holds {size - 8 - length} of them"
        )
    for name, dtype, shape, begin, count in entries:
        yield name, dtype, shape, begin + 8 + length, count


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a name is there twice")
    return table


def _entry(name: str, entry: dict[str, Any], path: str) -> tuple[str, Any, list[int], int, int]:
    kind, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
    numbers = [*shape, begin, end]
    if not isinstance(shape, list) or not all(type(n) is int and 0 <= n < 1 << 62 for n in numbers):
        raise ValueError(f"the shape or place of {name!r} is none")
    if len(shape) > 64 or not isinstance(kind, str):
        raise ValueError(f"the shape or dtype of {name!r} is none")
    dtype = _DTYPES.get(kind)
    if dtype is None:
        raise UnsupportedError(f"{path}: {name!r} is of the dtype {kind}, which tt does not have")
    if math.prod(shape) * dtype.itemsize != end - begin:
        raise ValueError(f"{name!r} has {end - begin} bytes, which is not what {kind} of shape {shape} has")
    return name, dtype, shape, begin, end - begin


# --- several files -----------------------------------------------------------------------------------------------


def save_sharded(
    tensors: Mapping[str, tt.Tensor],
    folder: str | os.PathLike[str],
    max_shard_size: int = 5_000_000_000,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Save tensors to several files in a folder, with an index that says where each is.

    Parameters
    ----------
    tensors : dict of str to Tensor
        In their order they fill one file after the other.
    folder : str or os.PathLike
        The folder, which is made if need be.
    max_shard_size : int
        Bytes of tensors in a file; one that is larger has a file for itself.
    metadata : dict of str to str, optional
        Texts for the header of each file.

    Examples
    --------
    >>> import os, tempfile
    >>> import tt
    >>> from tt.utils.safetensors import load_sharded, save_sharded
    >>> folder = tempfile.mkdtemp()
    >>> save_sharded({"a": tt.ones(4), "b": tt.zeros(4)}, folder, max_shard_size=16)
    >>> sorted(os.listdir(folder))[:2]
    ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors']
    >>> sorted(load_sharded(folder))
    ['a', 'b']
    """
    _check(tensors, metadata)
    shards: list[dict[str, tt.Tensor]] = [{}]
    used = total = 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.dtype.itemsize
        if shards[-1] and used + size > max_shard_size:
            shards.append({})
            used = 0
        shards[-1][name] = tensor
        used, total = used + size, total + size
    where = os.fsdecode(os.fspath(folder))
    os.makedirs(where, exist_ok=True)
    names = [f"model-{number:05}-of-{len(shards):05}.safetensors" for number in range(1, len(shards) + 1)]
    for name, shard in zip(names, shards, strict=True):
        save_file(shard, os.path.join(where, name), metadata)
    weights = {key: name for name, shard in zip(names, shards, strict=True) for key in shard}
    text = json.dumps({"metadata": {"total_size": total}, "weight_map": weights}, indent=2, sort_keys=True)
    # Last, so that an index never names files that are not there.
    with AtomicFile(os.path.join(where, INDEX)) as file:
        file.write(text.encode() + b"\n")


def load_sharded(
    index: str | os.PathLike[str], device: str | int | tt.device = "cpu", *, mmap: bool = False
) -> dict[str, tt.Tensor]:
    """Return the tensors of several files.

    Parameters
    ----------
    index : str or os.PathLike
        The index, or the folder of `model.safetensors.index.json`.
    device : Device or str
        Where the tensors go.
    mmap : bool
        Map the files; see `load_file`.

    Raises
    ------
    CorruptFileError
        When the index is damaged, names a file elsewhere, or files do not hold the tensors that it lists.

    Examples
    --------
    >>> import tempfile
    >>> import tt
    >>> from tt.utils.safetensors import load_sharded, save_sharded
    >>> folder = tempfile.mkdtemp()
    >>> save_sharded({"weight": tt.ones(2)}, folder)
    >>> load_sharded(folder)
    {'weight': tensor([1., 1.])}
    """
    path = os.fsdecode(os.fspath(index))
    if os.path.isdir(path):
        path = os.path.join(path, INDEX)
    with open(path, "rb") as file:
        try:
            weights = json.loads(file.read().decode(), object_pairs_hook=_unique)["weight_map"]
            names = dict.fromkeys(weights.values())
            # Names from a file must not lead out of the folder.
            if any(
                os.path.basename(name) != name or name in ("", ".", "..") or {"\\", "\0"} & {*name}
                for name in names
            ):
                raise ValueError("it names a file that is not in its folder")
            os.fsencode(
                "".join(names)
            )  # a name that no file can have is a UnicodeEncodeError, which is a ValueError
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CorruptFileError(path, f"the index is damaged: {error}") from error
    tensors: dict[str, tt.Tensor] = {}
    for name in names:
        part = load_file(os.path.join(os.path.dirname(path), name), device, mmap=mmap)
        expected = {key for key, shard in weights.items() if shard == name}
        if set(part) != expected:
            odd = sorted(set(part) ^ expected)
            raise CorruptFileError(
                path, f"{name} does not hold the tensors that the index lists: {', '.join(odd[:5])}"
            )
        tensors |= part
    return {key: tensors[key] for key in weights}
