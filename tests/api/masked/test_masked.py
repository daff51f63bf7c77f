"""Functions of tt.masked agree with PyTorch's wherever an element counts."""

from __future__ import annotations

import numpy as np
import pytest

import tt

REDUCTIONS = ("sum", "prod", "amax", "amin", "mean", "logsumexp", "norm", "var", "std")
ALONG = ("argmax", "argmin", "median", "cumsum", "cumprod", "softmax", "log_softmax", "softmin")


def random(dtype: str, shape: tuple[int, ...] = (3, 4, 5)) -> np.ndarray:
    rng = np.random.default_rng(7)
    if dtype == "int64":
        return rng.integers(-4, 5, shape)
    values = rng.uniform(-2, 2, shape)
    return (values + 1j * rng.uniform(-2, 2, shape) if dtype == "complex128" else values).astype(dtype)


def masks(shape: tuple[int, ...]) -> list[np.ndarray | None]:
    whole = np.random.default_rng(3).random(shape) < 0.6
    whole[..., 0] = True
    whole[0] = True
    whole[:, 0] = True
    return [None, whole, whole[0]]


def both(name, array, *arguments, mask=None, **options):
    torch = pytest.importorskip("torch")
    found = getattr(tt.masked, name)(
        tt.tensor(array), *arguments, mask=None if mask is None else tt.tensor(mask), **options
    )
    expected = getattr(torch.masked, name)(
        torch.tensor(array), *arguments, mask=None if mask is None else torch.tensor(mask), **options
    )
    return torch.from_numpy(np.array(found.detach().numpy())), expected, torch


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex128"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_is_that_of_torch(name, dtype):
    if (dtype == "complex128" and name in ("amax", "amin", "logsumexp", "var", "std")) or (
        dtype == "int64" and name in ("norm", "mean", "logsumexp")
    ):
        return  # PyTorch has none, or a complex variance
    array = random(dtype)
    for mask in masks(array.shape):
        for dim in (None, 0, -1, (0, 2)):
            for keepdim in (False, True):
                found, expected, torch = both(name, array, dim=dim, keepdim=keepdim, mask=mask)
                torch.testing.assert_close(found, expected, equal_nan=True)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ALONG)
def test_a_function_along_a_dimension_is_that_of_torch(name, dtype):
    array = random(dtype)
    for mask in masks(array.shape):
        for dim in (0, -1):
            found, expected, torch = both(name, array, dim, mask=mask)
            if mask is not None and found.shape == array.shape:  # where nothing counts it is undefined
                selected = torch.tensor(np.broadcast_to(mask, array.shape).copy())
                found, expected = found[selected], expected[selected]
            # PyTorch gives indices the dtype of the input.
            torch.testing.assert_close(found, expected, check_dtype=not name.startswith("arg"))


@pytest.mark.torch
@pytest.mark.parametrize("ord", [2, 1, 0, 3.5, float("inf"), -float("inf")])
def test_norms_of_every_order_are_those_of_torch(ord):
    array = random("float64")
    for mask in masks(array.shape):
        found, expected, torch = both("norm", array, ord, 1, mask=mask)
        torch.testing.assert_close(found, expected)
        found, expected, torch = both("normalize", array, ord, 1, mask=mask)
        if mask is not None:
            selected = torch.tensor(np.broadcast_to(mask, array.shape).copy())
            found, expected = found[selected], expected[selected]
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("ord", [-0.5, -1, -2.0, -3])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_norms_of_negative_order_are_those_of_the_elements_that_count(ord, dtype):
    array = random(dtype)
    for mask in masks(array.shape):
        x = tt.tensor(array, requires_grad=True)
        where = None if mask is None else tt.tensor(mask)
        selected = np.broadcast_to(True if mask is None else mask, array.shape)
        sums = np.sum(np.abs(array) ** float(ord), axis=1, where=selected)
        result = tt.masked.norm(x, ord, 1, mask=where)
        np.testing.assert_allclose(result.detach().numpy(), sums ** (1 / ord), rtol=1e-12)
        result.sum().backward()
        assert np.isfinite(x.grad.numpy()).all() and not x.grad.numpy()[~selected].any()
        units = tt.masked.normalize(x.detach(), ord, 1, mask=where)
        expected = np.where(selected, array / np.expand_dims(sums ** (1 / ord), 1), 0)
        np.testing.assert_allclose(units.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("ord", [2, -1, -float("inf")])
def test_norms_of_integers_are_refused_by_their_dtype(ord):
    with pytest.raises(tt.errors.DtypeError, match="int64"):
        tt.masked.norm(tt.tensor([1, 2]), ord, mask=tt.tensor([True, False]))


def test_variances_take_a_correction_or_unbiased():
    x, mask = tt.tensor([1.0, 5.0, 2.0, 4.5]), tt.tensor([True, False, True, True])
    expected = tt.tensor([1.0, 2.0, 4.5])
    assert tt.allclose(tt.masked.var(x, mask=mask, correction=2), tt.var(expected, correction=2))
    assert tt.allclose(tt.masked.std(x, unbiased=False, mask=mask), tt.std(expected, correction=0))
    with pytest.raises(ValueError, match="not both"):
        tt.masked.var(x, unbiased=True, correction=1)


def test_each_operand_of_logaddexp_has_a_mask():
    x, y = tt.tensor([0.0, 1.0, 2.0]), tt.tensor([1.0, 1.0, 1.0])
    found = tt.masked.logaddexp(
        x, y, input_mask=tt.tensor([True, False, True]), other_mask=tt.tensor([True, True, False])
    )
    assert tt.allclose(found, tt.tensor([tt.logaddexp(x, y)[0].item(), 1.0, 2.0]))


def test_the_gradient_of_what_is_left_out_is_zero():
    x = tt.tensor([1.0, 2.0, 3.0], requires_grad=True)
    tt.masked.mean(x, mask=tt.tensor([True, False, True])).backward()
    assert x.grad.tolist() == [0.5, 0.0, 0.5]


def test_a_mask_that_does_not_fit_is_refused():
    with pytest.raises(TypeError, match="bools"):
        tt.masked.sum(tt.ones(2), mask=tt.ones(2))
    with pytest.raises(RuntimeError, match="dimensions"):
        tt.masked.sum(tt.ones(2), mask=tt.ones(2, 2, dtype=tt.bool))
    with pytest.raises(ValueError, match="integers"):
        tt.masked.median(tt.tensor([1, 2]), mask=tt.tensor([True, False]))


@pytest.mark.parametrize("dtype", [tt.float16, tt.bfloat16, tt.float32, tt.float64], ids=str)
def test_the_variance_has_the_dtype_of_the_elements(dtype):
    x = tt.tensor([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]], dtype=dtype)
    mask = tt.tensor([[True, True, False], [True, True, True]])
    for function in (tt.masked.var, tt.masked.std):
        assert function(x, 1, mask=mask).dtype is function(x, mask=mask).dtype is dtype


DENSE = [[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [4.0, 5.0, 0.0]]
SOME = [[True, True, False], [False, True, True], [False, False, False]]
SPARSE = {
    "coo": (lambda x: x.to_sparse(), {}),
    "csr": (lambda x: x.to_sparse_csr(), {"keepdim": True}),
}


ALL = [[True] * 3] * 3
CASES = [
    *((name, mask, "coo") for name in ("sum", "prod", "amax", "amin") for mask in (SOME, ALL)),
    *((name, mask, "csr") for name in ("sum", "prod") for mask in (SOME, ALL)),
    *(
        (name, ALL, "csr") for name in ("amax", "amin", "mean")
    ),  # else torch fails where no element of a row counts
]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize(("name", "mask", "layout"), CASES)
def test_reductions_of_sparse_tensors_are_sparse_with_the_elements_where_some_count(name, mask, layout):
    torch = pytest.importorskip("torch")
    convert, options = SPARSE[layout]
    for dim in (0, 1, (0, 1)) if layout == "coo" else (1,):
        ours, theirs = (
            getattr(m.masked, name)(convert(m.tensor(DENSE)), dim, mask=convert(m.tensor(mask)), **options)
            for m in (tt, torch)
        )
        assert str(ours.layout) == str(theirs.layout).replace("torch", "tt")
        assert ours.to_dense().tolist() == theirs.to_dense().tolist()
        if dim != (0, 1):
            assert ours._nnz() == theirs._nnz()


def test_the_mean_of_a_sparse_tensor_counts_zeros_that_are_not_stored_where_the_mask_is_true():
    x = tt.tensor(DENSE, requires_grad=True)
    mean = tt.masked.mean(x.to_sparse(), 1, mask=tt.tensor(SOME))
    assert mean.to_dense().tolist() == [0.5, 1.5, 0.0] and mean._nnz() == 2
    mean.to_dense().sum().backward()
    assert x.grad.tolist() == [[0.5, 0, 0], [0, 0, 0.5], [0, 0, 0]]  # what is not stored has no gradient
    csr = x.detach().to_sparse_csr()
    assert tt.masked.amax(csr, 1, keepdim=True, mask=tt.tensor(SOME)).to_dense().tolist() == [[1], [3], [0]]


@pytest.mark.parametrize(
    "name", ["prod", "amax", "amin", "mean", "softmax", "norm", "var", "argmax", "cumsum"]
)
def test_what_sparse_tensors_do_not_have_is_refused_by_name(name):
    x = tt.tensor(DENSE).to_sparse()
    message = (
        "expects explicit mask" if name in ("prod", "amax", "amin", "mean") else "expects strided tensor"
    )
    with pytest.raises(ValueError, match=rf"masked.{name}\(\) {message}.*sparse_coo"):
        getattr(tt.masked, name)(x, *((2.0, 1) if name == "norm" else (1,)))
    with pytest.raises(tt.errors.LayoutError, match=r"masked.sum\(\).*keepdim=False"):
        tt.masked.sum(x.to_sparse_csr(), 1, mask=tt.tensor(SOME))


def test_a_sparse_mask_of_a_dense_tensor_counts_what_it_stores():
    x, mask = tt.tensor(DENSE), tt.tensor(SOME)
    assert tt.masked.sum(x, mask=mask.to_sparse()).item() == tt.masked.sum(x, mask=mask).item() == 4


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["int8", "int64", "complex64", "complex128", "float16", "float32"])
def test_results_have_the_dtype_of_the_input(dtype):
    torch = pytest.importorskip("torch")
    found = []
    for library in (tt, torch):
        x = library.tensor([1, 3, 2], dtype=getattr(library, dtype))
        mask = library.tensor([True, False, True])
        results = [library.masked.var(x, 0, True, mask=mask), library.masked.std(x, 0, True)]
        results += (
            []
            if x.is_complex()
            else [library.masked.logsumexp(x, 0), library.masked.logsumexp(x, 0, mask=mask)]
        )
        found.append([(str(r.dtype).partition(".")[2], round(abs(r.item()), 2)) for r in results])
    assert found[0] == found[1]


@pytest.mark.torch
@pytest.mark.parametrize("dim", [2, -3, (0, 0), (0, 5)])
def test_wrong_dimensions_of_products_are_refused_as_in_pytorch(dim):
    torch = pytest.importorskip("torch")
    with pytest.raises((IndexError, RuntimeError)) as theirs:
        torch.masked.prod(torch.ones(2, 3), dim)
    with pytest.raises(theirs.type):
        tt.masked.prod(tt.ones(2, 3), dim)
    assert tt.masked.prod(tt.full((2, 3), 2.0), (0, -1)).item() == 64
