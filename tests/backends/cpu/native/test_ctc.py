"""Native losses of sequences: against the sum over every alignment, the composite, and PyTorch."""

from __future__ import annotations

from itertools import groupby, product
from typing import Any

import numpy as np
import pytest

import tt
import tt.nn.functional as F
from tt.backends.cpu.native.loading import load, status
from tt.core.errors import PlaceError

NATIVE = load("ctc")

native = pytest.mark.skipif(NATIVE is None, reason=f"native kernels are not in use: {status().reason}")


def every_alignment(log_probs: Any, target: list[int], blank: int) -> float:
    """Return the negative logarithm of the probability of all ways to write a target."""
    total = 0.0
    steps, classes = log_probs.shape
    for way in product(range(classes), repeat=steps):
        if [label for label, _ in groupby(way) if label != blank] == target:
            total += np.exp(sum(log_probs[t, label] for t, label in enumerate(way)))
    return -np.log(total) if total else np.inf


@pytest.mark.parametrize("target", [[], [1], [1, 1], [2, 1], [1, 2, 1], [1, 1, 1]])
@pytest.mark.parametrize("blank", [0, 2])
def test_all_alignments_count(target: list[int], blank: int) -> None:
    target = [(label - 1 if label <= blank else label) if blank else label for label in target]
    scores = np.random.default_rng(0).standard_normal((4, 3))
    log_probs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    args = (tt.tensor(log_probs), tt.tensor(target, dtype=tt.int64), (4,), (len(target),), blank, "sum")
    assert F.ctc_loss(*args).item() == pytest.approx(every_alignment(log_probs, target, blank))


@native
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_native_kernels_agree_with_the_composites(zero_infinity: bool, dtype: Any) -> None:
    from tt.operators.loss.ctc import backward, forward

    rng = np.random.default_rng(0)
    for steps, batch, classes, length in ((9, 4, 5, 3), (1, 2, 3, 1), (12, 1, 2, 6), (5, 3, 4, 0)):
        x = (
            tt.tensor(rng.standard_normal((batch, steps, classes)).astype(dtype))
            .log_softmax(-1)
            .transpose(0, 1)
        )
        targets = tt.tensor(rng.integers(1, classes, (batch, length)))
        lengths = [tuple(map(int, rng.integers(0, most + 1, batch))) for most in (steps, length)]
        args = (x, targets, *lengths, 0, zero_infinity)
        found, expected = tt.ops._ctc_loss(*args), forward(*args)
        more = (*found, 0, zero_infinity)
        grad = tt.tensor(rng.standard_normal(batch).astype(dtype))
        pairs = [*zip(found, expected, strict=True)]
        pairs.append((tt.ops._ctc_loss_backward(grad, *args[:4], *more), backward(grad, *args[:4], *more)))
        for one, other in pairs:
            tolerance = 1e-5 if dtype is np.float32 else 1e-12
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=tolerance, atol=tolerance)


@native
def test_what_does_not_fit_is_refused() -> None:
    x, targets = np.zeros((3, 2, 4)), np.ones((2, 2), np.int64)
    good = (x, targets, (3, 3), (2, 2), 0, False)
    loss, alpha = NATIVE._ctc_loss(*good)
    for at, wrong in (
        (0, x[0]), (0, x.astype(np.float16)), (1, targets[:1]), (1, targets.astype(np.int32)), (2, (3,)), (2, (4, 3)),
        (3, (3, 2)), (3, (-1, 2)), (4, 4), (4, -1), (2, None),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"the (arguments|sizes)"):
            NATIVE._ctc_loss(*good[:at], wrong, *good[at + 1 :])
    with pytest.raises(IndexError):
        NATIVE._ctc_loss(x, targets + 3, *good[2:])
    for grad, one, states in ((loss[:1], loss, alpha), (loss, loss[:1], alpha), (loss, loss, alpha[:, :2])):
        with pytest.raises(ValueError, match="the arguments"):
            NATIVE._ctc_loss_backward(grad, *good[:4], one, states, 0, False)


@pytest.mark.parametrize("label", [-1, 4, 2**40])
def test_a_target_that_is_no_class_is_named(label: int) -> None:
    x, lengths = tt.zeros(3, 2, 4), (3, 3)
    targets = tt.tensor([[1, label], [1, 2]])
    with pytest.raises(PlaceError, match=rf"ctc_loss\(\): the target {label} is not one of 4 classes"):
        F.ctc_loss(x, targets, lengths, (2, 2))
    assert F.ctc_loss(x, targets, lengths, (1, 2)).isfinite()  # what is behind a target may be anything
    assert tt.ops._ctc_loss(x, targets, lengths, (1, 2), 0, False)[0].isfinite().all()


@pytest.mark.torch
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_losses_and_gradients_are_those_of_torch(zero_infinity: bool, reduction: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for _ in range(20):
        steps, batch, classes, length = (int(rng.integers(1, most)) for most in (12, 5, 6, 6))
        classes += 1
        array, blank = rng.standard_normal((steps, batch, classes)), int(rng.integers(0, classes))
        targets = rng.integers(0, classes - 1, (batch, length))
        targets += targets >= blank
        lengths = [rng.integers(0, most + 1, batch) for most in (steps, length)]
        found = []
        for lib, function in ((tt, F.ctc_loss), (torch, torch.nn.functional.ctc_loss)):
            x = lib.tensor(array).requires_grad_()
            log_probs = x.log_softmax(2)
            log_probs.retain_grad()
            more = (*map(lib.tensor, (targets, *lengths)), blank, reduction, zero_infinity)
            loss = function(log_probs, *more)
            (loss * loss).sum().backward()
            found.append([loss.detach().numpy(), log_probs.grad.numpy(), x.grad.numpy()])
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)
