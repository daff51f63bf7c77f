"""Native kernels of random numbers: the same numbers as NumPy's kernels draw."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.backends.cpu.native.loading import load
from tt.backends.cpu.native.pointwise import both_forms
from tt.core.library import Generator, KernelTable, errors

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

    # --- counts ----------------------------------------------------------------------------------------------------

    def _flat(values: Array) -> Array:
        return np.ascontiguousarray(values, np.float64).reshape(-1)

    def poisson(self: Array, generator: Generator | None) -> Array:
        rate = _flat(self)
        if not (rate >= 0).all():
            raise errors.ValueRangeError(
                "poisson(): the rates must be 0 or more, and some are negative or NaN"
            )
        # The algorithms need finite rates; an infinite one has an infinite count.
        infinite = rate == math.inf
        counts = NATIVE.poisson_counts(np.where(infinite, 0.0, rate) if infinite.any() else rate, generator)
        counts[infinite] = math.inf
        out = np.empty_like(self)
        with np.errstate(over="ignore"):
            out[...] = counts.reshape(self.shape)
        return out

    def binomial(count: Array, prob: Array, generator: Generator | None) -> Array:
        counts, probs = np.broadcast_arrays(count, prob)
        n, p = np.floor(_flat(counts)), _flat(probs)
        # Of probabilities above one half the failures are counted.
        flipped = p > 0.5
        rare = np.where(flipped, 1 - p, p)
        drawable = (n > 0) & (n < math.inf) & (rare > 0)
        successes = NATIVE.binomial_counts(
            np.where(drawable, n, 0.0), np.where(drawable, rare, 0.0), generator
        )
        np.subtract(n, successes, successes, where=flipped & drawable)
        # Without anything to draw: certain success, and infinitely many trials.
        sure = ((p >= 1) & (n > 0)) | ((n == math.inf) & (p > 0))
        np.copyto(successes, n, where=sure)
        # Last, because NaN is the result whatever else was written.
        np.copyto(successes, math.nan, where=np.isnan(n) | np.isnan(p))
        with np.errstate(over="ignore"):
            out: Array = successes.reshape(counts.shape).astype(count.dtype, copy=False)
        return out

    cpu.kernel("poisson", poisson, dtypes="floating", half="native", native=True)
    cpu.kernel("binomial", binomial, dtypes="floating", half="native", native=True)


REPARAMETRIZATION: Final = load("reparametrization")

if REPARAMETRIZATION is not None:
    both_forms(cpu, "_standard_gamma_grad", REPARAMETRIZATION.standard_gamma_grad, ("self", "output"))
    both_forms(cpu, "_dirichlet_grad", REPARAMETRIZATION.dirichlet_grad, ("x", "alpha", "total"))
