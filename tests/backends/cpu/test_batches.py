"""Batches of matrices that threads share: the same results, errors of any part, the BLAS as it was."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tt
from tests.backends.cpu.matrices import numbers
from tt.backends.cpu import batches
from tt.backends.cpu.threads import blas_threads, known_blas, one_blas_thread


@pytest.fixture
def four_threads(monkeypatch):
    monkeypatch.setattr(batches, "get_num_threads", lambda: 4)
    monkeypatch.setattr(batches, "_WORTH_THREADS", 0)


def used(run, shape, dtype="float64"):
    """Return the result for a batch, and the threads that computed it."""
    threads = []

    def noted(part):
        threads.append(threading.current_thread())
        return run(part)

    return batches.shared(noted, numbers(*shape, dtype=dtype)), threads


@pytest.mark.parametrize("shape", [(4, 3, 3), (9, 3, 5), (2, 3, 4, 2)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_parts_are_put_together_in_their_order(four_threads, shape, dtype):
    def run(a):
        return np.linalg.qr(a)

    found, threads = used(run, shape, dtype)
    assert len(set(threads)) == len(threads) == 4
    for part, expected in zip(found, run(numbers(*shape, dtype=dtype)), strict=True):
        np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize("shape", [(3, 3), (3, 2, 2), (0, 2, 2)], ids=str)
def test_what_has_too_few_matrices_is_computed_at_once(four_threads, shape):
    assert used(lambda a: (a,), shape)[1] == [threading.current_thread()]


def test_small_work_starts_no_thread(monkeypatch):
    monkeypatch.setattr(batches, "get_num_threads", lambda: 4)
    assert used(lambda a: (a,), (8, 4, 4))[1] == [threading.current_thread()]
    assert len(used(lambda a: (a,), (64, 64, 64))[1]) == 4


def test_settings_for_errors_hold_in_all_threads(four_threads):
    with np.errstate(invalid="ignore"):  # warnings are errors here
        found = batches.shared(lambda a: (np.sqrt(a),), np.full((8, 2, 2), -1.0))[0]
    assert np.isnan(found).all()
    with pytest.raises(RuntimeWarning, match="invalid value"):
        batches.shared(lambda a: (np.sqrt(a),), np.full((8, 2, 2), -1.0))


@pytest.mark.parametrize("place", [0, 7])
def test_an_error_of_any_part_is_raised(four_threads, place):
    a = numbers(8, 3, 3)
    a[place] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        batches.shared(lambda a: (np.linalg.inv(a),), a)


@pytest.mark.parametrize("ends", ["well", "by an error"])
def test_the_blas_has_its_threads_again(ends):
    np.linalg.inv(np.eye(2))
    before = blas_threads()
    if not known_blas()[0]:
        pytest.skip("NumPy's BLAS is not OpenBLAS, or the system does not list loaded libraries")
    try:
        with one_blas_thread():
            assert all(get() == 1 for get in known_blas()[1])
            with one_blas_thread():
                pass
            assert all(get() == 1 for get in known_blas()[1])
            if ends != "well":
                raise KeyError
    except KeyError:
        pass
    assert blas_threads() == before


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("op", ["svd", "svdvals", "eigh", "eigvalsh", "eig", "eigvals"])
def test_decompositions_do_not_depend_on_the_number_of_threads(op, dtype):
    a = tt.from_numpy(numbers(50, 40, 40, dtype=dtype))
    before = tt.get_num_threads()
    found = []
    try:
        for count in (1, 3):
            tt.set_num_threads(count)
            result = getattr(tt.linalg, op)(a)
            found.append([result] if isinstance(result, tt.Tensor) else [*result])
    finally:
        tt.set_num_threads(before)
    assert all(tt.equal(one, other) for one, other in zip(*found, strict=True))
