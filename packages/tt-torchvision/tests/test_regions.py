"""roi_align, roi_pool, ps_roi_align and ps_roi_pool."""

from __future__ import annotations

import numpy as np
import pytest
import references

import tt
from tt.testing import opcheck

OPS = tt.ops.torchvision
SIZES = pytest.mark.parametrize(("scale", "pooled"), [(1.0, (3, 2)), (0.5, (2, 3)), (0.37, (1, 1))])
ROIS = np.array([
    [0, 1.2, 2.3, 7.7, 8.8], [1, 0, 0, 12, 9], [1, -3, -2, 5, 6], [0, 5, 5, 5, 5], [0, 8, 7, 3, 2],
    [1, 9.5, 7.5, 30, 40], [0, 2.5, 3.5, 4.5, 6.5], [1, 100, 100, 120, 130], [0, -50, -50, -40, -40],
])  # fmt: skip
"""Regions within the images, at their borders, outside, and turned inside out."""
SAMPLED = ROIS[[0, 1, 2, 6, 7]]
"""Those of a positive size, whose bins are sampled."""


def images(dtype=np.float64):
    return np.random.default_rng(3).standard_normal((2, 12, 10, 13)).astype(dtype)


@SIZES
@pytest.mark.parametrize("sampling_ratio", [-1, 0, 2, 3])
@pytest.mark.parametrize("aligned", [False, True])
def test_roi_align_is_the_average_of_samples(scale, pooled, sampling_ratio, aligned):
    result = OPS.roi_align(
        tt.from_numpy(images()), tt.from_numpy(ROIS), scale, *pooled, sampling_ratio, aligned
    )
    expected = references.roi_align(images(), ROIS, scale, *pooled, sampling_ratio, aligned)
    np.testing.assert_allclose(result, expected, atol=1e-12)


@SIZES
@pytest.mark.parametrize("sampling_ratio", [-1, 2])
def test_ps_roi_align_reads_a_channel_for_each_bin(scale, pooled, sampling_ratio):
    result, mapping = OPS.ps_roi_align(
        tt.from_numpy(images()), tt.from_numpy(SAMPLED), scale, *pooled, sampling_ratio
    )
    expected = references.ps_roi_align(images(), SAMPLED, scale, *pooled, sampling_ratio)
    np.testing.assert_allclose(result, expected, atol=1e-12)
    assert mapping.dtype == tt.int32
    assert mapping.flatten(1).tolist() == [list(range(12))] * len(SAMPLED)


@SIZES
def test_roi_pool_is_the_greatest_element_and_its_index(scale, pooled):
    values, indices = OPS.roi_pool(tt.from_numpy(images()), tt.from_numpy(ROIS), scale, *pooled)
    expected = references.roi_pool(images(), ROIS, scale, *pooled)
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(indices, expected[1])


@SIZES
def test_ps_roi_pool_is_the_average_of_the_elements(scale, pooled):
    result, mapping = OPS.ps_roi_pool(tt.from_numpy(images()), tt.from_numpy(ROIS), scale, *pooled)
    np.testing.assert_allclose(result, references.ps_roi_pool(images(), ROIS, scale, *pooled), atol=1e-12)
    assert mapping.flatten(1).tolist() == [list(range(12))] * len(ROIS)


CALLS = {
    "roi_align": lambda x, rois: OPS.roi_align(x, rois, 0.5, 3, 2, 2, True),
    "ps_roi_align": lambda x, rois: OPS.ps_roi_align(x, rois, 0.5, 3, 2, 2)[0],
    "roi_pool": lambda x, rois: OPS.roi_pool(x, rois, 0.5, 3, 2)[0],
    "ps_roi_pool": lambda x, rois: OPS.ps_roi_pool(x, rois, 0.5, 3, 2)[0],
}
EACH = pytest.mark.parametrize("name", CALLS)


@EACH
def test_the_gradient_is_that_of_finite_differences(name):
    x, rois = tt.from_numpy(images()).requires_grad_(), tt.from_numpy(SAMPLED)
    assert tt.autograd.gradcheck(lambda x: CALLS[name](x, rois), (x,))


@EACH
def test_the_regions_have_no_gradient_and_there_is_no_second_one(name):
    x, rois = tt.from_numpy(images()).requires_grad_(), tt.from_numpy(SAMPLED).requires_grad_()
    (gradient,) = tt.autograd.grad(CALLS[name](x, rois).sum(), x, create_graph=True)
    assert tt.autograd.grad(CALLS[name](x, rois).sum(), [rois], allow_unused=True) == (None,)
    with pytest.raises(tt.errors.NoDerivativeError, match=f"_{name}_backward"):
        gradient.sum().backward()


@EACH
def test_half_precision_is_computed_in_float32(name):
    x, rois = tt.from_numpy(images(np.float32)).half(), tt.from_numpy(SAMPLED.astype(np.float32)).half()
    result = CALLS[name](x, rois)
    assert result.dtype == tt.float16
    assert tt.equal(result, CALLS[name](x.float(), rois.float()).half())


@EACH
def test_strides_do_not_matter(name):
    x, rois = tt.from_numpy(images()), tt.from_numpy(SAMPLED)
    transposed = tt.from_numpy(np.asfortranarray(SAMPLED))
    assert tt.equal(CALLS[name](x.to(memory_format=tt.channels_last), transposed), CALLS[name](x, rois))


@EACH
def test_vmap_and_tensors_without_data(name):
    x, rois = tt.from_numpy(images()), tt.from_numpy(SAMPLED)
    batched = tt.func.vmap(CALLS[name], (0, None))(tt.stack([x, 2 * x]), rois)
    assert tt.allclose(batched, tt.stack([CALLS[name](x, rois), CALLS[name](2 * x, rois)]))
    without = CALLS[name](x.to("meta"), rois.to("meta"))
    assert (without.shape, without.dtype) == (batched.shape[1:], x.dtype)


@pytest.mark.parametrize(
    ("operator", "extra"),
    [("roi_align", (2, True)), ("ps_roi_align", (2,)), ("roi_pool", ()), ("ps_roi_pool", ())],
)
def test_opcheck(operator, extra):
    x, rois = tt.from_numpy(images()[:, :6]), tt.from_numpy(SAMPLED[:2])
    opcheck(getattr(OPS, operator), (x, rois, 0.7, 3, 2, *extra))
    results = getattr(OPS, operator)(x, rois, 0.7, 3, 2, *extra)
    saved, gradient = ([results[1]], results[0]) if isinstance(results, tuple) else ([], results)
    sizes, numbers = x.shape, (extra[:1], extra[1:]) if operator == "ps_roi_align" else ((), extra)
    opcheck(
        getattr(OPS, f"_{operator}_backward"),
        (gradient, rois, *saved, 0.7, 3, 2, *numbers[0], *sizes, *numbers[1]),
    )


def test_no_regions_give_an_empty_result():
    x, rois = tt.ones(1, 6, 5, 5, requires_grad=True), tt.empty(0, 5)
    for name, call in CALLS.items():
        result = call(x, rois)
        assert result.shape == (0, 1 if name.startswith("ps") else 6, 3, 2)
        assert tt.equal(tt.autograd.grad(result.sum(), x)[0], tt.zeros_like(x))


@EACH
@pytest.mark.parametrize("image", [2.0, -1.0, float("nan")])
def test_a_region_of_an_image_that_does_not_exist_is_refused(name, image):
    with pytest.raises(tt.errors.ValueRangeError, match="rois name the image"):
        CALLS[name](tt.ones(2, 6, 5, 5), tt.tensor([[image, 0, 0, 3, 3]]))


@EACH
def test_a_region_that_is_not_finite_reads_nothing(name):
    for value in (float("nan"), float("inf"), -float("inf")):
        assert CALLS[name](tt.ones(1, 6, 5, 5), tt.tensor([[0.0, value, value, value, value]])).shape[0] == 1


@EACH
def test_bad_arguments_are_refused(name):
    x, rois = tt.ones(2, 6, 5, 5), tt.tensor([[0.0, 0, 0, 3, 3]])
    with pytest.raises(RuntimeError, match=r"rois must have shape as Tensor\[K, 5\], got \[1, 4\]"):
        CALLS[name](x, rois[:, :4])
    with pytest.raises(RuntimeError, match="input should be a 4d tensor, got 3D"):
        CALLS[name](x[0], rois)
    with pytest.raises(RuntimeError, match="expected rois to have the same type as input"):
        CALLS[name](x, rois.double())
    if name.startswith("ps"):
        with pytest.raises(RuntimeError, match="must be a multiple of pooling height"):
            CALLS[name](x[:, :5], rois)
    with pytest.raises(RuntimeError, match="must be positive"):
        getattr(OPS, name)(x, rois, 1.0, 0, 1, *{"roi_align": (1, True), "ps_roi_align": (1,)}.get(name, ()))


def test_what_a_backward_was_saved_must_fit():
    rois, argmax = tt.tensor([[0.0, 0, 0, 3, 3]]), tt.zeros(1, 2, 3, 3, dtype=tt.int32)
    with pytest.raises(RuntimeError, match=r"argmax must have shape \[1, 2, 2, 2\], got \[1, 2, 3, 3\]"):
        OPS._roi_pool_backward(tt.ones(1, 2, 2, 2), rois, argmax, 1.0, 2, 2, 1, 2, 4, 4)
    with pytest.raises(RuntimeError, match="argmax must be int32"):
        OPS._roi_pool_backward(tt.ones(1, 2, 3, 3), rois, argmax.long(), 1.0, 3, 3, 1, 2, 4, 4)
