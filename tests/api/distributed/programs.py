"""What the tests of tt.distributed share: inputs of each rank, an engine with nothing but what is required, runs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

import numpy as np

import tt
import tt.distributed as dist
from tt.distributed.backend import Capabilities
from tt.distributed.engines.names import is_installed
from tt.distributed.engines.threads import Threads

TIMEOUT = timedelta(seconds=20)
DTYPES = (
    tt.float32, tt.float64, tt.float16, tt.bfloat16, tt.int8, tt.int16, tt.int32, tt.int64, tt.uint8, tt.uint16,
    tt.uint32, tt.uint64, tt.bool, tt.complex32, tt.complex64, tt.complex128,
)  # fmt: skip
LAYOUTS = ("contiguous", "strided", "empty", "scalar")


class Bare(Threads):
    """An engine that has only what `Backend` requires: everything else is derived."""

    name: ClassVar[str] = "bare"
    capabilities: ClassVar[Capabilities] = Capabilities(devices=frozenset({"cpu"}))


if not is_installed("bare"):
    dist.Backend.register_backend("bare", Bare)


def run(
    function: Any, size: int, *args: Any, backend: str = "threads", timeout: timedelta = TIMEOUT
) -> list[Any]:
    """Run a function in threads, with a timeout that ends a test that hangs."""
    return dist.run_threads(function, size, *args, backend=backend, timeout=timeout)


def values(dtype: Any, layout: str, seed: int) -> tt.Tensor:
    """Return a tensor of small numbers, whose sums and products are exact in every dtype."""
    shape = {"contiguous": (2, 3), "strided": (2, 3), "empty": (0, 3), "scalar": ()}[layout]
    numbers = np.random.default_rng(seed).integers(0, 4, size=shape)
    if dtype is tt.bool:
        numbers = numbers > 1
    made = tt.tensor(numbers.tolist(), dtype=dtype).reshape(shape)
    if dtype.is_complex:
        made = made + tt.tensor(1j, dtype=dtype) * (seed % 3)
    return strided(made) if layout == "strided" else made


def strided(tensor: tt.Tensor) -> tt.Tensor:
    """Return a tensor of the same values that is not contiguous."""
    wide = tt.zeros((tensor.shape[1] * 2, tensor.shape[0]), dtype=tensor.dtype)
    view = wide[::2].t()
    view.copy_(tensor)
    assert not view.is_contiguous()
    return view


def like(tensor: tt.Tensor, layout: str) -> tt.Tensor:
    """Return a tensor to be filled, in the same layout, with other values."""
    made = tt.ones(tensor.shape).to(tensor.dtype)
    return strided(made) if layout == "strided" else made


def array(tensor: tt.Tensor) -> np.ndarray[Any, Any]:
    """Return the values as NumPy computes with them: half precision as float32."""
    wide = tensor.float() if tensor.dtype in (tt.float16, tt.bfloat16) else tensor
    return np.array(wide.numpy())


def same(tensor: tt.Tensor, expected: Any) -> None:
    """Compare exactly; the expectation is rounded to the tensor's dtype."""
    found = array(tensor)
    np.testing.assert_array_equal(found, np.asarray(expected).astype(found.dtype).reshape(found.shape))
