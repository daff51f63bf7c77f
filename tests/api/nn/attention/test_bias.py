"""Causal masks for queries and keys of different lengths."""

from __future__ import annotations

import pytest

import tt
from tt.nn.attention.bias import CausalBias, CausalVariant, causal_lower_right, causal_upper_left
from tt.nn.functional import scaled_dot_product_attention


@pytest.mark.parametrize("mask", [causal_upper_left, causal_lower_right])
@pytest.mark.parametrize("lengths", [(3, 3), (2, 5), (5, 2)])
def test_attention_with_a_mask_is_attention_with_its_elements(mask, lengths):
    q, k = tt.randn(1, 2, lengths[0], 4), tt.randn(1, 2, lengths[1], 4)
    bias = mask(*lengths)
    got = scaled_dot_product_attention(q, k, k, attn_mask=bias)
    expected = scaled_dot_product_attention(q, k, k, attn_mask=bias._materialize())
    tt.testing.assert_close(got, expected, equal_nan=True)


def test_the_corner_of_the_diagonal():
    assert causal_upper_left(2, 3)._materialize().tolist() == [[True, False, False], [True, True, False]]
    assert causal_lower_right(2, 3)._materialize().tolist() == [[True, True, False], [True, True, True]]
    assert repr(causal_upper_left(1, 2)) == "tensor([[ True, False]])"


def test_a_mask_has_the_size_of_the_scores():
    bias = causal_lower_right(4, 7)
    assert isinstance(bias, CausalBias) and bias.shape == (1, 4, 7)
    assert (bias.variant, bias.seq_len_q, bias.seq_len_kv) == (CausalVariant.LOWER_RIGHT, 4, 7)


def test_wrong_uses_are_refused():
    q = tt.randn(1, 2, 3, 4)
    with pytest.raises(ValueError, match="causal=True"):
        scaled_dot_product_attention(q, q, q, causal_upper_left(3, 3), is_causal=True)
    with pytest.raises(AssertionError):
        causal_upper_left(3)
    with pytest.raises(AssertionError):
        CausalBias(1, 2, 3)
    with pytest.raises(TypeError, match="attn_mask"):
        scaled_dot_product_attention(causal_upper_left(3, 4), q, q)
