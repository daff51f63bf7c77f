"""Native kernels of losses and of their gradients."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("loss")

WIDE: Final = ("float32", "float64")

HOW: Final = ("kind", "reduction", "parameter")
CLASSES: Final = ("ignore_index", "reduction", "label_smoothing")

if NATIVE is not None:
    for _op, _function, _takes in (
        ("_elementwise_loss", NATIVE.elementwise, ("input", "target", *HOW)),
        ("_elementwise_loss_backward", NATIVE.elementwise_backward, ("grad", "input", "target", *HOW)),
        ("binary_cross_entropy", NATIVE.binary_cross_entropy, ("input", "target", "reduction")),
        (
            "binary_cross_entropy_with_logits",
            NATIVE.binary_cross_entropy_with_logits,
            ("input", "target", "reduction"),
        ),
        ("_cross_entropy", NATIVE.cross_entropy, ("input", "target", "weight", *CLASSES)),
        (
            "_cross_entropy_backward",
            NATIVE.cross_entropy_backward,
            ("grad", "input", "target", "weight", "logsumexp", *CLASSES),
        ),
        ("nll_loss", NATIVE.nll_loss, ("input", "target")),  # the most frequent call
        ("nll_loss", NATIVE.nll_loss, ("input", "target", "weight", "ignore_index", "reduction")),
    ):
        cpu.kernel(_op, _function, dtypes=WIDE, takes=_takes, native=True)


CTC: Final = load("ctc")

DTYPES: Final = ("float32", "float64")
SEQUENCES: Final = ("log_probs", "targets", "input_lengths", "target_lengths")
OF_PATHS: Final = ("blank", "zero_infinity")

if CTC is not None:
    cpu.kernel("_ctc_loss", CTC._ctc_loss, dtypes=DTYPES, takes=(*SEQUENCES, *OF_PATHS), native=True)
    cpu.kernel(
        "_ctc_loss_backward",
        CTC._ctc_loss_backward,
        dtypes=DTYPES,
        takes=("grad", *SEQUENCES, "loss", "log_alpha", *OF_PATHS),
        native=True,
    )
