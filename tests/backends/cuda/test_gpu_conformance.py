"""The conformance check on a real CUDA device, if there is one."""

from __future__ import annotations

import pytest

from tt.testing.conformance import check_target, targets

pytestmark = pytest.mark.gpu

OPS = [
    "add", "remainder", "sum.dim", "softmax", "layer_norm", "cumsum", "gather", "scatter_add", "index_put", "matmul",
    "sort", "linalg_solve", "linalg_cholesky_ex", "_fft_c2c", "conv2d", "randn", "view_as_real", "cat", "where",
    "nll_loss", "_rnn_layer", "_rnn_layer_backward", "grid_sampler", "_grid_sampler_backward", "_weighted_taps",
    "_spread_taps", "_ctc_loss", "_ctc_loss_backward", "cdist", "_embedding_bag", "_fused_step_", "igamma",
    "special_zeta", "special_airy_ai", "_fractional_max_pool", "functional_fold", "geometric", "_searchsorted", "gcd",
]  # fmt: skip


def check(target):
    report = check_target(target, "cuda")
    assert not report.missing
    assert not report.failures, "\n\n".join(map(str, report.failures[:5]))


@pytest.mark.parametrize("op", OPS)
def test_an_operator_does_what_it_does_on_the_cpu(op):
    for target in targets("cuda", [op], ["float32"]):
        check(target)


@pytest.mark.exhaustive
def test_every_operator_does_what_it_does_on_the_cpu():
    failures = []
    for target in targets("cuda"):
        report = check_target(target, "cuda")
        failures += [*map(str, report.failures[:1]), *map(str, report.missing)]
    assert not failures, "\n\n".join(failures)
