"""Samples: the inputs on which operators are checked, and how they are made."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import tt
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import DtypeError, PromotionError
from tt.core.schema.classes import dtype_names
from tt.core.tensor.base import TensorBase
from tt.core.types import dtype as dt
from tt.core.types.device import to_device
from tt.core.types.dtype import bool_, finfo, int64
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.promotion import promote_types

if TYPE_CHECKING:
    from tt.core.schema.model import OpDefinition
    from tt.core.tensor.tensor import Tensor
    from tt.core.types.device import Device

__all__ = ["Family", "FamilyTable", "Inputs", "Layout", "Sample", "as_array"]

Layout = Literal["contiguous", "transposed", "strided", "offset", "expanded"]
SHAPES: tuple[tuple[int, ...], ...] = ((), (3,), (2, 3), (0,), (2, 0, 3), (2, 1, 3), (2, 3, 1, 2))
LAYOUTS: tuple[Layout, ...] = ("transposed", "strided", "offset", "expanded")

# Errors for a wrong value of an option: RuntimeError in most functions of PyTorch, ValueError or TypeError in others.
OPTION: tuple[type[Exception], ...] = (RuntimeError, ValueError, TypeError)
# What an index outside of its dimension raises: PyTorch has both.
OUT_OF_RANGE: tuple[type[Exception], ...] = (IndexError, RuntimeError)


@dataclass(frozen=True, slots=True)
class Sample:
    """One call of an operator.

    Attributes
    ----------
    args, kwargs : tuple, dict
        Positional and keyword arguments.
    name : str
        The special property of the sample.
    error : type, tuple of types or None
        The exception that the call must raise.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    error: type[Exception] | tuple[type[Exception], ...] | None = None


def has_dtype(device: Device | str, dtype: Dtype) -> bool:
    """Return whether the arrays of a device can have a dtype."""
    try:
        REGISTRY.backend(to_device(device).type).native_dtype(dtype)
    except (DtypeError, KeyError):
        return False
    return True


Family = Callable[["Inputs"], Iterator[Sample]]


class FamilyTable:
    """The sample families of one module: names (as `samples:` in ops.yaml) and generators."""

    def __init__(self) -> None:
        self.families: dict[str, Family] = {}

    def __call__(self, *names: str) -> Callable[[Family], Family]:
        """Register the decorated generator under one or more names."""

        def register(family: Family) -> Family:
            for name in names:
                self.families[name] = family
            return family

        return register


class Inputs:
    """Makes the tensors of samples: on one device, of one dtype, the same for the same seed.

    Parameters
    ----------
    definition : OpDefinition
        The operator that the samples are for.
    device, dtype : Device or str, dtype
        Where and of which type the tensors are.
    seed : int
        Of the values.
    """

    def __init__(self, definition: OpDefinition, device: Device | str, dtype: Dtype, seed: int = 0) -> None:
        self.definition, self.device, self.dtype = definition, device, dtype
        self.random = np.random.default_rng((seed, zlib.crc32(definition.name.encode())))

    # --- values ------------------------------------------------------------------------------------------------

    def array(
        self, shape: Sequence[int], low: float = -5, high: float = 5, dtype: Dtype | None = None
    ) -> np.ndarray[Any, Any]:
        """Return values between two bounds (those of unsigned dtypes are moved up to 0)."""
        d = dtype or self.dtype
        size = tuple(shape)
        if d.kind == "bool":
            return self.random.random(size) < 0.5
        if d.kind in ("signed", "unsigned"):
            first = max(int(low), 0) if d.kind == "unsigned" else int(low)
            return self.random.integers(first, int(high) + 1, size).astype(d.numpy)
        values = self.random.uniform(low, high, size)
        if d.is_complex:
            return (values + 1j * self.random.uniform(low, high, size)).astype(d.numpy)
        return values.astype(d.numpy)

    def tensor(
        self,
        *shape: int,
        low: float = -5,
        high: float = 5,
        dtype: Dtype | None = None,
        layout: Layout = "contiguous",
    ) -> Tensor:
        """Return a tensor of random values in a memory layout."""
        return self.arrange(shape, lambda size: self.array(size, low, high, dtype), layout)

    def of(self, values: Any, dtype: Dtype | None = None) -> Tensor:
        """Return a tensor of given values."""
        with np.errstate(all="ignore"):  # the largest numbers of a dtype, written in another
            array = np.asarray(values).astype((dtype or self.dtype).numpy)
        return tt.tensor(array, device=self.device)

    def indices(self, *shape: int, limit: int, dtype: Dtype | None = None) -> Tensor:
        """Return a tensor of indices from 0 to before `limit`."""
        return self.of(self.random.integers(0, max(limit, 1), shape), dtype or int64)

    def mask(self, *shape: int) -> Tensor:
        """Return a tensor of booleans."""
        return self.of(self.random.random(shape) < 0.5, bool_)

    def arrange(
        self, shape: Sequence[int], make: Callable[[Sequence[int]], np.ndarray[Any, Any]], layout: Layout
    ) -> Tensor:
        """Return a tensor of a shape whose elements lie in memory as `layout` says."""
        size = tuple(shape)
        ndim = len(size)
        if layout == "transposed" and ndim > 1:
            return tt.tensor(make(size[::-1]), device=self.device).permute(*range(ndim - 1, -1, -1))
        if layout == "strided" and ndim:
            return tt.tensor(make((*size[:-1], 2 * size[-1])), device=self.device)[..., ::2]
        if layout == "offset" and ndim:
            return tt.tensor(make((size[0] + 2, *size[1:])), device=self.device)[1 : size[0] + 1]
        if layout == "expanded" and ndim:
            return tt.tensor(make((1, *size[1:])), device=self.device).expand(*size)
        return tt.tensor(make(size), device=self.device)

    # --- dtypes ------------------------------------------------------------------------------------------------

    def serves(self, dtype: Dtype) -> bool:
        """Return whether the schema promises a promoted dtype for the operator."""
        return dtype.name in dtype_names(self.definition.dtypes)

    def partners(self) -> Iterator[Dtype]:
        """Yield other dtypes with which the operator's dtype may be mixed."""
        for other in (dt.bool_, dt.uint8, dt.int32, dt.float16, dt.float32, dt.complex64):
            try:
                promoted = promote_types(self.dtype, other)
            except PromotionError:
                continue
            refused = other is bool_ and self.definition.name in ("sub", "rsub")  # by PyTorch
            fits = (
                self.serves(promoted) and has_dtype(self.device, other) and has_dtype(self.device, promoted)
            )
            if other is not self.dtype and fits and not refused:
                yield other

    @property
    def extremes(self) -> list[Any]:
        """The values at the edge of the dtype."""
        d = self.dtype
        if d.kind == "bool":
            return [False, True]
        if d.kind in ("signed", "unsigned"):
            info = np.iinfo(d.numpy)
            return [info.min, info.max, 0, 1]
        limits = finfo(d)
        values = [
            np.inf,
            -np.inf,
            np.nan,
            0.0,
            -0.0,
            limits.max,
            limits.min,
            limits.tiny,
            limits.eps,
            1.0,
            -1.0,
        ]
        return (
            values
            if not d.is_complex
            else [complex(a, b) for a in values[:5] for b in (0.0, -0.0, np.inf, np.nan)]
        )

    @property
    def number(self) -> Any:
        """A Python number that does not lift the dtype's category."""
        return {"bool": True, "unsigned": 2, "signed": 2, "floating": 1.5, "complex": 1.5 - 0.5j}[
            self.dtype.kind
        ]


def as_array(value: Any) -> Any:
    """Return the values of tensors as NumPy arrays, also inside sequences; everything else unchanged."""
    if isinstance(value, TensorBase):
        detached: Any = value
        if getattr(value, "requires_grad", False):
            detached = detached.detach()
        return detached.to("cpu").numpy()
    if isinstance(value, (list, tuple)):
        return [as_array(item) for item in value]
    return value
