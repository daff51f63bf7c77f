"""HashStore: a store for the threads of one process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from threading import Condition

from tt.distributed.errors import DistStoreError
from tt.distributed.stores.store import Store

__all__ = ["HashStore"]


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class HashStore(Store):
    """Keys and values in the memory of this process, for ranks that are threads.

    Examples
    --------
    >>> from tt.distributed import HashStore
    >>> store = HashStore()
    >>> store.set("key", "value")
    >>> store.get("key"), store.add("counter", 2), store.check(["missing"])
    (b'value', 2, False)
    """

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, bytes] = {}
        self._changed = Condition()

    def set(self, key: str, value: str | bytes) -> None:
        """Set a key; its earlier value is replaced."""
        with self._changed:
            self._values[key] = _bytes(value)
            self._changed.notify_all()

    def get(self, key: str) -> bytes:
        """Return a key's value, and wait for it where it is not there."""
        self.wait([key])
        return self._values[key]

    def add(self, key: str, amount: int) -> int:
        """Add to a counter (0 where the key is new); return its new value."""
        with self._changed:
            total = int(self._values.get(key, b"0")) + amount
            self._values[key] = b"%d" % total
            self._changed.notify_all()
        return total

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all these keys are there, without waiting."""
        return all(key in self._values for key in keys)

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Set a key if its value is as expected (empty: if it is not there); return the value that it has then."""
        with self._changed:
            if self._values.get(key, b"") == _bytes(expected):
                self._values[key] = _bytes(desired)
                self._changed.notify_all()
            return self._values.get(key, _bytes(expected))

    def delete_key(self, key: str) -> bool:
        """Remove a key; return whether it was there."""
        with self._changed:
            return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        """Return how many keys there are."""
        return len(self._values)

    def wait(self, keys: Iterable[str], timeout: timedelta | None = None) -> None:
        """Wait until all these keys are there."""
        wanted = list(keys)
        seconds = (timeout or self.timeout).total_seconds()
        with self._changed:
            if not self._changed.wait_for(lambda: self.check(wanted), seconds):
                missing = [key for key in wanted if key not in self._values]
                raise DistStoreError(f"wait: no rank has set {missing} within {seconds:g} s")
