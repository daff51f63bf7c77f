"""Look-ups of rows, alone and in bags, against PyTorch."""

from __future__ import annotations

import math

import pytest

import tt
import tt.nn.functional as F

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

W = torch.arange(15.0).reshape(5, 3) - 4
I = torch.tensor([1, 4, 1, 0, 2, 2])  # noqa: E741 - an index
OFFSETS = torch.tensor([0, 3, 3])

ROWS = {
    "rows": lambda f, i, w: (f.embedding(i, w), f.embedding(i.reshape(2, 3), w), f.embedding(i[0], w)),
    "padding": lambda f, i, w: (f.embedding(i, w, 1), f.embedding(i, w, padding_idx=-1)),
    "padding out of range": lambda f, i, w: f.embedding(i, w, padding_idx=5),
    "a norm": lambda f, i, w: [
        f.embedding(i[:4], w.clone(), max_norm=1.5, norm_type=p) for p in (2.0, 1.0, 3.0, math.inf)
    ],
    "out of range": lambda f, i, w: f.embedding(i + 1, w),
    "negative": lambda f, i, w: f.embedding(i - 1, w),
    "floating point": lambda f, i, w: f.embedding(w[0], w),
    "a vector of weights": lambda f, i, w: f.embedding(i, w[0]),
}
BAGS = {
    "offsets": lambda f, i, w, o, how: f.embedding_bag(i, w, o, **how),
    "rows": lambda f, i, w, o, how: f.embedding_bag(i.reshape(2, 3), w, **how),
    "last offset": lambda f, i, w, o, how: f.embedding_bag(i, w, o * 2, include_last_offset=True, **how),
    "padding": lambda f, i, w, o, how: (
        f.embedding_bag(i, w, o, padding_idx=1, **how), f.embedding_bag(i, w, o, padding_idx=-3, **how),
    ),
    "nothing": lambda f, i, w, o, how: f.embedding_bag(i[:0], w, o * 0, **how),
    "a norm": lambda f, i, w, o, how: f.embedding_bag(i, w.clone(), o, max_norm=1.5, **how),
    "no offsets": lambda f, i, w, o, how: f.embedding_bag(i, w, **how),
    "offsets of rows": lambda f, i, w, o, how: f.embedding_bag(i.reshape(2, 3), w, o, **how),
    "a late first offset": lambda f, i, w, o, how: f.embedding_bag(i, w, o + 1, **how),
    "a late last offset": lambda f, i, w, o, how: f.embedding_bag(i, w, o * 3, **how),
    "out of range": lambda f, i, w, o, how: f.embedding_bag(i + 1, w, o, **how),
    "padding out of range": lambda f, i, w, o, how: f.embedding_bag(i, w, o, padding_idx=9, **how),
    "three dimensions": lambda f, i, w, o, how: f.embedding_bag(i.reshape(1, 2, 3), w, **how),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in ROWS if name != "padding out of range"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_embedding(same, name, dtype):
    # The norms are rounded at other places in half precision.
    tolerance = 1e-2 if dtype == "bfloat16" else None
    same(
        lambda m, i, w: ROWS[name](m.nn.functional, i, w), I, W.to(getattr(torch, dtype)), tolerance=tolerance
    )


def test_padding_is_one_of_the_rows():
    with pytest.raises(ValueError, match="padding_idx must be within the 5 rows of weight, got 5"):
        F.embedding(tt.tensor([1]), tt.zeros(5, 3), padding_idx=5)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("name", BAGS)
def test_bags(same, name, mode):
    same(lambda m, i, w, o: BAGS[name](m.nn.functional, i, w, o, {"mode": mode}), I, W, OFFSETS)


def test_weights_of_samples(same):
    def program(m, i, w, o):
        how = {"mode": "sum", "per_sample_weights": w[:2].reshape(-1)}
        return m.nn.functional.embedding_bag(i, w, o, **how), m.nn.functional.embedding_bag(
            i, w, o, padding_idx=2, **how
        )

    same(program, I, W, OFFSETS)
    wrong = [
        {"mode": "mean"},
        {"per_sample_weights": W[0]},
        {"per_sample_weights": W[:2].reshape(-1).double()},
    ]
    for how in wrong:
        options = {"mode": "sum", "per_sample_weights": W[:2].reshape(-1)} | how
        mode, weights = options["mode"], options["per_sample_weights"]
        same(
            lambda m, i, w, o, s, mode=mode: m.nn.functional.embedding_bag(i, w, o, mode=mode, per_sample_weights=s),
            I, W, OFFSETS, weights,
        )  # fmt: skip


def test_a_norm_changes_the_weights_in_place_unseen_by_autograd():
    weight = tt.full((3, 2), 3.0).requires_grad_()
    version = weight._version
    F.embedding(tt.tensor([1, 1]), weight, max_norm=1.0).sum().backward()
    assert weight._version > version
    assert (weight.detach()[1] ** 2).sum().item() == pytest.approx(1, abs=1e-5)
    assert weight[0].tolist() == [3.0, 3.0] and weight.grad.tolist() == [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0]]


def test_the_gradient_of_a_row_that_pads_is_zero_and_others_are_scaled_by_frequency():
    weight = tt.ones(4, 2).requires_grad_()
    F.embedding(tt.tensor([1, 3, 1, 0]), weight, padding_idx=3, scale_grad_by_freq=True).sum().backward()
    assert weight.grad[:, 0].tolist() == [1.0, 1.0, 0.0, 0.0]


def test_the_largest_of_equal_elements_alone_gets_the_gradient():
    weight = tt.zeros(3, 1).requires_grad_()
    F.embedding_bag(tt.tensor([[2, 0, 1]]), weight, mode="max").backward()
    assert weight.grad[:, 0].tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_without_bags_there_are_no_rows(mode):
    none = tt.empty(0, dtype=tt.int64)
    assert F.embedding_bag(tt.tensor([0, 1]), tt.ones(4, 3), none, mode=mode).shape == (0, 3)


def test_elements_behind_the_last_offset_belong_to_no_bag():
    weight, offsets = tt.arange(4.0).reshape(4, 1), tt.tensor([0, 2, 3])
    for mode, expected in (("sum", [1.0, 2.0]), ("mean", [0.5, 2.0]), ("max", [1.0, 2.0])):
        found = F.embedding_bag(tt.tensor([0, 1, 2, 3]), weight, offsets, mode=mode, include_last_offset=True)
        assert found[:, 0].tolist() == expected
