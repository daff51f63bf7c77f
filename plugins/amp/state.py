"""The settings of each thread for autocast: where it is on, the precisions, and the casts that are kept.

Where it is on is the setting of an ambient layer, (device type, precision) pairs, because the dispatcher caches calls
by it; the rest is read when a cast is made or a program asks.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Final

from tt.core.library import REGISTRY, STATE, Carried, dtype, errors, to_dtype

__all__ = ["AUTOCAST", "LAYER", "AutocastState", "Setting", "autocast_dtypes"]

LAYER: Final = "autocast"

Setting = tuple[tuple[str, dtype], ...]


class ThreadSettings:
    """What one thread has set for autocast, besides where it is on.

    Attributes
    ----------
    dtypes : dict
        Device type -> the precision that the thread chose.
    caches : bool
        Whether casts of parameters are kept.
    nesting : int
        How many blocks of autocast there are around the thread's calls.
    casts : dict
        The identity of a tensor -> the tensor, its version, a dtype, and the tensor in this dtype.
    """

    __slots__ = ("caches", "casts", "dtypes", "nesting")

    def __init__(self) -> None:
        self.dtypes: dict[str, dtype] = {}
        self.caches = True
        self.nesting = 0
        self.casts: dict[int, tuple[Any, int, dtype, Any]] = {}


class AutocastState(Carried):
    """The settings of the calling thread, in one object: each look at thread-local state costs 50 ns."""

    def __init__(self) -> None:
        self.here = ThreadSettings()

    @property
    def caches(self) -> bool:
        """Whether this thread keeps casts of parameters."""
        return self.here.caches

    @property
    def nesting(self) -> int:
        """How many blocks of autocast there are around this thread's calls."""
        return self.here.nesting

    @property
    def casts(self) -> dict[int, tuple[Any, int, dtype, Any]]:
        """The casts that this thread keeps."""
        return self.here.casts

    def dtype_of(self, device_type: str) -> dtype:
        """Return the precision on devices of a type, whether autocast is on there or not."""
        chosen = self.here.dtypes.get(device_type)
        return autocast_dtypes(device_type)[0] if chosen is None else chosen

    def set_dtype(self, device_type: str, precision: dtype) -> None:
        """Choose the precision on devices of a type."""
        self.here.dtypes = {**self.here.dtypes, device_type: precision}
        if self.is_on(device_type):
            self.switch(device_type, True)

    def is_on(self, device_type: str) -> bool:
        """Return whether calls of this thread on devices of a type meet autocast."""
        settings = STATE.ambient_settings()
        return bool(settings) and device_type in dict(settings.get(LAYER, ()))

    def switch(self, device_type: str, on: bool) -> None:
        """Switch autocast on or off for devices of a type."""
        settings, suspended = STATE.ambient_here()
        if not settings or suspended:  # inside of a rule, what is switched on is all that there is
            if on:
                STATE.set_ambient({LAYER: ((device_type, self.dtype_of(device_type)),)})
            return
        pairs: Setting = tuple([pair for pair in settings.get(LAYER, ()) if pair[0] != device_type])
        if on:
            # In order, as the dispatcher caches calls by the setting: the order of blocks is not to matter.
            pairs = tuple(sorted((*pairs, (device_type, self.dtype_of(device_type))), key=itemgetter(0)))
        others = (
            {name: value for name, value in settings.items() if name != LAYER} if len(settings) > 1 else {}
        )
        STATE.set_ambient({**others, LAYER: pairs} if pairs else others)

    def restore(self, device_type: str, before: tuple[dict[str, Any], bool]) -> None:
        """Go back to what `STATE.ambient_here()` returned before autocast was switched for devices of a type."""
        settings, suspended = before
        now, _ = STATE.ambient_here()
        if suspended or (_names_only(settings, device_type) and _names_only(now, device_type)):
            STATE.set_ambient(settings, suspended)
        else:  # what the block has set for other devices stays
            self.switch(device_type, device_type in dict(settings.get(LAYER, ())))


def _names_only(settings: dict[str, Any], device_type: str) -> bool:
    """Return whether autocast for devices of a type is all that settings of ambient layers may have."""
    if not settings:
        return True
    pairs = settings.get(LAYER, ())
    return len(settings) == len(pairs) == 1 and pairs[0][0] == device_type


AUTOCAST: Final = AutocastState()
"""The settings of the calling thread."""

# What PyTorch computes in on devices for which tt has no backend.
_OTHERS: Final = {"xla": ("bfloat16", "float16"), "hpu": ("bfloat16", "float16")}


def autocast_dtypes(device_type: str) -> tuple[dtype, ...]:
    """Return the precisions to which autocast lowers on devices of a type, the usual one first; none: it has none."""
    try:
        return REGISTRY.backend(device_type).autocast_dtypes
    except errors.UnknownNameError:
        return tuple(to_dtype(name) for name in _OTHERS.get(device_type, ("float16", "bfloat16")))
