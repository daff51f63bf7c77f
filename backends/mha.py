"""tt.backends.mha: the switch for fused attention in `nn.MultiheadAttention` and Transformers.

tt computes them in the same way with and without it.
"""

from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_enabled = True


def get_fastpath_enabled() -> bool:
    """Return what `set_fastpath_enabled` set last, at first True.

    Examples
    --------
    >>> import tt
    >>> tt.backends.mha.get_fastpath_enabled()
    True
    """
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Allow or forbid the fused path; results do not depend on it.

    Parameters
    ----------
    value : bool
        Whether it is allowed.
    """
    global _enabled
    _enabled = value
