"""torch._subclasses.fake_tensor: tt's fake tensors under PyTorch's names."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import tt
from tt.core.layers.fake import FakeMode, is_fake
from tt.errors import DataDependentError, UnsupportedError

__all__ = [
    "DataDependentOutputException", "DynamicOutputShapeException", "FakeTensor", "FakeTensorMode",
    "UnsupportedFakeTensorException", "is_fake", "unset_fake_temporarily",
]  # fmt: skip

DataDependentOutputException = DataDependentError
DynamicOutputShapeException = DataDependentError


class UnsupportedFakeTensorException(RuntimeError):
    """What PyTorch raises for tensors that cannot be fake; programs catch it."""


class _FakeKind(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return is_fake(instance)


class FakeTensor(metaclass=_FakeKind):
    """A type to test for: fake tensors are plain tensors that carry a key bit."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise UnsupportedError(
            "torch._subclasses.FakeTensor(): fake tensors are made by a mode\n  try: FakeTensorMode().from_tensor(x)"
        )


class FakeTensorMode(FakeMode):
    """A mode whose tensors are fake.

    Parameters
    ----------
    allow_fallback_kernels, allow_non_fake_inputs, static_shapes : bool
        As tt's mode does in any case: tensors with data lend their shape, and shapes are numbers.
    shape_env : None
        Shapes as symbols do not exist.
    """

    def __init__(
        self,
        *,
        allow_fallback_kernels: bool = True,
        allow_non_fake_inputs: bool = False,
        shape_env: Any = None,
        static_shapes: bool | None = None,
        export: bool = False,
    ) -> None:
        if shape_env is not None:
            raise UnsupportedError(
                "torch._subclasses.FakeTensorMode(): shapes are numbers: shape_env is not supported"
            )
        super().__init__()

    def from_tensor(self, tensor: Any, **options: Any) -> tt.Tensor:
        """Return the fake counterpart of a tensor, the same one at each call while the tensor lives."""
        return super().from_tensor(tensor)


def unset_fake_temporarily() -> AbstractContextManager[None]:
    """Return a context in which no fake mode is active."""
    from tt.utils._python_dispatch import _disable_current_modes

    result: AbstractContextManager[Any] = _disable_current_modes()
    return result
