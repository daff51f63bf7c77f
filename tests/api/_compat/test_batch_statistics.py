"""Batch normalization in steps agrees with batch normalization in one."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.errors import ShapeError

EPS = 1e-5


def data(*shape, seed=0, dtype=np.float64):
    return tt.tensor(np.random.default_rng(seed).normal(1, 2, shape).astype(dtype))


@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (2, 3, 4, 2)])
def test_statistics_are_those_of_numpy(shape):
    x = data(*shape)
    mean, invstd = tt.batch_norm_stats(x, EPS)
    axes = (0, *range(2, len(shape)))
    np.testing.assert_allclose(mean.numpy(), x.numpy().mean(axes))
    np.testing.assert_allclose(invstd.numpy(), (x.numpy().var(axes) + EPS) ** -0.5)


@pytest.mark.parametrize("affine", [True, False])
def test_several_processes_agree_with_one(affine):
    x, grad = data(7, 3, 2), data(7, 3, 2, seed=1)
    weight, bias = (data(3, seed=2), data(3, seed=3)) if affine else (None, None)
    means, vars_ = tt.zeros(3, dtype=tt.float64), tt.ones(3, dtype=tt.float64)
    whole = [t.clone().requires_grad_() if t is not None else None for t in (x, weight, bias)]
    expected = tt.nn.functional.batch_norm(
        whole[0], means.clone(), vars_.clone(), whole[1], whole[2], True, 0.3, EPS
    )
    expected.backward(grad)
    running = means.clone(), vars_.clone()
    tt.nn.functional.batch_norm(x, *running, None, None, True, 0.3, EPS)

    parts, grads = (x[:4], x[4:]), (grad[:4], grad[4:])
    stats = [tt.batch_norm_stats(part, EPS) for part in parts]
    counts = tt.tensor([8.0, 6.0], dtype=tt.float64)
    mean, invstd = tt.batch_norm_gather_stats_with_counts(
        x, *(tt.stack(each) for each in zip(*stats, strict=True)), means, vars_, 0.3, EPS, counts
    )
    np.testing.assert_allclose(means.numpy(), running[0].numpy())
    np.testing.assert_allclose(vars_.numpy(), running[1].numpy())
    found = [tt.batch_norm_elemt(part, weight, bias, mean, invstd, EPS) for part in parts]
    np.testing.assert_allclose(tt.cat(found).numpy(), expected.detach().numpy())

    sums = [
        tt.batch_norm_backward_reduce(g, part, mean, invstd, weight, True, affine, affine)
        for g, part in zip(grads, parts, strict=True)
    ]
    total = [sums[0][k] + sums[1][k] for k in range(2)]
    slopes = [
        tt.batch_norm_backward_elemt(g, part, mean, invstd, weight, *total, tt.tensor([8, 6]))
        for g, part in zip(grads, parts, strict=True)
    ]
    np.testing.assert_allclose(tt.cat(slopes).numpy(), whole[0].grad.numpy(), atol=1e-12)
    if affine:
        np.testing.assert_allclose((sums[0][2] + sums[1][2]).numpy(), whole[1].grad.numpy())
        np.testing.assert_allclose((sums[0][3] + sums[1][3]).numpy(), whole[2].grad.numpy())
    else:
        assert sums[0][2:] == (None, None)


def test_equal_counts_need_only_one_number():
    x = data(8, 2)
    stats = [tt.batch_norm_stats(part, EPS) for part in (x[:4], x[4:])]
    mean, invstd = (tt.stack(each) for each in zip(*stats, strict=True))
    found = tt.batch_norm_gather_stats(x, mean, invstd, None, None, 0.1, EPS, 4)
    for one, other in zip(found, tt.batch_norm_stats(x, EPS), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy())


@pytest.mark.torch
@pytest.mark.parametrize("shape", [(6, 3), (2, 3, 4)])
def test_updated_statistics_are_those_of_torch(shape):
    torch = pytest.importorskip("torch")
    results = []
    for library in (tt, torch):
        x = library.tensor(data(*shape).tolist(), dtype=library.float64)
        running = library.zeros(3, dtype=library.float64), library.ones(3, dtype=library.float64)
        found = library.batch_norm_update_stats(x, *running, 0.3)
        results.append([t.tolist() for t in (*found, *running)])
    np.testing.assert_allclose(results[0], results[1])


def test_half_precision_has_statistics_of_single_precision():
    x = data(5, 2).half()
    mean, invstd = tt.batch_norm_stats(x, EPS)
    assert mean.dtype is invstd.dtype is tt.float32
    assert tt.batch_norm_elemt(x, None, None, mean, invstd, EPS).dtype is tt.float16


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="examples and channels"):
        tt.batch_norm_stats(tt.ones(3), EPS)
    with pytest.raises(ShapeError, match="processes"):
        tt.batch_norm_gather_stats_with_counts(
            tt.ones(2, 3), tt.ones(3), tt.ones(3), None, None, 0.1, EPS, tt.ones(1)
        )


def test_statistics_of_no_elements_do_not_move_those_that_run():
    running = tt.ones(1)
    with pytest.raises(ShapeError, match="at least one element"):
        tt.batch_norm_update_stats(tt.ones(0, 1), running, running.clone(), 0.5)
    assert running.tolist() == [1.0]
