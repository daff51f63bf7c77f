"""Optimizers on the emulated device: the default form is one launch for all parameters, and trains as the CPU does."""

from __future__ import annotations

import numpy as np
import pytest

import tt

CASES = [
    *((name, {}) for name in ("Adamax", "NAdam", "RAdam", "Adadelta", "RMSprop", "Rprop", "ASGD", "Adam", "Adagrad")),
    ("SGD", {"lr": 0.1, "momentum": 0.9}), ("AdamW", {"amsgrad": True, "weight_decay": 0.1}),
    ("RMSprop", {"centered": True, "momentum": 0.9}), ("ASGD", {"t0": 2}), ("Adam", {"maximize": True}),
]  # fmt: skip


def trained(device, name, options, steps=6, **more):
    generator = tt.Generator().manual_seed(1)
    params = [
        tt.randn(shape, generator=generator).to(device).requires_grad_() for shape in ((3, 4), (7,), ())
    ]
    optimizer = getattr(tt.optim, name)(params, **options, **more)
    for _ in range(steps):
        optimizer.zero_grad()
        sum(((param - 1) ** 2).sum() for param in params).backward()
        optimizer.step()
    return [param.detach().cpu().numpy() for param in params]


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_a_device_trains_as_the_cpu_does(name, options):
    for more in ({}, {"foreach": True}):
        for found, expected in zip(
            trained("cuda", name, options, **more), trained("cpu", name, options), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_the_default_form_on_a_device_is_fused(monkeypatch):
    calls = []
    for name in ("_fused_adam_", "_fused_step_", "_fused_sgd_", "_fused_adagrad_"):
        monkeypatch.setattr(tt.ops, name, lambda *args, name=name, **options: calls.append(name))
    for name in ("Adam", "RMSprop", "SGD", "Adagrad"):
        trained("cuda", name, {}, steps=2)
    assert calls == [
        name for name in ("_fused_adam_", "_fused_step_", "_fused_sgd_", "_fused_adagrad_") for _ in range(2)
    ]
