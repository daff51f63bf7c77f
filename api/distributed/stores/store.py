"""Store: the key-value server through which ranks find each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import Self

__all__ = ["DEFAULT_TIMEOUT", "Store", "key_bytes", "pairs", "seconds_of", "value_bytes"]

DEFAULT_TIMEOUT = timedelta(seconds=300)


def key_bytes(key: object) -> bytes:
    """Return a key as stores keep it."""
    if not isinstance(key, str):
        raise TypeError(f"the key of a store must be str, not {type(key).__name__}")
    return key.encode()


def value_bytes(value: object) -> bytes:
    """Return a value as stores keep it."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if not isinstance(value, str):
        raise TypeError(f"the value of a store must be str or bytes, not {type(value).__name__}")
    return value.encode()


def seconds_of(timeout: object) -> float:
    """Return a timeout in seconds; a negative one waits as little as zero does, and none exceeds thirty years."""
    if not isinstance(timeout, timedelta):
        raise TypeError(f"timeout must be datetime.timedelta, not {type(timeout).__name__}")
    return min(max(0.0, timeout.total_seconds()), 1e9)


class Store(ABC):
    """Keys and values that all ranks see; values are bytes, and a `str` is encoded as UTF-8.

    Subclasses are `HashStore` (threads of a process), `FileStore` (processes that share a file system), `TCPStore`
    (machines) and `PrefixStore` (a part of another store).
    """

    def __init__(self) -> None:
        self._timeout = DEFAULT_TIMEOUT

    @property
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait by default."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long `get` and `wait` wait by default; zero does not wait."""
        # Raises for anything but a timedelta.
        seconds_of(timeout)
        self._timeout = timeout

    @abstractmethod
    def set(self, key: str, value: str | bytes) -> None:
        """Set a key; its earlier value is replaced."""

    @abstractmethod
    def get(self, key: str) -> bytes:
        """Return a key's value, and wait for it where it is not there.

        Raises
        ------
        DistStoreError
            It did not appear within the timeout; the message names the key.
        """

    @abstractmethod
    def add(self, key: str, amount: int) -> int:
        """Add to a counter (0 where the key is new), at once for all ranks; return its new value."""

    @abstractmethod
    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all these keys are there, without waiting."""

    @abstractmethod
    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Set a key if its value is as expected (empty: if it is not there); return the value that it has then."""

    @abstractmethod
    def delete_key(self, key: str) -> bool:
        """Remove a key; return whether it was there."""

    @abstractmethod
    def num_keys(self) -> int:
        """Return how many keys there are."""

    @abstractmethod
    def wait(self, keys: Iterable[str], timeout: timedelta | None = None) -> None:
        """Wait until all these keys are there.

        Raises
        ------
        DistStoreError
            They did not appear within the timeout; the message names those that are missing.
        """

    # --- derived, where a store has nothing faster ----------------------------------------------------------------

    def has_extended_api(self) -> bool:
        """Return whether `append`, `multi_get` and `multi_set` are one step each for all ranks, and not derived."""
        return False

    def append(self, key: str, value: str | bytes) -> None:
        """Add to the end of a key's value; a new key gets the value."""
        added = value_bytes(value)
        if not added:
            return
        known = b""
        while True:
            stored = self.compare_set(key, known, known + added)
            if stored == known + added:
                return
            # An empty value cannot be told from a missing key, and only the latter may be expected as empty.
            if not stored and self.check([key]):
                self.set(key, added)
                return
            known = stored

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of several keys, and wait for them where they are not there."""
        self.wait(keys)
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set several keys.

        Raises
        ------
        ValueError
            There are not as many values as keys.
        """
        for key, value in pairs(keys, values):
            self.set(key, value)

    def barrier(self, key: str, world_size: int, timeout: timedelta | None = None) -> None:
        """Wait until as many callers as there are ranks have come here with this key.

        Raises
        ------
        DistStoreError
            They did not come within the timeout.
        """
        come = self.add(f"{key}/num_members", 1)
        # Stores wait for keys and not for counts, so the last one that comes sets a key.
        if come == world_size:
            self.set(f"{key}/last_member", "1")
        self.wait([f"{key}/last_member"], self.timeout if timeout is None else timeout)

    def leave_behind(self, values: Mapping[str, str | bytes]) -> bool:
        """Let keys be set that are not there yet when this process has ended, however it ends, or cannot be reached.

        Returns
        -------
        bool
            Whether the store finds that out; a `TCPStore` and a `FileStore` do.
        """
        return False

    def promptly(self, seconds: float) -> AbstractContextManager[None]:
        """Return a context in which requests of this thread that need not wait fail after some seconds."""
        return nullcontext()

    def queue_push(self, key: str, value: str | bytes) -> None:
        """Put a value at the end of a queue."""
        raise self._no_queues("queue_push")

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Take the first value of a queue, and wait for one where it is empty.

        Raises
        ------
        QueueEmptyError
            The queue is empty, and ``block`` is False.
        DistStoreError
            No value came within the timeout.
        """
        raise self._no_queues("queue_pop")

    def queue_len(self, key: str) -> int:
        """Return how many values a queue has; 0 where it does not exist."""
        raise self._no_queues("queue_len")

    def list_keys(self) -> list[str]:
        """Return all keys, without those of queues."""
        raise NotImplementedError(f"list_keys: a {type(self).__name__} cannot list its keys")

    def clone(self) -> Self:
        """Return another object for the same keys; it has a timeout of its own."""
        raise NotImplementedError(f"clone: a {type(self).__name__} cannot be cloned")

    def _no_queues(self, name: str) -> NotImplementedError:
        return NotImplementedError(
            f"{name}: a {type(self).__name__} has no queues; HashStore and TCPStore have them"
        )


def pairs(keys: Sequence[str], values: Sequence[str | bytes]) -> Iterable[tuple[str, str | bytes]]:
    """Return keys with their values, as many of each."""
    if len(keys) != len(values):
        raise ValueError(
            f"multi_set needs a value for each key, got {len(keys)} keys and {len(values)} values"
        )
    return zip(keys, values, strict=True)
