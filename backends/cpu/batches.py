"""Batches of matrices that LAPACK takes one by one, shared by threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from math import prod
from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import Array
from tt.backends.cpu.threads import get_num_threads, one_blas_thread

__all__ = ["Run", "shared"]

Run = Callable[[Array], tuple[Array, ...]]

_WORTH_THREADS: Final = 1e6
"""Nanoseconds of work from which on threads gain more than starting them costs."""
_CALL: Final = 10_000
"""Nanoseconds that a decomposition takes for itself."""
_STEP: Final = 2.5
"""Nanoseconds that it takes for each element times the smaller side of a matrix."""


def shared(run: Run, matrices: Array) -> tuple[Array, ...]:
    """Return a NumPy function's result for a batch of matrices, whose parts threads compute.

    LAPACK takes the matrices of a batch one after the other, and the threads of OpenBLAS gain nothing for small ones:
    for 64x64 they cost more than they compute.  So each thread takes a part of the batch, with the BLAS in that thread
    alone.  Results do not depend on the number of threads.

    Parameters
    ----------
    run : callable
        Takes (..., m, n), and returns arrays that begin with the same dimensions.
    matrices : ndarray
        At least two dimensions.
    """
    count, (m, n) = prod(matrices.shape[:-2]), matrices.shape[-2:]
    threads = get_num_threads()
    # Matrices are not divided, so fewer of them than threads would leave some idle.
    if count < threads or threads < 2 or count * (_CALL + _STEP * m * n * min(m, n)) < _WORTH_THREADS:
        return run(matrices)
    parts = np.array_split(matrices.reshape(count, m, n), threads)
    results: list[Any] = [None] * threads

    def compute(part: int) -> None:
        try:
            results[part] = run(parts[part])
        except Exception as error:
            results[part] = error

    # In a copy of the context, so that NumPy's settings for errors (`np.errstate`) hold there, too.
    others = [threading.Thread(target=copy_context().run, args=(compute, part)) for part in range(1, threads)]
    # The BLAS must not start threads of its own in each of these.
    with one_blas_thread():
        for thread in others:
            thread.start()
        # The first part runs here, which saves a thread.
        compute(0)
        for thread in others:
            thread.join()
    for part in results:
        if isinstance(part, Exception):
            raise part
    return tuple(
        np.concatenate(each).reshape(*matrices.shape[:-2], *each[0].shape[1:])
        for each in zip(*results, strict=True)
    )
