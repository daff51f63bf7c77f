"""Keys of PyTorch's dispatcher, sets of them, and the guard that leaves some out of the calls of a block."""

from __future__ import annotations

import enum
from contextlib import ExitStack
from typing import Any, Final, Self

import tt
from tt.errors import UnsupportedError

__all__ = ["DispatchKey", "DispatchKeySet", "_ExcludeDispatchKeyGuard"]


class DispatchKey(enum.Enum):
    """Names of the levels of PyTorch's dispatcher, which programs pass to `torch.library`."""

    Undefined = 0
    CPU = 1
    CUDA = 2
    MPS = 3
    XPU = 4
    Meta = 5
    SparseCPU = 6
    SparseCUDA = 7
    Python = 8
    PythonDispatcher = 9
    Functionalize = 10
    ADInplaceOrView = 11
    AutogradCPU = 12
    AutogradCUDA = 13
    Autograd = 14
    AutocastCPU = 15
    AutocastCUDA = 16
    AutocastXPU = 17
    AutocastMPS = 18
    FuncTorchBatched = 19
    CompositeExplicitAutograd = 20
    CompositeImplicitAutograd = 21
    BackendSelect = 22


class DispatchKeySet:
    """A set of keys.

    Examples
    --------
    >>> from tt._compat.torch._C import DispatchKey, DispatchKeySet
    >>> keys = DispatchKeySet(DispatchKey.AutocastCPU) | DispatchKeySet(DispatchKey.AutocastCUDA)
    >>> keys.has(DispatchKey.AutocastCPU), keys.has(DispatchKey.CPU)
    (True, False)
    """

    __slots__ = ("keys",)

    def __init__(self, *keys: DispatchKey) -> None:
        self.keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self.keys, *other.keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self.keys & other.keys))

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self.keys - other.keys))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self.keys == other.keys

    def __hash__(self) -> int:
        return hash(self.keys)

    def has(self, key: DispatchKey) -> bool:
        """Return whether a key is in the set."""
        return key in self.keys

    def add(self, key: DispatchKey) -> DispatchKeySet:
        """Return the set with one more key."""
        return DispatchKeySet(*self.keys, key)

    def remove(self, key: DispatchKey) -> DispatchKeySet:
        """Return the set without a key."""
        return DispatchKeySet(*(self.keys - {key}))


_AUTOCAST: Final = {
    DispatchKey.AutocastCPU: "cpu",
    DispatchKey.AutocastCUDA: "cuda",
    DispatchKey.AutocastXPU: None,  # devices that no backend serves are never cast for
    DispatchKey.AutocastMPS: None,
}


class _ExcludeDispatchKeyGuard:
    """Leave levels of the dispatcher out of the calls of a block: those of autocast, which is turned off.

    Raises
    ------
    UnsupportedError
        For other keys: tt's layers lie elsewhere.
    """

    def __init__(self, keys: DispatchKeySet) -> None:
        other = sorted(key.name for key in keys.keys - _AUTOCAST.keys())
        if other:
            raise UnsupportedError(
                f"torch._C._ExcludeDispatchKeyGuard(): tt cannot leave out {', '.join(other)}"
            )
        self._devices = [device for key in keys.keys if (device := _AUTOCAST[key]) is not None]
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        for device in self._devices:
            if tt.is_autocast_enabled(device):
                self._stack.enter_context(tt.autocast(device, enabled=False))
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self._stack.__exit__(*exc_info)
