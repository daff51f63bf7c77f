"""PrefixStore: a part of another store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from tt.distributed.stores.store import Store

__all__ = ["PrefixStore"]


class PrefixStore(Store):
    """The keys of another store that begin with a prefix; users of different prefixes do not meet.

    Parameters
    ----------
    prefix : str
        What every key begins with; a slash follows it.
    store : Store
        The store that holds the keys.

    Examples
    --------
    >>> from tt.distributed import HashStore, PrefixStore
    >>> store = HashStore()
    >>> PrefixStore("group", store).set("key", "value")
    >>> store.get("group/key")
    b'value'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self._prefix = prefix
        self._store = store
        self._timeout = store.timeout

    @property
    def underlying_store(self) -> Store:
        """The store that holds the keys."""
        return self._store

    def set(self, key: str, value: str | bytes) -> None:
        """Set a key; its earlier value is replaced."""
        self._store.set(f"{self._prefix}/{key}", value)

    def get(self, key: str) -> bytes:
        """Return a key's value, and wait for it where it is not there."""
        self._store.wait([f"{self._prefix}/{key}"], self.timeout)
        return self._store.get(f"{self._prefix}/{key}")

    def add(self, key: str, amount: int) -> int:
        """Add to a counter (0 where the key is new); return its new value."""
        return self._store.add(f"{self._prefix}/{key}", amount)

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all these keys are there, without waiting."""
        return self._store.check([f"{self._prefix}/{key}" for key in keys])

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Set a key if its value is as expected (empty: if it is not there); return the value that it has then."""
        return self._store.compare_set(f"{self._prefix}/{key}", expected, desired)

    def delete_key(self, key: str) -> bool:
        """Remove a key; return whether it was there."""
        return self._store.delete_key(f"{self._prefix}/{key}")

    def num_keys(self) -> int:
        """Return how many keys the whole store has."""
        return self._store.num_keys()

    def wait(self, keys: Iterable[str], timeout: timedelta | None = None) -> None:
        """Wait until all these keys are there."""
        self._store.wait([f"{self._prefix}/{key}" for key in keys], timeout or self.timeout)
