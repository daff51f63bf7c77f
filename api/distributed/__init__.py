"""tt.distributed: PyTorch's distributed package on existing engines."""

from __future__ import annotations

from tt.distributed.backend import Backend
from tt.distributed.errors import (
    CollectiveMismatchError,
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    DistTimeoutError,
    QueueEmptyError,
)
from tt.distributed.reduce_op import ReduceOp
from tt.distributed.rendezvous import register_rendezvous_handler, rendezvous
from tt.distributed.stores import FileStore, HashStore, PrefixStore, Store, TCPStore
from tt.distributed.work import Work

__all__ = [
    "Backend",
    "CollectiveMismatchError",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "DistTimeoutError",
    "FileStore",
    "HashStore",
    "PrefixStore",
    "QueueEmptyError",
    "ReduceOp",
    "Store",
    "TCPStore",
    "Work",
    "register_rendezvous_handler",
    "rendezvous",
]
