"""What CUDA's module has in PyTorch, as a binding of its own, and tt does not."""

from __future__ import annotations

from typing import Final

from tt._compat.absent.rows import table

__all__ = ["ABSENT"]

ABSENT: Final = [
    *table(
        "streams of tt are contexts themselves: `with stream:`, or torch.cuda.stream(stream)",
        {"torch.cuda": "StreamContext", "torch.cpu": "StreamContext"},
    ),
    *table(
        "they have newer names",
        {
            "torch.cuda": (
                "reset_max_memory_allocated@tt._compat.older_functions "
                "reset_max_memory_cached@tt._compat.older_functions"
            )
        },
    ),
    *table(
        "CuPy is tt's binding of CUDA",
        {
            "torch.cuda": "_lazy_call _sleep cudart check_error",
            "torch.cuda.amp.common": "amp_definitely_not_available",
        },
    ),
]
