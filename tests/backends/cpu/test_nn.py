"""Neural networks, against PyTorch."""

from __future__ import annotations

import math

import pytest

import tt
import tt.nn.functional as F

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")


def sample(*shape: int, dtype: str = "float32", seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(getattr(torch, dtype))


@pytest.mark.parametrize("dim", [0, 1, -1, 2])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int64"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(same, name, dtype, dim):
    if dtype == "int64" and dim == 2:
        return  # two mistakes
    same(lambda m, x: getattr(m, name)(x, dim), sample(3, 4, dtype=dtype) * 10)
    same(lambda m, x: getattr(m, name)(x, dim), sample(4, 3, dtype=dtype).t())


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_at_the_edges(same, name):
    x = torch.tensor(
        [[1e4, 0.0, -1e4], [-math.inf, 0.0, 1.0], [math.inf, 0.0, 1.0], [-math.inf] * 3, [math.nan, 0.0, 1.0]]
    )
    same(lambda m, x: getattr(m, name)(x, 1), x)
    same(lambda m, x: getattr(m, name)(x, 0), torch.tensor(2.0))
    same(lambda m, x: getattr(m, name)(x, 1), torch.zeros(2, 0))
    same(lambda m, x: getattr(m, name)(x, 0, dtype=m.float64), torch.arange(3.0))
    same(lambda m, x: getattr(m, name)(x, 0, dtype=m.float32), torch.arange(3))


@pytest.mark.parametrize("approximate", ["none", "tanh", "other"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_gelu(same, approximate, dtype):
    same(lambda m, x: m.nn.functional.gelu(x, approximate=approximate), sample(50, dtype=dtype) * 3)


SHAPES = [
    ((4,), (5, 4)),
    ((3, 4), (5, 4)),
    ((2, 3, 4), (5, 4)),
    ((3, 4), (4,)),
    ((3, 4), (5, 3)),
    ((3, 4), (5, 4, 1)),
]


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_linear(same, shapes):
    x, w = sample(*shapes[0]), sample(*shapes[1], seed=1)
    same(lambda m, x, w: m.nn.functional.linear(x, w), x, w)
    same(
        lambda m, x, w, b: m.nn.functional.linear(x, w, b), x, w, sample(*shapes[1][:1] if w.ndim > 1 else ())
    )
    same(lambda m, x, w, b: m.nn.functional.linear(x, w, b), x, w, sample(7))


def test_embedding(same):
    w = sample(5, 3)
    for index in (torch.tensor([[1, 4], [0, 1]]), torch.tensor(2), torch.zeros(0, dtype=torch.int64)):
        same(lambda m, i, w: m.nn.functional.embedding(i, w), index, w)
        same(lambda m, i, w: m.nn.functional.embedding(i, w, padding_idx=1), index, w)
        same(lambda m, i, w: m.nn.functional.embedding(i, w, padding_idx=-1), index, w)
    for wrong in (torch.tensor([5]), torch.tensor([-1])):
        same(lambda m, i, w: m.nn.functional.embedding(i, w), wrong, w)
    same(lambda m, i, w: m.nn.functional.embedding(i, w[0]), torch.tensor([0]), w)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_layer_norm(same, dtype):
    x, w, b = (
        sample(2, 3, 4, dtype=dtype),
        sample(3, 4, dtype=dtype, seed=1),
        sample(3, 4, dtype=dtype, seed=2),
    )
    same(lambda m, x, w, b: m.nn.functional.layer_norm(x, (3, 4), w, b), x, w, b)
    same(lambda m, x: m.nn.functional.layer_norm(x, (4,), eps=0.1), x)
    same(lambda m, x: m.nn.functional.layer_norm(x, (5,)), x)
    same(lambda m, x, w: m.nn.functional.layer_norm(x, (4,), w), x, w)


def test_layer_norm_of_numbers_far_from_zero_keeps_its_digits():
    x = sample(4, 100) + 1e4
    theirs = torch.nn.functional.layer_norm(x.double(), (100,))
    assert abs(F.layer_norm(tt.from_numpy(x.numpy()), (100,)).numpy() - theirs.numpy()).max() < 1e-3


REDUCTIONS = ["none", "mean", "sum", "product"]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "shapes", [((5, 4), (5,)), ((4,), ()), ((5, 4, 3), (5, 3)), ((2, 4, 3, 2), (2, 3, 2))], ids=str
)
@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
def test_losses_of_classes(same, name, shapes, weighted, reduction):
    scores = sample(*shapes[0])
    target = torch.randint(0, 4, shapes[1], generator=torch.Generator().manual_seed(0))
    weight = torch.tensor([1.0, 2.0, 0.0, 0.5]) if weighted else None

    def loss(m, x, t, w, **options):
        return getattr(m.nn.functional, name)(x, t, weight=w, reduction=reduction, **options)

    same(loss, scores, target, weight)
    same(lambda m, x, t, w: loss(m, x, t, w, ignore_index=1), scores, target, weight)
    if target.ndim:
        ignored = target.clone()
        ignored[0] = -100
        same(loss, scores, ignored, weight)
        same(loss, scores, torch.full_like(target, -100), weight)
        same(loss, scores, torch.full_like(target, 4), weight)
        same(loss, scores, torch.full_like(target, -1), weight)
        same(loss, scores, target[1:], weight)
        same(loss, scores, target.float(), weight)
    if weighted:
        same(loss, scores, target, weight[1:])


@pytest.mark.parametrize("reduction", REDUCTIONS[:3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0, 1.5])
def test_cross_entropy_with_smoothing_and_probabilities(same, smoothing, weighted, reduction):
    scores, target = sample(5, 4), torch.tensor([0, 3, -100, 1, 2])
    weight = torch.tensor([1.0, 2.0, 0.25, 0.5]) if weighted else None

    def loss(m, x, t, w):
        return m.nn.functional.cross_entropy(x, t, w, reduction=reduction, label_smoothing=smoothing)

    same(loss, scores, target, weight, tolerance=1e-5)
    same(loss, scores, torch.softmax(sample(5, 4, seed=1), 1), weight, tolerance=1e-5)
    same(loss, sample(2, 4, 3), torch.softmax(sample(2, 4, 3, seed=1), 1), weight, tolerance=1e-5)
    same(loss, scores[0], torch.softmax(sample(4, seed=1), 0), weight, tolerance=1e-5)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_mse_loss(same, reduction):
    same(
        lambda m, x, y: m.nn.functional.mse_loss(x, y, reduction=reduction),
        sample(3, 4),
        sample(3, 4, seed=1),
    )


def test_mse_loss_warns_of_sizes_that_differ():
    with pytest.warns(UserWarning, match="target size"):
        F.mse_loss(tt.ones(3, 1), tt.ones(3))


def test_dropout():
    tt.manual_seed(0)
    x = tt.ones(100_000)
    kept = F.dropout(x, 0.3)
    assert kept.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
    assert kept.mean().item() == pytest.approx(1.0, abs=0.02)
    assert F.dropout(x, 0.3, training=False) is x and F.dropout(x, 1.0).sum().item() == 0
    with pytest.raises(ValueError, match="between 0 and 1"):
        F.dropout(x, 1.5)
