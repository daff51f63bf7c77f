"""Dispatch keys, level 1: one bit for each device type, layout and layer, and one for `__tt_function__`.

A tensor carries the OR of its bits; a call ORs its tensors' keys and looks the result up.  Bits are allotted at
first use, so a program pays only for the devices that it uses.

Note [62 bits]
--------------
Keys are C 64-bit integers where the hot modules are compiled.  62 bits keep every key, and every key shifted once,
positive in a signed 64-bit integer; the interpreted form keeps the same limit so that a program never depends on
which form runs.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from tt.core.errors import KeyBitsExhaustedError, UnknownNameError

__all__ = ["FUNCTION", "KEYS", "KEY_BITS", "OVERRIDDEN", "PYTHON", "KeyKind", "KeySpace"]

KEY_BITS: Final = 62
KeyKind = Literal["device", "layout", "layer", "override"]


class Key(NamedTuple):
    """One allotted bit: the kind and the name of its owner, and the bit."""

    kind: KeyKind
    name: str
    bit: int


class KeySpace:
    """Allots key bits and names them.

    Examples
    --------
    >>> from tt.core.types.keys import KeySpace
    >>> space = KeySpace()
    >>> space.bit("device", "cpu"), space.bit("layout", "strided"), space.bit("device", "cpu")
    (1, 2, 1)
    >>> space.describe(3)
    'cpu strided'
    """

    def __init__(self, bits: int = KEY_BITS) -> None:
        self.bits = bits
        self._keys: dict[tuple[KeyKind, str], Key] = {}
        self._ordered: list[Key] = []
        self._masks: dict[KeyKind, int] = {"device": 0, "layout": 0, "layer": 0, "override": 0}

    def bit(self, kind: KeyKind, name: str) -> int:
        """Return the bit of a name, allotting one at first use.

        Raises
        ------
        KeyBitsExhaustedError
            When all bits are taken; the message names the holders.
        """
        key = self._keys.get((kind, name))
        if key is None:
            if len(self._ordered) >= self.bits:
                raise KeyBitsExhaustedError(kind, name, [f"{k.kind} {k.name}" for k in self._ordered])
            key = Key(kind, name, 1 << len(self._ordered))
            self._keys[kind, name] = key
            self._ordered.append(key)
            self._masks[kind] |= key.bit
        return key.bit

    def find(self, kind: KeyKind, name: str) -> int:
        """Return the bit of a name that must have been allotted before."""
        key = self._keys.get((kind, name))
        if key is None:
            raise UnknownNameError(kind, name, self.names(kind))
        return key.bit

    def mask(self, kind: KeyKind) -> int:
        """Return the OR of all bits of a kind."""
        return self._masks[kind]

    def names(self, kind: KeyKind, keys: int | None = None) -> list[str]:
        """Return the names of a kind, all of them or those set in `keys`, in the order of allotment."""
        return [k.name for k in self._ordered if k.kind == kind and (keys is None or keys & k.bit)]

    def describe(self, keys: int) -> str:
        """Return the names of all bits that are set, for messages: devices, then layouts, then layers."""
        kinds: tuple[KeyKind, ...] = ("device", "layout", "layer", "override")
        return " ".join(name for kind in kinds for name in self.names(kind, keys))


KEYS: Final = KeySpace()
"""The key space of this process."""
FUNCTION: Final = KEYS.bit("override", "function")
"""The bit of tensors whose class intercepts calls with `__tt_function__`; the keys of cached calls never have it."""
PYTHON: Final = KEYS.bit("layer", "python")
"""The bit of tensors whose class handles operators with `__tt_dispatch__`."""
OVERRIDDEN: Final = FUNCTION | PYTHON
"""The bits of tensors whose class is more than `Tensor`."""
