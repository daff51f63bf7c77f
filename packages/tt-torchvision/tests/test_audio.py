"""The loops of lfilter and overdrive."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

import tt
from tt.testing import opcheck

OPS = tt.ops.torchaudio


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lfilter_is_a_recursive_filter(dtype):
    rng = np.random.default_rng(0)
    signal = rng.standard_normal((2, 3, 50)).astype(dtype)
    a = np.array([[1, 0.5, -0.2], [1, -0.3, 0.1], [1, 0, 0.4]], dtype)
    padded = tt.zeros(2, 3, 52, dtype=tt.from_numpy(signal).dtype)
    result = OPS._lfilter_core_loop(tt.from_numpy(signal), tt.from_numpy(a).flip(1), padded)
    assert result is padded
    for channel in range(3):
        expected = scipy.signal.lfilter([1.0], a[channel], signal[:, channel], axis=-1)
        np.testing.assert_allclose(
            padded[:, channel, 2:], expected, rtol=0, atol=1e-5 if dtype == np.float32 else 1e-12
        )
    assert tt.equal(padded[..., :2], tt.zeros(2, 3, 2, dtype=padded.dtype))


def test_overdrive_is_the_loop_over_samples():
    rng = np.random.default_rng(1)
    waveform, temp = rng.standard_normal((2, 2, 40))
    last_in, last_out = rng.standard_normal((2, 2))
    written = [tt.from_numpy(array.copy()) for array in (last_in, last_out, np.zeros((2, 40)))]
    results = OPS._overdrive_core_loop(tt.from_numpy(waveform), tt.from_numpy(temp), *written)
    assert all(result is tensor for result, tensor in zip(results, written, strict=True))
    for t in range(40):
        last_out = temp[:, t] - last_in + 0.995 * last_out
        last_in = temp[:, t]
        np.testing.assert_allclose(written[2][:, t], waveform[:, t] * 0.5 + last_out * 0.75, atol=1e-12)
    np.testing.assert_allclose(written[0], last_in)
    np.testing.assert_allclose(written[1], last_out)


def test_what_is_written_may_have_any_strides():
    signal, a = tt.ones(1, 2, 6), tt.tensor([[0.5, 1.0], [0.25, 1.0]])
    target = tt.zeros(7, 2).T[None]
    OPS._lfilter_core_loop(signal, a, target)
    expected = OPS._lfilter_core_loop(signal, a, tt.zeros(1, 2, 7))
    assert tt.equal(target, expected) and not target.is_contiguous()


def test_opcheck():
    opcheck(OPS._lfilter_core_loop, (tt.rand(2, 3, 10), tt.rand(3, 4), tt.zeros(2, 3, 13)))
    tensors = (tt.rand(2, 10), tt.rand(2, 10), tt.rand(2), tt.rand(2), tt.zeros(2, 10))
    opcheck(OPS._overdrive_core_loop, tensors)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ((tt.ones(2, 6), tt.ones(2, 3), tt.ones(1, 2, 8)), "the signal has 3 dimensions"),
        ((tt.ones(1, 2, 6), tt.ones(3, 3), tt.ones(1, 2, 8)), "the coefficients are of 2 channels"),
        ((tt.ones(1, 2, 6), tt.ones(2, 3), tt.ones(1, 2, 7)), r"the padded output has shape \[1, 2, 8\]"),
        ((tt.ones(1, 2, 6), tt.ones(2, 0), tt.ones(1, 2, 5)), "there are no coefficients"),
        ((tt.ones(1, 2, 6), tt.ones(2, 3).double(), tt.ones(1, 2, 8)), "all tensors are of float32"),
    ],
)
def test_lfilter_refuses_what_does_not_fit(tensors, message):
    with pytest.raises(RuntimeError, match=message):
        OPS._lfilter_core_loop(*tensors)


def test_overdrive_refuses_what_does_not_fit():
    good = [tt.ones(2, 6), tt.ones(2, 6), tt.ones(2), tt.ones(2), tt.ones(2, 6)]
    for position, bad in {1: tt.ones(2, 5), 2: tt.ones(3), 4: tt.ones(6)}.items():
        with pytest.raises(RuntimeError, match=r"ha(ve|s) shape"):
            OPS._overdrive_core_loop(*good[:position], bad, *good[position + 1 :])


def test_what_torchaudio_asks_is_answered():
    assert tt.ops._torchaudio.cuda_version() is None
    assert tt.ops._torchaudio.is_align_available() is False
