"""Native losses and their gradients against the composites in double precision."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tt
from tt.backends.cpu import loss as reference
from tt.backends.cpu.native.loading import load
from tt.core.errors import IndexValueError, ValueRangeError

NATIVE = load("loss")

pytestmark = pytest.mark.skipif(NATIVE is None, reason="the native kernels are not compiled")

TOLERANCE = {np.float32: 3e-6, np.float64: 1e-12}
KINDS = {"square": 0.0, "absolute": 0.0, "smooth": 0.7, "huber": 0.7, "probability": 0.0, "logit": 0.0,
         "divergence": 0.0, "log_divergence": 0.0}  # fmt: skip
REDUCTIONS = ("none", "mean", "sum")


def expected(op, *arguments):
    converted = (
        tt.from_numpy(a.astype(np.float64) if a.dtype.kind == "f" else a) if isinstance(a, np.ndarray) else a
        for a in arguments
    )
    with tt.mask_kernels(op, "nll_loss", "log_softmax", "logsumexp"):
        found = getattr(tt.ops, op)(*converted)
    return [f.numpy() for f in found] if isinstance(found, tuple) else found.numpy()


def assert_near(found, wanted, dtype):
    assert found.dtype == dtype
    assert found.shape == wanted.shape
    scale = max(1.0, float(np.abs(wanted).max(initial=0)))
    np.testing.assert_allclose(found, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * scale)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_element_by_element(dtype, kind, reduction):
    random, parameter = np.random.default_rng(0), KINDS[kind]
    for shape in ((), (3,), (70, 130), (100_000,)):
        x, t = (np.asarray(random.uniform(0.01, 0.99, shape).astype(dtype)) for _ in range(2))
        layouts = ((x, t), (x.T, t.T), (x, np.asfortranarray(t)), (x[::-1], t)) if shape else ((x, t),)
        for one, other in layouts:
            arguments = (one, other, kind, reduction, parameter)
            assert_near(NATIVE.elementwise(*arguments), expected("_elementwise_loss", *arguments), dtype)
            reduced = one.shape if reduction == "none" else ()
            grad = np.asarray(random.standard_normal(reduced).astype(dtype))
            arguments = (grad, *arguments)
            slope = NATIVE.elementwise_backward(*arguments)
            assert_near(slope, expected("_elementwise_loss_backward", *arguments), dtype)


def test_losses_at_their_ends():
    x, t = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0, 0.0])
    np.testing.assert_allclose(NATIVE.binary_cross_entropy(x, t, "none"), [0, 0, 100, 100])
    large = np.array([1000.0, -1000.0, 1000.0, -1000.0], np.float32)
    found = NATIVE.binary_cross_entropy_with_logits(large, t.astype(np.float32), "none")
    np.testing.assert_allclose(found, [1000, 1000, 0, 0])
    zero = NATIVE.elementwise(np.zeros(2), np.zeros(2), "divergence", "sum", 0.0)
    assert zero == 0
    for wrong in (1.5, -0.1, np.nan):
        with pytest.raises(ValueRangeError, match="between 0 and 1"):
            NATIVE.binary_cross_entropy(np.array([0.5, wrong]), np.zeros(2), "mean")
    same = NATIVE.elementwise_backward(np.ones(()), np.ones(2), np.ones(2), "absolute", "sum", 0.0)
    np.testing.assert_array_equal(same, [0, 0])


@pytest.mark.parametrize("shape", [(7,), (5, 7), (300, 70), (3, 7, 5), (2, 30, 9, 11), (1000, 1200)], ids=str)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_classes(dtype, shape):
    random = np.random.default_rng(0)
    classes = shape[0] if len(shape) == 1 else shape[1]
    places = shape[:1] * (len(shape) > 1) + shape[2:]
    x = np.asarray((random.standard_normal(shape) * 3).astype(dtype))
    target = np.asarray(random.integers(0, classes, places))
    weight = random.uniform(0.5, 2, classes).astype(dtype)
    options = itertools.product((None, weight), REDUCTIONS, (0.0, 0.2), (-100, 3))
    if x.size > 10**6:
        options = [(None, "mean", 0.0, -100), (weight, "mean", 0.2, 3)]
    for w, reduction, smoothing, ignored in options:
        if not places and ignored == target:
            continue
        how = (ignored, reduction, smoothing)
        loss, total = NATIVE.cross_entropy(x, target, w, *how)
        wanted = expected("_cross_entropy", x, target, w, *how)
        assert_near(loss, wanted[0], dtype)
        assert_near(total, wanted[1], dtype)
        grad = np.asarray(random.standard_normal(places if reduction == "none" else ()).astype(dtype))
        arguments = (grad, x, target, w, total, *how)
        slope = NATIVE.cross_entropy_backward(*arguments)
        assert_near(slope, expected("_cross_entropy_backward", *arguments), dtype)


def test_classes_of_other_layouts_and_dtypes():
    x = np.random.default_rng(0).standard_normal((6, 9)).astype(np.float32)
    target = np.arange(9) % 6
    for t in (target, target.astype(np.uint8), np.repeat(target, 2)[::2]):
        loss, _ = NATIVE.cross_entropy(x.T, t, None, -100, "mean", 0.0)
        assert_near(
            loss, expected("_cross_entropy", x.T.copy(), target, None, -100, "mean", 0.0)[0], np.float32
        )


def test_infinite_scores_and_ignored_targets():
    inf = np.inf
    x = np.array([[0.0, -inf, 0.0], [inf, 0.0, 0.0], [0.0, 1000.0, -1000.0]])
    target = np.array([0, 0, 1])
    loss, total = NATIVE.cross_entropy(x, target, None, -100, "none", 0.0)
    np.testing.assert_allclose(loss, [np.log(2), np.nan, 0])
    slope = NATIVE.cross_entropy_backward(np.ones(3), x, target, None, total, -100, "none", 0.0)
    np.testing.assert_allclose(slope[0], [-0.5, 0, 0.5])
    everything = NATIVE.cross_entropy(x, np.full(3, 1), None, 1, "mean", 0.0)[0]
    assert np.isnan(everything)
    ignored = NATIVE.cross_entropy_backward(np.ones(3), x, target, None, total, 0, "none", 0.0)
    np.testing.assert_array_equal(ignored[:2], 0)


def test_every_form_says_what_is_unknown_also_where_the_gradient_of_the_loss_is_zero():
    inf = np.inf
    x = np.array([[-inf, -inf, -inf], [0.0, 1.0, 2.0], [inf, 0.0, 0.0]])
    target, grad = np.array([0, 1, -100]), np.zeros(3)
    total = np.array([np.nan, np.log(np.exp(x[1]).sum()), np.nan])
    args = (grad, x, target, None, total, -100, "none", 0.0)
    composed = expected("_cross_entropy_backward", *args)
    for found in (NATIVE.cross_entropy_backward(*args), reference.cross_entropy_backward(*args), composed):
        assert np.isnan(found[0]).all()
        np.testing.assert_array_equal(found[1:], 0)


def test_results_do_not_depend_on_the_number_of_threads():
    threads = load("threads")
    before = threads.get_num_threads()
    random = np.random.default_rng(0)
    x, t = (random.standard_normal((700, 300)).astype(np.float32) for _ in range(2))
    target = random.integers(0, 300, 700)
    try:
        found = []
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            loss, total = NATIVE.cross_entropy(x, target, None, -100, "mean", 0.1)
            results = (
                loss,
                total,
                NATIVE.cross_entropy_backward(loss, x, target, None, total, -100, "mean", 0.1),
                NATIVE.elementwise(x, t, "square", "mean", 0.0),
                NATIVE.elementwise_backward(loss, x, t, "square", "mean", 0.0),
            )
            found.append([result.tobytes() for result in results])
        assert found[0] == found[1] == found[2]
    finally:
        threads.set_num_threads(before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("shape", [(7,), (1, 3), (20, 10), (20_000, 5), (300_000, 2), (0, 3)], ids=str)
def test_the_likelihood_of_classes(shape, reduction, dtype):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(dtype)
    target = np.asarray(rng.integers(0, shape[-1], shape[:-1]))
    weight = rng.random(shape[-1]).astype(dtype)
    for ignored in (-100, 1):
        for by_class in (None, weight):
            for layout in (x, np.asfortranarray(x), np.repeat(x, 2, -1)[..., ::2]):
                found = NATIVE.nll_loss(layout, target, by_class, ignored, reduction)
                with np.errstate(all="ignore"):
                    wanted = reference.nll_loss(
                        x.astype(np.float64),
                        target,
                        None if by_class is None else weight.astype(np.float64),
                        ignored,
                        reduction,
                    )
                assert found.dtype == dtype and found.shape == np.shape(wanted)
                np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-6)
    np.testing.assert_array_equal(NATIVE.nll_loss(x, target), NATIVE.nll_loss(x, target, None, -100, "mean"))


def test_what_the_likelihood_of_classes_leaves_to_others():
    x = np.zeros((4, 3), np.float32)
    with pytest.raises(IndexValueError, match="Target 3 is out of bounds"):
        NATIVE.nll_loss(x, np.array([0, 1, 3, -1]))
    with pytest.raises(IndexValueError, match="Target -2 is out of bounds"):
        NATIVE.nll_loss(x, np.array([0, 1, 2, -2]), None, 2, "none")
    assert NATIVE.nll_loss(x, np.zeros(4, np.uint8)) == 0
    assert NATIVE.nll_loss(np.zeros((4, 3, 2), np.float32), np.zeros((4, 2), int)) == 0
    with pytest.raises(ValueError, match="shape rule"):
        NATIVE.nll_loss(x, np.zeros(5, int))
    with pytest.raises(ValueError, match="reduction"):
        NATIVE.nll_loss(x, np.zeros(4, int), None, -100, "median")


def test_what_is_wrong_is_refused():
    x, t = np.zeros((2, 3), np.float32), np.zeros(2, np.int64)
    with pytest.raises(IndexValueError, match="Target 3 is out of bounds"):
        NATIVE.cross_entropy(x, t + 3, None, -100, "mean", 0.0)
    with pytest.raises(ValueError, match="sizes"):
        NATIVE.cross_entropy(x, t[:1], None, -100, "mean", 0.0)
    with pytest.raises(ValueError, match="reduction"):
        NATIVE.cross_entropy(x, t, None, -100, "max", 0.0)
    with pytest.raises(ValueError, match="sizes"):
        NATIVE.elementwise(x, x.T, "square", "mean", 0.0)
    with pytest.raises(ValueError, match="sizes"):
        NATIVE.elementwise(x, x, "cube", "mean", 0.0)
    with pytest.raises(TypeError, match="int64"):
        NATIVE.elementwise(t, t, "square", "mean", 0.0)
