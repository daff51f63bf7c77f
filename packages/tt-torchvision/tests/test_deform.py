"""Deformable convolution."""

from __future__ import annotations

import numpy as np
import pytest
import references

import tt
import tt_torchvision.deform
from tt.testing import opcheck

OPS = tt.ops.torchvision


def case(
    groups=1, offset_groups=1, kernel=(3, 3), stride=(1, 1), pad=(0, 0), dilation=(1, 1), spread=2.0, seed=0
):
    """Return the tensors of a call, and its numbers."""
    rng = np.random.default_rng(seed)
    size = tuple(
        (s + 2 * p - d * (k - 1) - 1) // t + 1
        for s, p, d, k, t in zip((7, 6), pad, dilation, kernel, stride, strict=True)
    )
    taps = kernel[0] * kernel[1]
    tensors = (
        rng.standard_normal((3, 6, 7, 6)),
        rng.standard_normal((4 * groups, 6 // groups, *kernel)),
        rng.standard_normal((3, 2 * offset_groups * taps, *size)) * spread,
        rng.uniform(0, 1, (3, offset_groups * taps, *size)),
        rng.standard_normal(4 * groups),
    )
    return tensors, (stride, pad, dilation, groups, offset_groups)


def call(tensors, geometry, use_mask=True):
    stride, pad, dilation, groups, offset_groups = geometry
    return OPS.deform_conv2d(*tensors, *stride, *pad, *dilation, groups, offset_groups, use_mask)


CASES = [
    {"pad": (1, 1)},
    {"groups": 2, "offset_groups": 3, "kernel": (3, 2), "stride": (2, 1), "pad": (0, 2), "dilation": (1, 2)},
    {"groups": 3, "kernel": (1, 1)},
    {"offset_groups": 2, "kernel": (2, 3), "stride": (1, 2), "pad": (2, 1), "dilation": (2, 1)},
]


@pytest.mark.parametrize("options", CASES)
@pytest.mark.parametrize("use_mask", [True, False])
def test_it_is_a_convolution_of_shifted_samples(options, use_mask):
    arrays, geometry = case(**options)
    result = call(tuple(map(tt.from_numpy, arrays)), geometry, use_mask)
    images, weight, offset, mask, bias = arrays
    expected = references.deform_conv2d(images, weight, offset, mask if use_mask else None, bias, *geometry)
    np.testing.assert_allclose(result, expected, atol=1e-12)


def test_without_shifts_it_is_a_convolution():
    arrays, geometry = case(groups=2, pad=(1, 2), stride=(2, 1), spread=0.0)
    images, weight, offset, _, bias = map(tt.from_numpy, arrays)
    # As torchvision calls it without a mask: a stand-in of another shape.
    result = call((images, weight, offset, tt.zeros(3, 1, dtype=tt.float64), bias), geometry, use_mask=False)
    expected = tt.nn.functional.conv2d(images, weight, bias, stride=(2, 1), padding=(1, 2), groups=2)
    assert tt.allclose(result, expected)


@pytest.mark.parametrize("options", CASES[1:3])
@pytest.mark.parametrize("use_mask", [True, False])
def test_all_gradients_are_those_of_finite_differences(options, use_mask):
    arrays, geometry = case(**options)
    tensors = [tt.from_numpy(array).requires_grad_() for array in arrays]
    assert tt.autograd.gradcheck(lambda *tensors: call(tensors, geometry, use_mask), tensors, fast_mode=True)


def test_images_a_few_at_a_time_give_the_same(monkeypatch):
    arrays, geometry = case(**CASES[1])
    tensors = [tt.from_numpy(array).requires_grad_() for array in arrays]
    whole = call(tensors, geometry)
    gradients = tt.autograd.grad(whole.sin().sum(), tensors)
    monkeypatch.setattr(tt_torchvision.deform, "_ELEMENTS", 1)
    one_by_one = call(tensors, geometry)
    assert tt.allclose(one_by_one, whole)
    for after, before in zip(tt.autograd.grad(one_by_one.sin().sum(), tensors), gradients, strict=True):
        assert tt.allclose(after, before)


def test_no_images_give_an_empty_result():
    arrays, geometry = case()
    images, weight, offset, mask, bias = map(tt.from_numpy, arrays)
    tensors = [
        t.requires_grad_() for t in (images[:0].clone(), weight, offset[:0].clone(), mask[:0].clone(), bias)
    ]
    result = call(tensors, geometry)
    assert result.shape == (0, 4, 5, 4)
    assert tt.equal(tt.autograd.grad(result.sum(), weight)[0], tt.zeros_like(weight))


def test_half_precision_is_computed_in_float32():
    arrays, geometry = case()
    tensors = [tt.from_numpy(array).half() for array in arrays]
    result = call(tensors, geometry)
    assert result.dtype == tt.float16
    assert tt.allclose(result.float(), call([t.float() for t in tensors], geometry), atol=1e-2)


def test_opcheck():
    arrays, (stride, pad, dilation, groups, offset_groups) = case(groups=2, offset_groups=2)
    tensors = tuple(
        tt.from_numpy(array[:1] if array.ndim == 4 and len(array) == 3 else array) for array in arrays
    )
    numbers = (*stride, *pad, *dilation, groups, offset_groups, True)
    opcheck(OPS.deform_conv2d, (*tensors, *numbers))
    opcheck(OPS._deform_conv2d_backward, (OPS.deform_conv2d(*tensors, *numbers), *tensors, *numbers))


@pytest.mark.parametrize(
    ("position", "replace", "message"),
    [
        (0, lambda t: t[0], "input should be a 4d tensor, got 3D"),
        (0, lambda t: t[:, :4], "input has 4 channels, and the weight of 2 groups takes 6"),
        (1, lambda t: t[:7], "2 groups do not divide 7 output channels"),
        (2, lambda t: t[:, :-2], r"offset must have shape \[3, 18, 5, 4\], got \[3, 16, 5, 4\]"),
        (2, lambda t: t[..., :-1], r"offset must have shape"),
        (3, lambda t: t[:2], r"mask must have shape \[3, 9, 5, 4\], got \[2, 9, 5, 4\]"),
        (4, lambda t: t[:3], r"bias must have shape \[8\], got \[3\]"),
        (2, lambda t: t.float(), "expected offset to have the same type as input"),
    ],
)
def test_what_does_not_fit_is_refused(position, replace, message):
    arrays, geometry = case(groups=2)
    tensors = [tt.from_numpy(array) for array in arrays]
    tensors[position] = replace(tensors[position])
    with pytest.raises(RuntimeError, match=message):
        call(tensors, geometry)


def test_strides_and_paddings_that_are_none_are_refused():
    arrays, geometry = case()
    tensors = tuple(map(tt.from_numpy, arrays))
    for changed, message in (
        ({0: (0, 1)}, "stride must be positive"),
        ({1: (-1, 0)}, "must not be negative"),
        ({2: (9, 1)}, "the size of the result"),
    ):
        numbers = [changed.get(i, value) for i, value in enumerate(geometry)]
        with pytest.raises(RuntimeError, match=message):
            call(tensors, numbers)
