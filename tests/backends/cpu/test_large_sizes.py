"""Sizes that no tensor has: errors before anything is computed, in processes of their own, whose memory is limited."""

from __future__ import annotations

import os

import pytest

from tests.processes import printed_by

START = """
import resource
import tt
import tt.nn.functional as F

resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
"""

REFUSED = """
x, x2, x3 = tt.ones(1, 1, 4), tt.ones(1, 1, 4, 4), tt.ones(1, 1, 4, 4, 4)
w, w2, w3 = tt.ones(1, 1, 2), tt.ones(1, 1, 2, 2), tt.ones(1, 1, 2, 2, 2)
calls = [
    lambda: F.adaptive_avg_pool1d(x, 2**61),
    lambda: F.adaptive_avg_pool2d(x2, (2**61, 8)),
    lambda: F.adaptive_avg_pool3d(x3, 2**22),
    lambda: F.adaptive_avg_pool3d(x3, 2**63),
    lambda: F.adaptive_max_pool1d(x, 2**61),
    lambda: F.adaptive_max_pool2d(x2, 2**31),
    lambda: F.conv1d(x, w, padding=2**61),
    lambda: F.conv1d(x, w, padding=2**63),
    lambda: F.conv2d(x2, w2, padding=2**61),
    lambda: F.conv2d(x2, w2, dilation=2**61),
    lambda: F.conv2d(x2, w2, padding=2**61, dilation=2**62),
    lambda: F.conv2d(x2, w2, padding=2**40, stride=2**40),
    lambda: F.conv_transpose1d(x, w, stride=2**62, output_padding=2**61),
    lambda: F.conv_transpose1d(x, w, padding=2**62),
    lambda: F.conv_transpose2d(x2, w2, stride=2**31),
    lambda: F.conv_transpose2d(x2, w2, stride=2**40, output_padding=2**39),
    lambda: F.max_pool1d(x, 3, 1, 1, dilation=2**62),
    lambda: F.max_pool2d(x2, 2**63),
    lambda: F.interpolate(x, size=2**61),
    lambda: F.pad(x, (2**62, 2**62)),
    lambda: F.pad(x, (2**63, 0)),
    lambda: F.pad(x, (2**62, 0), mode="replicate"),
    lambda: tt.repeat_interleave(tt.tensor([2**63 - 1, 2**63 - 1, 3])),
    lambda: tt.repeat_interleave(tt.tensor([2**62] * 4)),
    lambda: tt.repeat_interleave(tt.tensor([1, 2]), tt.tensor([2**62, 2**62])),
    lambda: tt.zeros(2**62),
    lambda: tt.full((2**32, 2**32), 1),
    lambda: tt.empty(2**50),
    lambda: tt.arange(2**62),
    lambda: tt.linspace(0, 1, 2**62),
    lambda: tt.eye(2**32),
    lambda: tt.rand(2**62),
    lambda: tt.randn(2**50),
    lambda: tt.diag(tt.ones(3), 2**40),
    lambda: tt.ones(3).repeat(2**62),
    lambda: tt.ones(3).resize_(2**62),
    lambda: tt.fft.fft(tt.ones(3), 2**62),
    lambda: F.one_hot(tt.tensor([1]), 2**62),
    lambda: tt.ones(1, dtype=tt.int8).expand(2**62).sin(),
    lambda: tt.ones(1, dtype=tt.int8).expand(2**50).sin(),
    lambda: tt.empty(1, 0, dtype=tt.int8).expand(2**62, 0).sin(),
    lambda: tt.ones(1).expand(2**45).clone(),
    lambda: tt.empty(1, 0, dtype=tt.bool).expand(2**63 - 1, 0).to_sparse_csr(),
    lambda: tt.ones(1, 1, 1, dtype=tt.uint8).expand(1, 1, 2**63 - 1).to_sparse_csr(),
]
for number, call in enumerate(calls):
    try:
        call()
    except (tt.errors.ShapeError, tt.errors.HostMemoryError, tt.errors.NumberRangeError):
        continue
    raise SystemExit(f"call {number}")
print("done")
"""

SERVED = """
x, x2, x3 = tt.arange(1.0, 5).reshape(1, 1, 4), tt.rand(1, 2, 4, 5), tt.rand(1, 1, 4, 4, 4)
w, w2, w3 = tt.rand(1, 1, 2), tt.rand(3, 2, 2, 2), tt.rand(1, 1, 2, 2, 2)


def same(found, wanted):
    assert tt.allclose(found, wanted), (found, wanted)


same(F.conv3d(x3, w3, stride=2**22), F.conv3d(x3, w3, stride=100))
same(F.conv2d(x2, w2, stride=2**32), F.conv2d(x2, w2, stride=100))
same(F.conv2d(x2, w2, padding=1, stride=2**62), F.conv2d(x2, w2, padding=1, stride=100))
same(F.conv2d(x2, w2[..., :1, :1], dilation=2**62), F.conv2d(x2, w2[..., :1, :1]))
y = x2[..., :1, :1].clone()
same(
    F.conv_transpose2d(y, w2.transpose(0, 1), stride=2**62), F.conv_transpose2d(y, w2.transpose(0, 1), stride=7)
)
for pool in (F.max_pool2d, F.avg_pool2d):
    same(pool(x2, 2, 2**62), pool(x2, 2, 100))
    same(pool(x2, 2, 2**62, ceil_mode=True), pool(x2, 2, 100, ceil_mode=True))
same(F.max_pool2d(x2, 2**31, 1, 2**30), x2.amax((-2, -1), keepdim=True).expand(1, 2, 5, 6))
assert F.max_pool1d(x, 2**31, 1, 2**30, return_indices=True)[1].tolist() == [[[3] * 5]]
same(F.avg_pool1d(x, 2**31, 1, 2**30, count_include_pad=False), tt.full((1, 1, 5), 2.5))
same(F.avg_pool1d(x, 2**31, 1, 2**30), tt.full((1, 1, 5), 10 / 2**31))
same(F.avg_pool2d(tt.ones(1, 1, 3, 3), 2**31, 1, 2**30, divisor_override=9), tt.ones(1, 1, 4, 4))
print("done")
"""


@pytest.mark.parametrize("kernels", ["1", "0"])
def test_sizes_that_no_tensor_has_are_refused(kernels):
    assert printed_by(START + REFUSED, {**os.environ, "TT_NATIVE": kernels}) == "done\n"


def test_large_steps_and_windows_that_meet_few_elements_cost_no_more_than_small_ones():
    assert printed_by(START + SERVED) == "done\n"


@pytest.mark.torch
def test_windows_that_are_far_larger_than_the_input_are_pooled_as_in_torch():
    torch = pytest.importorskip("torch")

    import tt

    data = torch.randn(2, 3, 2, 3)
    x = tt.from_numpy(data.numpy())
    for kernel, stride, padding in ((40, 7, 20), ((9, 33), 3, (4, 16))):
        for ceil in (False, True):
            options = {"stride": stride, "padding": padding, "ceil_mode": ceil}
            found = tt.nn.functional.max_pool2d(x, kernel, return_indices=True, **options)
            wanted = torch.nn.functional.max_pool2d(data, kernel, return_indices=True, **options)
            assert (found[0].numpy() == wanted[0].numpy()).all()
            assert (found[1].numpy() == wanted[1].numpy()).all()
            for padded in (True, False):
                mean = tt.nn.functional.avg_pool2d(x, kernel, count_include_pad=padded, **options)
                other = torch.nn.functional.avg_pool2d(data, kernel, count_include_pad=padded, **options)
                torch.testing.assert_close(torch.from_numpy(mean.numpy()), other)


def test_windows_with_gaps_that_are_far_larger_than_the_input_are_pooled_as_with_numpy():
    import numpy as np

    from tt.backends.cpu.native.loading import load
    from tt.backends.cpu.pooling import max_pool

    native = load("pooling")
    if native is None:
        pytest.skip("native kernels are not in use")
    x = np.random.default_rng(0).random((2, 3, 2, 3))
    arguments = x, [17, 17], [5, 3], [16, 16], [2, 2], False
    for found, wanted in zip(
        native.max_pool2d_with_indices(*arguments, True), max_pool(2)(*arguments), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)
