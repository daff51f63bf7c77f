"""`tt.sparse.FloatTensor` and similar types: sparse COO tensors of one dtype, as PyTorch made them before dtypes.

`tt.sparse_coo_tensor(indices, values, size, dtype=...)` does the same.
"""

from __future__ import annotations

from typing import Any

import tt
from tt._compat.typed_tensors import NAMES, TensorType
from tt.library import warn_user
from tt.sparse import sparse_coo_tensor

__all__ = ["TYPES"]


class SparseTensorType(TensorType):
    """The class of `tt.sparse.FloatTensor` and similar types: `isinstance` checks dtype, device and layout."""

    _layout = tt.sparse_coo

    def __call__(self, *args: Any, device: Any = None) -> Any:
        warn_user(
            f"tt.sparse.{self.__name__}(indices, values, size) is deprecated; use tt.sparse_coo_tensor(indices, "
            "values, size, dtype=...)",
        )
        return _construct(self, args, self._device if device is None else device)


def _construct(cls: Any, args: tuple[Any, ...], device: Any) -> Any:
    if args and all(isinstance(arg, int) for arg in args):
        args = (args,)
    if len(args) <= 1 and not any(map(tt.is_tensor, args)):
        size = tuple(args[0]) if args else (0,)
        return sparse_coo_tensor(size, dtype=cls.dtype, device=device)
    if len(args) not in (2, 3) or not all(map(tt.is_tensor, args[:2])):
        raise TypeError(
            f"tt.sparse.{cls.__name__}() takes indices, values and a size, or a size alone, and got "
            f"{', '.join(type(arg).__name__ for arg in args)}"
        )
    # As in PyTorch, given values keep their dtype.
    return sparse_coo_tensor(*args, device=device)


def _type(name: str) -> SparseTensorType:
    kind = getattr(tt, NAMES[name])
    doc = (
        f"Makes sparse COO tensors of {kind} on the CPU from indices, values and a size.\n\n"
        f"    Deprecated: `tt.sparse_coo_tensor(..., dtype={kind})` does the same.\n    "
    )
    members = {"__module__": "tt.sparse", "__doc__": doc, "dtype": kind, "is_cuda": False, "_device": "cpu"}
    return SparseTensorType(name, (), members)


TYPES = {name: _type(name) for name in NAMES if name != "BoolTensor"}
"""The constructors by name."""
