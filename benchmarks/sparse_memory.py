"""Memory of a large sparse matrix: `python -m benchmarks.sparse_memory`.

A matrix of a million rows and columns with ten million elements takes 128 MB by compressed rows.  Each step is one
operator on it; shown is the most memory that the process has had so far, as the system counts it, and the time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from benchmarks.libraries import set_threads

__all__ = ["LIMIT", "Step", "measure"]

LIMIT = 2**30
"""The memory limit of all steps together, in bytes."""


class Step(NamedTuple):
    """A step, the peak memory of the process until its end, and its time."""

    name: str
    peak: int
    seconds: float


def make(rows: int, each: int) -> Any:
    """Return a square CSR matrix of so many rows with so many elements in each, at places drawn at random."""
    import numpy as np

    import tt

    rng = np.random.default_rng(0)
    # Sorted numbers below rows - each + 1 that are moved apart by their position are all different.
    columns = rng.integers(0, rows - each + 1, (rows, each))
    columns.sort(axis=1)
    columns += np.arange(each)
    starts = np.arange(0, rows * each + 1, each)
    values = rng.standard_normal(rows * each, dtype=np.float32)
    return tt.sparse_csr_tensor(starts, columns.reshape(-1), values, (rows, rows))


def measure(rows: int, each: int) -> Iterator[Step]:
    """Run all steps, and yield what each took."""
    import tt
    from benchmarks.memory import highest

    held: dict[str, Any] = {"v": tt.ones(rows)}

    def gradient() -> Any:
        leaf = held["a"].detach().requires_grad_()
        tt.sparse.mm(leaf, tt.ones(rows, 1)).sum().backward()
        return leaf.grad

    def reordered() -> Any:
        indices = held["c"].indices()[[1, 0]]
        return tt.sparse_coo_tensor(indices, held.pop("c").values(), (rows, rows), check_invariants=False)

    steps: list[tuple[str, str, Callable[[], Any]]] = [
        ("making, with all checks", "a", lambda: make(rows, each)),
        ("CSR @ vector", "", lambda: held["a"] @ held["v"]),
        ("transposed CSR @ vector", "", lambda: held["a"].t() @ held["v"]),
        ("CSR @ dense matrix of 4 columns", "", lambda: held["a"] @ tt.ones(rows, 4)),
        ("sin", "", lambda: held["a"].sin()),
        ("sum", "", lambda: held["a"].sum()),
        ("CSR + CSR", "", lambda: held["a"] + held["a"]),
        ("gradient of CSR @ dense", "", gradient),
        ("CSR to CSC", "", lambda: held["a"].to_sparse_csc()),
        ("CSR to COO", "c", lambda: held.pop("a").to_sparse()),
        ("COO @ vector", "", lambda: held["c"] @ held["v"]),
        ("COO to CSR", "", lambda: held["c"].to_sparse_csr()),
        ("coordinates in another order", "u", reordered),
        ("coalesce", "", lambda: held.pop("u").coalesce()),
    ]
    for name, keep, step in steps:
        start = time.perf_counter()
        value = step()
        seconds = time.perf_counter() - start
        if keep:
            held[keep] = value
        del value
        yield Step(name, highest(), seconds)


def main(words: list[str]) -> int:
    """Print the steps; exit status 3 if they took more than the limit."""
    set_threads(1)
    rows, each = [int(word) for word in words] if words else (1_000_000, 10)
    sys.stdout.write(
        f"{rows:,} x {rows:,}, {rows * each:,} elements\n\n| step | peak, MiB | seconds |\n| --- | --- | --- |\n"
    )
    peak = 0
    for step in measure(rows, each):
        peak = step.peak
        sys.stdout.write(f"| {step.name} | {step.peak / 2**20:.0f} | {step.seconds:.2f} |\n")
        sys.stdout.flush()
    return 3 if peak > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
