"""tt.utils: what does not belong to tensors themselves; each part is a module of its own, loaded when it is used."""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = ("_python_dispatch", "_pytree", "cpp_extension")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"tt.utils.{name}")
    raise AttributeError(f"module 'tt.utils' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
