"""Cases of kernels over handles: kernel, arrays and expected results.

The kernels that cases launch are found by a dry run and compiled together, which is many times faster than one by one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from tests.backends.cuda.test_handle import HostMemory
from tt.backends.cuda.backend import CudaBackend
from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.elementwise import POINTWISE
from tt.backends.cuda.launch.reduction_launch import Tuning

SMALL = Tuning(threads=64, blocks=8)
"""Launches of few threads, in which all branches are taken by small arrays: blocks run one after another here."""

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALVES = (np.dtype(np.float16), BFLOAT16)
FLOATS = (*HALVES, np.dtype(np.float32), np.dtype(np.float64))


@dataclass
class Case:
    """A call of a kernel.

    Attributes
    ----------
    op : str
        The operator.
    args : tuple
        Its arguments; arrays become handles with their strides.
    expected : callable
        Returns the result in float64 (or in integers) for the same arguments, arrays of floats widened to float64;
        a tuple if there are several.
    name : str
        The name of the test.
    slack : float
        How many units in the last place of the largest element results may be off, besides the rounding of the result.
    """

    op: str
    args: tuple[Any, ...]
    expected: Callable[..., Any]
    name: str = ""
    slack: float = 4.0

    def __str__(self) -> str:
        arrays = [a for a in self.args if isinstance(a, np.ndarray)]
        shapes = "-".join("x".join(map(str, a.shape)) or "number" for a in arrays[:1])
        return f"{self.op}-{arrays[0].dtype.name}-{shapes}-{self.name}"


class Recorder:
    """An engine that launches nothing and notes its launches."""

    synchronous = False

    def __init__(self) -> None:
        self.kernels: dict[Any, None] = {}

    def launch(self, kernel: Any, *rest: Any) -> None:
        self.kernels[kernel] = None


def kernels_of(tables: Callable[..., Any], engine: Any, tuning: Tuning = SMALL) -> dict[str, Any]:
    """Return operator -> kernel over handles, launched by an engine."""
    backend = CudaBackend(HostMemory(), lambda: np, engine)
    return {kernel.op: kernel.function for table in tables(backend, tuning) for kernel in table.kernels}


def call(kernels: dict[str, Any], case: Case) -> Any:
    """Call the kernel of a case with handles."""
    backend = CudaBackend(HostMemory(), lambda: np)
    return kernels[case.op](*(backend.normalise(a) if isinstance(a, np.ndarray) else a for a in case.args))


def launched(tables: Callable[..., Any], cases: Iterable[Case], tuning: Tuning = SMALL) -> list[Any]:
    """Return the kernels of their own programs that cases launch; copies, which all may make, are left out."""
    recorder = Recorder()
    kernels = kernels_of(tables, recorder, tuning)
    for case in cases:
        call(kernels, case)
    return [kernel for kernel in recorder.kernels if kernel.program is not POINTWISE]


def widened(value: Any) -> Any:
    """Return an array of floats in float64, other things as they are."""
    return value.astype(np.float64) if isinstance(value, np.ndarray) and value.dtype in FLOATS else value


def check(kernels: dict[str, Any], case: Case) -> Any:
    """Run a case, compare with the reference, and return what was found."""
    found = call(kernels, case)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of means of nothing
        expected = case.expected(*map(widened, case.args))
    several = isinstance(found, tuple)
    for one, other in zip(found if several else (found,), expected if several else (expected,), strict=True):
        compare(one, np.asarray(other), case.slack)
    return found


def compare(found: StridedHandle, expected: np.ndarray, slack: float) -> None:
    """Compare a result with the reference: exactly, if it is of integers."""
    array = found.array
    assert array.shape == expected.shape
    if array.dtype not in FLOATS:
        np.testing.assert_array_equal(array, expected)
        return
    with np.errstate(all="ignore"):
        limits = ml_dtypes.finfo(array.dtype)
        # Values beyond the dtype are infinite in it.
        rounded = expected.astype(array.dtype).astype(np.float64)
        compute = np.finfo(np.float32 if array.dtype in HALVES else array.dtype).eps
        finite = np.abs(expected[np.isfinite(expected)])
        size = float(finite.max()) if finite.size else 0.0
    spacing = float(limits.eps) if array.dtype in HALVES else 0.0
    np.testing.assert_allclose(
        array.astype(np.float64), rounded, rtol=spacing + slack * compute,
        atol=slack * compute * size + float(limits.smallest_subnormal),
    )  # fmt: skip


def rows(
    shape: Sequence[int], dtype: Any, seed: int = 0, scale: float = 1.0, offset: float = 0.0
) -> np.ndarray:
    """Return normal numbers of a dtype, or integers from -9 to 9 (0 to 9), or truth values."""
    dtype, rng = np.dtype(dtype), np.random.default_rng([seed, *shape])
    if dtype in FLOATS:
        return np.asarray(rng.standard_normal(shape) * scale + offset).astype(dtype)
    if dtype == np.bool_:
        return np.asarray(rng.random(shape) < 0.5)
    return np.asarray(rng.integers(0 if dtype.kind == "u" else -9, 10, shape)).astype(dtype)


def strided(array: np.ndarray) -> np.ndarray:
    """Return the same elements with gaps between them, in reversed order of dimensions in memory."""
    room = np.zeros(tuple(2 * n + 1 for n in array.shape[::-1]), array.dtype)
    view = room.transpose()[tuple(slice(1, 2 * n + 1, 2) for n in array.shape)]
    view[...] = array
    return view
