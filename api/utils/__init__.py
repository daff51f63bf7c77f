"""tt.utils: what does not belong to tensors themselves; each part is a module of its own, loaded when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.host.lazy_names import lazy_names

if TYPE_CHECKING:
    from tt.utils.swap import swap_tensors as swap_tensors

__all__ = ["swap_tensors"]

__getattr__, __dir__ = lazy_names(
    "tt.utils",
    {"swap_tensors": "tt.utils.swap"},
    modules=(
        "_python_dispatch",
        "_pytree",
        "benchmark",
        "checkpoint",
        "collect_env",
        "cpp_extension",
        "data",
        "deterministic",
        "dlpack",
        "flop_counter",
        "hooks",
        "model_zoo",
        "module_tracker",
        "safetensors",
        "tensorboard",
        "weak",
    ),
)
