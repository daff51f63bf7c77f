"""Instances without a constructor: `Tensor` has one for users, and the dispatcher makes tensors without calling it.

Note [Instances of a base]
--------------------------
`TensorBase.__new__(Tensor)` is what Python offers, and it costs 350 instructions, a tenth of an addition.  C needs one
call through a pointer, which no statement of Python stands for.  Compiled modules therefore take `instance` from
`blank.pxd`, which shadows the function below; no other function exists twice.
"""

from __future__ import annotations

from typing import TypeVar

__all__ = ["instance"]

Kind = TypeVar("Kind")


def instance(base: type, kind: type[Kind]) -> Kind:
    """Return a new instance of `kind`, made by its base class."""
    new: Kind = base.__new__(kind)  # type: ignore[call-overload]  # of `object`, which mypy takes for that of `type`
    return new
