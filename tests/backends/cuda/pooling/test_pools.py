"""Pooling by own kernels, run on the host, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.serving import backend_on, check_against_cpu, contents, served, values
from tt.backends.cuda.pooling import pools as pooling

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
F = torch.nn.functional

# dimensions, x, kernel, stride, padding, dilation, ceil_mode
LARGEST = [
    (1, (2, 3, 11), 3, None, 1, 2, False),
    (2, (2, 3, 7, 8), (3, 2), (2, 1), (1, 0), (1, 2), False),
    (2, (3, 9, 9), 2, 2, 1, 1, True),
    (3, (1, 2, 5, 6, 4), 2, (2, 2, 1), 1, 1, True),
]
MEANS = [
    (1, (2, 3, 11), 3, 2, 1, True, True),
    (2, (2, 3, 7, 8), (3, 2), (2, 1), (1, 0), False, False),
    (2, (3, 9, 9), 2, None, 1, True, True),
    (3, (1, 2, 5, 6, 4), 2, (2, 2, 1), 1, True, False),
]


@pytest.fixture
def own(host_engine):
    backend = backend_on(host_engine)
    return backend, served(pooling.tables(backend))[0]


def wide(array):
    return torch.from_numpy(array.astype(np.float64))


@pytest.mark.parametrize("case", LARGEST, ids=str)
@pytest.mark.parametrize("name", ["float32", "int64"])
def test_the_largest_elements_and_their_places(own, case, name):
    backend, kernels = own
    dims, size, kernel, stride, padding, dilation, ceil_mode = case
    x = values(1, size, name)
    if name == "float32":
        x.reshape(-1)[[3, 17, 18]] = np.nan
    found = kernels[f"max_pool{dims}d_with_indices"](
        backend.normalise(x), kernel, stride, padding, dilation, ceil_mode
    )
    pool = getattr(F, f"max_pool{dims}d")
    expected = pool(torch.from_numpy(x), kernel, stride, padding, dilation, ceil_mode, return_indices=True)
    np.testing.assert_array_equal(found[0].array, expected[0].numpy())
    if name == "float32":  # of equal numbers, PyTorch's kernels for integers choose another
        np.testing.assert_array_equal(found[1].array, expected[1].numpy())


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("name", ["float16", "float32", "float64", "int64"])
def test_values_are_added_at_their_places(own, name, ordered, monkeypatch):
    backend, kernels = own
    monkeypatch.setattr(pooling.DETERMINISM, "required", ordered)
    if ordered and name != "int64":
        monkeypatch.setitem(pooling.ADDED, name, "no such kernel")
    g, places = values(1, (2, 3, 4, 4), name), np.random.default_rng(2).integers(0, 30, (2, 3, 4, 4))
    found = kernels["_unpool"](backend.normalise(g), backend.normalise(places), (2, 3, 5, 6), 2)
    expected = np.zeros((6, 30))
    np.add.at(expected, (np.arange(6)[:, None], places.reshape(6, 16)), g.reshape(6, 16).astype(float))
    tolerance = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-14, "int64": 0}[name]
    assert found.dtype == g.dtype
    np.testing.assert_allclose(contents(found), expected.reshape(2, 3, 5, 6), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", MEANS, ids=str)
def test_means_and_their_gradients(own, case):
    backend, kernels = own
    dims, size, kernel, stride, padding, ceil_mode, with_padding = case
    x = values(1, size)
    tx = wide(x).requires_grad_()
    args = (kernel, stride, padding, ceil_mode, with_padding)
    expected = getattr(F, f"avg_pool{dims}d")(tx, *args)
    rest = () if dims == 1 else (None,)
    found = kernels[f"avg_pool{dims}d"](backend.normalise(x), *args, *rest)
    np.testing.assert_allclose(contents(found), expected.detach().numpy(), atol=1e-6)
    g = values(2, tuple(expected.shape))
    expected.backward(wide(g))
    widths = pooling.each(kernel, dims)
    hops = None if stride is None else pooling.each(stride, dims)
    how = (size[-dims:], widths, hops, pooling.each(padding, dims), ceil_mode, with_padding, None)
    found = kernels["_avg_unpool"](backend.normalise(g), *how)
    np.testing.assert_allclose(contents(found), tx.grad.numpy(), atol=1e-6)


def test_a_divisor_replaces_the_number_of_elements(own):
    backend, kernels = own
    x = values(1, (1, 2, 5, 5))
    found = kernels["avg_pool2d"](backend.normalise(x), 3, 1, 1, False, True, 5)
    expected = F.avg_pool2d(wide(x), 3, 1, 1, False, True, 5)
    np.testing.assert_allclose(contents(found), expected.numpy(), atol=1e-6)
    whole = values(2, (1, 6), "int64")
    found = kernels["avg_pool1d"](backend.normalise(whole), 4, 1, 0, False, True)
    np.testing.assert_array_equal(found.array, F.avg_pool1d(torch.from_numpy(whole), 4, 1).numpy())


@pytest.mark.parametrize("name", ["bfloat16", "float64"])
@pytest.mark.parametrize(
    ("size", "out"), [((2, 3, 7), (5,)), ((2, 7, 5), (3, 8)), ((1, 2, 5, 4, 3), (2, 4, 5))]
)
def test_windows_that_cover_the_input(own, size, out, name):
    backend, kernels = own
    dims = len(out)
    x = values(1, size, name)
    tx = wide(x).requires_grad_()
    expected = getattr(F, f"adaptive_avg_pool{dims}d")(tx, out)
    tolerance = 1e-12 if name == "float64" else 2e-2
    found = kernels[f"adaptive_avg_pool{dims}d"](backend.normalise(x), out)
    np.testing.assert_allclose(contents(found), expected.detach().numpy(), atol=tolerance)
    g = values(2, tuple(expected.shape), name)
    expected.backward(wide(g))
    found = kernels["_adaptive_avg_unpool"](backend.normalise(g), size[-dims:])
    np.testing.assert_allclose(contents(found), tx.grad.numpy(), atol=tolerance)


@pytest.mark.parametrize(
    ("size", "out"), [((2, 3, 7), (5,)), ((2, 7, 5), (None, 8)), ((1, 2, 5, 4, 3), (2, 4, 5))]
)
def test_the_largest_of_windows_that_cover_the_input(own, size, out):
    x = values(1, size, "float64")
    x.reshape(-1)[[3, 17, 18]] = np.nan
    op = f"adaptive_max_pool{len(out)}d_with_indices"
    check_against_cpu(own, op, [x, out, True], 0)


@pytest.mark.parametrize(("name", "tolerance"), [
    ("float64", 0), pytest.param("float16", 0, marks=pytest.mark.exhaustive),
    pytest.param("bfloat16", 0, marks=pytest.mark.exhaustive),
])  # fmt: skip
def test_windows_at_irregular_distances(own, name, tolerance):
    for size, kernel, out in (((2, 3, 9, 11), (2, 3), (5, 4)), ((3, 7, 6, 8), (2, 2, 3), (3, 1, 4))):
        x, dims = values(1, size, name), len(kernel)
        samples = np.random.default_rng(3).random((2, 3, dims) if dims == 2 else (1, 3, dims)).astype(x.dtype)
        check_against_cpu(own, "_fractional_max_pool", [x, kernel, out, samples], tolerance)


@pytest.mark.parametrize("name", ["float16", "int64", pytest.param("uint8", marks=pytest.mark.exhaustive)])
def test_nvrtc_compiles_every_kernel(nvrtc, name):
    names = pooling.kernel_names(name)
    assert set(nvrtc.compile_source(pooling.PROGRAM.source, names, "sm_80").names) == set(names)
