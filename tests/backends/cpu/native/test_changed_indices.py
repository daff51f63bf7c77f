"""Indices that change after they have been checked: in the memory that is written to, or by another thread.

In processes of their own: a kernel that trusts earlier checks reads and writes anywhere.
"""

from __future__ import annotations

import os

import pytest

from tests.processes import printed_by
from tt.backends.cpu.native.loading import load, status

native = pytest.mark.skipif(
    load("indexing") is None, reason=f"native kernels are not in use: {status().reason}"
)

OVERLAPPING = """
import tt

FAR = 10**12
sources = tt.full((1000,), FAR)
calls = {
    "setitem": lambda x, i: x.__setitem__(i, FAR),
    "setitem of several": lambda x, i: x.view(1000, 1).__setitem__((i, 0 * i), sources),
    "index_put": lambda x, i: x.index_put_((i,), sources),
    "index_put, adding": lambda x, i: x.index_put_((i,), sources, accumulate=True),
    "scatter": lambda x, i: x.scatter_(0, i, sources),
    "scatter.value": lambda x, i: x.scatter_(0, i, FAR),
    "scatter_add": lambda x, i: x.scatter_add_(0, i, sources),
    **{
        f"scatter_reduce {how} {own}": lambda x, i, how=how, own=own: x.scatter_reduce_(
            0, i, sources, how, include_self=own
        )
        for how in ("sum", "prod", "amax", "amin", "mean")
        for own in (True, False)
    },
    "index_add": lambda x, i: x.index_add_(0, i, sources),
    "index_copy": lambda x, i: x.index_copy_(0, i, sources),
    "index_fill": lambda x, i: x.index_fill_(0, i, FAR),
    "put": lambda x, i: x.put_(i, sources),
    "put, adding": lambda x, i: x.put_(i, sources, accumulate=True),
}
for name, call in calls.items():
    x = tt.arange(999, -1, -1)
    wanted = x.clone()
    call(wanted, x.clone())
    call(x, x)
    assert (x == wanted).all(), name
    # One that overlaps in part.
    memory = tt.arange(2000) * 7 % 1000
    wanted = memory.clone()
    call(wanted[::2], memory[1::2].clone())
    call(memory[::2], memory[1::2])
    assert (memory == wanted).all(), name
bools = tt.arange(2000) % 3 == 0
wanted = bools.clone()
wanted[:1000].masked_fill_(bools[500:1500].clone(), True)
bools[:1000].masked_fill_(bools[500:1500], True)
assert (bools == wanted).all()
target, wanted = bools[:999], bools[:999].clone()
wanted.masked_scatter_(wanted.clone(), ~wanted)
target.masked_scatter_(target, ~target)
assert (target == wanted).all()
print("done")
"""


@pytest.mark.parametrize("kernels", [pytest.param("1", marks=native), "0"])
def test_an_index_in_the_memory_that_is_written_to_is_read_as_it_was_before(kernels):
    assert printed_by(OVERLAPPING, {**os.environ, "TT_NATIVE": kernels}) == "done\n"


CHANGING = """
import sys
import threading
import time

import numpy as np

from tt.backends.cpu.native.loading import load

FAR = 10**12
indexing, scattering, loss, pooling, sorting, sparse = map(
    load, ("indexing", "scattering", "loss", "pooling", "sorting", "sparse")
)
n = 20000
rng = np.random.default_rng(0)
x, m, target = rng.random(n), rng.random((n, 2)), np.zeros(n)
index, counts, whole = np.zeros(n, np.int64), np.ones(n, np.int64), np.arange(n)
mask = np.ones(n, np.bool_)
starts = np.arange(n + 1)
table = rng.random((n, 20))
calls = {
    "gather": lambda: indexing.gather(x, 0, index),
    "index_select": lambda: indexing.index_select(m, 0, index),
    "take": lambda: indexing.take(x, index),
    "embedding": lambda: indexing.embedding(m, index, None, False, False),
    "index": lambda: indexing.index(m, (index, index)),
    "index, mask": lambda: indexing.index(m, (mask,)),
    "index_put": lambda: indexing.index_put(target, (index,), x, False),
    "index_put, adding": lambda: indexing.index_put(target, (index,), x, True),
    "masked_select": lambda: indexing.masked_select(x, mask),
    "nonzero": lambda: indexing.nonzero(mask),
    "repeat_interleave": lambda: indexing.repeat_interleave(counts, None),
    "scatter": lambda: scattering.scatter(target, 0, index, x),
    "scatter.value": lambda: scattering.scatter_value(target, 0, index, 1.0),
    "scatter_add": lambda: scattering.scatter_add(target, 0, index, x),
    "scatter_reduce": lambda: scattering.scatter_reduce(target, 0, index, x, "mean", False),
    "index_add": lambda: scattering.index_add(m.copy(), 0, index, m, 1),
    "index_copy": lambda: scattering.index_copy(target, 0, index, x),
    "index_fill": lambda: scattering.index_fill(target, 0, index, 1.0),
    "put": lambda: scattering.put(target, index, x, False),
    "masked_scatter": lambda: scattering.masked_scatter(target, mask, x),
    "embedding_dense_backward": lambda: scattering.embedding_dense_backward(m, index, 100, -1, True),
    "embedding_bag": lambda: scattering.embedding_bag(
        m, index, starts[:-1:10].copy(), None, "sum", False, None, False, False
    ),
    "embedding_bag, offsets": lambda: scattering.embedding_bag(
        m, whole, index, None, "max", False, None, False, False
    ),
    "nll_loss": lambda: loss.nll_loss(table, index, None, -100, "mean"),
    "cross_entropy": lambda: loss.cross_entropy(table, index, None, -100, "mean", 0.0),
    "cross_entropy_backward": lambda: loss.cross_entropy_backward(
        np.ones(()), table, index, None, x, -100, "sum", 0.0
    ),
    "_unpool": lambda: pooling._unpool(x[None], index[None], (1, n), 1),
    "bincount": lambda: sorting.bincount(index, 0),
    "unique_consecutive": lambda: sorting.unique_consecutive(index, True, True),
    "times a vector": lambda: sparse.times(starts, index, x, x),
    "times a matrix": lambda: sparse.times(starts, index, x, table),
    "transposed_times": lambda: sparse.transposed_times(starts, index, x, table, n),
    "multiply": lambda: sparse.multiply(starts, index, x, starts, index, x, n),
    "starts change": lambda: sparse.times(np.r_[index, n], whole, x, x),
    "sampled": lambda: sparse.sampled(index, index, m, m),
    "transpose": lambda: sparse.transpose(starts, index, x, n),
    "to_dense": lambda: sparse.to_dense(np.r_[0, n], index, x, n),
    "starts_of": lambda: sparse.starts_of(index, n),
    "from_dense": lambda: sparse.from_dense(index.reshape(4, -1)),
    "sum_runs": lambda: sparse.sum_runs(index, index, x),
}
running = True


def change():
    number = 0
    while running:
        number += 1
        index[number % 7 :: 7] = FAR if number % 2 else 5
        index[number % 11 :: 11] = -FAR if number % 3 else 3
        counts[number % 5 :: 5] = FAR if number % 2 else 1
        mask[number % 3 :: 3] = number % 2
        if number % 4 == 0:
            index[:] = 0
            counts[:] = 1
            mask[:] = True
            time.sleep(0)


sys.setswitchinterval(1e-5)
thread = threading.Thread(target=change)
thread.start()
finished = refused = 0
for call in calls.values():
    end = time.monotonic() + 0.15
    while time.monotonic() < end:
        try:
            call()
            finished += 1
        except (IndexError, ValueError, TypeError, RuntimeError, MemoryError):
            refused += 1
running = False
thread.join()
print("done", finished > 0, refused > 0)
"""


@native
def test_what_another_thread_writes_to_an_index_is_never_followed_out_of_bounds():
    assert printed_by(CHANGING) == "done True True\n"


MUTATED = """
import numpy as np

from tt.backends.cpu.native.loading import load

sparse = load("sparse")
one, x = np.ones(4), np.ones((4, 3))
for dtype in (np.int64, np.int32):
    fine = np.arange(5).astype(dtype), np.arange(4).astype(dtype), one
    for which, place, wrong in ((0, 1, 2**30), (0, 4, 2**30), (0, 0, -5), (1, 2, 2**30), (1, 0, -1)):
        bad = list(fine)
        bad[which] = bad[which].copy()
        bad[which][place] = wrong
        for name, arguments in {
            "times": (*bad, one),
            "times ": (*bad, x),
            "transposed_times": (*bad, x, 4),
            "multiply": (*bad, *fine, 4),
            "multiply ": (*fine, *bad, 4),
            "transpose": (*bad, 4),
            "to_dense": (*bad, 4),
        }.items():
            try:
                getattr(sparse, name.strip())(*arguments)
            except IndexError:
                continue
            raise SystemExit(f"{name}: {which} {wrong}")
    # Rows that begin and end before the first element, far enough for a write there to be seen.
    before = np.array([0, 2, -(2**30), -(2**30) + 2, 4]).astype(dtype), *fine[1:]
    for name, arguments in {
        "times": (*before, one),
        "times ": (*before, x),
        "transposed_times": (*before, x, 4),
        "multiply": (*before, *fine, 4),
        "multiply ": (*fine, *before, 4),
        "transpose": (*before, 4),
        "to_dense": (*before, 4),
    }.items():
        try:
            getattr(sparse, name.strip())(*arguments)
        except IndexError:
            continue
        raise SystemExit(f"{name}: before the first")
for name, arguments in {
    "starts_of": (np.array([0, 9]), 4),
    "rows_of": (np.array([0, 9, 2]),),
    "rows_of ": (np.array([0, -9]),),
    "sampled": (np.array([4]), np.array([0]), x, x),
    "sum_runs": (np.array([0, 0]), np.array([0, 2]), np.ones(2)),
}.items():
    try:
        getattr(sparse, name.strip())(*arguments)
    except IndexError:
        continue
    raise SystemExit(name)
print("done")
"""


@native
def test_indices_of_sparse_matrices_are_checked_where_they_are_used():
    assert printed_by(MUTATED) == "done\n"
