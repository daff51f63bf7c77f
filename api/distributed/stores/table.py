"""Table: the keys, values and queues of a store, and who waits for them; without threads and sockets."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

__all__ = ["Table", "Waiting"]


class Waiting:
    """A request that waits until all its keys are there; `wake` is called once, with the table in a usable state."""

    __slots__ = ("keys", "wake")

    def __init__(self, keys: Iterable[bytes], wake: Callable[[], None]) -> None:
        self.keys = {*keys}
        self.wake = wake


class Table:
    """Keys and values.  Its methods are not safe between threads: a lock or a single thread is its users' matter.

    A key of a queue and a key of a value are apart, as in PyTorch, but waiting and checking see both.
    """

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.queues: dict[bytes, deque[bytes]] = {}
        self._waiting: dict[bytes, list[Waiting]] = {}

    def __contains__(self, key: bytes) -> bool:
        return key in self.values or key in self.queues

    # --- values ---------------------------------------------------------------------------------------------------

    def set(self, key: bytes, value: bytes) -> None:
        """Set a key, and wake who waits for it."""
        self.values[key] = value
        self._arrived(key)

    def add(self, key: bytes, amount: int) -> int:
        """Add to a counter, and return its value; raise ValueError where the value is not a number."""
        old = self.values.get(key, b"0")
        try:
            total = int(old) + amount
        except ValueError:
            name = key.decode(errors="replace").removeprefix("/")
            raise ValueError(f"add: the value of key {name!r} is not a number: {old[:40]!r}") from None
        self.set(key, b"%d" % total)
        return total

    def compare_set(self, key: bytes, expected: bytes, desired: bytes) -> bytes:
        """Set a key if its value is the expected one; return its value, or what was expected of a missing key."""
        current = self.values.get(key)
        if (current is None and not expected) or (current is not None and current == expected):
            self.set(key, desired)
            return desired
        return expected if current is None else current

    def append(self, key: bytes, value: bytes) -> None:
        """Add to the end of a value."""
        self.set(key, self.values.get(key, b"") + value)

    def delete(self, key: bytes) -> bool:
        """Remove a key; queues stay."""
        return self.values.pop(key, None) is not None

    # --- queues ---------------------------------------------------------------------------------------------------

    def push(self, key: bytes, value: bytes) -> None:
        """Put a value at the end of a queue, and wake who waits for it."""
        self.queues.setdefault(key, deque()).append(value)
        self._arrived(key)

    def pop(self, key: bytes) -> bytes | None:
        """Take the first value of a queue; None where it is empty."""
        queue = self.queues.get(key)
        if not queue:
            return None
        value = queue.popleft()
        # A queue exists while it has values, so a pop can wait for its key alone.
        if not queue:
            del self.queues[key]
        return value

    # --- waiting --------------------------------------------------------------------------------------------------

    def missing(self, keys: Iterable[bytes]) -> list[bytes]:
        """Return those of the keys that are not there."""
        return [key for key in keys if key not in self]

    def wait(self, keys: Iterable[bytes], wake: Callable[[], None]) -> Waiting:
        """Call ``wake`` as soon as each of the keys has come."""
        waiting = Waiting(keys, wake)
        for key in waiting.keys:
            self._waiting.setdefault(key, []).append(waiting)
        return waiting

    def forget(self, waiting: Waiting) -> None:
        """Wake it no more."""
        for key in waiting.keys:
            others = [one for one in self._waiting.get(key, ()) if one is not waiting]
            if others:
                self._waiting[key] = others
            else:
                self._waiting.pop(key, None)

    def _arrived(self, key: bytes) -> None:
        # Taken out before anybody is woken, for `wake` may wait for the same key again.
        for waiting in self._waiting.pop(key, ()):
            waiting.keys.discard(key)
            if not waiting.keys:
                waiting.wake()
