"""The switches of attention, and that attention obeys them."""

from __future__ import annotations

import itertools

import pytest

import tt
from tt.core.types.attention_choice import ATTENTION, AttentionChoice
from tt.nn.attention import SDPBackend, sdpa_kernel

B = SDPBackend
Q = tt.arange(64.0).reshape(1, 2, 4, 8).sin()


def attend(**options):
    return tt.nn.functional.scaled_dot_product_attention(Q, Q.cos(), Q + 1, **options)


def operators(**options):
    with tt.trace_calls() as traced:
        attend(**options)
    return {line.strip().partition("(")[0] for line in str(traced).splitlines()}


def test_all_are_enabled_at_first():
    assert AttentionChoice().fused("cpu")
    assert all(getattr(ATTENTION, name) for name in AttentionChoice.__slots__)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_causal": True},
        {"attn_mask": tt.ones(4, 4).tril().bool()},
        {"attn_mask": tt.arange(16.0).reshape(4, 4).cos()},
    ],
)
def test_math_and_flash_compute_the_same_by_other_operators(options):
    with sdpa_kernel(B.FLASH_ATTENTION):
        flash, by_flash = attend(**options), operators(**options)
    with sdpa_kernel(B.MATH):
        math, by_math = attend(**options), operators(**options)
    tt.testing.assert_close(flash, math)
    assert "_attention" in by_flash and "_attention" not in by_math


def test_math_serves_what_flash_attention_has_not():
    with sdpa_kernel([B.FLASH_ATTENTION, B.MATH]):
        assert "_attention" not in operators(dropout_p=0.5)
    with (
        sdpa_kernel(B.FLASH_ATTENTION),
        pytest.raises(RuntimeError, match=r"No available kernel.*no enabled one supports dropout"),
    ):
        attend(dropout_p=0.5)


@pytest.mark.parametrize("chosen", [[], [B.EFFICIENT_ATTENTION], [B.CUDNN_ATTENTION], [B.ERROR]])
def test_nothing_that_the_cpu_has_is_enabled(chosen):
    with sdpa_kernel(chosen), pytest.raises(RuntimeError, match="No viable backend was found for cpu"):
        attend()
    attend()


def test_the_switches_of_cuda_are_the_same():
    cuda = tt.backends.cuda
    try:
        cuda.enable_flash_sdp(False)
        assert "_attention" not in operators()
        cuda.enable_math_sdp(False)
        with pytest.raises(RuntimeError, match="No viable backend"):
            attend()
    finally:
        cuda.enable_flash_sdp(True)
        cuda.enable_math_sdp(True)
    assert "_attention" in operators()


def test_priorities():
    with sdpa_kernel([B.MATH, B.FLASH_ATTENTION], set_priority=True):
        assert "_attention" not in operators()
    with sdpa_kernel([B.FLASH_ATTENTION, B.MATH], set_priority=True):
        assert "_attention" in operators()
    with sdpa_kernel([B.MATH, B.FLASH_ATTENTION]):
        assert "_attention" in operators()


def test_gradients_by_math_are_those_of_flash_attention():
    found = []
    for chosen in (B.MATH, B.FLASH_ATTENTION):
        q = Q.clone().requires_grad_()
        with sdpa_kernel(chosen):
            tt.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).sin().sum().backward()
        found.append(q.grad)
    tt.testing.assert_close(*found)


@pytest.mark.torch
def test_pytorch_refuses_the_same_calls():
    import torch
    from torch.nn.attention import SDPBackend as Backend
    from torch.nn.attention import sdpa_kernel as other

    names = ["MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION"]
    q = torch.ones(1, 2, 4, 8)
    other_call = torch.nn.functional.scaled_dot_product_attention
    calls = [
        (sdpa_kernel, B, attend),
        (other, Backend, lambda **options: other_call(q, q, q, **options)),
    ]
    for count, dropout in itertools.product(range(3), (0.0, 0.5)):
        for chosen in itertools.combinations(names, count):
            refused = []
            for kernel, backend, call in calls:
                with kernel([getattr(backend, name) for name in chosen]):
                    try:
                        call(dropout_p=dropout)
                        refused.append(False)
                    except RuntimeError:
                        refused.append(True)
            assert refused[0] == refused[1], (chosen, dropout)
