"""Rows, as they are or reduced in bags, by own kernels run on the host, against the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.serving import backend_on, check_against_cpu, served, values
from tt.backends.cuda.scattering import embedding
from tt.core.errors import IndexValueError, PlaceError, ShapeError

INDICES = [1, 4, 4, 0, 2, 3, 1, 1, 5]


@pytest.fixture
def own(host_engine):
    backend = backend_on(host_engine)
    return backend, served(embedding.tables(backend))[0]


def bags(mode, name="float64", weights=False, last=False, padding=None, offsets=(0, 2, 2, 6)):
    """Return the arguments of a call."""
    per_sample = values(2, (len(INDICES),), name) if weights else None
    given = [values(1, (6, 3), name), np.array(INDICES), np.array(offsets, np.int64), per_sample]
    return [*given, mode, last, padding, False, False]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "complex64"])
def test_rows_are_read(own, name):
    weight, places = values(1, (6, 10), name), np.array([[0, 5], [2, 2], [1, 4]], np.int32)
    for table in (weight, weight.T):
        check_against_cpu(own, "_embedding", [table, places % len(table), -1, False, False], 0)


@pytest.mark.parametrize("row", [-1, 2])
def test_rows_that_are_not_there_are_noted(own, row):
    backend, kernels = own
    with pytest.raises(IndexValueError, match=f"index {row} is out of range for a dimension of size 2"):
        kernels["_embedding"](*map(backend.normalise, (np.zeros((2, 3)), np.array([row]))), -1, False, False)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(own, mode, last, padding):
    check_against_cpu(own, "_embedding_bag", bags(mode, last=last, padding=padding), 1e-13)


def test_samples_have_weights(own):
    check_against_cpu(own, "_embedding_bag", bags("sum", weights=True, padding=4), 1e-13)


def test_a_missing_number_is_the_largest(own):
    args = bags("max")
    args[0][4] = [np.nan, -np.inf, np.inf]
    args[0][1] = [np.inf, -np.inf, np.nan]
    check_against_cpu(own, "_embedding_bag", args, 0)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "tolerance"), [("float32", 1e-6), ("float16", 2e-3), ("bfloat16", 2e-2)])
def test_half_types_are_added_in_float32(own, name, tolerance):
    for mode in ("sum", "mean", "max"):
        check_against_cpu(own, "_embedding_bag", bags(mode, name), tolerance)


@pytest.mark.parametrize("mode", ["mean", "max"])
def test_without_bags_or_indices(own, mode):
    check_against_cpu(own, "_embedding_bag", bags(mode, offsets=()), 0)
    args = bags(mode, offsets=(0, 0))
    args[1] = args[1][:0]
    check_against_cpu(own, "_embedding_bag", args, 0)


@pytest.mark.parametrize(("offsets", "row", "error", "message"), [
    ((0, 2), 6, PlaceError, "index 6 is out of range for 6 rows"),
    ((0, 2), -1, PlaceError, "index -1 is out of range for 6 rows"),
    ((1, 2), 0, ShapeError, r"offsets\[0\] has to be 0, however, got 1"),
    ((0, 12), 0, ShapeError, r"offsets\[-1\] can not be greater than input's length 9 but got 12"),
    ((0, 5, 3), 0, ShapeError, "offsets must not decrease"),
])  # fmt: skip
def test_wrong_indices_and_offsets_are_noted(own, offsets, row, error, message):
    backend, kernels = own
    args = bags("sum", offsets=offsets)
    args[1][1] = row
    with pytest.raises(error, match=message):
        kernels["_embedding_bag"](*[backend.normalise(x) if isinstance(x, np.ndarray) else x for x in args])


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_nvrtc_compiles_every_kernel(nvrtc, name):
    names = embedding.kernel_names(name)
    assert set(nvrtc.compile_source(embedding.PROGRAM.source, names, "sm_80").names) == set(names)
