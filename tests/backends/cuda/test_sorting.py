"""The stable order of integers: on the host behind the shim, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.running import prepared
from tests.backends.cuda.serving import backend_on, check_against_cpu, served, values
from tt.backends.cuda import sorting
from tt.backends.cuda.launch.gather_scatter import Mover
from tt.backends.cuda.sorting import SORTING, stable_order

STEPS = ("count_digits", "begin_digits", "move_digits")


@pytest.fixture(scope="module", autouse=True)
def compiled(host_engine):
    prepared(host_engine, SORTING, [*STEPS, "search_rows<float32>", "search_rows<int64>"])


@pytest.fixture
def order(host_backend):
    def run(keys, most, bias=0):
        ordered, places = stable_order(Mover(host_backend), host_backend.normalise(keys), most, bias)
        return ordered.array, places.array

    return run


@pytest.mark.parametrize("count", [1, 2, 255, 256, 257, 2048, 2049, 5000])
@pytest.mark.parametrize("most", [1, 255, 256, 70_000])
def test_keys_are_ordered_and_equal_ones_stay_in_their_order(order, count, most):
    keys = np.random.default_rng(count).integers(-1, most, count)
    ordered, places = order(keys, most, bias=1)
    np.testing.assert_array_equal(places, np.argsort(keys, kind="stable"))
    np.testing.assert_array_equal(ordered, np.sort(keys))


def test_keys_of_64_bits_are_ordered_without_sign(order):
    keys = np.random.default_rng(1).integers(0, 2**64 - 1, 700, dtype=np.uint64, endpoint=True)
    keys[:3] = 2**64 - 1, 0, 2**63
    ordered, places = order(keys, 2**64 - 1)
    np.testing.assert_array_equal(ordered, np.sort(keys))
    np.testing.assert_array_equal(places, np.argsort(keys, kind="stable"))


def test_many_keys_get_larger_tiles_and_no_more_blocks(order, monkeypatch):
    monkeypatch.setattr(sorting, "_MOST_BLOCKS", 2)
    monkeypatch.setattr(sorting, "_TILE", 256)
    keys = np.random.default_rng(2).integers(0, 9, 3000)
    np.testing.assert_array_equal(order(keys, 9)[1], np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("name", [
    "float32", "int64", *(pytest.param(n, marks=pytest.mark.exhaustive) for n in ("float16", "uint8", "bfloat16")),
])  # fmt: skip
def test_where_values_belong_in_sorted_rows(host_engine, name, right):
    backend = backend_on(host_engine)
    own = backend, served(sorting.tables(backend))[0]
    rows, wanted = np.sort(values(1, (3, 37), name), -1), values(2, (3, 50), name)
    check_against_cpu(own, "_searchsorted", [rows, wanted, right], 0)
    check_against_cpu(own, "_searchsorted", [rows[0], wanted, right], 0)
    check_against_cpu(own, "_searchsorted", [rows[0], np.array(wanted[0, 0]), right], 0)
    check_against_cpu(own, "_searchsorted", [rows[0, :0], wanted, right], 0)
    if name.startswith("float"):
        rows[:, -2:], wanted[:, :3] = np.nan, np.nan
        check_against_cpu(own, "_searchsorted", [rows, wanted, right], 0)


@pytest.mark.cupy
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_kernels_compile(nvrtc, arch):
    assert set(nvrtc.compile_source(SORTING.source, list(STEPS), arch).names) == set(STEPS)
