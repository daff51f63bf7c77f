"""Native kernels of recurrent layers and of their gradients."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("recurrent")

DTYPES: Final = ("float32", "float64")
LAYER: Final = "input hx cx w_ih w_hh b_ih b_hh w_hr batch_sizes mode reverse"
BACKWARD: Final = (
    "grad h_grad c_grad saved_grad input hx cx w_ih w_hh w_hr batch_sizes output saved mode reverse"
)

if NATIVE is not None:
    for _op, _takes in (("_rnn_layer", LAYER), ("_rnn_layer_backward", BACKWARD)):
        cpu.kernel(_op, getattr(NATIVE, _op), dtypes=DTYPES, takes=_takes.split(), native=True)
