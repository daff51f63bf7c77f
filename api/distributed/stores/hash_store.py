"""HashStore: keys and values in the memory of one process, for ranks that are threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from threading import Condition
from typing import Self

from tt.distributed.errors import DistStoreError, QueueEmptyError
from tt.distributed.stores.store import Store, key_bytes, pairs, seconds_of, value_bytes
from tt.distributed.stores.table import Table

__all__ = ["HashStore", "timed_out"]


class HashStore(Store):
    """A store in the memory of this process: for ranks that are threads, and for tests.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> store = dist.HashStore()
    >>> store.set("host", "alpha")
    >>> store.get("host")
    b'alpha'
    >>> store.add("arrived", 2)
    2
    >>> store.compare_set("host", "alpha", "beta")
    b'beta'
    """

    def __init__(self) -> None:
        super().__init__()
        self._table = Table()
        self._changed = Condition()

    def set(self, key: str, value: str | bytes) -> None:
        """Set a key; its earlier value is replaced."""
        with self._changed:
            self._table.set(key_bytes(key), value_bytes(value))
            # All of them, since each waits for other keys.
            self._changed.notify_all()

    def get(self, key: str) -> bytes:
        """Return a key's value, and wait for it where it is not there."""
        return self.multi_get([key])[0]

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of several keys, and wait for them where they are not there."""
        names = [key_bytes(key) for key in keys]
        values = self._table.values
        with self._changed:
            self._wait_for(names, self.timeout, values.__contains__)
            return [values[key] for key in names]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set several keys at once."""
        encoded = [(key_bytes(key), value_bytes(value)) for key, value in pairs(keys, values)]
        with self._changed:
            for key, value in encoded:
                self._table.set(key, value)
            self._changed.notify_all()

    def add(self, key: str, amount: int) -> int:
        """Add to a counter (0 where the key is new), at once for all ranks; return its new value."""
        with self._changed:
            total = self._table.add(key_bytes(key), int(amount))
            self._changed.notify_all()
            return total

    def append(self, key: str, value: str | bytes) -> None:
        """Add to the end of a key's value; a new key gets the value."""
        with self._changed:
            self._table.append(key_bytes(key), value_bytes(value))
            self._changed.notify_all()

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all these keys are there, without waiting."""
        with self._changed:
            return not self._table.missing(map(key_bytes, keys))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Set a key if its value is as expected (empty: if it is not there); return the value that it has then."""
        with self._changed:
            result = self._table.compare_set(key_bytes(key), value_bytes(expected), value_bytes(desired))
            self._changed.notify_all()
            return result

    def delete_key(self, key: str) -> bool:
        """Remove a key; return whether it was there."""
        with self._changed:
            return self._table.delete(key_bytes(key))

    def num_keys(self) -> int:
        """Return how many keys there are, without those of queues."""
        with self._changed:
            return len(self._table.values)

    def list_keys(self) -> list[str]:
        """Return all keys, without those of queues."""
        with self._changed:
            return [key.decode() for key in self._table.values]

    def wait(self, keys: Iterable[str], timeout: timedelta | None = None) -> None:
        """Wait until all these keys are there."""
        with self._changed:
            names = [key_bytes(key) for key in keys]
            self._wait_for(names, self.timeout if timeout is None else timeout, self._table.__contains__)

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Put a value at the end of a queue."""
        with self._changed:
            self._table.push(key_bytes(key), value_bytes(value))
            self._changed.notify_all()

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue, and wait for one where it is empty."""
        name = key_bytes(key)
        with self._changed:
            if block:
                self._wait_for([name], self.timeout, self._table.queues.__contains__)
            value = self._table.pop(name)
        if value is None:
            raise QueueEmptyError(f"queue_pop: the queue {key!r} is empty")
        return value

    def queue_len(self, key: str) -> int:
        """Return how many values a queue has; 0 where it does not exist."""
        with self._changed:
            return len(self._table.queues.get(key_bytes(key), ()))

    def has_extended_api(self) -> bool:
        """Return True."""
        return True

    def clone(self) -> Self:
        """Return another object for the same keys; it has a timeout of its own."""
        other = type(self)()
        other._table, other._changed, other._timeout = self._table, self._changed, self._timeout
        return other

    def _wait_for(self, keys: Sequence[bytes], timeout: timedelta, is_there: Callable[[bytes], bool]) -> None:
        seconds = seconds_of(timeout)
        if not self._changed.wait_for(lambda: all(map(is_there, keys)), seconds):
            raise timed_out("HashStore", [key for key in keys if not is_there(key)], seconds)


def timed_out(store: str, missing: Iterable[bytes], seconds: float) -> DistStoreError:
    """Return the error of a wait that took too long."""
    names = ", ".join(repr(key.decode(errors="replace")) for key in missing)
    return DistStoreError(f"{store}: wait timeout after {seconds:g} s, keys that are missing: {names}")
