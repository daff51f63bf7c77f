"""tt.utils: what does not belong to tensors themselves; each part is a module of its own, loaded when it is used."""

from __future__ import annotations

from tt.core.host.lazy_names import lazy_names

__all__: list[str] = []

__getattr__, __dir__ = lazy_names(
    "tt.utils", {}, modules=("_python_dispatch", "_pytree", "checkpoint", "cpp_extension")
)
