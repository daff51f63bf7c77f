"""Composites of optimizer steps."""

from __future__ import annotations

import pytest

import tt


@pytest.mark.parametrize("lr", [1j, tt.tensor(1j)])
def test_a_complex_learning_rate_is_refused(lr):
    param, grad, total, step = ([tt.ones(2, dtype=tt.float64)] for _ in range(4))
    sparse = [tt.ones(2, dtype=tt.float64).to_sparse()]  # for which no fused kernel serves
    for grads in (grad, sparse):
        with pytest.raises((tt.errors.DtypeError, tt.errors.ArgumentError, tt.errors.DispatchError)):
            tt.ops._fused_adagrad_(
                param, grads, total, step, lr=lr, lr_decay=0.5, weight_decay=0.0, eps=0.001, maximize=False
            )
    assert param[0].tolist() == [1, 1]


def test_a_complex_number_of_a_step_is_refused():
    lists = [[tt.ones(2, dtype=tt.float64)] for _ in range(4)]
    steps = [tt.tensor(2, dtype=tt.complex64)]
    with pytest.raises(tt.errors.DtypeError, match="real numbers"):
        tt.ops._fused_adamw_(
            lists[0], [lists[1][0].to_sparse()], lists[2], lists[3], [], steps, lr=0.1, beta1=0.75, beta2=0.9,
            weight_decay=0.0, eps=0.001, amsgrad=False, maximize=False,
        )  # fmt: skip
