"""Calls of kernels on handles, as the dispatcher makes them, and arguments for every operator that a table serves."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import tt
from tt.backends.cuda.handle import StridedHandle
from tt.core.library import Kernel, KernelTable, ops
from tt.core.schema.classes import dtype_names

NUMBERS = {
    "alpha": 2.0, "value": -0.75, "negative_slope": 0.02, "min_val": -0.5, "max_val": 1.25, "threshold": 0.5,
    "lambd": 0.4, "beta": 1.5, "scale": 1.25, "input_scale": 0.5, "nan": 3.5, "posinf": 100.0, "neginf": -50.0,
    "approximate": "tanh", "rounding_mode": "trunc", "decimals": 1,
}  # fmt: skip
"""Arguments that are not tensors, by their names."""

KEYWORDS = ("alpha", "value", "rounding_mode", "approximate", "decimals")
POSITIONAL = {("threshold", "value"), ("elu_backward", "alpha")}
"""Arguments that operators take by their names only, with few exceptions."""

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.0, 1e-3, 20.0, -20.0, np.inf, -np.inf, np.nan)


def native(name: str) -> np.dtype:
    """Return NumPy's dtype of a name."""
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def kernels_of(tables: list[KernelTable], form: str = "functional") -> dict[tuple[str, str], Kernel]:
    """Return the kernels by operator and dtype, those that take the most arguments."""
    found: dict[tuple[str, str], Kernel] = {}
    for table in tables:
        for kernel in sorted(table.kernels, key=lambda k: len(k.takes or ())):
            if kernel.form == form:
                for dtype in dtype_names(
                    [kernel.dtypes] if isinstance(kernel.dtypes, str) else kernel.dtypes
                ):
                    found[kernel.op, dtype] = kernel
    return found


def values(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Return values of a dtype: special ones first, then some of either sign."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    kind = native(dtype).kind
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        bounds = np.iinfo(dtype)
        found = rng.integers(max(bounds.min, -60), min(bounds.max, 60), count, endpoint=True)
        found = found.astype(dtype)
        found[:2] = bounds.min, bounds.max
        return found.reshape(shape)
    found = rng.normal(size=count) * 2
    if kind == "c":
        return (found + 1j * rng.normal(size=count)).astype(dtype).reshape(shape)
    special = np.array(SPECIAL)[rng.permutation(len(SPECIAL))][:count]
    found[: len(special)] = special
    with np.errstate(over="ignore"):
        return found.astype(native(dtype)).reshape(shape)


def arguments(takes: tuple[str, ...], dtype: str, shape: tuple[int, ...] = (7, 40)) -> dict[str, Any]:
    """Return arguments by their names: arrays for tensors, numbers for others."""
    given: dict[str, Any] = {}
    for seed, name in enumerate(takes):
        if name in NUMBERS:
            given[name] = NUMBERS[name]
            if isinstance(given[name], float) and native(dtype).kind in "biu":
                given[name] = True if dtype == "bool" else abs(int(given[name] * 4))
        else:
            given[name] = values("bool" if name == "condition" else dtype, shape, seed)
    return given


def call(backend: Any, kernel: Kernel, given: dict[str, Any], out: StridedHandle | None = None) -> Any:
    """Call a kernel with arrays as handles."""
    args = [given[name] for name in kernel.takes or ()]
    handles = [backend.normalise(a) if isinstance(a, np.ndarray) else a for a in args]
    return kernel.function(*handles, *(() if out is None else (out,)))


def reference(op: str, given: dict[str, Any], wide: str | None = None) -> np.ndarray:
    """Return the result of the CPU, in a wider dtype if one is given."""
    arrays = {
        name: tt.from_numpy(value.astype(wide) if wide and value.dtype != bool else value)
        for name, value in given.items()
        if isinstance(value, np.ndarray)
    }
    every = {**given, **arrays}
    named = {name: every.pop(name) for name in KEYWORDS if name in every and (op, name) not in POSITIONAL}
    return getattr(ops, op.partition(".")[0])(*every.values(), **named).numpy()
