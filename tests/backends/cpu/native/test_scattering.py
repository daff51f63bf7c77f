"""Writing at places in C: what NumPy's kernels write, of every dtype, into whatever memory."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.backends.cpu.native.places import DTYPES, SHAPES, expect_equal, layouts, moved, outcome, whole
from tt.backends.cpu import scattering as reference
from tt.backends.cpu.native.loading import load, status

native = load("scattering")
pytestmark = pytest.mark.skipif(native is None, reason=f"native kernels are not built: {status().reason}")

rng = np.random.default_rng(0)
# Registered to be computed in float32.
WIDE = [dtype for dtype in DTYPES if dtype.kind in "biuc" or dtype.itemsize > 2]


def same(name: str, target: np.ndarray, *arguments) -> None:
    copies = []
    for module in (native, reference):
        found = "masked_scatter_inplace" if name == "masked_scatter" and module is reference else name
        copy = moved(target)
        assert outcome(getattr(module, found), copy, *arguments) is None
        copies.append(copy)
    expect_equal(copies[0], copies[1], (name, *arguments))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_elements_along_a_dimension(shape, dtype):
    for x in layouts(whole(rng, shape, dtype)):
        for dim in range(-len(shape), len(shape)):
            axis = dim % len(shape)
            smaller = [9 if d == axis else n - 1 for d, n in enumerate(shape)]
            index, larger = rng.integers(0, shape[axis], smaller), [n + 1 for n in smaller]
            for source in (whole(rng, smaller, dtype), np.asfortranarray(whole(rng, larger, dtype))):
                same("scatter", x, dim, index, source)
                same("scatter", x, dim, index.astype("i4"), source)
                if dtype in WIDE:
                    same("scatter_add", x, dim, index, source)
            same("scatter_value", x, dim, index, True if dtype.kind == "b" else 2)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin", "prod"])
@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_reductions_at_places(dtype, reduce):
    if (dtype.kind == "c" and reduce in ("amax", "amin")) or (dtype.kind == "b" and reduce == "mean"):
        with pytest.raises(ValueError, match="shape rule"):
            native.scatter_reduce(np.zeros(1, dtype), 0, np.zeros(1, int), np.zeros(1, dtype), reduce, True)
        return
    for shape in SHAPES:
        for x in layouts(whole(rng, shape, dtype)):
            for dim in range(len(shape)):
                index = rng.integers(0, shape[dim], shape)
                source = whole(rng, shape, dtype)
                if reduce == "prod" and dtype.kind in "fc":
                    source = np.sign(source.real).astype(dtype)  # products of which no rounding is lost
                for include in (True, False):
                    same("scatter_reduce", x, dim, index, source, reduce, include)


def test_extremes_with_nan():
    target, index = np.zeros(3, "f4"), np.array([0, 0, 1, 1, 2])
    for reduce in ("amax", "amin"):
        for values in ([np.nan, 1, 1, np.nan, -0.0], [np.inf, -np.inf, 1, 2, np.nan]):
            for include in (True, False):
                same("scatter_reduce", target, 0, index, np.array(values, "f4"), reduce, include)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_slices_flat_places_and_masks(shape, dtype):
    for x in layouts(whole(rng, shape, dtype)):
        for dim in range(-len(shape), len(shape)):
            axis = dim % len(shape)
            index = rng.integers(0, shape[axis], 7)
            for source in layouts(whole(rng, [7 if d == axis else n for d, n in enumerate(shape)], dtype)):
                same("index_copy", x, dim, index, source)
                if dtype in WIDE:
                    same("index_add", x, dim, index.astype("i4"), source, 1)
                if dtype in WIDE and dtype.kind != "b":
                    same("index_add", x, dim, index, source, 2)
            same("index_fill", x, dim, index - 1, whole(rng, (), dtype))
        places = rng.integers(-x.size, x.size, (4, 5))
        same("put", x, places, whole(rng, (20,), dtype), False)
        if dtype in WIDE:
            same("put", x, places, whole(rng, (4, 5), dtype), True)
        same("masked_scatter", x, rng.random(shape) < 0.4, whole(rng, (x.size,), dtype))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("padding", [-1, 3])
@pytest.mark.parametrize("scaled", [False, True])
def test_the_gradient_of_embedding(dtype, padding, scaled):
    grad, index = rng.standard_normal((20, 30, 33)), rng.integers(0, 50, (20, 30))
    exact = np.zeros((50, 33))
    often = np.bincount(index.reshape(-1), minlength=50)
    for place, row in zip(index.reshape(-1), grad.reshape(-1, 33), strict=True):
        if place != padding:
            exact[place] += row / (often[place] if scaled else 1)
    for given in layouts(grad.astype(dtype)):
        found = native.embedding_dense_backward(given, index, 50, padding, scaled)
        np.testing.assert_allclose(
            found, exact, rtol=2e-5 if dtype == "f4" else 1e-13, atol=2e-5 if dtype == "f4" else 1e-13
        )
    again = reference.embedding_dense_backward(grad.astype(dtype), index, 50, padding, scaled)
    np.testing.assert_allclose(found, again, rtol=1e-4, atol=1e-5)


WRONG = {
    "scatter": (np.zeros(5), 0, np.array([7]), np.ones(1)),
    "scatter rows": (np.zeros((2, 5)), 0, np.zeros((1, 6), int), np.ones((1, 6))),
    "scatter_value": (np.zeros(5), 0, np.array([-1]), 1.0),
    "scatter_add": (np.zeros(5), 0, np.array([-1]), np.ones(1)),
    "scatter_reduce": (np.zeros(5), 0, np.array([0]), np.ones(1), "median", True),
    "index_add": (np.zeros(5), 0, np.array([5]), np.ones(1), 1),
    "index_copy": (np.zeros(5), 0, np.array([5]), np.ones(1)),
    "index_fill": (np.zeros(5), 0, np.array([5]), 1.0),
    "put": (np.zeros(5), np.array([5]), np.ones(1), False),
    "embedding_dense_backward": (np.zeros((1, 2)), np.array([5]), 3, -1, False),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_those_of_numpys_kernels_and_nothing_is_half_done(name):
    before = WRONG[name][0].copy()
    found = outcome(getattr(native, name.split()[0]), *WRONG[name])
    assert isinstance(found, tuple)
    assert found == outcome(getattr(reference, name.split()[0]), *WRONG[name])
    assert (WRONG[name][0] == before).all()


def test_the_last_of_several_values_for_one_place_stays_and_sums_are_in_order():
    index = np.array([0, 0, 0])
    target = np.zeros(1, "f4")
    native.scatter(target, 0, index, np.array([1, 2, 3], "f4"))
    assert target[0] == 3
    target = np.zeros(1, "f4")
    native.scatter_add(target, 0, index, np.array([1e8, 1, -1e8], "f4"))
    assert target[0] == (np.float32(1e8) + np.float32(1)) - np.float32(1e8)


def test_threads_change_no_result():
    threads = load("threads")
    before = threads.get_num_threads()
    x, index = rng.standard_normal((600, 300)).astype("f4"), rng.integers(0, 300, (600, 300))
    found = []
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            sums, slices = x.copy(), x.copy()
            native.scatter_add(sums, 1, index, x)
            native.index_add(slices, 0, index[0], x[:300], 1)
            grad = native.embedding_dense_backward(x, index[:, 0], 300, -1, False)
            found.append((sums, slices, grad))
    finally:
        threads.set_num_threads(before)
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            assert one.tobytes() == other.tobytes()


def test_gradients_of_embedding_reach_the_weight_and_its_gradient():
    weight = tt.randn(5, 3, dtype=tt.float64, requires_grad=True)
    index = tt.tensor([[1, 0], [1, 3]])
    for padding, scaled in ((None, False), (1, False), (None, True)):

        def rows(w, padding=padding, scaled=scaled):
            return tt.nn.functional.embedding(index, w, padding, scale_grad_by_freq=scaled) ** 2

        grad = tt.autograd.grad(rows(weight).sum(), weight, create_graph=True)[0]
        often = tt.tensor([1.0, 2.0, 1.0, 1.0, 1.0], dtype=tt.float64).unsqueeze(1)
        reads = tt.tensor([1.0, 2.0, 0.0, 1.0, 0.0], dtype=tt.float64).unsqueeze(1)
        if padding is not None:
            reads[padding] = 0
        wanted = 2 * weight.detach() * reads / (often if scaled else 1)
        assert tt.allclose(grad, wanted)
        second = tt.autograd.grad(grad.sum(), weight)[0]
        # Gradients divided by how often a row is read are divided again where the row is read again.
        assert tt.allclose(second, (2 * reads / (often**2 if scaled else 1)).expand(5, 3))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_rows_reduced_bag_by_bag(mode, dtype):
    weight, index = whole(rng, (11, 33), dtype), rng.integers(0, 11, 60)
    weight[3, ::5] = np.nan
    sample = rng.integers(-3, 4, 60).astype(dtype) if mode == "sum" else None
    for rows in layouts(weight):
        for offsets in (
            np.array([0, 7, 7, 20, 60]),
            np.array([0, 5, 50], "i4"),
            np.array([0]),
            np.array([], int),
        ):
            for last in (False, True):
                for padding in (None, 4):
                    for given in (None, sample):
                        arguments = (rows, index, offsets, given, mode, last, padding, False, False)
                        found, wanted = (outcome(m.embedding_bag, *arguments) for m in (native, reference))
                        if isinstance(wanted[0], type):
                            assert found == wanted
                            continue
                        expect_equal(found[1], wanted[1], arguments)
                        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5)
    for offsets, places in (([1], [0]), ([0, 9], [0]), ([0, 1, 0], [0, 1]), ([0], [11]), ([0], [-1])):
        arguments = (weight, np.array(places), np.array(offsets), None, mode, False, None, False, False)
        assert outcome(native.embedding_bag, *arguments) == outcome(reference.embedding_bag, *arguments)


@pytest.mark.torch
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_gradients_of_bags_are_those_of_pytorch(mode):
    torch = pytest.importorskip("torch")
    weight, index, offsets = (
        rng.standard_normal((11, 7)),
        rng.integers(0, 11, 40),
        np.array([0, 3, 3, 10, 40]),
    )
    for last in (False, True):
        for padding in (None, 4):
            for weighted in (False, True) if mode == "sum" else (False,):
                grads = []
                for m in (torch, tt):
                    leaves = [m.tensor(weight).requires_grad_()]
                    if weighted:
                        leaves.append(m.tensor(abs(weight).reshape(-1)[:40].copy()).requires_grad_())
                    out = m.nn.functional.embedding_bag(
                        m.tensor(index), leaves[0], m.tensor(offsets), mode=mode, include_last_offset=last,
                        padding_idx=padding, per_sample_weights=leaves[1] if weighted else None,
                    )  # fmt: skip
                    out.backward(m.tensor(np.arange(float(out.numel())).reshape(tuple(out.shape))))
                    grads.append([out.detach().numpy(), *(leaf.grad.numpy() for leaf in leaves)])
                for one, other in zip(*grads, strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("dtype", WIDE, ids=str)
def test_threads_that_share_places_write_each_in_order(dtype, threads):
    before = tt.get_num_threads()
    tt.set_num_threads(threads)
    try:
        for shape, rows in (((100, 300), 500), ((100, 300), 90), ((64, 2, 200), 300)):
            index = rng.integers(0, shape[0], rows)
            index[: rows // 2] = 7
            source = whole(rng, (rows, *shape[1:]), dtype)
            same("index_add", whole(rng, shape, dtype), 0, index, source, 1)
            same("index_copy", whole(rng, shape, dtype), 0, index, source)
            same(
                "index_fill", whole(rng, shape, dtype), 0, index - shape[0], True if dtype.kind == "b" else 2
            )
    finally:
        tt.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_share_the_rows_of_the_gradient_of_embedding(threads):
    before = tt.get_num_threads()
    tt.set_num_threads(threads)
    try:
        index = rng.integers(0, 301, (7, 90))
        grad = whole(rng, (7, 90, 130), np.float32)
        for weights, padding, scaled in (
            (301, -1, False),
            (301, 5, False),
            (301, 5, True),
            (5000, -1, False),
        ):
            arguments = (grad, index, weights, padding, scaled)
            np.testing.assert_allclose(
                native.embedding_dense_backward(*arguments),
                reference.embedding_dense_backward(*arguments),
                rtol=1e-5,
            )
    finally:
        tt.set_num_threads(before)
