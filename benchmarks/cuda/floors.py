"""Measures the limits of the hardware: the bandwidth of a copy, and the speed of large products."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.cuda.measure import Floors
from benchmarks.cuda.runners import clock_of

__all__ = ["measure_floors"]

COPIED = 1 << 30
"""Bytes; far beyond every cache."""
SIZES = (2048, 4096, 8192)
TURNS = 7
DTYPES = ("float16", "bfloat16", "float32", "float64")


def measure_floors(
    torch: Any, device: str, *, copied: int = COPIED, sizes: tuple[int, ...] = SIZES
) -> Floors:
    """Measure with PyTorch, whose copies and products are those of NVIDIA's libraries.

    Parameters
    ----------
    torch : module
        PyTorch.
    device : str
        Where.
    copied : int
        How many bytes are copied.
    sizes : tuple of int
        Of square products; the fastest counts.
    """
    clock = clock_of(torch, device)

    def fastest(call: Any, count: int) -> float:
        clock.time(call, 2)
        return statistics.median(clock.time(call, count)[0] / count for _ in range(TURNS))

    bandwidth = 2 * copied / fastest(copying(torch, device, copied), 10)
    flops: dict[str, float] = {}
    for name in (*DTYPES, "tf32"):
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        try:
            for size in sizes:
                dtype = torch.float32 if name == "tf32" else getattr(torch, name)
                x = torch.randn(size, size, device=device).to(dtype)
                flops[name] = max(flops.get(name, 0.0), 2 * size**3 / fastest(lambda x=x: x @ x, 3))
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before
    return Floors(bandwidth, flops)


def copying(torch: Any, device: str, nbytes: int) -> Any:
    """Return what copies so many bytes; the memory lives as long as it."""
    source = torch.zeros(nbytes, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)
