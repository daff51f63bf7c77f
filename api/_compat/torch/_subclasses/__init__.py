"""torch._subclasses: fake tensors, which have shapes and no data."""

from __future__ import annotations

from tt._compat.torch._subclasses.fake_tensor import (
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
    is_fake,
)

__all__ = [
    "DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException", "is_fake",
]  # fmt: skip
