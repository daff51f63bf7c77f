"""Stores: through them ranks find each other."""

from __future__ import annotations

from tt.distributed.stores.file_store import FileStore
from tt.distributed.stores.hash_store import HashStore
from tt.distributed.stores.prefix_store import PrefixStore
from tt.distributed.stores.store import Store
from tt.distributed.stores.tcp_store import TCPStore

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]
