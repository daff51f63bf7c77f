"""The identity of the calling thread, which hot modules read in C.

Compiled modules take the function from `thread_ident.pxd`; see also Note [Instances of a base] in `blank`.
"""

from __future__ import annotations

from threading import get_ident

__all__ = ["this_thread"]


def this_thread() -> int:
    """Return a number that no other living thread has, never 0."""
    return get_ident()
