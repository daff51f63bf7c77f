"""Linear algebra, against PyTorch and against what decompositions promise."""

from __future__ import annotations

import numpy as np
import pytest

import tt

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")


def sample(*shape: int, dtype: str = "float32", seed: int = 0) -> torch.Tensor:
    kind = getattr(torch, dtype)
    numbers = torch.randint(-3, 4, shape, generator=torch.Generator().manual_seed(seed + len(shape)))
    return torch.complex(numbers.float(), 1.0 - numbers).to(kind) if kind.is_complex else numbers.to(kind)


SHAPES = [
    ((3, 4), (4, 5)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)),
    ((5, 1, 3, 4), (2, 4, 5)), ((2, 3, 4), (4,)), ((4,), (2, 4, 5)), ((3, 0), (0, 2)), ((0, 3), (3, 2)),
    ((3, 4), (3, 4)), ((), (3,)), ((2, 3, 4), (3, 4, 5)), ((4,), (5,)), ((1, 1), (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("op", ["matmul", "mm", "bmm", "mv", "dot", "outer"])
def test_products(same, op, shapes):
    if op == "mv" and () in shapes:
        pytest.skip("PyTorch raises IndexError where it does not raise RuntimeError; tt raises one for all")
    same(lambda m, x, y: getattr(m, op)(x, y), sample(*shapes[0]), sample(*shapes[1], seed=1))


@pytest.mark.parametrize(
    "dtype", ["uint8", "int32", "int64", "float16", "bfloat16", "float64", "complex64", "bool"]
)
def test_products_of_every_dtype(same, dtype):
    same(lambda m, x, y: m.matmul(x, y), sample(3, 4, dtype=dtype), sample(4, 5, dtype=dtype))
    same(lambda m, x, y: m.matmul(x.t(), y[:3, ::2]), sample(3, 4, dtype=dtype), sample(4, 5, dtype=dtype))


def test_two_dtypes_are_refused(same):
    same(lambda m, x, y: m.matmul(x, y), sample(3, 4), sample(4, 5, dtype="float64"))


@pytest.mark.parametrize("factors", [(1, 1), (0, 1), (2, 0.5), (0.5, 0)], ids=str)
@pytest.mark.parametrize("shape", [(3, 5), (5,), (3, 1), (), (4, 5)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16"])
def test_addmm(same, factors, shape, dtype):
    beta, alpha = factors
    same(
        lambda m, c, x, y: m.addmm(c, x, y, beta=beta, alpha=alpha),
        sample(*shape, dtype=dtype), sample(3, 4, dtype=dtype), sample(4, 5, dtype=dtype),
    )  # fmt: skip


@pytest.mark.parametrize("use_gelu", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64"])
def test_addmm_and_an_activation(same, dtype, use_gelu):
    if use_gelu and dtype == "int64":
        pytest.skip("gelu takes no integers")

    def call(m, c, x, y):
        if m is torch and use_gelu:  # on CUDA PyTorch takes the approximation, on the CPU it does not
            return torch.nn.functional.gelu(torch.addmm(c, x, y, beta=2, alpha=3), approximate="tanh")
        return m._addmm_activation(c, x, y, beta=2, alpha=3, use_gelu=use_gelu)

    same(call, sample(5, dtype=dtype), sample(3, 4, dtype=dtype), sample(4, 5, dtype=dtype))


def test_addmm_without_beta_does_not_read_self():
    nothing = tt.full((2, 2), float("nan"))
    assert tt.addmm(nothing, tt.eye(2), tt.eye(2), beta=0).tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 5), (2, 3, 4), (0, 3), (1, 1)], ids=str)
def test_svd_takes_a_matrix_apart(shape, dtype, full):
    a = np.random.default_rng(0).standard_normal(shape) + 0.5j * ("complex" in dtype)
    a = a.astype(dtype) if "complex" in dtype else a.real.astype(dtype)
    u, s, vh = (x.numpy() for x in tt.linalg.svd(tt.from_numpy(a), full_matrices=full))
    theirs = torch.linalg.svd(torch.from_numpy(a), full_matrices=full)
    assert [x.shape for x in (u, s, vh)] == [tuple(x.shape) for x in theirs]
    assert s.dtype == a.real.dtype and u.dtype == vh.dtype == a.dtype
    k = min(shape[-2:])
    tolerance = 1e-5 if a.real.dtype == np.float32 else 1e-12
    np.testing.assert_allclose((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a, atol=tolerance)
    np.testing.assert_allclose(s, theirs.S.numpy(), atol=tolerance)


@pytest.mark.parametrize("some", [False, True])
def test_svd_in_its_old_form(some):
    a = tt.from_numpy(np.random.default_rng(0).standard_normal((4, 3)))
    u, s, v = tt.svd(a, some=some)
    assert tuple(u.shape) == ((4, 3) if some else (4, 4)) and tuple(v.shape) == (3, 3)
    np.testing.assert_allclose(((u[:, :3] * s) @ v.t()).numpy(), a.numpy(), atol=1e-12)
    zeros = tt.svd(a, compute_uv=False)
    assert not zeros.U.any().item() and not zeros.V.any().item()


def test_inv(same):
    good = torch.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=torch.float64)
    same(lambda m, x: m.linalg.inv(x), good)
    same(lambda m, x: m.linalg.inv(x), torch.stack([good, good * 2]))
    same(lambda m, x: m.linalg.inv(x), good.to(torch.complex128) * 1j)
    same(lambda m, x: m.linalg.inv(x), torch.ones(2, 2))
    same(lambda m, x: m.linalg.inv(x), torch.ones(2, 3))
    same(lambda m, x: m.linalg.inv(x), torch.ones(2, 2, dtype=torch.int64))


def test_an_outer_product_is_added_in_the_dtype_of_all_three():
    x, one, other = tt.tensor([[1, 2], [3, 4]]), tt.tensor([1j, 2]), tt.tensor([1, 2])
    assert tt.addr(x, one, other).tolist() == [[1 + 1j, 2 + 2j], [5, 8]]
    assert tt.addr(x, one.real, other).dtype is tt.float32


def test_the_inputs_of_bilinear_have_dimensions():
    with pytest.raises(RuntimeError, match="at least one dimension"):
        tt.nn.functional.bilinear(tt.tensor(1.0), tt.ones(3), tt.ones(2, 3, 3))


def test_a_chain_of_one_matrix_is_a_copy():
    x = tt.ones(2, 3)
    with pytest.warns(UserWarning, match="linalg.multi_dot"):
        y = tt.chain_matmul(x)
    assert y.add_(1).tolist() == [[2, 2, 2], [2, 2, 2]] and x.tolist() == [[1, 1, 1], [1, 1, 1]]
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="Tensor dimension is 1, expected 2"):
        tt.chain_matmul(tt.ones(3))
