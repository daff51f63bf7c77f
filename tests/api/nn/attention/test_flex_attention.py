"""Attention with functions of scores and indices."""

from __future__ import annotations

import pytest

import tt
from tt.nn.attention.flex_attention import (
    AuxOutput,
    AuxRequest,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)
from tt.nn.functional import scaled_dot_product_attention


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


@pytest.fixture
def qkv():
    tt.manual_seed(0)
    return [tt.randn(2, 4, 6, 8, dtype=tt.float64, requires_grad=True) for _ in range(3)]


def test_without_functions_it_is_attention(qkv):
    tt.testing.assert_close(flex_attention(*qkv), scaled_dot_product_attention(*qkv))
    tt.testing.assert_close(flex_attention(*qkv, scale=0.1), scaled_dot_product_attention(*qkv, scale=0.1))


def test_a_causal_mask_is_causal_attention(qkv):
    mask = create_block_mask(causal, None, None, 6, 6)
    got, expected = flex_attention(*qkv, block_mask=mask), scaled_dot_product_attention(*qkv, is_causal=True)
    tt.testing.assert_close(got, expected)
    grads = [tt.autograd.grad(result.square().sum(), qkv) for result in (got, expected)]
    for mine, other in zip(*grads, strict=True):
        tt.testing.assert_close(mine, other)


def test_scores_depend_on_their_indices(qkv):
    bias = tt.randn(4, 6, 6, dtype=tt.float64)
    got = flex_attention(*qkv, score_mod=lambda score, b, h, q, kv: score + bias[h, q, kv])
    tt.testing.assert_close(got, scaled_dot_product_attention(*qkv, attn_mask=bias))


def test_the_sum_of_the_scores(qkv):
    q, k, _ = qkv
    with pytest.warns(FutureWarning, match="return_aux"):
        _, lse = flex_attention(*qkv, return_lse=True)
    tt.testing.assert_close(lse, (q @ k.transpose(-2, -1) / 8**0.5).logsumexp(-1))


def test_further_results_are_requested(qkv):
    largest = (qkv[0] @ qkv[1].mT / 8**0.5).amax(-1)
    out, found = flex_attention(*qkv, return_aux=AuxRequest(lse=True, max_scores=True))
    tt.testing.assert_close(found.max_scores, largest)
    tt.testing.assert_close(found.lse, (qkv[0] @ qkv[1].mT / 8**0.5).logsumexp(-1))
    tt.testing.assert_close(out, flex_attention(*qkv))
    assert flex_attention(*qkv, return_aux=AuxRequest())[1] == AuxOutput(None, None)
    half = flex_attention(*(t.half() for t in qkv), return_aux=AuxRequest(max_scores=True))
    assert (half[0].dtype, half[1].max_scores.dtype) == (tt.float16, tt.float32)
    with pytest.raises(ValueError, match="not both"):
        flex_attention(*qkv, return_lse=True, return_aux=AuxRequest(lse=True))


def test_a_query_that_sees_nothing_gets_zeros_and_finite_gradients(qkv):
    mask = create_block_mask(lambda b, h, q, kv: q > kv, None, None, 6, 6)
    got, aux = flex_attention(*qkv, block_mask=mask, return_aux=AuxRequest(lse=True))
    assert not got[:, :, 0].any() and bool((aux.lse[:, :, 0] == -float("inf")).all())
    got.sum().backward()
    assert all(bool(t.grad.isfinite().all()) for t in qkv)


def test_heads_of_queries_can_share_keys(qkv):
    q, k, v = qkv
    got = flex_attention(q, k[:, :2], v[:, :2], enable_gqa=True)
    tt.testing.assert_close(got, scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True))
    with pytest.raises(ValueError, match="enable_gqa"):
        flex_attention(q, k[:, :2], v[:, :2])


def test_half_precision_computes_in_float32(qkv):
    got, aux = flex_attention(*(t.detach().half() for t in qkv), return_aux=AuxRequest(lse=True))
    assert got.dtype is tt.float16 and aux.lse.dtype is tt.float32
    tt.testing.assert_close(got.double(), flex_attention(*qkv).detach(), rtol=1e-2, atol=1e-2)


def test_masks_are_combined():
    near = and_masks(causal, lambda b, h, q, kv: q - kv < 2)
    assert create_mask(near, 1, 1, 3, 3)[0, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    first = or_masks(near, lambda b, h, q, kv: kv == 0)
    assert create_mask(first, None, 2, 3, 3)[0, 1].int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert bool(create_mask(noop_mask, 2, 3, 4, 5).all())
    with pytest.raises(RuntimeError, match="callable"):
        and_masks(causal, 3)


def test_blocks_of_a_mask():
    mask = create_block_mask(causal, 2, None, 5, 6, BLOCK_SIZE=2)
    assert mask.shape == (2, 1, 5, 6) and mask.numel() == 60 and mask.BLOCK_SIZE == (2, 2)
    assert mask.to_dense()[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert mask.sparsity() == pytest.approx(100 / 3, rel=1e-4) and "sparsity=33.33%" in repr(mask)


def test_wrong_shapes_are_refused(qkv):
    with pytest.raises(NotImplementedError, match="four dimensions"):
        flex_attention(*(t[0] for t in qkv))
    with pytest.raises(RuntimeError, match="lengths"):
        flex_attention(*qkv, block_mask=create_block_mask(causal, None, None, 5, 6))


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_numbers_are_pytorchs(qkv):
    torch = pytest.importorskip("torch")
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    theirs = [torch.tensor(t.detach().numpy()) for t in qkv]

    def alibi(score, b, h, q_idx, kv_idx):
        return score + (kv_idx - q_idx) * 0.5 ** (h + 1)

    got = flex_attention(*qkv, alibi, create_block_mask(causal, None, None, 6, 6), return_lse=True)
    mask = flex.create_block_mask(causal, None, None, 6, 6, device="cpu")
    expected = flex.flex_attention(*theirs, alibi, mask, return_lse=True)
    for mine, other in zip(got, expected, strict=True):
        tt.testing.assert_close(
            mine.detach(), tt.tensor(other.numpy()), check_dtype=False, rtol=1e-5, atol=1e-6
        )
