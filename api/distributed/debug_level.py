"""How much `tt.distributed` says while it runs."""

from __future__ import annotations

import os
from enum import IntEnum
from typing import Final

__all__ = ["DebugLevel", "get_debug_level", "set_debug_level", "set_debug_level_from_env"]

_VARIABLE: Final = "TT_DISTRIBUTED_DEBUG"


class DebugLevel(IntEnum):
    """How much is logged, by the loggers below ``tt.distributed`` and by that of `DistributedDataParallel`.

    With ``OFF`` nothing is, with ``INFO`` the facts about each model that is made parallel, and with ``DETAIL`` each
    operation as well.
    """

    OFF = 0
    INFO = 1
    DETAIL = 2


def _from_env() -> DebugLevel:
    name = os.environ.get(_VARIABLE, "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError(
            f"{_VARIABLE} must be one of {', '.join(DebugLevel.__members__)}, got {os.environ[_VARIABLE]!r}"
        )
    return DebugLevel[name]


_level: DebugLevel | None = None


def get_debug_level() -> DebugLevel:
    """Return the level; at first that of the variable ``TT_DISTRIBUTED_DEBUG``, by default ``OFF``.

    Examples
    --------
    >>> import tt.distributed as dist
    >>> dist.set_debug_level(dist.DebugLevel.INFO)
    >>> dist.get_debug_level().name
    'INFO'
    >>> dist.set_debug_level(dist.DebugLevel.OFF)
    """
    if _level is None:
        set_debug_level_from_env()
        return get_debug_level()
    return _level


def set_debug_level(level: DebugLevel) -> None:
    """Choose the level.

    Parameters
    ----------
    level : DebugLevel
        The level, for all ranks of this process.

    Raises
    ------
    TypeError
        It is no DebugLevel.
    """
    global _level
    if not isinstance(level, DebugLevel):
        raise TypeError(f"set_debug_level: expected a DebugLevel, got {type(level).__name__}")
    _level = level


def set_debug_level_from_env() -> None:
    """Take the level from the variable ``TT_DISTRIBUTED_DEBUG`` again.

    Raises
    ------
    RuntimeError
        The variable has another value than ``OFF``, ``INFO`` and ``DETAIL``.
    """
    set_debug_level(_from_env())
