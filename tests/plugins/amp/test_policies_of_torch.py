"""The operators with a policy are those for which PyTorch's dispatcher has a kernel of autocast."""

from __future__ import annotations

import pytest

from tt.core.dispatch.registry.registry import REGISTRY

pytestmark = pytest.mark.torch

OURS = {
    "cpu": {
        # One operator here, two or more in PyTorch.
        "cross_entropy": "cross_entropy_loss", "lu": "_lu_with_info", "_pad_places": "reflection_pad1d",
        "max_unpool1d": "max_unpool2d", "grid_sample": "grid_sampler", "_max_pool3d": "max_pool3d",
        "adaptive_max_pool3d_with_indices": "adaptive_max_pool3d",
        "fractional_max_pool2d_with_indices": "fractional_max_pool2d",
        "fractional_max_pool3d_with_indices": "fractional_max_pool3d",
        "lstm": "mkldnn_rnn_layer", "gru": "mkldnn_rnn_layer", "rnn_tanh": "mkldnn_rnn_layer",
        "rnn_relu": "mkldnn_rnn_layer", "rnn_tanh_cell": "linear", "rnn_relu_cell": "linear",
        # The last step of PyTorch's is a product, which autocast lowers; its parts have no policy there.
        "linalg_pinv": "matmul", "pdist": "",
    },
    "cuda": {
        "cross_entropy": "nll_loss", "interpolate": "upsample_nearest1d", "upsample": "upsample_nearest1d",
        "upsample_nearest": "upsample_nearest1d", "upsample_bilinear": "upsample_bilinear2d",
        "grid_sample": "grid_sampler", "softmin": "softmax", "lstm": "_thnn_fused_lstm_cell",
        "gru": "_thnn_fused_gru_cell", "rnn_tanh": "rnn_tanh_cell", "rnn_relu": "rnn_relu_cell",
        # Composites there, one operator here, whose result has the dtype that a part with a policy gives.
        "normalize": "linalg_vector_norm", "local_response_norm": "pow", "square": "pow", "trapezoid": "sum",
        "cumulative_trapezoid": "cumsum", "pairwise_distance": "norm", "multilabel_soft_margin_loss": "sum",
        "native_group_norm": "", "ormqr": "",
    },
}  # fmt: skip
"""Operators with a policy for which PyTorch has none of that name, and the one whose policy they follow."""
THEIRS = {
    "cpu": {"_native_multi_head_attention", "max_pool3d"},
    "cuda": set(),
}
"""Operators of both with a policy in PyTorch alone: `max_pool3d` has it here unless the indices are wanted, too."""


@pytest.mark.parametrize(("device", "key"), [("cpu", "AutocastCPU"), ("cuda", "AutocastCUDA")])
def test_the_same_operators_have_a_policy(device: str, key: str) -> None:
    torch = pytest.importorskip("torch")
    theirs = {
        name.removeprefix("aten::").partition(".")[0]
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::") and torch._C._dispatch_has_kernel_for_dispatch_key(name, key)
    }
    assert len(theirs) > 90
    definitions = [d for d in REGISTRY.definitions() if d.signature.namespace == "tt"]
    ours = {d.signature.name for d in definitions if d.autocast_policy(device)}
    names = {d.signature.name for d in definitions}
    assert ours - theirs == set(OURS[device])
    assert {name for name in theirs - ours if name in names} == THEIRS[device] & names
    assert {other for other in OURS[device].values() if other} <= theirs
