"""Reading the attributes of modules through a C slot, which Python cannot express.

Note [Reading parameters]
-------------------------
Python calls `__getattr__` after the ordinary look-up has failed, and before 3.12 that made an exception with its text
each time: most of the cost of `self.weight`.  `attribute_slot.pxd` has a C function that does the same without
the exception.  It becomes the slot of each class of modules that has not overridden how attributes are read; Python
itself takes it out where that changes later.
"""

from __future__ import annotations

__all__ = ["install_slot"]


def install_slot(kind: type) -> None:
    """Read attributes of a class's instances by the C function; nothing where nothing is compiled."""
