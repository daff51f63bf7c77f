"""Einstein's notation, against NumPy and PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import tt

EQUATIONS = [
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]), ("ba", [(2, 3)]), ("ii", [(3, 3)]),
    ("ii->i", [(3, 3)]),
    ("iii->i", [(2, 2, 2)]), ("iji->j", [(2, 3, 2)]), ("ij->", [(2, 3)]), (" i j , j k -> i k ", [(2, 3), (3, 4)]),
    ("...ii->...i", [(4, 3, 3)]), ("...ij,...jk", [(5, 1, 2, 3), (4, 3, 2)]), ("...,...->...", [(2, 3), (3,)]),
    ("i...,i...->...", [(2, 3), (2, 4, 3)]), ("ab,bc,cd,de->ae", [(2, 3), (3, 4), (4, 5), (5, 2)]),
    ("ij,ik,il->jkl", [(2, 3), (2, 4), (2, 5)]), ("ij,j,i->", [(2, 3), (3,), (2,)]), ("a,b,c->abc", [(2,), (3,), (4,)]),
    ("Ab,bC->AC", [(2, 3), (3, 4)]), ("i->i", [(0,)]), ("ij,jk->ik", [(2, 0), (0, 3)]), ("ij,k->", [(2, 3), (4,)]),
    ("bij,bkj->bik", [(2, 3, 4), (2, 5, 4)]), ("iij,jkk->ik", [(2, 2, 3), (3, 4, 4)]), (",->", [(), ()]), ("->", [()]),
]  # fmt: skip


def arrays(shapes, dtype=np.float64):
    rng = np.random.default_rng(0)
    return [rng.integers(-3, 4, shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS, ids=lambda value: str(value).replace(" ", ""))
@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.complex128])
def test_sums_of_products(equation, shapes, dtype):
    operands = arrays(shapes, dtype)
    found = tt.einsum(equation, *map(tt.tensor, operands))
    expected = np.einsum(equation, *operands)
    assert tuple(found.shape) == expected.shape
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.torch
def test_dimensions_of_size_one_broadcast_as_in_torch():
    torch = pytest.importorskip("torch")
    for equation, shapes in (
        ("ij,jk->ik", [(2, 1), (3, 4)]),
        ("ij,ij->ij", [(1, 3), (2, 1)]),
        ("ij,jk,k->i", [(2, 3), (1, 4), (4,)]),
    ):
        operands = arrays(shapes)
        expected = torch.einsum(equation, *map(torch.from_numpy, operands))
        np.testing.assert_allclose(
            tt.einsum(equation, *map(tt.from_numpy, operands)).numpy(), expected.numpy()
        )


def test_lists_of_indices():
    a, b = map(tt.tensor, arrays([(2, 3), (3, 4)]))
    expected = (a @ b).tolist()
    assert tt.einsum(a, [0, 1], b, [1, 2], [0, 2]).tolist() == expected
    assert tt.einsum(a, [5, 9], b, [9, 51]).tolist() == expected
    assert tt.einsum(a, [..., 0], [..., 0]).tolist() == a.tolist()


def test_a_long_chain_is_contracted_in_a_cheap_order():
    rng = np.random.default_rng(0)
    operands = [rng.standard_normal(s) for s in ((30, 2), (2, 40), (40, 3), (3, 50), (50,))]
    found = tt.einsum("ab,bc,cd,de,e->a", *map(tt.tensor, operands))
    np.testing.assert_allclose(found.numpy(), np.linalg.multi_dot(operands))


def test_half_precision_accumulates_in_single():
    ones = tt.full((1, 5000), 0.1, dtype=tt.bfloat16)
    found = tt.einsum("ij,kj->ik", ones, tt.ones(1, 5000, dtype=tt.bfloat16))
    assert found.dtype is tt.bfloat16 and abs(found.item() - 500) < 5


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->il", [(2, 3), (3, 4)], "which no operand has"),
        ("ij,jk->ii", [(2, 3), (3, 4)], "twice or more"),
        ("ij,jk", [(2, 3)], "2 operands"),
        ("ijk", [(2, 3)], "names 3 of it"),
        ("i1", [(2, 3)], "invalid subscript"),
        ("i.j", [(2, 3)], "invalid subscript"),
        ("......", [(2, 3)], "more than one ellipsis"),
        ("ij,jk", [(2, 3), (4, 5)], "do not broadcast"),
        ("ii", [(2, 3)], "repeated"),
    ],
)
def test_a_mistake_is_explained(equation, shapes, message):
    with pytest.raises(RuntimeError, match=message):
        tt.einsum(equation, *map(tt.tensor, arrays(shapes)))


@pytest.mark.parametrize("dims", [[None, [0]], [[0], ["a"]], "ab", None, [[0], [0], [0]], [object(), 1]])
def test_dims_of_tensordot_are_a_number_or_two_lists(dims):
    with pytest.raises(TypeError, match="must be an int or a pair of lists of ints"):
        tt.tensordot(tt.ones(2, 2), tt.ones(2, 2), dims)


def test_one_tensor_of_integers_is_summed_as_sum_does_it_and_a_product_keeps_the_dtype():
    x = tt.tensor([[200, 2], [200, 3]], dtype=tt.uint8)
    assert tt.einsum("ij->j", x).equal(tt.tensor([400, 5])) and tt.einsum("ii->", x).dtype is tt.int64
    assert tt.einsum("ij->ji", x).dtype is tt.einsum("ij,jk->ik", x, x).dtype is tt.uint8


def test_no_operands():
    with pytest.raises((RuntimeError, ValueError)):
        tt.einsum("i")
    with pytest.raises(RuntimeError, match="one dtype"):
        tt.einsum("i,i", tt.ones(2), tt.ones(2, dtype=tt.float64))


def test_the_method_of_multiplying_several_matrices_does_not_change_the_product():
    rng = np.random.default_rng(0)
    matrices = [rng.standard_normal(s) for s in ((10, 2), (2, 30), (30, 4), (4, 20))]
    expected = np.linalg.multi_dot(matrices)
    np.testing.assert_allclose(tt.linalg.multi_dot([tt.tensor(m) for m in matrices]).numpy(), expected)
    with pytest.warns(UserWarning, match="linalg.multi_dot"):
        product = tt.chain_matmul(*map(tt.tensor, matrices))
    np.testing.assert_allclose(product.numpy(), expected)
