"""`tt.load`."""

from __future__ import annotations

import io
import mmap as mmap_module
import os
import pickle
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any

import numpy as np

import tt
from tt.errors import CorruptFileError, EmptyFileError, UnsafeGlobalError, UnsupportedError
from tt.library import tensor_in_storage, warn_user
from tt.serialization.archive_reader import ArchiveReader
from tt.serialization.locations import UserCodeError, restorer
from tt.serialization.names import DTYPE_NAMES, STORAGE_TYPES, TENSOR_TYPES, to_tt
from tt.serialization.options import OPTIONS, LoadEndianness
from tt.serialization.rebuilding import Rebuilder
from tt.serialization.storages import LoadedStorage, StorageType, array_of_bytes
from tt.serialization.unpickler import WeightsUnpickler

__all__ = ["load"]

Reader = Callable[[str, int], np.ndarray[Any, Any]]


def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Return the object that a file of `tt.save` or `torch.save` holds.

    Parameters
    ----------
    f : str, os.PathLike or file object
        A file object needs `read`, `seek` and `tell`.
    map_location : callable, device, str or dict, optional
        Where tensors go: to one device, to another one for each device on which tensors were saved, or where a function
        of a `tt.serialization.LoadedStorage` and the name of its device puts them.  Without it each goes to the device
        on which it was saved.
    pickle_module : module, optional
        What unpickles, with `weights_only=False`.
    weights_only : bool, optional
        True, the default, reads tensors, numbers, texts and containers, and runs nothing that the file names but what
        was allowed by `tt.serialization.add_safe_globals`.  False runs whatever the file says: only for files that you
        trust as much as a program.  Where the variable `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TT_FORCE_WEIGHTS_ONLY_LOAD`
        of the environment is 1, it is True whatever is passed; `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` or
        `TT_FORCE_NO_WEIGHTS_ONLY_LOAD` makes False the default.
    mmap : bool, optional
        Map the file, which needs to be given by name: its tensors are read when they are used.  Changes of them stay
        in memory (see `tt.serialization.set_default_mmap_options`), and checksums are not verified.
    **pickle_load_args
        For `pickle_module.Unpickler`; `encoding` of texts that Python 2 wrote.

    Raises
    ------
    CorruptFileError
        When the file is cut off or damaged, or is of another format.
    UnsafeGlobalError
        When it needs something that is not allowed.
    DeviceError
        When a device on which tensors were saved is not there.

    See Also
    --------
    save : writes the file.

    Examples
    --------
    >>> import io
    >>> import tt
    >>> file = io.BytesIO()
    >>> tt.save([tt.arange(3), "text"], file)
    >>> _ = file.seek(0)
    >>> tt.load(file)
    [tensor([0, 1, 2]), 'text']
    """
    weights_only = _weights_only(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError(
            "load(): with weights_only=True nothing but tt's own unpickler runs, so pickle_module cannot be given"
        )
    if weights_only and set(pickle_load_args) - {"encoding"}:
        warn_user("load(): pickle_load_args only work with weights_only=False")
    options = _Session(map_location, pickle_module or pickle, weights_only, bool(mmap), pickle_load_args)
    if isinstance(f, str | os.PathLike):
        path = os.fsdecode(os.fspath(f))
        if path.endswith(".safetensors"):
            from tt.utils.safetensors import load_file  # needs the library

            return load_file(path, device="cpu" if map_location is None else map_location)
        # A shared mapping that can be written needs a file that is open for writing.
        writable = mmap and OPTIONS.mmap_flags == getattr(mmap_module, "MAP_SHARED", None)
        with open(path, "r+b" if writable else "rb") as file:
            return options.load_or_raise(file, path)
    if mmap:
        raise ValueError("load(): mmap=True needs a file that is given by its name, not a file object")
    if not hasattr(f, "read"):
        raise AttributeError(f"load() takes a path or a file object with read(), but got {type(f).__name__}")
    name = getattr(f, "name", None)
    return options.load_or_raise(_seekable(f), name if isinstance(name, str) else "<file object>")


def _weights_only(value: bool | None, pickle_module: Any) -> bool:
    """Return whether only weights are loaded: what the caller says, unless the environment says otherwise."""
    always, never = _variables_set("FORCE_WEIGHTS_ONLY_LOAD"), _variables_set("FORCE_NO_WEIGHTS_ONLY_LOAD")
    if always and never:
        raise RuntimeError(f"load(): only one of {always[0]} or {never[0]} may be set, and both are")
    if always:
        return True
    if value is not None:
        return value
    if never and pickle_module is None:
        warn_user(
            f"load(): {never[0]} is set and weights_only was not passed, so weights_only=False: the file may run code"
        )
        return False
    # As in PyTorch: a module for pickles is of use only without `weights_only`.
    return pickle_module is None


def _variables_set(name: str) -> list[str]:
    """Return the variables of the environment, PyTorch's and tt's own, that switch something on."""
    names = (f"TORCH_{name}", f"TT_{name}")
    return [full for full in names if os.environ.get(full, "").lower() in ("1", "y", "yes", "true")]


def _seekable(file: Any) -> Any:
    """Return a file that can seek: itself, or its contents in memory."""
    try:
        # Pipes have the method, too, and it fails.
        file.seek(file.tell())
    except (AttributeError, OSError):
        return io.BytesIO(file.read())
    return file


class _Session:
    """One call of `load`: its arguments, and the storages that it has loaded."""

    def __init__(
        self, map_location: Any, pickle_module: Any, weights_only: bool, mapped: bool, more: dict[str, Any]
    ) -> None:
        self.restore = restorer(map_location)
        self._to_meta = isinstance(map_location, str | tt.device) and tt.device(map_location).type == "meta"
        self._pickle, self._safe, self._mapped = pickle_module, weights_only, mapped
        self._more = {"encoding": "utf-8", **more}
        self.path = ""
        self.storages: dict[str, LoadedStorage] = {}
        self._untyped: dict[int, tuple[Any, LoadedStorage]] = {}
        self.swap = False
        self.read: Reader = lambda key, nbytes: np.empty(0, np.uint8)

    def load_or_raise(self, file: IO[bytes], path: str) -> Any:
        """Return the contents of a file, or raise the error of a function of the user."""
        try:
            return self.load(file, path)
        except UserCodeError as error:
            raise error.original from None

    def load(self, file: IO[bytes], path: str) -> Any:
        """Return the contents of a file, whatever its format."""
        self.path = path
        begin = file.tell()
        # A tar file has its signature at byte 257.
        start = file.read(512)
        file.seek(begin)
        if start[:4] == b"PK\3\4":
            return self._load_archive(ArchiveReader(file, path))
        if self._mapped:
            raise RuntimeError(f"load(): mmap=True needs a file of the zip format, and {path} is none")
        # Few files are of an old format, and what reads these takes milliseconds to import.
        if start[257:262] == b"ustar":
            from tt.serialization.tar import load_tar

            return load_tar(file, path, self)
        if not start:
            raise EmptyFileError(path)
        from tt.serialization.legacy import is_legacy, load_legacy

        if is_legacy(start):
            return load_legacy(file, path, self)
        raise CorruptFileError(
            path, "it is not a file that tt.save or torch.save wrote, or its beginning is damaged"
        )

    # --- the zip format --------------------------------------------------------------------------------------

    def _load_archive(self, archive: ArchiveReader) -> Any:
        if "constants.pkl" in archive:
            raise UnsupportedError(f"{self.path} is a program of TorchScript, which tt does not run")
        for name in archive.records:
            if not name.startswith("data/") and name != "data.pkl":
                # Only its checksum matters; storages are verified when they are read.
                archive.read(name)  # verifies it
        order = (
            archive.read("byteorder").decode("ascii", "replace")
            if "byteorder" in archive
            else _default_order()
        )
        if order not in ("little", "big"):
            raise CorruptFileError(self.path, f"its order of bytes is {order!r}, and not 'little' or 'big'")
        self.swap = order != sys.byteorder

        def read(key: str, nbytes: int) -> np.ndarray[Any, Any]:
            record = archive.find(f"data/{key}")
            if record.size != nbytes:
                raise CorruptFileError(
                    self.path, f"the storage {key} has {record.size} bytes, and its tensors say {nbytes}"
                )
            if OPTIONS.skip:
                return np.zeros(nbytes, np.uint8)
            return archive.map_array(f"data/{key}") if self._mapped else archive.read_array(f"data/{key}")

        self.read = read
        data = archive.read("data.pkl")
        result, _ = self.unpickle(data, 0, self.persistent_load)
        return result

    def persistent_load(self, id: object) -> Any:
        """Return the storage that an id of the file stands for."""
        return self.storage(*self.checked(id))

    def checked(self, id: Any) -> tuple[StorageType, str, str, int]:
        """Return the type, key, location and number of elements of an id."""
        right = isinstance(id, tuple) and len(id) >= 5 and id[0] in ("storage", b"storage")
        if right:
            kind, key, location, count = id[1:5]
            key, location = (x.decode("ascii") if isinstance(x, bytes) else x for x in (key, location))
            if (
                isinstance(kind, StorageType)
                and isinstance(key, str)
                and isinstance(location, str)
                and type(count) is int
                and count >= 0
            ):
                return kind, key, location, count
        raise CorruptFileError(self.path, "its pickle is damaged: the id of a storage is none")

    def storage(self, kind: StorageType, key: str, location: str, count: int) -> Any:
        """Return a storage of the file, which is read when it is first met."""
        nbytes = count * kind.itemsize
        known = self.storages.get(key)
        if known is None:
            known = self._place(key, nbytes, kind.dtype or tt.uint8, location)
            known.swap = self.swap
            self.storages[key] = known
            # Now: a tensor of another dtype may use the storage first, and would swap other groups of
            # bytes.
            if kind.dtype is not None and self.swap:
                known.tensor()  # in the order of this machine from now on
        elif known.nbytes() != nbytes:
            raise CorruptFileError(
                self.path, f"the storage {key} has {known.nbytes()} bytes, and a tensor of it says {nbytes}"
            )
        if kind.dtype is None:
            untyped = known.untyped()
            # Holds the object, or another one could get its id.
            self._untyped[id(untyped)] = untyped, known
            return untyped
        return known

    def _place(self, key: str, nbytes: int, dtype: tt.dtype, location: str) -> LoadedStorage:
        # Nothing is read: a model's shapes can be looked at without its weights.
        if self._to_meta:
            return LoadedStorage(tt.empty(nbytes, dtype=tt.uint8, device="meta"), dtype)
        memory = self.read(key, nbytes)
        return self.restore(LoadedStorage(array_of_bytes(memory), dtype), location)

    def find_storage(self, found: object) -> LoadedStorage:
        """Return the storage behind what `persistent_load` returned."""
        if isinstance(found, LoadedStorage):
            return found
        known = self._untyped.get(id(found))
        if known is None:
            raise CorruptFileError(
                self.path, "its pickle is damaged: a tensor is in something that is not a storage"
            )
        return known[1]

    def rebuilder(self) -> Rebuilder:
        """Return what makes tensors."""
        return Rebuilder(self.path, self.find_storage, self.restore)

    # --- pickles ---------------------------------------------------------------------------------------------

    def unpickle(self, data: bytes, position: int, persistent_load: Callable[[Any], Any]) -> tuple[Any, int]:
        """Return the object in a pickle, and where it ends."""
        rebuilder = self.rebuilder()
        if self._safe:
            encoding = self._more["encoding"]
            unpickler = WeightsUnpickler(data, position, self.path, rebuilder, persistent_load, encoding)
            return unpickler.load(), unpickler.position
        return self._unpickle_all(data, position, persistent_load, rebuilder)

    def _unpickle_all(
        self, data: bytes, position: int, persistent_load: Callable[[Any], Any], rebuilder: Rebuilder
    ) -> tuple[Any, int]:
        # Classes and functions of PyTorch that stand for ours, as with `weights_only=True`; the rest is
        # up to the pickle.
        table: dict[str, Any] = {**DTYPE_NAMES, **STORAGE_TYPES, **dict.fromkeys(TENSOR_TYPES, tt.Tensor)}
        functions = rebuilder.functions()
        table |= {name: functions[name] for name in functions if name.startswith("torch.") and "_" in name}
        file, path = io.BytesIO(data), self.path
        file.seek(position)

        class Unpickler(self._pickle.Unpickler):  # type: ignore[name-defined,misc]  # of a module that the user chooses
            def find_class(self, module: str, name: str) -> Any:
                member = table.get(f"{module}.{name}")
                if member is None:
                    member = to_tt(module, name)
                if member is None and module.partition(".")[0] == "torch":
                    raise UnsupportedError(f"{path} uses {module}.{name}, and tt has nothing like it")
                return super().find_class(module, name) if member is None else member

        unpickler = Unpickler(file, **self._more)
        unpickler.persistent_load = persistent_load
        try:
            member = unpickler.load()
        except (EOFError, pickle.UnpicklingError) as error:
            if isinstance(error, UnsafeGlobalError | CorruptFileError):
                raise
            raise CorruptFileError(self.path, f"its pickle is damaged: {error}") from error
        return member, file.tell()

    # --- old formats ------------------------------------------------------------------------------------------

    def part_of(self, whole: LoadedStorage, offset: object, count: object) -> LoadedStorage:
        """Return a part of a storage, in elements."""
        if (
            # `bool` is an int to `isinstance`.
            type(offset) is not int
            or type(count) is not int
            or not 0 <= offset <= offset + count <= whole.size()
        ):
            raise CorruptFileError(self.path, "a part of a storage reaches beyond it")
        width = whole.dtype.itemsize
        part: tt.Tensor = tensor_in_storage(whole.bytes, tt.uint8, (count * width,), (1,), offset * width)
        return _Part(part, whole.dtype, whole, offset)


class _Part(LoadedStorage):
    """A part of a storage: tensors in it are tensors in the whole."""

    def __init__(self, bytes: tt.Tensor, dtype: tt.dtype, whole: LoadedStorage, offset: int) -> None:
        super().__init__(bytes, dtype)
        self._whole, self._offset = whole, offset

    def placed(self, dtype: tt.dtype, size: Sequence[int], stride: Sequence[int], offset: int) -> tt.Tensor:
        """Return a tensor in the part."""
        return self._whole.placed(dtype, size, stride, offset + self._offset)


def _default_order() -> str:
    chosen = OPTIONS.endianness
    if chosen is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if chosen is LoadEndianness.BIG else "little"
