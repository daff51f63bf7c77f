"""Native kernels of pooling, and of what takes gradients back."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("pooling")

DTYPES: Final = ("float32", "float64")
WINDOWS: Final = ("kernel_size", "stride", "padding")
LARGEST: Final = ("input", *WINDOWS, "dilation", "ceil_mode")
MEAN: Final = ("input", *WINDOWS, "ceil_mode", "count_include_pad")
SHARED: Final = ("grad", "size", *WINDOWS, "ceil_mode", "count_include_pad", "divisor_override")

if NATIVE is not None:
    for _dims in (1, 2, 3):
        _takes = {
            f"max_pool{_dims}d_with_indices": (*LARGEST, "return_indices"),
            f"_max_pool{_dims}d": LARGEST,
            f"avg_pool{_dims}d": MEAN if _dims == 1 else (*MEAN, "divisor_override"),
            f"adaptive_max_pool{_dims}d_with_indices": ("input", "output_size", "return_indices"),
            f"adaptive_avg_pool{_dims}d": ("input", "output_size"),
        }
        for _op, _names in _takes.items():
            cpu.kernel(_op, getattr(NATIVE, _op), dtypes=DTYPES, takes=_names, native=True)
    cpu.kernel(
        "_unpool", NATIVE._unpool, dtypes=DTYPES, takes=("values", "indices", "size", "dims"), native=True
    )
    cpu.kernel("_avg_unpool", NATIVE._avg_unpool, dtypes=DTYPES, takes=SHARED, native=True)
    cpu.kernel(
        "_adaptive_avg_unpool",
        NATIVE._adaptive_avg_unpool,
        dtypes=DTYPES,
        takes=("grad", "size"),
        native=True,
    )
