"""Losses of classes against their formulas in NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tt
from tt import nn

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4))
LOG = X - np.log(np.exp(X).sum(1, keepdims=True))
TARGET = np.array([2, 0, 3])
WEIGHT = np.array([1.0, 2.0, 3.0, 4.0])


def value(loss, *args):
    return loss(*(tt.tensor(a) for a in args)).item()


def test_the_logarithm_at_the_right_class():
    picked = -LOG[range(3), TARGET]
    assert value(nn.CrossEntropyLoss(), X, TARGET) == pytest.approx(picked.mean())
    assert value(nn.NLLLoss(), LOG, TARGET) == pytest.approx(picked.mean())
    mean = (picked * WEIGHT[TARGET]).sum() / WEIGHT[TARGET].sum()
    assert value(nn.NLLLoss(weight=tt.tensor(WEIGHT)), LOG, TARGET) == pytest.approx(mean)
    assert value(nn.CrossEntropyLoss(ignore_index=0), X, TARGET) == pytest.approx(picked[[0, 2]].mean())


def test_smoothed_labels_and_probabilities():
    smooth = 0.9 * -LOG[range(3), TARGET] + 0.1 * -LOG.mean(1)
    assert value(nn.CrossEntropyLoss(label_smoothing=0.1), X, TARGET) == pytest.approx(smooth.mean())
    share = RNG.dirichlet(np.ones(4), 3)
    assert value(nn.CrossEntropyLoss(), X, share) == pytest.approx(-(share * LOG).sum(1).mean())


def test_margins():
    gaps = np.maximum(0, 1 - X[range(3), TARGET][:, None] + X)
    gaps[range(3), TARGET] = 0
    assert value(nn.MultiMarginLoss(), X, TARGET) == pytest.approx((gaps.sum(1) / 4).mean())
    assert value(nn.MultiMarginLoss(p=2), X, TARGET) == pytest.approx(((gaps**2).sum(1) / 4).mean())
    x = np.array([[0.1, 0.2, 0.4, 0.8]])  # classes 3 and 0, then the end
    expected = (0.25 + 0.65 + 0.45 + 0.85 + 0 + 0) / 4
    found = sum(max(0, 1 - (x[0, t] - x[0, i])) for t in (3, 0) for i in (1, 2)) / 4
    assert value(nn.MultiLabelMarginLoss(), x, np.array([[3, 0, -1, 1]])) == pytest.approx(found)
    assert found == pytest.approx(0.85) and expected == pytest.approx(0.55)


def test_classes_by_themselves():
    y = np.array([[1.0, 0.0, 1.0, 1.0]] * 3)
    p = 1 / (1 + np.exp(-X))
    expected = -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean()
    assert value(nn.MultiLabelSoftMarginLoss(), X, y) == pytest.approx(expected)


def test_ctc_adds_the_probabilities_of_all_alignments():
    steps, classes = 4, 3
    log = np.log(RNG.dirichlet(np.ones(classes), (steps, 1)))
    target = (1, 2)

    def collapsed(path):
        return tuple(c for c, _ in itertools.groupby(path) if c)

    total = sum(
        np.exp(sum(log[t, 0, c] for t, c in enumerate(path)))
        for path in itertools.product(range(classes), repeat=steps)
        if collapsed(path) == target
    )
    loss = nn.CTCLoss(reduction="sum")(
        tt.tensor(log), tt.tensor([target]), tt.tensor([steps]), tt.tensor([2])
    )
    assert float(loss) == pytest.approx(-np.log(total))
    short = (tt.tensor(log[:1]), tt.tensor([target]), tt.tensor([1]), tt.tensor([2]))
    assert float(nn.CTCLoss()(*short)) == float("inf") and float(nn.CTCLoss(zero_infinity=True)(*short)) == 0


def test_a_linear_layer_before_the_loss():
    loss = nn.LinearCrossEntropyLoss(5, 4, bias=True, label_smoothing=0.1).double()
    x = RNG.standard_normal((3, 5))
    scores = loss.linear(tt.tensor(x))
    expected = nn.CrossEntropyLoss(label_smoothing=0.1)(scores, tt.tensor(TARGET))
    assert value(loss, x, TARGET) == pytest.approx(expected.item())
    assert list(loss.state_dict()) == ["linear.weight", "linear.bias"]


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="p == 1"):
        nn.MultiMarginLoss(p=3)
    with pytest.raises(RuntimeError, match="share one dtype"):
        nn.NLLLoss(weight=tt.ones(4, dtype=tt.float16))(tt.tensor(LOG), tt.tensor(TARGET))
    with pytest.raises(RuntimeError, match="weight shape"):
        nn.LinearCrossEntropyLoss(5, 4, weight=tt.ones(3))
    with pytest.raises(RuntimeError, match="label_smoothing"):
        nn.LinearCrossEntropyLoss(5, 4, label_smoothing=2.0)
    with pytest.raises(IndexError):
        nn.CrossEntropyLoss()(tt.tensor(X), tt.tensor([0, 1, 4]))
    with pytest.raises(RuntimeError, match=r"\[4\]"):
        nn.CrossEntropyLoss(weight=tt.ones(1))(tt.zeros(3, 4), tt.ones(3, 4))
    with pytest.warns(FutureWarning, match="NLLLoss2d"):
        nn.NLLLoss2d()
