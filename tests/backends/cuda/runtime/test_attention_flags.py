"""The switches of attention in tt.backends.cuda."""

from __future__ import annotations

import pytest

from tt.backends import cuda

SWITCHES = {
    cuda.flash_sdp_enabled: cuda.enable_flash_sdp,
    cuda.mem_efficient_sdp_enabled: cuda.enable_mem_efficient_sdp,
    cuda.math_sdp_enabled: cuda.enable_math_sdp,
    cuda.cudnn_sdp_enabled: cuda.enable_cudnn_sdp,
    cuda.fp16_bf16_reduction_math_sdp_allowed: cuda.allow_fp16_bf16_reduction_math_sdp,
}


@pytest.mark.parametrize("read", SWITCHES)
def test_a_switch_is_read_as_it_was_set(read):
    before = read()
    SWITCHES[read](not before)
    try:
        assert read() is not before
    finally:
        SWITCHES[read](before)


def test_products_in_half_precision_have_switches():
    assert cuda.matmul.allow_bf16_reduced_precision_reduction and not cuda.matmul.allow_fp16_accumulation
    with cuda.matmul.flags(allow_bf16_reduced_precision_reduction=False):
        assert not cuda.matmul.allow_bf16_reduced_precision_reduction
    assert isinstance(cuda.is_built(), bool)
