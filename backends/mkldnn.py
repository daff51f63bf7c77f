"""tt.backends.mkldnn: oneDNN, which tt does not use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["flags", "is_available"]


def is_available() -> bool:
    """Return False.

    Examples
    --------
    >>> import tt
    >>> tt.backends.mkldnn.is_available()
    False
    """
    return False


@contextmanager
def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str = "none"
) -> Iterator[None]:
    """Do nothing in a `with` statement: there is no oneDNN to switch on or off, and all that it says holds for tt.

    Parameters
    ----------
    enabled, deterministic, allow_tf32, fp32_precision
        As PyTorch takes them.

    Examples
    --------
    >>> import tt
    >>> with tt.backends.mkldnn.flags(enabled=False):
    ...     x = tt.ones(2) @ tt.ones(2)
    """
    yield
