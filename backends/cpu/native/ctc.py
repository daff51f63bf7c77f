"""Native kernels of the loss of sequences whose alignment is unknown."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("ctc")

DTYPES: Final = ("float32", "float64")
SEQUENCES: Final = ("log_probs", "targets", "input_lengths", "target_lengths")
HOW: Final = ("blank", "zero_infinity")

if NATIVE is not None:
    cpu.kernel("_ctc_loss", NATIVE._ctc_loss, dtypes=DTYPES, takes=(*SEQUENCES, *HOW), native=True)
    cpu.kernel(
        "_ctc_loss_backward",
        NATIVE._ctc_loss_backward,
        dtypes=DTYPES,
        takes=("grad", *SEQUENCES, "loss", "log_alpha", *HOW),
        native=True,
    )
