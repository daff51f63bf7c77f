"""Losses and their gradients in CUDA C++, run on the host behind the shim, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.cases import BFLOAT16, FLOATS, Case, check, kernels_of, launched, rows, strided
from tt.backends.cuda.loss.losses import KINDS, PROGRAM, tables
from tt.core.errors import DtypeError, IndexValueError, ValueRangeError

IGNORED = -100

# --- references ------------------------------------------------------------------------------------------------


def spread(x, target, weight):
    """Return scores with the classes last, targets in the classes, and the weight of each target."""
    x = x.astype(np.longdouble)  # in float64 the losses of scores far from 0 are less exact than the kernel's
    x = np.moveaxis(x, 1, -1) if x.ndim > 1 else x
    weight = np.ones(x.shape[-1]) if weight is None else weight
    safe = np.where(target == IGNORED, 0, target.astype(np.int64))
    return x, safe, np.where(target == IGNORED, 0.0, weight[safe]), weight


def reduced(loss, weights, reduction):
    if reduction == "none":
        return loss
    return loss.sum() / (weights.sum() if reduction == "mean" else 1.0)


def nll_loss(x, target, weight, ignored, reduction):
    x, safe, weights, _ = spread(x, target, weight)
    picked = np.take_along_axis(x, safe[..., None], -1)[..., 0]
    return reduced(np.where(target == ignored, 0.0, -picked * weights), weights, reduction)


def cross_entropy(x, target, weight, ignored, reduction, smoothing):
    x, safe, weights, weight = spread(x, target, weight)
    top = x.max(-1, keepdims=True)
    lse = (top + np.log(np.exp(x - top).sum(-1, keepdims=True)))[..., 0]
    picked = np.take_along_axis(x, safe[..., None], -1)[..., 0]
    smooth = (weight * (lse[..., None] - x)).sum(-1)
    loss = (1 - smoothing) * weights * (lse - picked) + smoothing / x.shape[-1] * smooth
    return reduced(np.where(target == ignored, 0.0, loss), weights, reduction), lse


def cross_entropy_backward(g, x, target, weight, lse, ignored, reduction, smoothing):
    whole, ndim = x, x.ndim
    x, safe, weights, weight = spread(x, target, weight)
    g = np.broadcast_to(g / weights.sum() if reduction == "mean" else g, target.shape)[..., None]
    own, even = (1 - smoothing) * weights[..., None] * g, smoothing / x.shape[-1] * g
    p = np.exp(x - lse[..., None])
    one = np.arange(x.shape[-1]) == safe[..., None]
    found = np.where(
        (target == ignored)[..., None], 0.0, p * (own + even * weight.sum()) - even * weight - own * one
    )
    return np.moveaxis(found, -1, 1) if ndim > 1 else found.reshape(whole.shape)


VALUES = {
    "square": lambda x, t, p: (x - t) ** 2,
    "absolute": lambda x, t, p: np.abs(x - t),
    "smooth": lambda x, t, p: np.where(np.abs(x - t) < p, 0.5 * (x - t) ** 2 / p, np.abs(x - t) - 0.5 * p),
    "huber": lambda x, t, p: np.where(np.abs(x - t) <= p, 0.5 * (x - t) ** 2, p * (np.abs(x - t) - 0.5 * p)),
    "probability": lambda x, t, p: (
        -(t * np.maximum(np.log(x), -100) + (1 - t) * np.maximum(np.log1p(-x), -100))
    ),
    "logit": lambda x, t, p: (1 - t) * x + np.log1p(np.exp(-np.abs(x))) + np.maximum(-x, 0),
    "divergence": lambda x, t, p: t * (np.log(t) - x),
    "log_divergence": lambda x, t, p: np.exp(t) * (t - x),
}
SLOPES = {
    "square": lambda x, t, p: 2 * (x - t),
    "absolute": lambda x, t, p: np.sign(x - t),
    "smooth": lambda x, t, p: np.where(np.abs(x - t) < p, (x - t) / p, np.sign(x - t)),
    "huber": lambda x, t, p: np.clip(x - t, -p, p),
    "probability": lambda x, t, p: (x - t) / np.maximum(x * (1 - x), 1e-12),
    "logit": lambda x, t, p: 1 / (1 + np.exp(-x)) - t,
    "divergence": lambda x, t, p: -t,
    "log_divergence": lambda x, t, p: -np.exp(t),
}


def element(x, t, kind, reduction, p):
    return reduced(VALUES[kind](x, t, p), np.asarray(float(x.size)), reduction)


def element_backward(g, x, t, kind, reduction, p):
    return g * SLOPES[kind](x, t, p) / (x.size if reduction == "mean" else 1)


# --- cases -----------------------------------------------------------------------------------------------------


def targets(shape, classes, ignored=True, dtype=np.int64):
    found = np.asarray(np.random.default_rng(7).integers(0, classes, shape)).astype(dtype)
    if ignored and found.size > 2:
        found.reshape(-1)[::5] = IGNORED
    return found


def class_cases(dtype):
    for shape in ((7, 10), (3, 1000), (2, 4097), (5, 33, 3), (2, 5, 4, 9), (200, 3)):
        x, t = rows(shape, dtype, scale=3), targets((shape[0], *shape[2:]), shape[1])
        w = np.abs(rows(shape[1:2], dtype, 1)) + np.asarray(0.5, dtype)
        for reduction in ("mean", "sum", "none"):
            each = t.shape if reduction == "none" else ()
            g, lse = (
                rows(each, dtype, 3),
                cross_entropy(x.astype("f8"), t, None, IGNORED, "sum", 0.0)[1].astype(dtype),
            )
            for weight, smoothing in ((None, 0.0), (w, 0.0), (w, 0.1), (None, 0.2)):
                if reduction != "mean" and (weight is None) != (smoothing == 0.0):
                    continue
                name = f"{reduction}{'' if weight is None else ' weighted'}{' smooth' if smoothing else ''}"
                args = (weight, IGNORED, reduction, smoothing)
                yield Case("_cross_entropy", (x, t, *args), cross_entropy, name, 32)
                yield Case(
                    "_cross_entropy_backward",
                    (g, x, t, weight, lse, *args[1:]),
                    cross_entropy_backward,
                    name,
                    64,
                )
                if not smoothing:
                    yield Case("nll_loss", (x, t, *args[:-1]), nll_loss, name, 32)
    x, t = rows((9, 4), dtype), targets((9,), 4, False, np.uint8)
    yield Case("_cross_entropy", (strided(x), t, None, IGNORED, "mean", 0.0), cross_entropy, "uint8", 32)
    yield Case("nll_loss", (rows((4,), dtype), targets((), 4), None, IGNORED, "mean"), nll_loss, "one", 32)
    yield Case(
        "nll_loss", (rows((0, 4), dtype), targets((0,), 4), None, IGNORED, "sum"), nll_loss, "no targets", 32
    )
    far = rows((3, 40), dtype, scale=3, offset=1e4)
    yield Case(
        "_cross_entropy", (far, targets((3,), 40, False), None, IGNORED, "none", 0.1), cross_entropy, "far", 8
    )


def element_cases(dtype, kinds=tuple(KINDS)):
    for kind in kinds:
        if kind in ("probability", "divergence"):
            x, t = (1 / (1 + np.exp(-rows((3, 333), "f8", seed))) for seed in (0, 1))
        else:
            x, t = rows((3, 333), "f8"), rows((3, 333), "f8", 1)
        x, t = x.astype(dtype), t.astype(dtype)
        for reduction in ("mean", "sum", "none"):
            rest = (kind, reduction, 0.7)
            g = rows(x.shape if reduction == "none" else (), dtype, 2)
            yield Case("_elementwise_loss", (x, t, *rest), element, f"{kind} {reduction}", 32)
            yield Case(
                "_elementwise_loss_backward", (g, x, t, *rest), element_backward, f"{kind} {reduction}", 32
            )
    x, t = rows((2, 8), dtype), rows((2, 8), dtype, 1)
    yield Case("_elementwise_loss", (strided(x), t, "square", "none", 0.0), element, "vectors", 32)
    yield Case(
        "_elementwise_loss_backward",
        (strided(t), x, t, "square", "none", 0.0),
        element_backward,
        "vectors",
        32,
    )
    yield Case(
        "binary_cross_entropy_with_logits",
        (x, t, "mean"),
        lambda x, t, r: element(x, t, "logit", r, 0.0),
        "logits",
        32,
    )


CASES = [
    *[c for c in class_cases(np.float32) if c.args[0].shape not in ((200, 3), (2, 4097)) or c.name == "mean"],
    *[c for c in class_cases(BFLOAT16) if c.name == "mean" and c.op != "nll_loss"],
    *element_cases(np.float32),
]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_kernels_agree_with_numpy(kernels, case):
    check(kernels, case)


@pytest.mark.parametrize("wrong", [4, -1])
def test_a_target_that_is_no_class_is_noted(kernels, wrong):
    x, t = rows((3, 4), "f4"), np.array([1, wrong, 2])
    with pytest.raises(IndexValueError, match=rf"^Target {wrong} is out of bounds\.$"):
        check(kernels, Case("_cross_entropy", (x, t, None, IGNORED, "mean", 0.0), cross_entropy))
    with pytest.raises(IndexValueError, match=rf"^Target {wrong} is out of bounds\.$"):
        check(kernels, Case("nll_loss", (x, t, None, IGNORED, "none"), nll_loss))


def test_what_is_no_probability_is_noted(kernels):
    x = np.array([0.5, 1.5], np.float32)
    with pytest.raises(
        ValueRangeError, match=r"^binary_cross_entropy\(\): all elements of input should be between 0 and 1$"
    ):
        check(kernels, Case("binary_cross_entropy", (x, x, "mean"), None))


def test_what_does_not_fit_is_refused(kernels):
    x, t = rows((3, 4), "f4"), targets((3,), 4)
    with pytest.raises(ValueError, match="fit"):
        check(kernels, Case("nll_loss", (x, t[:2], None, IGNORED, "mean"), nll_loss))
    with pytest.raises(ValueError, match="not a valid value for reduction"):
        check(kernels, Case("nll_loss", (x, t, None, IGNORED, "all"), nll_loss))
    with pytest.raises(DtypeError, match="Long or Byte"):
        check(kernels, Case("nll_loss", (x, t.astype("i4"), None, IGNORED, "mean"), nll_loss))
    with pytest.raises(ValueError, match="fit"):
        check(kernels, Case("_elementwise_loss", (x, x, "cubic", "mean", 0.0), element))


@pytest.mark.cupy
def test_kernels_compile_for_a_gpu(nvrtc):
    names = [kernel.name for kernel in launched(tables, CASES)][::9]
    assert set(nvrtc.compile_source(PROGRAM.source, names, "sm_90").names) == set(names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda t: t.name)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_all_kernels_compile_for_gpus(nvrtc, arch, dtype):
    names = [k.name for k in launched(tables, [*class_cases(dtype), *element_cases(dtype)])]
    assert set(nvrtc.compile_source(PROGRAM.source, names, arch).names) == set(names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda t: t.name)
def test_all_dtypes_agree_with_numpy(host_engine, dtype):
    everything = [*class_cases(dtype), *element_cases(dtype)]
    host_engine.prepare(launched(tables, everything))
    for case in everything:
        check(kernels_of(tables, host_engine), case)
