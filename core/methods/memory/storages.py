"""Members of storages that make storages and tensors: pickling, and memory that processes share."""

from __future__ import annotations

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import DeviceError
from tt.core.methods.memory.pickling import reduce_storage
from tt.core.tensor.shared_memory import SharedMemory, count_message
from tt.core.tensor.sharing import is_host_memory, is_shared_memory, share_storage, storage_over
from tt.core.tensor.storage import Storage

__all__ = [
    "is_shared",
    "reduce_storage",
    "share_fd",
    "share_filename",
    "share_memory",
    "storage_of_fd",
    "storage_of_filename",
]


def share_memory(storage: Storage) -> None:
    """Move the memory of a storage, with all tensors in it, to where processes share it."""
    if storage.backend.device_type == "meta":
        raise DeviceError("share_memory_(): a storage on meta has no memory; it is only available on the CPU")
    if is_host_memory(storage):
        share_storage(storage)


def is_shared(storage: Storage) -> bool:
    """Return whether processes can share the memory; that of an accelerator always."""
    return not is_host_memory(storage) or is_shared_memory(storage.owner)


def _host(storage: Storage, name: str) -> Storage:
    if not is_host_memory(storage):
        raise DeviceError(f"{name}: only storages of the CPU have memory of the host, not {storage!r}")
    return storage


def share_memory_of_storage(storage: Storage, strategy: str | None = None) -> SharedMemory:
    """Move a storage with all its tensors to shared memory."""
    return share_storage(_host(storage, "share_memory_()"), None, strategy)


def share_fd(storage: Storage) -> tuple[int, int]:
    """Return descriptor and size of a storage, which is shared then; the descriptor stays the storage's."""
    memory = share_memory_of_storage(storage, "file_descriptor")
    if memory.fd < 0:
        raise DeviceError("_share_fd_cpu_(): this memory has a name, not a descriptor")
    return memory.fd, memory.nbytes


def share_filename(storage: Storage) -> tuple[bytes, bytes, int]:
    """Return manager (none), name and size of a storage, which is shared then; the name counts as a message."""
    memory = share_memory_of_storage(storage, "file_system")
    if not memory.name:
        raise DeviceError("_share_filename_cpu_(): this memory has a descriptor, not a name")
    if not count_message(memory):
        # Inherited by a fork from a process that has given it up: other processes cannot find it any more.
        memory = share_storage(storage, None, "file_system", again=True)
        count_message(memory)
    return b"", memory.name.encode(), memory.nbytes


def storage_of_fd(fd: int, nbytes: int) -> Storage:
    """Return the storage behind a descriptor, which is this process's from then on."""
    return storage_over(SharedMemory.from_fd(fd, nbytes), REGISTRY.backend("cpu"))


def storage_of_filename(name: bytes, nbytes: int) -> Storage:
    """Return the storage behind the name of a file."""
    return storage_over(SharedMemory.from_name(name.decode(), nbytes), REGISTRY.backend("cpu"))
