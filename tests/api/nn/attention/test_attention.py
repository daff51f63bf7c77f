"""sdpa_kernel: which implementations of attention are enabled, and for how long."""

from __future__ import annotations

import pytest

import tt
from tt.backends import cuda
from tt.nn.attention import SDPBackend, sdpa_kernel


def enabled():
    return (
        cuda.math_sdp_enabled(),
        cuda.flash_sdp_enabled(),
        cuda.mem_efficient_sdp_enabled(),
        cuda.cudnn_sdp_enabled(),
    )


def test_only_the_chosen_implementations_are_enabled():
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        assert enabled() == (True, True, False, False)
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            assert enabled() == (False, False, False, True)
        assert enabled() == (True, True, False, False)
    assert enabled() == (True, True, True, True)


def test_an_exception_restores_the_switches():
    with pytest.raises(KeyError), sdpa_kernel(SDPBackend.MATH):
        raise KeyError
    assert enabled() == (True, True, True, True)


def test_it_is_a_decorator():
    assert sdpa_kernel(SDPBackend.MATH)(enabled)() == (True, False, False, False)


def test_what_is_no_implementation_is_refused():
    with pytest.raises(AssertionError, match="SDPBackend"), sdpa_kernel("flash"):
        pass


def test_results_depend_on_the_switches_by_rounding_only():
    q = tt.randn(2, 3, 4)
    expected = tt.nn.functional.scaled_dot_product_attention(q, q, q)
    with sdpa_kernel(SDPBackend.MATH):
        found = tt.nn.functional.scaled_dot_product_attention(q, q, q)
    tt.testing.assert_close(found, expected, rtol=0, atol=1e-6)
