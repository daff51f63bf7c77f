"""Memory that several processes have mapped, and how it is handed over.

Note [Shared memory]
--------------------
With the strategy "file_descriptor" memory is a file without a name (`memfd_create`).  Whoever has a descriptor can map
it, and the kernel frees it with the last descriptor and the last mapping: nothing is left over, whichever process is
killed when.  Each process keeps one descriptor for each memory, so the limit of open files is the limit of shared
storages.

With "file_system" memory is a file with a name, which travels instead of a descriptor.  The file lists who needs it;
see Note [Holders].  A child that was forked is not listed, for it has mapped the memory anyhow, until it sends it on.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
import weakref
from typing import Any, ClassVar, Final

from tt.core.errors import AssertedError, SharedMemoryError
from tt.core.forks import fork_safe_lock
from tt.core.tensor.shared_names import (
    HEADER,
    add_message,
    drop_holder,
    format_header,
    new_name,
    remove,
    remove_abandoned,
    take_message,
    tracker,
)

__all__ = [
    "SharedMemory",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
]

_HAS_MEMFD: Final = hasattr(os, "memfd_create")
_STRATEGIES: Final = frozenset(("file_descriptor", "file_system") if _HAS_MEMFD else ("file_system",))
_strategy = "file_descriptor" if _HAS_MEMFD else "file_system"

_lock = fork_safe_lock()
# Both keep nothing alive: that is what arrays and storages do.
_named: weakref.WeakSet[SharedMemory] = weakref.WeakSet()
_known: weakref.WeakValueDictionary[Any, SharedMemory] = weakref.WeakValueDictionary()

if os.name == "posix":
    import _posixshmem  # Python's own, of multiprocessing.shared_memory

    _LIBC: Final = ctypes.CDLL(None, use_errno=True)
    _LIBC.mmap.restype = ctypes.c_void_p
    _LIBC.mmap.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
    ]  # fmt: skip
    _LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


# --- strategies ----------------------------------------------------------------------------------------------------


def get_all_sharing_strategies() -> set[str]:
    """Return the names of the ways to share memory that this system has.

    Examples
    --------
    >>> import tt.multiprocessing as mp
    >>> "file_system" in mp.get_all_sharing_strategies()
    True
    """
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """Return how memory is shared that no other process has yet: "file_descriptor" or "file_system".

    Examples
    --------
    >>> import tt.multiprocessing as mp
    >>> mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    True
    """
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how memory is shared from now on, in this process and in those that it forks.

    Parameters
    ----------
    new_strategy : str
        One of `get_all_sharing_strategies()`.

    Raises
    ------
    AssertionError, ValueError
        If the strategy is unknown.

    Examples
    --------
    >>> import tt.multiprocessing as mp
    >>> mp.set_sharing_strategy(mp.get_sharing_strategy())
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertedError(
            f"invalid sharing strategy {new_strategy!r}\n  there are: {', '.join(sorted(_STRATEGIES))}"
        )
    if new_strategy == "file_system":
        tracker().ensure_running()  # one for the whole family: children inherit it
    _strategy = new_strategy


# --- memory --------------------------------------------------------------------------------------------------------


class _Mapping:
    """Mapped memory with its file, released when this object dies.

    It is not part of `SharedMemory`, which is weakly referenced: Python calls `__del__` before it clears them,
    so another thread could find memory that is unmapped already.
    """

    __slots__ = ("_unmap", "address", "counted_in", "fd", "name")

    def __init__(self, fd: int, nbytes: int, name: str) -> None:
        self._unmap: Any = None
        self.fd, self.name = -1, ""
        self.counted_in = os.getpid()
        header = HEADER if name else 0
        read_write, shared = 1 | 2, 1
        size = max(nbytes + header, 1)  # also memory without bytes has an address
        address = _LIBC.mmap(None, size, read_write, shared, fd, 0)
        if address in (None, ctypes.c_void_p(-1).value):
            raise SharedMemoryError(nbytes, ctypes.get_errno())
        # At the end of the process the names of the module may be gone.
        self._unmap = _LIBC.munmap, address, size
        self.address: int = address + header
        self.fd, self.name = (-1, name) if name else (fd, "")

    def __del__(self) -> None:
        if self._unmap is None:
            return
        function, address, size = self._unmap
        function(address, size)
        if self.fd >= 0:
            os.close(self.fd)
        elif self.name:
            _release(self)


class SharedMemory:
    """Memory that several processes have mapped; unmapped when the last array over it dies.

    Attributes
    ----------
    nbytes : int
        How large it is.
    mapping : _Mapping
        Where it is, its open file or -1, its name or "", and the process that the count of the file includes on behalf
        of this object.
    storage : weakref or None
        The storage over it that tensors of this process share.
    """

    __slots__ = ("__array_interface__", "__weakref__", "mapping", "nbytes", "storage")

    maps_shared_memory: ClassVar[bool] = True
    """For `is_shared`, which asks so the owners of arrays."""

    resizable: ClassVar[bool] = False
    """For `resize_`: other processes would not see the memory grow."""

    def __init__(self, fd: int, nbytes: int, name: str = "") -> None:
        self.mapping = _Mapping(fd, nbytes, name)
        self.nbytes = nbytes
        self.storage: Any = None
        self.__array_interface__ = {
            "version": 3, "shape": (nbytes,), "typestr": "|u1", "data": (self.mapping.address, False),
        }  # fmt: skip

    @property
    def fd(self) -> int:
        """The open file, or -1 where it has a name."""
        return self.mapping.fd

    @property
    def name(self) -> str:
        """The name of the file, or ""."""
        return self.mapping.name

    @classmethod
    def new(cls, nbytes: int, strategy: str | None = None) -> SharedMemory:
        """Return new memory, full of zeros.

        Raises
        ------
        SharedMemoryError
            If the system has not as much, or refuses it.
        """
        if (strategy or _strategy) == "file_descriptor":
            return cls._without_name(nbytes)
        return cls._with_name(nbytes)

    @classmethod
    def _without_name(cls, nbytes: int) -> SharedMemory:
        try:
            # Close-on-exec: a program that is started does not inherit the descriptor, a forked child does.
            fd = os.memfd_create("tt", os.MFD_CLOEXEC)
        except OSError as error:
            raise SharedMemoryError(nbytes, error.errno) from error
        try:
            # An empty file cannot be mapped.
            os.ftruncate(fd, max(nbytes, 1))
            new = cls(fd, nbytes)
        except OSError as error:
            os.close(fd)
            raise SharedMemoryError(nbytes, error.errno) from error
        except BaseException:
            os.close(fd)
            raise
        # Under the inode, by which memory that comes back in a message is recognised.
        _known[_key(fd)] = new
        return new

    @classmethod
    def _with_name(cls, nbytes: int) -> SharedMemory:
        remove_abandoned()
        name = new_name()
        tracker().register(name, "shared_memory")  # before the file: a kill between them leaves nothing
        try:
            fd = _posixshmem.shm_open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600)
        except OSError as error:
            tracker().unregister(name, "shared_memory")
            raise SharedMemoryError(nbytes, error.errno) from error
        try:
            os.ftruncate(fd, nbytes + HEADER)
            if sys.platform == "linux":
                # Memory is taken now: if there is too little, a later write would kill the process.
                os.posix_fallocate(fd, 0, nbytes + HEADER)
            os.pwrite(fd, format_header(), 0)
            new = cls(fd, nbytes, name)
        except BaseException as error:
            remove(name)
            if isinstance(error, OSError):
                raise SharedMemoryError(nbytes, error.errno) from error
            raise
        finally:
            # The name and the mapping keep the memory; a descriptor would count against the limit of open files.
            os.close(fd)
        _note(new)
        return new

    @classmethod
    def from_fd(cls, fd: int, nbytes: int) -> SharedMemory:
        """Return the memory behind a descriptor, which belongs to this process from then on.

        Raises
        ------
        SharedMemoryError
            If it cannot be mapped, or is smaller.
        """
        # By the inode: each message brings the memory under another descriptor.
        key = _key(fd)
        with _lock:
            known = _known.get(key)
            if known is not None:
                # One descriptor for each memory is enough.
                os.close(fd)
                return known
            try:
                if os.fstat(fd).st_size < nbytes:
                    raise SharedMemoryError(nbytes, errno.EINVAL)
                new = cls(fd, nbytes)
            except BaseException:
                os.close(fd)
                raise
            _known[key] = new
        return new

    @classmethod
    def from_name(cls, name: str, nbytes: int) -> SharedMemory:
        """Return the memory with a name, which a message has brought.

        Raises
        ------
        SharedMemoryError
            If it is gone, cannot be mapped, or is smaller.
        """
        remove_abandoned()
        with _lock:
            known = _known.get(name)
            if known is not None:
                # It has arrived, and this process is listed already.
                take_message(name, hold=False)
                return known
            try:
                fd = _posixshmem.shm_open(name, os.O_RDWR, mode=0o600)
            except OSError as error:
                raise SharedMemoryError(nbytes, error.errno) from error
            try:
                if os.fstat(fd).st_size < nbytes + HEADER:
                    raise SharedMemoryError(nbytes, errno.EINVAL)
                new = cls(fd, nbytes, name)
            finally:
                os.close(fd)
            # Only now: the message counts until this process is listed, so that the name never stands without a holder.
            take_message(name, hold=True)
            _note(new)
        return new


def _note(memory: SharedMemory) -> None:
    """Remember memory with a name, and to release it at the end of this process."""
    global _released_at_end_of
    _known[memory.name] = memory
    _named.add(memory)
    # A finalizer belongs to one process: a forked child needs its own.
    if _released_at_end_of != os.getpid():
        _finalize()


def _key(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


# --- memory with a name ---------------------------------------------------------------------------------------------


def _release(mapping: _Mapping) -> None:
    name, mapping.name = mapping.name, ""
    if mapping.counted_in != os.getpid():
        return  # a child that was forked has the memory, and is not counted
    with contextlib.suppress(ImportError, TypeError):  # late in the end of the process
        drop_holder(name)


def count_message(memory: SharedMemory) -> bool:
    """Count a message that brings a name to another process; False if the name is gone.

    A child that was forked is counted from its first message on.
    """
    own = memory.mapping.counted_in == os.getpid()
    if not add_message(memory.name, hold=not own):
        return False
    memory.mapping.counted_in = os.getpid()
    return True


def release_all() -> None:
    """Take this process out of all counts, at its end."""
    for memory in list(_named):
        if memory.name:
            _release(memory.mapping)
    with contextlib.suppress(ImportError, TypeError, OSError):  # late in the end of the process
        remove_abandoned(now=True)


class _Family:
    """The object by which `multiprocessing` calls `_finalize` in a child, which forgets its parent's finalizers."""


_family: Final = _Family()
_released_at_end_of = -1


def _finalize(_: Any = None) -> None:
    """Have the memory released at the end of this process."""
    from multiprocessing import util  # start-up: it brings subprocesses

    global _released_at_end_of
    if _released_at_end_of == -1:
        util.register_after_fork(_family, _finalize)
    _released_at_end_of = os.getpid()
    # Among the last: other finalizers may still send memory.
    util.Finalize(None, release_all, exitpriority=-100)
