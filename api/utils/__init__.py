"""tt.utils: what does not belong to tensors themselves; each part is a module of its own, loaded when it is used."""

from tt.core.lazy import attach

__all__ = attach(
    __name__,
    {
        "tt.utils.swap": "swap_tensors",
    },
)
