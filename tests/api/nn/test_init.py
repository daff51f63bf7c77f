"""Initialisation: the bounds and moments of each distribution, and the errors."""

from __future__ import annotations

import math

import pytest

import tt
from tt.nn import init


@pytest.fixture(autouse=True)
def seeded():
    tt.manual_seed(0)


def weight(*shape):
    return tt.empty(*shape or (300, 200))


def test_bounds_of_the_uniform_distributions():
    for filled, bound in (
        (init.uniform_(weight(), -2, 2), 2),
        (init.xavier_uniform_(weight()), math.sqrt(6 / 500)),
        (init.kaiming_uniform_(weight(), nonlinearity="relu"), math.sqrt(6 / 200)),
        (init.kaiming_uniform_(weight(), a=math.sqrt(5)), math.sqrt(1 / 200)),
        (init.kaiming_uniform_(weight(), mode="fan_out", nonlinearity="linear"), math.sqrt(3 / 300)),
    ):
        assert 0.98 * bound < filled.abs().max().item() <= bound * (1 + 1e-6)
        assert filled.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)


def test_moments_of_the_normal_distributions():
    for filled, mean, std in (
        (init.normal_(weight(), 3, 2), 3, 2),
        (init.xavier_normal_(weight(), gain=2), 0, 2 * math.sqrt(2 / 500)),
        (init.kaiming_normal_(weight(), nonlinearity="relu"), 0, math.sqrt(2 / 200)),
    ):
        assert filled.mean().item() == pytest.approx(mean, abs=0.03 * std)
        assert filled.std().item() == pytest.approx(std, rel=0.02)


def test_the_truncated_normal_distribution_stays_inside():
    filled = init.trunc_normal_(weight(), mean=1, std=2, a=0, b=3)
    assert 0 <= filled.min().item() < 0.01 and 2.99 < filled.max().item() <= 3
    assert init.trunc_normal_(weight()).std().item() == pytest.approx(0.8796, rel=0.02)
    with pytest.warns(UserWarning, match="2 std"):
        init.trunc_normal_(weight(2, 2), mean=10)


def test_constants():
    assert init.constant_(weight(2), 3).tolist() == [3, 3]
    assert init.ones_(weight(2)).tolist() == [1, 1]
    assert init.zeros_(weight(2)).tolist() == [0, 0]
    assert init.eye_(weight(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("groups", [1, 2])
def test_dirac_keeps_the_channels(groups):
    kernel = init.dirac_(weight(4, 4 // groups, 3), groups)
    x = tt.randn(1, 4, 5)
    assert tt.equal(tt.nn.functional.conv1d(x, kernel, padding=1, groups=groups), x)


@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (4, 2, 3)])
def test_orthogonal_rows_or_columns(shape):
    flat = init.orthogonal_(weight(*shape), gain=2).reshape(shape[0], -1)
    product = flat.T @ flat if flat.shape[0] > flat.shape[1] else flat @ flat.T
    assert tt.allclose(product, 4 * tt.eye(product.shape[0]), atol=1e-5)


def test_sparse_columns_have_their_share_of_zeros():
    filled = init.sparse_(weight(10, 4), sparsity=0.25)
    assert (filled == 0).sum(0).tolist() == [3, 3, 3, 3]


def test_gains():
    assert init.calculate_gain("relu") == math.sqrt(2)
    assert init.calculate_gain("leaky_relu", 0.2) == math.sqrt(2 / 1.04)
    assert init.calculate_gain("linear") == 1
    for wrong in (lambda: init.calculate_gain("none"), lambda: init.calculate_gain("leaky_relu", "x")):
        with pytest.raises(ValueError):
            wrong()


def test_what_does_not_fit_is_refused():
    for wrong in (
        lambda: init.eye_(weight(2)),
        lambda: init.dirac_(weight(2, 2)),
        lambda: init.dirac_(weight(3, 2, 2), groups=2),
        lambda: init.xavier_uniform_(weight(2)),
        lambda: init.kaiming_normal_(weight(2, 2), mode="both"),
        lambda: init.orthogonal_(weight(2)),
        lambda: init.sparse_(weight(2), 0.1),
    ):
        with pytest.raises(ValueError):
            wrong()


def test_an_empty_tensor_is_left_alone_with_a_warning():
    with pytest.warns(UserWarning, match="zero-element"):
        init.kaiming_uniform_(weight(0, 2))


def test_a_generator_repeats_its_numbers():
    first = init.normal_(weight(3), generator=tt.Generator().manual_seed(5))
    assert tt.equal(first, init.normal_(weight(3), generator=tt.Generator().manual_seed(5)))


def test_parameters_are_filled_without_history():
    param = tt.nn.Parameter(weight(2, 2))
    assert init.xavier_normal_(param) is param
    assert param.grad_fn is None and param.requires_grad


@pytest.mark.parametrize(
    "name", ["uniform", "normal", "xavier_uniform", "kaiming_normal", "orthogonal", "eye"]
)
def test_old_names_warn(name):
    with pytest.warns(FutureWarning, match=f"{name}_"):
        getattr(init, name)(weight(2, 2))
