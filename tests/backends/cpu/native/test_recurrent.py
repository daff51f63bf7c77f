"""Recurrent layers in C: against the composite in longer precision, in every mode, order of memory and thread count."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.backends.cpu.native.loading import load
from tt.core.library import ops

NATIVE = load("recurrent")
pytestmark = pytest.mark.skipif(NATIVE is None, reason="native kernels are not compiled")

MODES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}
RANDOM = np.random.default_rng(5)


def numbers(*shape):
    return RANDOM.uniform(-0.5, 0.5, shape)


@pytest.fixture
def threads():
    before = tt.get_num_threads()
    yield tt.set_num_threads
    tt.set_num_threads(before)


def arguments(mode, steps, batch, size, hidden, out=None, sizes=None, bias=True):
    """Return the arguments of a layer in float64, without direction."""
    rows = MODES[mode] * hidden
    x = numbers(steps, batch, size) if sizes is None else numbers(sum(sizes), size)
    states = [numbers(batch, out or hidden), numbers(batch, hidden) if mode == "lstm" else None]
    biases = [numbers(rows), numbers(rows)] if bias else [None, None]
    return [
        x, *states, numbers(rows, size), numbers(rows, out or hidden), *biases,
        None if out is None else numbers(out, hidden), None if sizes is None else np.array(sizes), mode,
    ]  # fmt: skip


def cast(args, dtype):
    return [a.astype(dtype) if isinstance(a, np.ndarray) and a.dtype == float else a for a in args]


CASES = [
    ("one row", {"steps": 3, "batch": 1, "size": 2, "hidden": 3}),
    ("odd sizes", {"steps": 4, "batch": 19, "size": 7, "hidden": 33}),
    ("no bias", {"steps": 2, "batch": 9, "size": 5, "hidden": 16, "bias": False}),
    ("packed", {"steps": 5, "batch": 11, "size": 5, "hidden": 9, "sizes": [11, 11, 4, 3, 1]}),
    ("deep products", {"steps": 2, "batch": 5, "size": 300, "hidden": 150}),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "options"), CASES, ids=[name for name, _ in CASES])
@pytest.mark.parametrize("reverse", [False, True])
def test_results_are_those_of_numpys_kernels(mode, name, options, reverse):
    wide = arguments(mode, **options)
    expected = by_formula(wide, reverse)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 2e-5)):
        found = NATIVE._rnn_layer(*cast(wide, dtype), reverse)
        for a, b in zip(found[:2], expected, strict=True):
            assert a.dtype == dtype
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def by_formula(args, reverse):
    """Return output and last states by NumPy, row by row of the batch."""
    x, hx, cx, u, v, p, q, w, sizes, mode = args
    p, q = (np.zeros(len(u)) if b is None else b for b in (p, q))
    sizes = [x.shape[1]] * len(x) if sizes is None else list(sizes)
    rows, starts = x.reshape(sum(sizes), x.shape[-1]), np.cumsum([0, *sizes])
    output, last = np.zeros((len(rows), hx.shape[1])), hx.copy()
    cell = None if cx is None else cx.copy()
    for t in range(len(sizes))[:: -1 if reverse else 1]:
        b, place = sizes[t], slice(starts[t], starts[t] + sizes[t])
        own, recurrent = rows[place] @ u.T + p, last[:b] @ v.T + q
        if mode == "lstm":
            i, f, g, o = np.split(own + recurrent, 4, 1)
            cell[:b] = sigmoid(f) * cell[:b] + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(cell[:b])
            h = h if w is None else h @ w.T
        elif mode == "gru":
            (r, z, n), (r2, z2, n2) = np.split(own, 3, 1), np.split(recurrent, 3, 1)
            n = np.tanh(n + sigmoid(r + r2) * n2)
            h = n + sigmoid(z + z2) * (last[:b] - n)
        else:
            h = np.tanh(own + recurrent) if mode == "tanh" else np.maximum(own + recurrent, 0)
        output[place] = last[:b] = h
    return output.reshape(*x.shape[:-1], -1), last


@pytest.mark.parametrize("mode", ["lstm"])
@pytest.mark.parametrize("sizes", [None, [6, 4, 4]])
def test_projections(mode, sizes):
    wide = arguments(mode, 3, 6, 4, 9, out=5, sizes=sizes)
    for reverse in (False, True):
        found = NATIVE._rnn_layer(*wide, reverse)
        for a, b in zip(found[:2], by_formula(wide, reverse), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def loss(args, reverse, weights):
    output, h, c, saved = NATIVE._rnn_layer(*args, reverse)
    return sum((r * w).sum() for r, w in zip((output, h, c, saved), weights, strict=True))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("out", [None, 2])
def test_gradients_are_finite_differences(mode, packed, reverse, out):
    out = out if mode == "lstm" else None
    args = arguments(mode, 3, 3, 2, 4, out=out, sizes=[3, 2, 2] if packed else None)
    results = NATIVE._rnn_layer(*args, reverse)
    weights = [numbers(*r.shape) for r in results]
    x, hx, cx, u, v, p, q, w, sizes, _ = args
    found = NATIVE._rnn_layer_backward(
        *(weights[0], weights[1], weights[2] if mode == "lstm" else None, weights[3]),
        *(x, hx, cx, u, v, w, sizes, results[0], results[3], mode, reverse),
    )
    for place, (argument, gradient) in enumerate(zip((x, hx, cx, u, v, p, q, w), found, strict=True)):
        if argument is None:
            assert gradient.size == 0
            continue
        direction = numbers(*argument.shape)
        ends = []
        for sign in (1, -1):
            moved = list(args)
            moved[place] = argument + sign * 1e-6 * direction
            ends.append(loss(moved, reverse, weights))
        np.testing.assert_allclose(
            (gradient * direction).sum(), (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-8
        )


@pytest.mark.parametrize("mode", MODES)
def test_the_same_bits_with_any_number_of_threads(mode, threads):
    args = [
        tt.from_numpy(a) if isinstance(a, np.ndarray) else a
        for a in cast(arguments(mode, 9, 37, 24, 64), np.float32)
    ]
    found = []
    for count in (1, 2, 3):
        threads(count)
        results = ops._rnn_layer(*args, False)
        x, hx, cx, u, v, _, _, w, sizes, _ = args
        gradients = ops._rnn_layer_backward(
            tt.ones_like(results[0]),
            None,
            None,
            None,
            x,
            hx,
            cx,
            u,
            v,
            w,
            sizes,
            results[0],
            results[3],
            mode,
            False,
        )
        found.append([r.numpy() for r in (*results, *gradients)])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_strides_of_any_kind():
    args = arguments("gru", 4, 5, 6, 8)
    expected = NATIVE._rnn_layer(*args, False)
    for change in (
        np.asfortranarray,
        lambda a: np.repeat(a, 2, -1)[..., ::2],
        lambda a: a[::-1].copy()[::-1],
    ):
        other = [change(a) if isinstance(a, np.ndarray) else a for a in args]
        for a, b in zip(NATIVE._rnn_layer(*other, False), expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_infinities_and_nan_stay_in_their_rows():
    args = cast(arguments("relu", 3, 4, 2, 5), np.float32)
    args[0][1, 2, 0] = np.nan
    output = NATIVE._rnn_layer(*args, False)[0]
    assert np.isnan(output[1:, 2]).all()
    assert np.isfinite(np.delete(output, 2, 1)).all()


def test_no_rows_and_no_features():
    for mode in MODES:
        assert NATIVE._rnn_layer(*arguments(mode, 3, 0, 2, 4), False)[0].shape == (3, 0, 4)
        args = arguments(mode, 3, 2, 0, 4)
        np.testing.assert_allclose(NATIVE._rnn_layer(*args, False)[0], by_formula(args, False)[0], rtol=1e-12)


@pytest.mark.parametrize(
    "sizes", [[2, 3], [3, 3], [3, 0, 2], [3, 2, -1], [5], [], [3, 1, 1, 1, 1], [2**62, 2**62]], ids=str
)
def test_batch_sizes_that_do_not_fit_are_refused(sizes):
    args = arguments("gru", 2, 3, 2, 4, sizes=[3, 2])
    args[8] = np.array(sizes, np.int64)
    with pytest.raises(ValueError, match="batch_sizes"):
        NATIVE._rnn_layer(*args, False)


def test_arguments_that_do_not_fit_are_refused():
    good = arguments("lstm", 2, 3, 2, 4)
    matrices = [
        (0, (2, 4, 2)),
        (0, (0, 3, 2)),
        (1, (3, 5)),
        (2, (2, 4)),
        (3, (15, 2)),
        (4, (16, 3)),
        (7, (4, 3)),
    ]
    others = [(2, None), (5, numbers(15)), (6, numbers(16, 1)), (9, "gelu"), (9, 1)]
    others += [(3, numbers(16, 2).astype("f")), (0, numbers(2, 3, 2).astype(np.float16))]
    for place, wrong in [(place, numbers(*shape)) for place, shape in matrices] + others:
        args = list(good)
        args[place] = wrong
        with pytest.raises((ValueError, TypeError)):
            NATIVE._rnn_layer(*args, False)
