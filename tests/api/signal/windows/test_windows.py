"""Windows are those of PyTorch."""

from __future__ import annotations

import pytest

import tt

NAMES = tt.signal.windows.__all__
MORE = {
    "exponential": {"tau": 2.5}, "gaussian": {"std": 0.7}, "kaiser": {"beta": 5.0},
    "general_cosine": {"a": [0.4, 0.3, 0.2]}, "general_hamming": {"alpha": 0.6},
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_window_is_that_of_torch(name, sym):
    torch = pytest.importorskip("torch")
    for length in (0, 1, 2, 3, 8, 9):
        for dtype in ("float32", "float64"):
            options = {**MORE.get(name, {}), "sym": sym}
            found = getattr(tt.signal.windows, name)(length, **options, dtype=getattr(tt, dtype))
            expected = getattr(torch.signal.windows, name)(length, **options, dtype=getattr(torch, dtype))
            assert found.dtype is getattr(tt, dtype)
            torch.testing.assert_close(torch.from_numpy(found.numpy()), expected)


def test_the_middle_of_a_periodic_window_can_be_given():
    window = tt.signal.windows.exponential(4, center=0, sym=False, dtype=tt.float64)
    assert tt.allclose(window, tt.exp(-tt.arange(4, dtype=tt.float64)))


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_length_dtype_or_layout_is_refused(name):
    window, more = getattr(tt.signal.windows, name), MORE.get(name, {})
    for wrong in ({"M": -1}, {"dtype": tt.int64}, {"dtype": tt.float16}, {"layout": tt.sparse_coo}):
        with pytest.raises(ValueError, match=f"{name}|general_cosine"):
            window(**{"M": 3, **more, **wrong})


def test_a_window_can_require_a_gradient():
    assert tt.signal.windows.hann(4, requires_grad=True).requires_grad
    assert not tt.signal.windows.hann(4).requires_grad


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("exponential", {"tau": 0}, ValueError),
        ("exponential", {"center": 1}, ValueError),
        ("gaussian", {"std": 0}, ValueError),
        ("kaiser", {"beta": -1}, ValueError),
        ("general_cosine", {"a": []}, ValueError),
        ("general_cosine", {"a": 0.5}, TypeError),
    ],
)
def test_a_wrong_parameter_is_refused(name, options, error):
    with pytest.raises(error):
        getattr(tt.signal.windows, name)(4, **options)
