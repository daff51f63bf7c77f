"""Gradients of sparse tensors: by finite differences of their values, and side by side with PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt
from tests.plugins.sparse.making import LAYOUTS, layout_of, matrix, numpy_of, sparse_of
from tt.core.errors import GradientError
from tt.plugins.sparse.formulas import masked
from tt.plugins.sparse.parts import as_tensor_of

A, B, C = matrix(1), matrix(2, 6, 4), matrix(3, 4, 4)
WEIGHTS = np.random.default_rng(0).uniform(-1, 1, 512)

CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "to_dense": (lambda m, x: x.to_dense(), (A,)),
    "neg": (lambda m, x: -x, (A,)),
    "abs": (lambda m, x: x.abs(), (A,)),
    "sin": (lambda m, x: x.sin(), (A,)),
    "tanh of square": (lambda m, x: x.square().tanh(), (A,)),
    "log1p": (lambda m, x: x.log1p(), (A,)),
    "erf": (lambda m, x: x.erf(), (A,)),
    "power": (lambda m, x: x**3, (A,)),
    "number": (lambda m, x: x * 2 / 3, (A,)),
    "to float": (lambda m, x: x.to(m.float64).clone(), (A,)),
    "in place": (lambda m, x: x.clone().sin_().mul_(2), (A,)),
    "sparse sum": (lambda m, x: m.sparse.sum(x), (A,)),
    "sum": (lambda m, x: x.sum(), (A,)),
    "norm": (lambda m, x: m.norm(x, 3), (A,)),
    "softmax 0": (lambda m, x: m.sparse.softmax(x, 0), (A,)),
    "softmax 1": (lambda m, x: m.sparse.softmax(x, 1), (A,)),
    "log_softmax": (lambda m, x: m.sparse.log_softmax(x, 1), (A,)),
    "add": (lambda m, x, y: x + 2 * y, (A, matrix(4))),
    "sub": (lambda m, x, y: x - y, (A, matrix(4))),
    "mul": (lambda m, x, y: x * y, (A, matrix(4))),
    "mm": (lambda m, x, y: m.mm(x, y), (A, B)),
    "sparse mm": (lambda m, x, y: m.sparse.mm(x, y), (A, B)),
}
BESIDE_DENSE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "add": (lambda m, x, y: m.add(y, x, alpha=3), (A, matrix(5))),
    "sub": (lambda m, x, y: m.sub(y, x), (A, matrix(5))),
    "mul": (lambda m, x, y: x * y, (A, matrix(5, density=1.1))),
    "mm": (lambda m, x, y: m.mm(x, y), (A, B)),
    "from the right": (lambda m, x, y: m.mm(y, x), (A, C)),
    "matmul": (lambda m, x, y: x @ y, (A, B)),
    "mv": (lambda m, x, y: m.mv(x, y), (A, B[:, 0].copy())),
    "sparse mm": (lambda m, x, y: m.sparse.mm(x, y), (A, B)),
    "sparse from the right": (lambda m, x, y: m.sparse.mm(y, x), (A, C)),
    "addmm": (lambda m, x, y: m.addmm(m.ones(4, 4, dtype=m.float64), x, y, beta=2, alpha=3), (A, B)),
    "sparse addmm": (
        lambda m, x, y: m.sparse.addmm(m.ones(4, 4, dtype=m.float64), x, y, beta=2, alpha=3),
        (A, B),
    ),
}


def losses(library: Any, call: Callable[..., Any], tensors: Any) -> Any:
    """Return a weighted sum of the result of a call, dense or sparse."""
    found = call(library, *tensors)
    dense = found if str(found.layout).endswith("strided") else found.to_dense()
    weights = library.tensor(np.resize(WEIGHTS, tuple(dense.shape)), dtype=library.float64)
    return (dense * weights).sum()


def gradients(
    library: Any, call: Callable[..., Any], layouts: tuple[str, ...], arrays: tuple[Any, ...]
) -> list[Any]:
    tensors = [
        sparse_of(layout, array, library).requires_grad_()
        for layout, array in zip(layouts, arrays, strict=True)
    ]
    losses(library, call, tensors).backward()
    return [tensor.grad for tensor in tensors]


def differences(
    call: Callable[..., Any], tensors: list[Any], which: int, step: float = 1e-6
) -> np.ndarray[Any, Any]:
    """Return the derivatives of the loss by each stored value of a tensor, from differences, as a dense array."""
    subject = tensors[which].detach()
    sparse = subject.layout is not tt.strided
    subject = subject.coalesce() if subject.layout is tt.sparse_coo else subject
    values = (subject._handle.values if sparse else subject.numpy()).copy()
    slopes = np.zeros_like(values)
    for place in np.ndindex(values.shape):
        ends = []
        for sign in (1, -1):
            moved = values.copy()
            moved[place] += sign * step
            other = (
                as_tensor_of(subject._handle.with_values(moved), subject.device)
                if sparse
                else tt.tensor(moved)
            )
            changed = [t.detach() for t in tensors]
            changed[which] = other
            ends.append(losses(tt, call, changed).item())
        slopes[place] = (ends[0] - ends[1]) / (2 * step)
    if not sparse:
        return slopes
    return numpy_of(as_tensor_of(subject._handle.with_values(slopes), subject.device))


@pytest.mark.parametrize("layout", [*LAYOUTS, "hybrid"])
@pytest.mark.parametrize("name", CALLS)
def test_gradients_of_sparse_tensors_are_those_of_their_elements(name: str, layout: str) -> None:
    call, arrays = CALLS[name]
    if layout == "hybrid" and "mm" in name:
        pytest.skip("a product of matrices takes none with dense dimensions")
    if name == "log1p":
        arrays = tuple(np.abs(a) for a in arrays)
    layouts = (layout,) * len(arrays)
    tensors = [sparse_of(layout, array) for array in arrays]
    for which, found in enumerate(gradients(tt, call, layouts, arrays)):
        expected = differences(call, tensors, which)
        # Everybody's operators have gradients everywhere, or where the result stores something.
        found = masked(found, tensors[which])
        np.testing.assert_allclose(numpy_of(found), expected, atol=1e-7, err_msg=f"argument {which}")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", BESIDE_DENSE)
def test_gradients_beside_dense_tensors(name: str, layout: str) -> None:
    call, arrays = BESIDE_DENSE[name]
    tensors = [sparse_of(layout, arrays[0]), tt.tensor(arrays[1])]
    for which, found in enumerate(gradients(tt, call, (layout, "dense"), arrays)):
        expected = differences(call, tensors, which)
        if which == 0 and found.layout is tt.strided:
            found = masked(found, tensors[0])
        np.testing.assert_allclose(numpy_of(found), expected, atol=1e-7, err_msg=f"argument {which}")


@pytest.mark.parametrize("name", ["sparse mm", "mul", "sin", "softmax 1", "to_dense", "sparse sum"])
@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr", "bsc"])
def test_gradients_of_operators_that_mask_have_the_layout_of_the_tensor(name: str, layout: str) -> None:
    call, arrays = CALLS[name]
    tensors = [sparse_of(layout, array).requires_grad_() for array in arrays]
    losses(tt, call, tensors).backward()
    assert tensors[0].grad.layout is tensors[0].layout
    stored = numpy_of(tensors[0]) != 0
    if layout in ("coo", "csr", "csc"):
        assert not numpy_of(tensors[0].grad)[~stored].any()


def test_a_dense_factor_that_is_broadcast_gets_a_dense_gradient() -> None:
    for layout in LAYOUTS:
        row = tt.tensor(matrix(6, 1, 6)[0], requires_grad=True)
        number = tt.tensor(2.0, dtype=tt.float64, requires_grad=True)
        (sparse_of(layout, A) * row * number / number / number).to_dense().sum().backward()
        np.testing.assert_allclose(row.grad.numpy(), A.sum(0) / 2)
        np.testing.assert_allclose(number.grad.item(), -(A * row.detach().numpy()).sum() / 4)


@pytest.mark.parametrize("dim", [0, 1, (0, 1), 2, (0, 2), (1, 2)])
@pytest.mark.parametrize("sparse_dims", [1, 2, 3])
@pytest.mark.parametrize("keepdim", [False, True])
def test_gradients_of_sums_along_dimensions(dim: Any, sparse_dims: int, keepdim: bool) -> None:
    array = np.stack([matrix(7), matrix(8)])
    made = tt.tensor(array).to_sparse(sparse_dims).requires_grad_()
    dense = tt.tensor(array, requires_grad=True)
    for tensor in (made, dense):
        losses(tt, lambda m, x: x.sum(dim, keepdim=keepdim), [tensor]).backward()
    assert made.grad.layout is tt.sparse_coo
    np.testing.assert_allclose(numpy_of(made.grad), numpy_of(masked(dense.grad, made.detach())))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_sampled_products_and_of_solving(layout: str) -> None:
    a, b = tt.tensor(matrix(9, 4, 3)), tt.tensor(matrix(10, 3, 6))
    tensors = [sparse_of(layout, A), a, b]

    def sampled(m: Any, x: Any, y: Any, z: Any) -> Any:
        return m.sparse.sampled_addmm(x, y, z, beta=2.0, alpha=3.0)

    leaves = [t.detach().requires_grad_() for t in tensors]
    losses(tt, sampled, leaves).backward()
    for which, leaf in enumerate(leaves):
        np.testing.assert_allclose(numpy_of(leaf.grad), differences(sampled, tensors, which), atol=1e-7)
    for left in (True, False):
        for shape in ((4,), (4, 4)):
            system = [sparse_of(layout, C + 3 * np.eye(4)), tt.tensor(np.resize(WEIGHTS, shape))]

            def solve(m: Any, x: Any, y: Any, left: bool = left) -> Any:
                return m.sparse.spsolve(x, y, left=left)

            leaves = [t.detach().requires_grad_() for t in system]
            losses(tt, solve, leaves).backward()
            for which, leaf in enumerate(leaves):
                np.testing.assert_allclose(numpy_of(leaf.grad), differences(solve, system, which), atol=1e-7)


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_gradients_of_other_sums_of_products(reduce: str) -> None:
    tensors = [tt.tensor(A).to_sparse_csr(), tt.tensor(matrix(11, 6, 3, 1.1))]

    def product(m: Any, x: Any, y: Any) -> Any:
        return m.sparse.mm(x, y, reduce)

    leaves = [t.detach().requires_grad_() for t in tensors]
    losses(tt, product, leaves).backward()
    for which, leaf in enumerate(leaves):
        np.testing.assert_allclose(numpy_of(leaf.grad), differences(product, tensors, which), atol=1e-7)


@pytest.mark.parametrize("name", ["sin", "mul", "sparse mm", "softmax 1", "sparse sum", "to_dense"])
@pytest.mark.parametrize("layout", ["coo", "csr", "bsc"])
def test_second_derivatives(name: str, layout: str) -> None:
    call, arrays = CALLS[name]
    tensors = [sparse_of(layout, array).requires_grad_() for array in arrays]
    first = tt.autograd.grad(
        losses(tt, lambda m, *x: call(m, *x).square(), tensors), tensors[0], create_graph=True
    )[0]
    second = tt.autograd.grad(losses(tt, lambda m, g: g, [first]), tensors[0])[0]

    def slope(m: Any, *given: Any) -> Any:
        fresh = [t.detach().requires_grad_() for t in given]
        return tt.autograd.grad(losses(tt, lambda m, *x: call(m, *x).square(), fresh), fresh[0])[0]

    expected = differences(slope, [t.detach() for t in tensors], 0)
    np.testing.assert_allclose(numpy_of(second), expected, atol=1e-6)


# --- sums ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["embedding", "sum", "mean"])
def test_embeddings_have_sparse_gradients(mode: str) -> None:
    places = tt.tensor([[1, 2, 2], [5, 0, 2]])

    def run(sparse: bool, **options: Any) -> Any:
        weight = tt.tensor(matrix(12, 6, 3, 1.1), requires_grad=True)
        if mode == "embedding":
            found = tt.nn.functional.embedding(places, weight, sparse=sparse, **options)
        else:
            found = tt.nn.functional.embedding_bag(places, weight, mode=mode, sparse=sparse, **options)
        (found * found).sum().backward()
        return weight.grad

    for options in ({}, {"padding_idx": 2}):
        sparse, dense = run(True, **options), run(False, **options)
        assert (sparse.layout, dense.layout) == (tt.sparse_coo, tt.strided)
        assert (sparse.sparse_dim(), sparse._nnz()) == (1, 6 if not options else 3)
        np.testing.assert_allclose(numpy_of(sparse), numpy_of(dense))


def test_counted_rows_have_no_sparse_gradients() -> None:
    weight = tt.ones(3, 2, requires_grad=True)
    found = tt.nn.functional.embedding(tt.tensor([1, 1]), weight, sparse=True, scale_grad_by_freq=True)
    with pytest.raises(GradientError, match=r"not supported with sparse gradients\n  try: sparse=False"):
        found.sum().backward()


def test_sparse_and_dense_gradients_add_up() -> None:
    def look_up(weight: Any) -> Any:
        return tt.nn.functional.embedding(tt.tensor([0, 2, 2]), weight, sparse=True).sum()

    rows = np.array([[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]])
    weight = tt.ones(3, 2, requires_grad=True)
    look_up(weight).backward()
    look_up(weight).backward()
    assert weight.grad.layout is tt.sparse_coo
    np.testing.assert_array_equal(numpy_of(weight.grad), 2 * rows)
    (weight * 3).sum().backward()  # sparse, then dense
    assert weight.grad.layout is tt.strided
    np.testing.assert_array_equal(numpy_of(weight.grad), 2 * rows + 3)
    held = weight.grad
    look_up(weight).backward()  # dense, then sparse: it grows in place
    assert weight.grad is held
    np.testing.assert_array_equal(numpy_of(held), 3 * rows + 3)
    weight.grad = None
    (look_up(weight) + (weight * 3).sum() + look_up(weight)).backward()  # within one pass
    assert weight.grad.layout is tt.strided
    np.testing.assert_array_equal(numpy_of(weight.grad), 2 * rows + 3)


def test_gradients_of_to_dense_are_masked_unless_asked_for() -> None:
    for layout in ("coo", "csr", "csc", "bsr"):
        for asked, expected in ((None, True), (True, True), (False, False)):
            made = sparse_of(layout, A).requires_grad_()
            (made.to_dense(masked_grad=asked) * tt.ones(4, 6, dtype=tt.float64)).sum().backward()
            only_stored = not numpy_of(made.grad)[A == 0].any()
            if layout in ("coo",) or expected:
                assert only_stored == (expected and layout != "bsr"), (layout, asked)


# --- against PyTorch -------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state", "ignore:log1p_backward")
@pytest.mark.parametrize("layout", ["coo", "hybrid", "csr"])
def test_gradients_and_their_layouts_are_pytorchs(layout: str) -> None:
    torch = pytest.importorskip("torch")
    compared = 0
    for name, (call, arrays) in [*CALLS.items(), *((f"{k}, dense", v) for k, v in BESIDE_DENSE.items())]:
        arrays = tuple(np.abs(a) for a in arrays) if name == "log1p" else arrays
        with_dense = name.endswith("dense") and name != "to_dense"
        layouts = (layout, "dense") if with_dense else (layout,) * len(arrays)
        try:
            theirs = gradients(torch, call, layouts, arrays)
        except (RuntimeError, NotImplementedError):
            continue  # PyTorch does not differentiate it for the layout
        for found, reference in zip(gradients(tt, call, layouts, arrays), theirs, strict=True):
            assert layout_of(found) == layout_of(reference), name
            np.testing.assert_allclose(numpy_of(found), numpy_of(reference), atol=1e-12, err_msg=name)
        compared += 1
    assert compared >= {"coo": 25, "hybrid": 14, "csr": 15}[layout]
