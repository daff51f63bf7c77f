"""The page "More exact than PyTorch": a test of each row, and torch still differs."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import tt

PAGE = (Path(__file__).parents[2] / "docs" / "more-exact.md").read_text(encoding="utf-8")
ROWS = [line.split("|")[1].strip() for line in PAGE.splitlines() if re.match(r"\| (?!where|---)", line)]

MATRIX = np.array([[2.0, 1.0], [-1.0, 3.0]])
ROWS_OF_NUMBERS = np.array([[0.3, -1.2, 2.0], [1.1, 0.4, -0.7]])
NUMBERS = np.array([1.5, 0.0, 3.0, 2.0])


# --- references --------------------------------------------------------------------------------------------------


def slopes(function, x, step=1e-6):
    """Return the derivatives of a number by the elements of an array, by differences."""
    result = np.zeros(x.size)
    for i in range(x.size):
        move = np.zeros(x.size)
        move[i] = step
        move = move.reshape(x.shape)
        result[i] = (function(x + move) - function(x - move)) / (2 * step)
    return result


def curves(function, x):
    """Return the second derivatives of a number by all pairs of elements, by differences."""
    step = 1e-4
    return np.stack([
        slopes(lambda at, row=row: slopes(function, at, step)[row], x, step) for row in range(x.size)
    ])  # fmt: skip


def normalized(x, axis):
    mean = x.mean(axis, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis, keepdims=True) + 1e-5)


CURVE = math.e / (1 + math.e) ** 2
"""The second derivative of the logarithm of the sum of exponentials of 0 and 1."""


# --- what is computed, in a library ------------------------------------------------------------------------------


def forward(library, function, x):
    """Return second derivatives by forward over forward mode."""
    jacfwd = import_module(f"{library.__name__}.func").jacfwd
    return jacfwd(jacfwd(function))(library.tensor(x)).reshape(x.size, x.size).numpy()


def curved(library, numbers):
    """Return second derivatives of sums of logarithms by forward over reverse mode."""
    func = import_module(f"{library.__name__}.func")
    x = library.tensor(numbers, dtype=library.float64)
    return func.hessian(lambda x: library.logcumsumexp(x, 0).sum())(x).numpy()


def derivative(library, function, x, order=1):
    at = library.tensor(x, dtype=library.float64, requires_grad=True)
    value = function(at)
    for _ in range(order):
        (value,) = library.autograd.grad(value.sum(), at, create_graph=True)
    return value.detach().numpy()


def bessel(library):
    at = library.tensor([0.5], dtype=library.float64, requires_grad=True)
    result = library.special.bessel_j0(at)
    return library.autograd.grad(result.sum(), at)[0].numpy() if result.requires_grad else np.zeros(1)


def masked(library):
    key, value = library.ones(1, 3, 4), library.ones(1, 3, 4)
    key[:, 2] = math.nan
    shown = library.tensor([[True, True, False]])
    return library.nn.functional.scaled_dot_product_attention(
        library.ones(1, 1, 4), key, value, shown
    ).numpy()


def without_keys(library):
    module = library.nn.MultiheadAttention(2, 1, bias=False)
    x = library.ones(2, 1, 2)
    return module(x, x, x, attn_mask=library.ones(2, 2, dtype=library.bool))[0].detach().numpy()


def adam(library):
    """Return the weights after three steps, as millionths above those of the usual optimizer."""
    results = []
    for name in ("Adam", "AdamW"):
        gradient = library.tensor([0.5], dtype=library.float64, requires_grad=True)
        weight = library.ones(1, dtype=library.float64, requires_grad=True).clone()
        optimizer = getattr(library.optim, name)([weight], lr=0.1, weight_decay=0.0, differentiable=True)
        for _ in range(3):
            weight.grad = gradient * 2
            optimizer.step()
        results.append((weight.item() - (1 - 0.3 / (1 + 1e-8))) * 1e6)
    return np.array(results)


def across_maps(library):
    module = library.nn.CrossMapLRN2d(3, 1.0, 0.75, 1.0)
    x = np.random.default_rng(0).standard_normal((1, 4, 1, 1))

    def value(at):
        return (module(library.tensor(at)) ** 3).sum().item()

    return derivative(library, lambda at: module(at) ** 3, x).reshape(-1) - slopes(value, x)


def product(library):
    x = library.tensor([1 + 2j, 3 - 1j], dtype=library.complex128, requires_grad=True)
    return library.autograd.grad(x.cumprod(0, dtype=library.float64).sum(), x)[0].real.numpy()


def distances(library):
    points = library.tensor([[1.0, 2.0]], dtype=library.float64)
    return derivative(library, lambda at: library.cdist(at, points), [[1.0, 5.0]], 2).reshape(-1)


def alignments(library):
    def loss(at):
        scores = library.nn.functional.log_softmax(at.reshape(1, 1, 2), -1)
        one = library.tensor([1])
        return library.nn.functional.ctc_loss(scores, library.tensor([[1]]), one, one)

    return derivative(
        library, lambda at: library.autograd.grad(loss(at), at, create_graph=True)[0][1], [0.0, 0.0]
    )


def squeezed(library):
    def change(x):
        return x.clone().squeeze_()

    return library.vmap(library.vmap(change, in_dims=1))(library.ones(2, 2, 1, 3)).numpy()


def written(library):
    def change(x, y):
        x[0] = x[0] * 7
        return y * 1

    jvp = import_module(f"{library.__name__}.func").jvp
    same = library.ones(2)
    return jvp(change, (library.ones(2), library.ones(2)), (same, same))[1].numpy()


def fractional(library):
    def change(x):
        x = x * 1
        x.frac().mul_(5)
        return x

    jvp = import_module(f"{library.__name__}.func").jvp
    return jvp(change, (library.ones(1),), (library.ones(1),))[1].numpy()


def turned(library):
    x = library.tensor([[1.0, 2.0], [-3.0, 4.0]], dtype=library.float64, requires_grad=True)
    view = library.view_as_real(x * (1 + 2j))
    view.transpose_(0, 1)
    view.mul_(library.arange(8, dtype=library.float64).reshape(2, 2, 2))
    return library.autograd.grad(view.sum(), x)[0].numpy()


def spread(library):
    images = library.arange(16, dtype=library.float64).sin().reshape(1, 2, 2, 4)
    images = images.contiguous(memory_format=library.channels_last).requires_grad_()
    weight = library.tensor([2.0, 0.0, 3.0, 0.0], dtype=library.float64)[::2]
    result = library.nn.functional.batch_norm(images, None, None, weight, training=True)
    return library.autograd.grad((result**3).sum(), images)[0].numpy()


def norm_of_the_others(library):
    masked = import_module(f"{library.__name__}.masked")
    return masked.norm(library.tensor([2.0, 4.0]), -1, mask=library.tensor([True, False])).numpy()


def collated(library):
    collate = import_module(f"{library.__name__}.utils.data").default_collate
    return collate([Counter(a=1), Counter(a=2)])["a"].numpy()


def slopes_of_images():
    images = np.sin(np.arange(16.0)).reshape(1, 2, 2, 4)

    def total(x):
        mean, variance = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
        scaled = (x - mean) / np.sqrt(variance + 1e-5) * np.array([2.0, 3.0]).reshape(1, 2, 1, 1)
        return (scaled**3).sum()

    return slopes(total, images).reshape(images.shape)


CASES = {
    "images with their channels last": (spread, slopes_of_images()),
    "`view_as_real`, `view_as_complex`": (turned, [[2.0, 14.0], [8.0, 20.0]]),
    "`squeeze_()` under": (squeezed, np.ones((2, 1, 2, 3))),
    "`jvp` of a function": (written, [1.0, 1.0]),
    "`frac` and": (fractional, [1.0]),
    "NaN in masked keys": (masked, [[[1.0] * 4]]),
    "a query without keys": (without_keys, np.zeros((2, 1, 2))),
    "`Adam` and `AdamW`": (adam, [0.0, 0.0]),
    "`CrossMapLRN2d`": (across_maps, np.zeros(4)),
    "`logaddexp` of two": (lambda t: derivative(t, lambda x: t.logaddexp(x, t.full_like(x, -t.inf)), [-t.inf]), [0.0]),
    "`xlogy(0, y)`": (lambda t: derivative(t, lambda y: t.xlogy(t.zeros(1, dtype=t.float64), y), [0.0]), [0.0]),
    "`soft_margin_loss`": (
        lambda t: derivative(t, lambda x: t.nn.functional.soft_margin_loss(x, t.ones_like(x)), [-1000.0]), [-1.0]
    ),
    "`cumprod` with a real": (product, [4.0, 1.0]),
    "`special.bessel_j0`": (bessel, [-0.24226845767487388]),
    "`det`": (
        lambda t: forward(t, t.linalg.det, MATRIX), np.array([[0, 0, 0, 1], [0, 0, -1, 0], [0, -1, 0, 0], [1, 0, 0, 0]])
    ),
    "`slogdet`": (
        lambda t: forward(t, lambda a: t.linalg.slogdet(a)[1], MATRIX),
        curves(lambda a: np.linalg.slogdet(a)[1], MATRIX),
    ),
    "`solve`": (
        lambda t: forward(t, lambda a: t.linalg.solve(a, t.ones(2, dtype=t.float64)).sum(), MATRIX),
        curves(lambda a: np.linalg.solve(a, np.ones(2)).sum(), MATRIX),
    ),
    "`layer_norm`": (
        lambda t: forward(t, lambda x: (t.nn.functional.layer_norm(x, (3,)) ** 3).sum(), ROWS_OF_NUMBERS),
        curves(lambda x: (normalized(x, 1) ** 3).sum(), ROWS_OF_NUMBERS),
    ),
    "`batch_norm`": (
        lambda t: forward(
            t, lambda x: (t.nn.functional.batch_norm(x.T, None, None, training=True) ** 3).sum(), ROWS_OF_NUMBERS
        ),
        curves(lambda x: (normalized(x, 1) ** 3).sum(), ROWS_OF_NUMBERS),
    ),
    "`cumprod` with a zero": (
        lambda t: forward(t, lambda x: t.cumprod(x, 0).sum(), NUMBERS),
        curves(lambda x: np.cumprod(x).sum(), NUMBERS),
    ),
    "`logcumsumexp` of distant": (
        lambda t: curved(t, [-40.0, 0.0, 40.0, 41.0]),
        [[0.0] * 4, [0.0] * 4, [0.0, 0.0, CURVE, -CURVE], [0.0, 0.0, -CURVE, CURVE]],
    ),
    "`logcumsumexp` behind": (
        lambda t: curved(t, [-math.inf, 0.0, 1.0]),
        [[0.0] * 3, [0.0, CURVE, -CURVE], [0.0, -CURVE, CURVE]],
    ),
    "`sinc`": (lambda t: derivative(t, t.sinc, [0.0, 1e-8], 2), [-math.pi**2 / 3] * 2),
    "`special.i1`": (lambda t: derivative(t, t.special.i1, [0.0, 1e-8], 3), [3 / 8] * 2),
    "`logaddexp` of distant": (lambda t: derivative(t, lambda x: t.logaddexp(x, t.full_like(x, 1e3)), [0.0], 2), [0.0]),
    "`cdist`": (distances, [1 / 3, 0.0]),
    "`ctc_loss`": (alignments, [-0.25, 0.25]),
    "`masked.norm` and": (norm_of_the_others, 2.0),
    "`default_collate`": (collated, [1, 2]),
}  # fmt: skip
"""The beginning of a row, with what it computes and the right result."""

ALONE = (
    "`median` and `nanmedian` along",
    "the smallest integer",
    "targets out of range",
    "`segment_reduce`",
    "`linalg.lstsq` without",
)
"""Rows that have tests of their own, as torch reads foreign memory there, or ends."""


def test_each_row_has_a_test():
    assert sorted(name for row in ROWS for name in (*CASES, *ALONE) if row.startswith(name)) == sorted(
        (*CASES, *ALONE)
    )
    assert len(ROWS) == len(CASES) + len(ALONE)


@pytest.mark.parametrize("name", CASES)
def test_results_are_the_right_ones(name):
    function, expected = CASES[name]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "complex numbers become real ones", UserWarning)
        np.testing.assert_allclose(function(tt), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.torch
@pytest.mark.parametrize("name", CASES)
def test_those_of_torch_are_not(name):
    torch = pytest.importorskip("torch")
    function, expected = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(torch)
        except (NotImplementedError, RuntimeError):
            return  # not implemented
    assert np.shape(result) != np.shape(expected) or not np.allclose(result, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("function", [tt.median, tt.nanmedian])
def test_medians_along_an_expanded_dimension_are_those_of_the_copy(function):
    for x, dim in (
        (tt.tensor([[3.0], [1.0], [2.0]]).expand(3, 4), 1),
        (tt.tensor([5.0, 1.0, 3.0]).expand(2, 3), 0),
    ):
        values, indices = function(x, dim)
        assert values.tolist() == function(x.clone(), dim).values.tolist() == x.select(dim, 0).tolist()
        assert x.gather(dim, indices.unsqueeze(dim)).squeeze(dim).tolist() == values.tolist()


@pytest.mark.parametrize("dtype", [tt.int8, tt.int16, tt.int32, tt.int64])
def test_the_smallest_integer_divided_by_minus_one_wraps_around(dtype):
    smallest = tt.iinfo(dtype).min
    x = tt.full((70,), smallest, dtype=dtype)
    for other in (-1, tt.full((70,), -1, dtype=dtype)):
        for quotient in (x // other, tt.div(x, other, rounding_mode="trunc")):
            assert (quotient == smallest).all()
        for remainder in (x % other, tt.fmod(x, other)):
            assert not remainder.any()


@pytest.mark.parametrize("target", [3, 7, -5])
def test_targets_out_of_range_of_ctc_loss_are_refused(target):
    scores = tt.nn.functional.log_softmax(tt.zeros(4, 1, 3), -1)
    with pytest.raises(IndexError, match=f"target {target}"):
        tt.nn.functional.ctc_loss(scores, tt.tensor([[1, target]]), tt.tensor([4]), tt.tensor([2]))


def test_segments_beyond_the_data_have_the_elements_that_there_are():
    result = tt.segment_reduce(tt.arange(3.0), "sum", lengths=tt.tensor([2, 3]), unsafe=True)
    assert result.tolist() == [1.0, 2.0]
