"""The libraries: which are there, their threads, and their results as arrays."""

from __future__ import annotations

import os

import ml_dtypes
import numpy as np
import pytest

import tt
from benchmarks import libraries
from benchmarks.libraries import LIBRARIES, installed, names_for, set_threads, to_arrays, unusable, version


def test_libraries_that_are_there_are_found_in_a_fixed_order() -> None:
    assert installed()[0] == "tt"
    assert installed(["numpy", "tt"]) == ["tt", "numpy"]
    assert [name for name in LIBRARIES if name in installed()] == installed()


def test_versions_are_those_of_the_distributions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert version("numpy") == np.__version__
    monkeypatch.setitem(libraries.DISTRIBUTIONS, "tt", "no-such-distribution")
    assert version("tt") == "not installed as a distribution"


def test_threads_are_set_for_all_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*libraries.THREADS, "XLA_FLAGS"):
        monkeypatch.setenv(name, "untouched")
    set_threads(3)
    assert {os.environ[name] for name in libraries.THREADS} == {"3"}
    assert os.environ["XLA_FLAGS"] == "--xla_cpu_multi_thread_eigen=true intra_op_parallelism_threads=3"


def test_a_library_that_computes_nothing_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(library: str, array: object) -> object:
        raise RuntimeError("no compiler\nin 20 places")

    monkeypatch.setattr(libraries, "tensor_of", broken)
    unusable.cache_clear()
    assert unusable("numpy") == "RuntimeError: no compiler"
    unusable.cache_clear()


@pytest.mark.torch
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_computes_with_the_same_input(library: str) -> None:
    if library not in installed() or unusable(library):
        pytest.skip(f"{library} is not usable here")
    names = names_for(library, {"x": np.array([1.5, 2.5], np.float32)}, ["x"])
    (found,) = to_arrays(names["x"])
    np.testing.assert_array_equal(found, [1.5, 2.5])


def test_results_become_arrays() -> None:
    first, second, third = to_arrays((tt.ones(2), [2.5, np.float32(3.0)]))
    np.testing.assert_array_equal(first, [1, 1])
    assert [second.item(), third.item()] == [2.5, 3.0]
    (half,) = to_arrays(tt.ones(2).to(tt.bfloat16))
    assert half.dtype == np.float32
    (same,) = to_arrays(np.ones(2, ml_dtypes.bfloat16))
    assert same.dtype == np.float32
    (leaf,) = to_arrays(tt.ones(2).requires_grad_())
    np.testing.assert_array_equal(leaf, [1, 1])
