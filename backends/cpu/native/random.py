"""Native kernels of random numbers: the same numbers as NumPy's kernels draw."""

from __future__ import annotations

from typing import Final

from tt.backends.cpu.native.loading import load
from tt.core.library import KernelTable

__all__ = ["cpu"]

cpu: Final = KernelTable(device="cpu")

NATIVE: Final = load("random")

if NATIVE is not None:
    # --- of a size -------------------------------------------------------------------------------------------------

    for _op in ("rand", "randn"):
        cpu.kernel(
            _op,
            getattr(NATIVE, _op),
            dtypes="floating_complex",
            takes=("size", "generator", "dtype"),
            native=True,
        )
    cpu.kernel(
        "randint.low",
        NATIVE.randint,
        dtypes="real",
        takes=("low", "high", "size", "generator", "dtype"),
        native=True,
    )
    cpu.kernel(
        "randperm", NATIVE.randperm, dtypes="real_number", takes=("n", "generator", "dtype"), native=True
    )

    # --- like a tensor ---------------------------------------------------------------------------------------------

    cpu.kernel(
        "bernoulli.p", NATIVE.bernoulli_p, takes=("self", "p", "generator"), half="native", native=True
    )
    cpu.kernel(
        "bernoulli",
        NATIVE.bernoulli,
        dtypes="floating",
        takes=("self", "generator"),
        half="native",
        native=True,
    )
    cpu.kernel(
        "normal",
        NATIVE.normal,
        dtypes="floating_complex",
        takes=("self", "mean", "std", "generator"),
        half="native",
        native=True,
    )
    cpu.kernel(
        "uniform",
        NATIVE.uniform,
        dtypes="floating_complex",
        takes=("self", "from_", "to", "generator"),
        half="native",
        native=True,
    )
    cpu.kernel(
        "exponential",
        NATIVE.exponential,
        dtypes="floating",
        takes=("self", "lambd", "generator"),
        half="native",
        native=True,
    )
    cpu.kernel(
        "multinomial",
        NATIVE.multinomial,
        dtypes="floating",
        takes=("self", "num_samples", "replacement", "generator"),
        half="native",
        native=True,
    )

    # --- dropout ---------------------------------------------------------------------------------------------------

    cpu.kernel(
        "native_dropout",
        NATIVE.native_dropout,
        dtypes="floating_complex",
        takes=("input", "p", "train"),
        half="native",
        native=True,
    )
    cpu.kernel(
        "native_dropout_backward",
        NATIVE.native_dropout_backward,
        dtypes="floating_complex",
        takes=("grad_output", "mask", "scale"),
        half="native",
        native=True,
    )
