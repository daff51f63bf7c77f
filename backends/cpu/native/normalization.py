"""Native kernels of normalization and of its gradients."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.backends.cpu.native.pointwise import FLOATING
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("normalization")

WIDE: Final = ("float32", "float64")

STATISTICS: Final = ("input", "weight", "bias", "running_mean", "running_var", "training", "eps")

if NATIVE is not None:
    for _op, _function, _takes in (
        ("layer_norm", NATIVE.layer_norm, ("input", "normalized_shape", "weight", "bias", "eps")),
        ("rms_norm", NATIVE.rms_norm, ("input", "normalized_shape", "weight", "eps")),
        ("group_norm", NATIVE.group_norm, ("input", "num_groups", "weight", "bias", "eps")),
        ("_layer_norm_backward", NATIVE.layer_norm_backward,
         ("grad", "input", "normalized_shape", "weight", "eps")),
        ("_rms_norm_backward", NATIVE.rms_norm_backward, ("grad", "input", "normalized_shape", "weight", "eps")),
        ("_group_norm_backward", NATIVE.group_norm_backward, ("grad", "input", "num_groups", "weight", "eps")),
    ):  # fmt: skip
        cpu.kernel(_op, _function, dtypes=FLOATING, takes=_takes, half="native", native=True)
    cpu.kernel("_batch_norm", NATIVE.batch_norm, dtypes=WIDE, takes=STATISTICS, native=True)
    cpu.kernel(
        "_batch_norm_backward",
        NATIVE.batch_norm_backward,
        dtypes=WIDE,
        takes=("grad", "input", "weight", "mean", "var", "training", "eps"),
        native=True,
    )
