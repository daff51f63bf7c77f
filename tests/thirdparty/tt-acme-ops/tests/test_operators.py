"""The operators of acme: everything that they promise, and their values against NumPy."""

import numpy as np
import pytest

import tt
from tt.library import REGISTRY, errors, opcheck
from tt.testing import assert_close

X = tt.tensor([[0.5, -1.5, 2.0, 0.25], [1.0, 3.0, -0.75, -2.0], [0.125, 1.5, -1.0, 4.0]])


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("acme::twice", (X,), {}),
        ("acme::twice", (tt.tensor(3.0),), {}),
        ("acme::soft_clip", (X, 2.0), {}),
        ("acme::soft_clip", (X,), {}),
        ("acme::decay_", (X, 0.25), {}),
        ("acme::scaled_add", (X, X[0]), {"scale": 3}),
        ("acme::scaled_add", (X, X[:, :1]), {}),
        ("acme::moving_average", (X, 2), {}),
        ("acme::moving_average", (X[0], 4), {}),
    ],
)
def test_the_operator_does_what_it_promises(name, args, kwargs):
    assert set(opcheck(name, args, kwargs).values()) == {"SUCCESS"}


def test_values():
    x = X.numpy()
    assert_close(tt.ops.acme.twice(X), tt.tensor(2 * x))
    assert_close(tt.ops.acme.soft_clip(X, 2.0), tt.tensor(2 * np.tanh(x / 2)))
    assert_close(tt.ops.acme.scaled_add(X, X[0], scale=3), tt.tensor(x + 3 * x[0]))
    windows = np.stack([(x[:, i] + x[:, i + 1] + x[:, i + 2]) / 3 for i in range(2)], 1)
    assert_close(tt.ops.acme.moving_average(X, 3), tt.tensor(windows))


def test_decay_changes_its_argument_and_nothing_else():
    x = X.clone()
    assert tt.ops.acme.decay_(x, 0.25) is None
    assert_close(x, X * 0.75)


def test_the_kernel_and_the_composite_agree():
    from tt.library import mask_kernels

    expected = tt.ops.acme.moving_average(X, 3)
    with mask_kernels("acme::moving_average"):
        assert_close(tt.ops.acme.moving_average(X, 3), expected)


@pytest.mark.parametrize("size", [0, 5, -1])
def test_a_window_that_does_not_fit_is_refused(size):
    with pytest.raises(errors.ValueRangeError, match="size must be from 1 to 4"):
        tt.ops.acme.moving_average(X, size)


def test_the_samples_pass_the_conformance_check():
    from tt.testing.conformance import check_conformance

    report = check_conformance("cpu", ops=["acme::*"], dtypes=None)
    assert not report.failures and not report.missing
    assert report.checks["values"] + report.checks["meta"] > 10


def test_the_distribution_is_noted_with_every_kernel():
    (kernel,) = REGISTRY.kernels["acme::moving_average"]
    assert kernel.source.distribution == "tt-acme-ops"
