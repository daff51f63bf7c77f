"""Batch normalisation, and its statistics of the batches."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt import nn

X = tt.tensor([[1.0, 10.0], [3.0, 20.0], [5.0, 60.0]])


def test_channels_have_mean_0_and_variance_1():
    norm = nn.BatchNorm1d(2, eps=1e-12, affine=False).double()
    result = norm(X.double()).numpy()
    np.testing.assert_allclose(result.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(result.var(0), 1, rtol=1e-9)


def test_running_statistics_move_towards_the_batch():
    norm = nn.BatchNorm1d(2, momentum=0.5)
    norm(X)
    assert norm.running_mean.tolist() == [1.5, 15]
    assert norm.running_var.tolist() == [2.5, 0.5 + 0.5 * 700]  # unbiased: 4 and 700
    assert norm.num_batches_tracked == 1


def test_without_momentum_they_are_the_mean_over_all_batches():
    norm = nn.BatchNorm1d(1, momentum=None)
    for mean in (1.0, 2.0, 6.0):
        norm(tt.tensor([[mean - 1], [mean + 1]]))
    tt.testing.assert_close(norm.running_mean, tt.tensor([3.0]))


def test_evaluation_uses_the_running_statistics():
    norm = nn.BatchNorm1d(1, eps=0.0).eval()
    norm.running_mean.fill_(2)
    norm.running_var.fill_(4)
    norm.weight.data.fill_(3)
    norm.bias.data.fill_(1)
    assert norm(tt.tensor([[4.0]])).tolist() == [[4]] and norm.num_batches_tracked == 0


def test_without_tracking_evaluation_normalises_the_batch():
    norm = nn.BatchNorm1d(2, track_running_stats=False).eval()
    assert norm.running_mean is None and abs(float(norm(X).detach().sum())) < 1e-5
    assert list(norm.state_dict()) == ["weight", "bias"]


def test_a_weight_without_a_bias():
    norm = nn.BatchNorm2d(3, bias=False)
    assert (
        norm.bias is None
        and "weight" in norm.state_dict()
        and norm(tt.randn(2, 3, 2, 2)).shape == (2, 3, 2, 2)
    )


@pytest.mark.parametrize(("dims", "wrong"), [(1, (2, 3, 4, 5)), (2, (2, 3)), (3, (2, 3, 4, 5))])
def test_other_ranks_are_refused(dims, wrong):
    with pytest.raises(ValueError, match="input"):
        getattr(nn, f"BatchNorm{dims}d")(3)(tt.zeros(wrong))


def test_eps_is_positive_in_training_and_not_negative_in_evaluation():
    with pytest.raises(ValueError, match="eps must be positive during training, but got 0"):
        nn.BatchNorm1d(2, eps=0.0)(X)
    assert nn.BatchNorm1d(2, eps=0.0).eval()(X).shape == X.shape
    with pytest.raises(ValueError, match="non-negative"):
        nn.BatchNorm1d(2, eps=-1.0).eval()(X)


def test_one_value_a_channel_has_no_variance():
    with pytest.raises(ValueError, match="several values"):
        nn.BatchNorm1d(2)(X[:1])


def test_state_dicts_of_version_1_lack_the_number_of_batches():
    old = nn.BatchNorm1d(2).state_dict()
    del old["num_batches_tracked"], old._metadata
    nn.BatchNorm1d(2).load_state_dict(old)


def test_synchronised_norms_replace_others():
    model = nn.Sequential(nn.BatchNorm2d(3, eps=0.1), nn.ReLU())
    model[0].weight.data.fill_(2)
    sync = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert type(sync[0]) is nn.SyncBatchNorm and sync[0].eps == 0.1 and sync[0].weight[0] == 2


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("shape", [(12, 3), (12, 3, 5)])
def test_statistics_of_all_ranks_are_those_of_the_whole_batch(shape, momentum):
    generator = np.random.default_rng(0)
    data = tt.from_numpy(generator.normal(1e3, 1.0, size=shape))
    coefficients = tt.from_numpy(generator.normal(size=shape))

    def passes(module, x, factors):
        x = x.clone().requires_grad_()
        for _ in range(2):
            y = module(x)
        (y * factors).sum().backward()
        gradients = [p.grad.numpy() for p in module.parameters()]
        return y.detach().numpy(), x.grad.numpy(), [b.numpy() for b in module.buffers()], gradients

    def ranks():
        rank = tt.distributed.get_rank()
        rows = slice(0, 3) if rank == 0 else slice(3, 12)  # uneven
        module = tt.nn.SyncBatchNorm(3, momentum=momentum).double()
        return passes(module, data[rows], coefficients[rows])

    expected = passes(tt.nn.BatchNorm1d(3, momentum=momentum).double(), data, coefficients)
    first, second = tt.distributed.run_threads(ranks, 2)
    for place in (0, 1):
        together = np.concatenate([first[place], second[place]])
        np.testing.assert_allclose(together, expected[place], rtol=1e-9, atol=1e-9)
    for found in (first, second):
        for ours, theirs in zip(found[2], expected[2], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    for ours, more, theirs in zip(first[3], second[3], expected[3], strict=True):
        np.testing.assert_allclose(ours + more, theirs, rtol=1e-8, atol=1e-9)
