"""Operations that Python cannot express for C: instances without a constructor, their class, the length of an integer.

`Tensor` has a constructor for users, and the dispatcher makes tensors without calling it.

Note [Instances of a base]
--------------------------
In Python, `TensorBase.__new__(Tensor)` costs 350 instructions, a tenth of an addition.  C needs one call through a
pointer, which Python cannot express.  Compiled modules therefore take `instance` from `blank.pxd`, which shadows the
function below.  Few functions exist twice: these, and `serves` in `guard`, which is put in place where it is called.
"""

from __future__ import annotations

from typing import TypeVar

__all__ = ["become", "instance", "is_long"]

Kind = TypeVar("Kind")


def instance(base: type[object], kind: type[Kind]) -> Kind:
    """Return a new instance of `kind`, made by its base class."""
    return base.__new__(kind)


def is_long(number: int) -> bool:
    """Return whether 60 bits do not hold an integer: 64 may, which is for slower code to find out."""
    return number.bit_length() > 60


def become(value: object, kind: type[object]) -> None:
    """Make an object an instance of a subclass that adds no attributes; classes written in C refuse `__class__`."""
    value.__class__ = kind
