"""PrefixStore: a part of another store, whose keys begin with a prefix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Self

from tt.distributed.stores.store import Store, key_bytes

__all__ = ["PrefixStore"]


class PrefixStore(Store):
    """A part of another store: key ``k`` is ``prefix/k`` there.

    Parameters
    ----------
    prefix : str
        What its keys begin with.
    store : Store
        The other store; its timeout is this one's, too.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> whole = dist.HashStore()
    >>> part = dist.PrefixStore("group0", whole)
    >>> part.set("ready", "1")
    >>> whole.get("group0/ready")
    b'1'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        key_bytes(prefix)
        if not isinstance(store, Store):
            raise TypeError(f"PrefixStore needs a Store, not {type(store).__name__}")
        self._prefix = prefix
        self._store = store

    @property
    def underlying_store(self) -> Store:
        """The store that this is a part of."""
        return self._store

    @property
    def _underlying_non_prefix_store(self) -> Store:
        store = self._store
        while isinstance(store, PrefixStore):
            store = store._store
        return store

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait by default; that of the underlying store."""
        return self._store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long `get` and `wait` wait by default, here and in the underlying store."""
        self._store.set_timeout(timeout)

    def leave_behind(self, values: Mapping[str, str | bytes]) -> bool:
        """Let keys be set when this process has ended, if the underlying store finds that out."""
        return self._store.leave_behind({f"{self._prefix}/{key}": value for key, value in values.items()})

    def promptly(self, seconds: float) -> AbstractContextManager[None]:
        """Return a context in which requests fail soon, see `Store.promptly`."""
        return self._store.promptly(seconds)

    def _key(self, key: str) -> str:
        key_bytes(key)
        return f"{self._prefix}/{key}"

    def set(self, key: str, value: str | bytes) -> None:
        """Set a key; its earlier value is replaced."""
        self._store.set(self._key(key), value)

    def get(self, key: str) -> bytes:
        """Return a key's value, and wait for it where it is not there."""
        return self._store.get(self._key(key))

    def add(self, key: str, amount: int) -> int:
        """Add to a counter (0 where the key is new), at once for all ranks; return its new value."""
        return self._store.add(self._key(key), amount)

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all these keys are there, without waiting."""
        return self._store.check([self._key(key) for key in keys])

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Set a key if its value is as expected (empty: if it is not there); return the value that it has then."""
        return self._store.compare_set(self._key(key), expected, desired)

    def delete_key(self, key: str) -> bool:
        """Remove a key; return whether it was there."""
        return self._store.delete_key(self._key(key))

    def num_keys(self) -> int:
        """Return how many keys the underlying store has."""
        return self._store.num_keys()

    def wait(self, keys: Iterable[str], timeout: timedelta | None = None) -> None:
        """Wait until all these keys are there."""
        self._store.wait([self._key(key) for key in keys], timeout)

    def append(self, key: str, value: str | bytes) -> None:
        """Add to the end of a key's value; a new key gets the value."""
        self._store.append(self._key(key), value)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of several keys, and wait for them where they are not there."""
        return self._store.multi_get([self._key(key) for key in keys])

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set several keys."""
        self._store.multi_set([self._key(key) for key in keys], values)

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Put a value at the end of a queue."""
        self._store.queue_push(self._key(key), value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue, and wait for one where it is empty."""
        return self._store.queue_pop(self._key(key), block)

    def queue_len(self, key: str) -> int:
        """Return how many values a queue has; 0 where it does not exist."""
        return self._store.queue_len(self._key(key))

    def list_keys(self) -> list[str]:
        """Return the keys of this part, without the prefix."""
        start = f"{self._prefix}/"
        return [key.removeprefix(start) for key in self._store.list_keys() if key.startswith(start)]

    def has_extended_api(self) -> bool:
        """Return whether the underlying store has it."""
        return self._store.has_extended_api()

    def clone(self) -> Self:
        """Return another object for the same keys."""
        return type(self)(self._prefix, self._store.clone())
