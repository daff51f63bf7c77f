"""Store: the key-value server through which ranks find each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from datetime import timedelta

__all__ = ["DEFAULT_TIMEOUT", "Store"]

DEFAULT_TIMEOUT = timedelta(seconds=300)


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
        """Set how long `get` and `wait` wait by default."""
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
