"""Loss functions, against PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tt
import tt.nn.functional as F
from tt.backends.cpu import loss as loss_kernels

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

DTYPES = ["float32", "float64", "bfloat16", "int64", "complex64"]
X = torch.tensor([[0.5, -1.0, 2.0], [3.0, 0.0, -0.25]])
Y = torch.tensor([[0.25, 1.0, 2.0], [-1.0, 4.0, 0.0]])
P = torch.tensor([[0.5, 0.1, 0.9], [0.0, 1.0, 0.75]])
SIGNS = torch.tensor([[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]])
LEGACY = [{"size_average": False}, {"reduce": False}, {"size_average": True, "reduce": True}]
REDUCTIONS = [{"reduction": r} for r in ("mean", "sum", "none", "other")] + LEGACY


@pytest.mark.filterwarnings("ignore:.*size_average")
@pytest.mark.parametrize("reduction", REDUCTIONS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_losses_of_differences(same, dtype, reduction):
    x, y = X.to(getattr(torch, dtype)), Y.to(getattr(torch, dtype))
    tolerance = 2e-2 if dtype == "bfloat16" else 1e-6
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss"):
        same(
            lambda m, x, y, n=name: getattr(m.nn.functional, n)(x, y, **reduction), x, y, tolerance=tolerance
        )
    if "reduction" in reduction:
        same(lambda m, x, y: m.nn.functional.huber_loss(x, y, **reduction), x, y, tolerance=tolerance)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_weighted_losses_of_differences(same, reduction):
    for name in ("mse_loss", "l1_loss", "huber_loss"):
        for weight in (P + 1, P[0]):
            same(
                lambda m, x, y, w, n=name: getattr(m.nn.functional, n)(x, y, reduction=reduction, weight=w),
                X, Y, weight,
            )  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*size_average")
@pytest.mark.parametrize("reduction", REDUCTIONS, ids=str)
def test_losses_of_probabilities(same, reduction):
    for weight in (None, P, P[0], P[:, :2]):
        same(
            lambda m, p, y, w: m.nn.functional.binary_cross_entropy(p, y, w, **reduction),
            P,
            P.flip(0),
            weight,
        )
        for pos in (None, P[0] + 1):
            same(
                lambda m, x, y, w, p: m.nn.functional.binary_cross_entropy_with_logits(
                    x, y, w, pos_weight=p, **reduction
                ),
                100 * X, P, weight, pos,
            )  # fmt: skip
    for log_target in (False, True):
        same(lambda m, x, p, t=log_target: m.nn.functional.kl_div(x, p, log_target=t, **reduction), X, P)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
def test_scores_without_a_batch_take_a_target_of_one_element(name, reduction):
    loss, weight = getattr(tt.nn.functional, name), tt.tensor([1.0, 2.0, 3.0])
    found = []
    for target in (tt.tensor([1]), tt.tensor(1)):
        scores = tt.tensor([0.1, 0.2, 0.3], requires_grad=True)
        one = loss(scores, target, weight, reduction=reduction)
        found.append((one.shape, one.item(), tt.autograd.grad(one, scores)[0].tolist()))
    assert found[0] == found[1] and found[0][0] == ()
    expected = getattr(torch.nn.functional, name)(
        torch.tensor([0.1, 0.2, 0.3]), torch.tensor([1]), torch.tensor(weight.tolist()), reduction=reduction
    )
    assert found[0][1] == pytest.approx(expected.item())
    for wrong in ([1, 2], []):
        with pytest.raises(ValueError, match=r"needs a target of shape \[\] or \[1\]"):
            loss(scores, tt.tensor(wrong, dtype=tt.int64))


def test_what_is_no_probability_is_refused():
    for x in (1.5, -0.1, math.nan):
        with pytest.raises(RuntimeError, match="between 0 and 1"):
            F.binary_cross_entropy(tt.tensor([x]), tt.tensor([1.0]))


def test_the_gradient_of_a_certain_mistake_is_finite():
    x = tt.tensor([0.0, 1.0], requires_grad=True)
    y = torch.tensor([0.0, 1.0], requires_grad=True)
    mine = tt.autograd.grad(F.binary_cross_entropy(x, tt.tensor([1.0, 0.0])), x)[0]
    theirs = torch.autograd.grad(torch.nn.functional.binary_cross_entropy(y, torch.tensor([1.0, 0.0])), y)[0]
    assert mine.tolist() == pytest.approx(theirs.tolist())


def test_large_scores_do_not_overflow():
    x = tt.tensor([1e4, -1e4], requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(x, tt.tensor([0.0, 1.0]), reduction="sum")
    assert loss.item() == 2e4
    assert tt.autograd.grad(loss, x)[0].tolist() == [1.0, -1.0]
    assert F.soft_margin_loss(x, tt.tensor([-1.0, -1.0]), reduction="sum").item() == 1e4


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 3.0]])
def test_the_mean_of_ignored_targets_is_no_number_but_leaves_no_gradient(weight, smoothing):
    x = tt.tensor([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]], requires_grad=True)
    ignored = tt.tensor([-100, -100])
    w = weight and tt.tensor(weight)
    for loss in (
        F.cross_entropy(x, ignored, w, label_smoothing=smoothing),
        F.nll_loss(F.log_softmax(x, 1), ignored, w),
    ):
        x.grad = None
        loss.backward()
        assert math.isnan(loss.item())
        assert x.grad.tolist() == [[0.0] * 3] * 2


def test_kl_div_by_batch(same):
    same(lambda m, x, p: m.nn.functional.kl_div(x, p, reduction="batchmean"), X, P)
    same(lambda m, x, p: m.nn.functional.kl_div(x[0, 0], p[0, 0], reduction="batchmean"), X, P)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_with_a_margin(same, reduction):
    how = {"reduction": reduction}
    same(lambda m, x, t: m.nn.functional.soft_margin_loss(x, t, **how), X, SIGNS)
    same(lambda m, x, t: m.nn.functional.hinge_embedding_loss(x, t, 1.5, **how), X, SIGNS)
    same(lambda m, x, y, t: m.nn.functional.margin_ranking_loss(x, y, t, 0.5, **how), X, Y, SIGNS)
    same(lambda m, x, y, t: m.nn.functional.triplet_margin_loss(x, y, t, **how), X, Y, P, tolerance=1e-5)
    same(lambda m, x, y, t: m.nn.functional.triplet_margin_loss(x, y, t, swap=True, p=1.0, **how), X, Y, P)
    same(lambda m, x, y, t: m.nn.functional.cosine_embedding_loss(x, y, t[:, 0], 0.1, **how), X, Y, SIGNS)
    same(lambda m, x, y: m.nn.functional.poisson_nll_loss(x, y.abs(), full=True, **how), X, Y)
    same(lambda m, x, y: m.nn.functional.poisson_nll_loss(x.abs(), y.abs(), False, **how), X, Y)
    same(lambda m, x, y, v: m.nn.functional.gaussian_nll_loss(x, y, v, full=True, **how), X, Y, P)
    same(lambda m, x, y, v: m.nn.functional.gaussian_nll_loss(x, y, v[:, 0], **how), X, Y, P)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, x, t: f.nll_loss(x, t, None, None, 0),
        lambda f, x, t: f.nll_loss(x, t, None, False),
        lambda f, x, t: f.nll_loss(x, t, None, None, -100, False),
        lambda f, x, t: f.cross_entropy(x, t, None, None, 0, None, "sum", 0.1),
        lambda f, x, t: f.cross_entropy(x, t, None, False),
        lambda f, x, t: f.cross_entropy(x, t, reduce=False),
        lambda f, x, t: f.cross_entropy(x, x.softmax(1), ignore_index=1),
        lambda f, x, t: f.cross_entropy(x, x.long()),
        lambda f, x, t: f.cross_entropy(x, t.int()),
        lambda f, x, t: f.cross_entropy(x[:0], t[:0]),
        lambda f, x, t: f.cross_entropy(x, t * 0 - 100),
        lambda f, x, t: f.cross_entropy(x, t + 2),
        lambda f, x, t: f.cross_entropy(x[0], t[0]),
    ],
)
@pytest.mark.filterwarnings("ignore:.*size_average")
def test_arguments_of_the_losses_of_classes(same, call):
    same(lambda m, x, t: call(m.nn.functional, x, t), X, torch.tensor([2, 0]))


def test_the_old_bools_warn_and_decide():
    with pytest.warns(UserWarning, match="reduction='sum'"):
        assert F.l1_loss(tt.ones(2), tt.zeros(2), size_average=False).item() == 2


def test_an_infinite_variance_is_an_infinite_loss():
    ones = tt.ones(2)
    assert tt.nn.functional.gaussian_nll_loss(
        ones, ones, tt.full((2,), float("inf")), reduction="sum"
    ).item() == float("inf")


@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_the_gradient_of_infinite_scores_is_as_unknown_as_their_loss(same, reduction):
    inf = math.inf
    scores = torch.tensor([[0.5, inf, 0.0], [-inf, -inf, -inf], [1.0, -inf, 2.0], [inf, inf, 1.0]])

    def gradient(m, x, classes):
        x = x.clone().requires_grad_()
        loss = m.nn.functional.cross_entropy(x, classes, reduction=reduction)
        (given,) = m.autograd.grad(loss.sum(), x)
        return loss.detach(), given

    same(gradient, scores, torch.tensor([0, 1, 2, 0]))


def test_numpys_kernel_has_no_gradient_of_infinite_scores_either():
    scores = np.array([[0.5, math.inf, 0.0], [-math.inf] * 3, [1.0, -math.inf, 2.0]])
    classes, options = np.array([0, 1, 2]), (-100, "none", 0.0)
    with np.errstate(invalid="ignore"):
        loss, total = loss_kernels.cross_entropy(scores, classes, None, *options)
        slope = loss_kernels.cross_entropy_backward(np.ones(3), scores, classes, None, total, *options)
    assert np.isnan(loss[:2]).all() and np.isnan(slope[:2]).all() and np.isfinite(slope[2]).all()


def test_infinite_gradients_do_not_count_outside_of_an_image(same):
    def gradient(m, x, grid):
        x = x.clone().requires_grad_()
        result = m.nn.functional.grid_sample(x, grid, align_corners=False)
        return m.autograd.grad(result, x, m.full_like(result, math.inf))[0]

    same(gradient, torch.ones(1, 1, 2, 2), torch.tensor([[[[-1.0, -0.4], [1.75, 0.25]]]]))


def test_a_score_of_infinity_is_the_only_one_of_an_empty_target():
    x = tt.tensor([[[math.inf, 0.5, -math.inf]]])
    with_kernels = F.ctc_loss(x, tt.tensor([[1]]), (1,), (0,), reduction="none")
    with tt.mask_kernels("@non-core"):
        composed = F.ctc_loss(x, tt.tensor([[1]]), (1,), (0,), reduction="none")
    assert with_kernels.tolist() == composed.tolist() == [-math.inf]
