"""tt.utils.deterministic: a setting of `tt.use_deterministic_algorithms`.

The attribute `fill_uninitialized_memory` can be set: it decides whether `tt.empty` and similar factories fill their
memory while deterministic algorithms are required.
"""

from __future__ import annotations

import sys
from types import ModuleType

from tt._functions.determinism import fills_uninitialized_memory, set_fills_uninitialized_memory

__all__ = ["fill_uninitialized_memory"]

fill_uninitialized_memory: bool


class _Module(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether new memory is filled while deterministic algorithms are required."""
        return fills_uninitialized_memory()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        set_fills_uninitialized_memory(mode)


# Python's documented way to give a module properties is another class for it.
sys.modules[__name__].__class__ = _Module
