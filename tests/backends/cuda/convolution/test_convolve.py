"""Convolutions by own kernels, run on the host, against PyTorch in float64."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from tests.backends.cuda.serving import backend_on, contents, served, values
from tt.backends.cuda.convolution import convolve as convolution
from tt.backends.cuda.libraries.cudnn import Cudnn

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

# dimensions, x, w, stride, padding, dilation, groups
SMALL = [
    (1, (2, 4, 9), (6, 2, 3), 2, 1, 1, 2),
    (2, (2, 3, 7, 6), (4, 3, 3, 2), 1, 0, 1, 1),
    (2, (1, 4, 8, 9), (4, 1, 3, 3), (2, 1), (1, 2), (1, 2), 4),
    (2, (2, 8, 5, 6), (12, 8, 2, 3), 1, (1, 0), 1, 1),
    (2, (1, 16, 5, 5), (18, 8, 3, 3), 2, 1, 1, 2),
    (3, (1, 2, 4, 5, 4), (3, 2, 2, 3, 2), (1, 2, 1), 1, (2, 1, 1), 1),
]
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-12}


@pytest.fixture
def own(host_engine):
    backend = backend_on(host_engine)
    return backend, served(convolution.tables(backend, Cudnn(backend)))[0]


def wide(array):
    return torch.from_numpy(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))


def close(found, expected, tolerance):
    expected = expected.numpy()
    scale = np.abs(expected).max() if expected.size else 1
    np.testing.assert_allclose(contents(found), expected, rtol=0, atol=tolerance * max(scale, 1))


@pytest.mark.parametrize("case", SMALL, ids=lambda case: f"{case[0]}d-{case[1]}-{case[2]}")
def test_the_three_products_are_those_of_pytorch(own, case):
    backend, kernels = own
    dims, x_size, w_size, stride, padding, dilation, groups = case
    x, w, bias = values(1, x_size), values(2, w_size), values(3, w_size[0])
    forward = getattr(torch.nn.functional, f"conv{dims}d")
    tx, tw = wide(x).requires_grad_(), wide(w).requires_grad_()
    expected = forward(tx, tw, wide(bias), stride, padding, dilation, groups)
    g = values(4, tuple(expected.shape))
    expected.backward(wide(g))
    hx, hw, hb, hg = (backend.normalise(a) for a in (x, w, bias, g))
    close(kernels[f"conv{dims}d"](hx, hw, hb, stride, padding, dilation, groups), expected.detach(), 1e-5)
    each = [convolution.each(value, dims) for value in (stride, padding, dilation)]
    close(kernels["_conv_weight"](hx, hg, w_size, *each, groups), tw.grad, 1e-5)
    more = [
        size - ((out - 1) * hop - 2 * pad + gap * (width - 1) + 1)
        for size, out, hop, pad, gap, width in zip(x_size[2:], g.shape[2:], *each, w_size[2:], strict=True)
    ]
    found = kernels[f"conv_transpose{dims}d"](hg, hw, None, each[0], each[1], more, groups, each[2])
    close(found, tx.grad, 1e-5)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "int64", "complex64"])
def test_every_dtype_is_summed_in_a_type_that_is_wide_enough(own, name):
    backend, kernels = own
    x, w, bias = values(1, (1, 9, 6, 6), name), values(2, (10, 9, 3, 3), name), values(3, 10, name)
    found = kernels["conv2d"](*(backend.normalise(a) for a in (x, w, bias)), 1, 1, 1, 1)
    expected = torch.nn.functional.conv2d(wide(x), wide(w), wide(bias), padding=1)
    assert found.dtype == x.dtype
    if name == "int64":
        np.testing.assert_array_equal(found.array, expected.numpy())
    elif name == "complex64":
        np.testing.assert_allclose(found.array, expected.numpy(), atol=1e-4)
    else:
        close(found, expected, TOLERANCE[name])


def test_strided_inputs_and_inputs_without_a_batch(own):
    backend, kernels = own
    x, w = values(1, (6, 5, 4)).transpose(2, 1, 0), values(2, (3, 2, 4)).transpose(0, 2, 1)[:, :, ::1]
    turned = np.ascontiguousarray(x.transpose(2, 1, 0)).transpose(2, 1, 0)
    hx, hw = backend.normalise(turned), backend.normalise(w)
    assert not hx.is_contiguous and not hw.is_contiguous
    found = kernels["conv1d"](hx.view((4, 5), (hx.strides[0], hx.strides[1])), hw, None, 1, 0, 1, 1)
    expected = torch.nn.functional.conv1d(wide(np.ascontiguousarray(turned[:, :, 0])), wide(w.copy()))
    close(found, expected, 1e-5)


def test_a_transpose_with_more_places_than_windows_has_a_bias_there(own):
    backend, kernels = own
    y, w, bias = values(1, (1, 8, 3, 3)), values(2, (8, 8, 2, 2)), values(3, 8)
    args = (backend.normalise(y), backend.normalise(w), backend.normalise(bias))
    found = kernels["conv_transpose2d"](*args, 3, 0, 2, 1, 1)
    expected = torch.nn.functional.conv_transpose2d(wide(y), wide(w), wide(bias), stride=3, output_padding=2)
    close(found, expected, 1e-5)


def test_an_empty_batch_gives_an_empty_result_and_filters_without_gradient(own):
    backend, kernels = own
    x, w, g = values(1, (0, 8, 5)), values(2, (8, 8, 3)), values(3, (0, 8, 3))
    assert kernels["conv1d"](backend.normalise(x), backend.normalise(w), None, 1, 0, 1, 1).shape == (0, 8, 3)
    args = (backend.normalise(x), backend.normalise(g), (8, 8, 3), (1,), (0,), (1,), 1)
    assert not kernels["_conv_weight"](*args).array.any()


def test_the_gradient_of_filters_is_summed_in_parts_where_there_are_few_filters_and_many_places(
    own, monkeypatch
):
    backend, kernels = own
    monkeypatch.setattr(convolution, "SMALL", (8, 2, 4))
    x, g = values(1, (2, 8, 16, 16)), values(2, (2, 8, 14, 14))
    args = (backend.normalise(x), backend.normalise(g), (8, 8, 3, 3), (1, 1), (0, 0), (1, 1), 1)
    found = kernels["_conv_weight"](*args)
    assert any(name.startswith("convolution_parts") for name, *_ in backend.engine.launches)
    expected = torch.nn.grad.conv2d_weight(wide(x), (8, 8, 3, 3), wide(g))
    close(found, expected, 1e-5)


def test_large_products_use_large_tiles(own):
    backend, kernels = own
    x, w = values(1, (1, 4, 10, 10)), values(2, (64, 4, 3, 3))
    found = kernels["conv2d"](backend.normalise(x), backend.normalise(w), None, 1, 0, 1, 1)
    assert backend.engine.launches[-1][0] == "convolution_forward<float32, 64, 4, 16>"
    close(found, torch.nn.functional.conv2d(wide(x), wide(w)), 1e-5)


def test_a_result_has_the_threads_that_its_filters_fill():
    geometry = convolution.Geometry.of((2, 32, 8, 8), (32, 1, 3, 3), (8, 8), 1, 1, 1, 32)
    assert convolution.each_alone(geometry, "forward") and geometry.columns("forward") == 2 * 64
    geometry = convolution.Geometry.of((2, 32, 8, 8), (32, 32, 3, 3), (8, 8), 1, 1, 1, 1)
    assert convolution.tile_of(geometry, "forward") == convolution.SMALL
    assert len(geometry.packed) == 22 * 8 and prod(geometry.width) == 9


@pytest.mark.parametrize("name", ["bfloat16", pytest.param("complex128", marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("arch", ["sm_90", pytest.param("sm_80", marks=pytest.mark.exhaustive)])
def test_nvrtc_compiles_every_kernel(nvrtc, name, arch):
    names = convolution.kernel_names(name)
    assert set(nvrtc.compile_source(convolution.PROGRAM.source, names, arch).names) == set(names)
