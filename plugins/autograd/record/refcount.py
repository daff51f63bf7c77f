"""Counting who holds an object, in a way that means the same in compiled and interpreted modules.

This is a hot module: plain Python that Cython compiles with the C types of `refcount.pxd`.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

__all__ = ["ALONE", "references"]


def references(values: list[Any]) -> int:
    """Return how many references to the first element of a list there are, give or take a constant."""
    return getrefcount(values[0])


ALONE = references([object()])
"""The result of `references` when only the list holds the element; it differs between Python versions."""
