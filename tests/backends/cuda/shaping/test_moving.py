"""Kernels that copy elements to other places: on the host behind the shim, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.running import Running, prepared
from tests.backends.cuda.test_indexing import DTYPES, NAMES, values, variants
from tt.backends.cuda.launch.gather_scatter import INDEXING
from tt.backends.cuda.shaping import moving as shaping


@pytest.fixture(scope="module", autouse=True)
def compiled(host_engine):
    prepared(host_engine, INDEXING, NAMES)


@pytest.fixture
def run(host_backend):
    return Running(host_backend, shaping)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("diagonal", [0, -2, 1, 9, -9])
def test_triangles_are_cut(run, dtype, diagonal):
    for shape in ((4, 5), (2, 3, 4, 4), (5, 1), (3, 0)):
        for x in variants(values(shape, dtype)):
            np.testing.assert_array_equal(run("tril", x, diagonal), np.tril(x, diagonal))
            np.testing.assert_array_equal(run("triu", x, diagonal), np.triu(x, diagonal))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dimensions_are_reversed(run, dtype):
    for x in variants(values((3, 4, 5), dtype)):
        for dims in ((0,), (2,), (0, -1), (), (0, 1, 2)):
            np.testing.assert_array_equal(run("flip", x, dims), np.flip(x, dims))
    assert run("flip", np.zeros((0, 2), dtype), (0,)).shape == (0, 2)
    assert run("flip", np.array(3, dtype), ()) == np.array(3, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_are_shifted_around_the_ends(run, dtype):
    for x in variants(values((3, 4, 5), dtype)):
        for shifts, dims in (((1,), (0,)), ((-7, 2), (2, 0)), ((1, 1), (1, 1)), ((0,), (1,))):
            np.testing.assert_array_equal(run("roll", x, shifts, dims), np.roll(x, shifts, dims))
        np.testing.assert_array_equal(run("roll", x, (13,), ()), np.roll(x, 13))
    assert run("roll", np.zeros((0, 2), dtype), (1,), (0,)).shape == (0, 2)
    assert run("roll", np.array(3, dtype), (1,), ()) == np.array(3, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_are_joined(run, dtype):
    parts = [values((2, n, 3), dtype, n) for n in (1, 4, 0, 2)]
    for some in zip(*map(variants, parts), strict=True):
        np.testing.assert_array_equal(run("cat", list(some), 1), np.concatenate(some, 1))
    rows = [values((n, 4), dtype, n) for n in range(3)]
    np.testing.assert_array_equal(run("cat", [np.zeros((0,), dtype), *rows], 0), np.concatenate(rows, 0))
    assert run("cat", [np.zeros((0,), dtype)], 0).shape == (0,)


def test_one_launch_joins_many_arrays(run, host_engine):
    parts = [values((2, 1 + n % 3), np.float32, n) for n in range(250)]
    host_engine.launches.clear()
    np.testing.assert_array_equal(run("cat", parts[:120], 1), np.concatenate(parts[:120], 1))
    assert len(host_engine.launches) == 1
    np.testing.assert_array_equal(run("cat", parts, -1), np.concatenate(parts, 1))
    assert len(host_engine.launches) == 4


def test_rows_are_joined_in_large_units_where_memory_allows_it(run, host_engine):
    host_engine.launches.clear()
    run("cat", [np.zeros((2, 8), np.float16), np.zeros((2, 16), np.float16)], 1)
    run("cat", [np.zeros((2, 8), np.float16), np.zeros((2, 3), np.float16)], 1)
    assert [name for name, *_ in host_engine.launches] == [
        "join_rows<Unit16, int32>",
        "join_rows<uint16, int32>",
    ]


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("tril", (np.zeros(3), 0)), ("flip", (np.zeros((2, 2)), (0, 0))), ("flip", (np.zeros(2), (1,))),
        ("roll", (np.zeros(3), (1, 2), ())), ("roll", (np.zeros(()), (1,), (0,))),
        ("cat", ([np.zeros((2, 2)), np.zeros((3, 3))], 0)), ("cat", ([], 0)),
    ],
)  # fmt: skip
def test_what_the_shape_rules_refuse_is_left_to_them(run, op, args):
    with pytest.raises((ValueError, IndexError)):
        run(op, *args)
