"""Tensors of the layout sparse_coo: making them, members, and their use with dense ones.

SciPy's sparse arrays and NumPy are the references.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tt
from tests.plugins.sparse.making import random_pair
from tt.core.errors import (
    InplaceError,
    NoKernelError,
    ShapeError,
    ValueRangeError,
)

INDICES, VALUES, SIZE = [[0, 1, 1, 0], [2, 0, 2, 2]], [3.0, 4.0, 5.0, 6.0], (2, 3)
DENSE = [[0.0, 0.0, 9.0], [4.0, 0.0, 5.0]]


# --- arithmetic ------------------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_sums_and_products_agree_with_scipy(seed):
    (left, left_reference), (right, right_reference) = random_pair(seed), random_pair(seed + 1)
    dense = np.random.default_rng(seed).integers(-5, 6, (5, 7)).astype(np.float64)
    for ours, reference in [
        (left + right, left_reference + right_reference),
        (tt.add(left, right, alpha=3), left_reference + 3 * right_reference),
        (left * right, left_reference * right_reference),
        (left * 2.5, left_reference * 2.5),
        (left / 4, left_reference / 4),
        (-left, -left_reference),
        (left * tt.tensor(dense), left_reference * dense),
        (tt.tensor(dense) * left, left_reference * dense),
    ]:
        assert ours.layout is tt.sparse_coo
        np.testing.assert_allclose(ours.to_dense().numpy(), reference.toarray())
    for ours, expected in [
        (tt.tensor(dense) + left, dense + left_reference.toarray()),
        (left + tt.tensor(dense), dense + left_reference.toarray()),
        (tt.add(tt.tensor(dense), left, alpha=-2), dense - 2 * left_reference.toarray()),
        (tt.add(left, tt.tensor(dense), alpha=-2), left_reference.toarray() - 2 * dense),
    ]:
        assert ours.layout is tt.strided
        np.testing.assert_allclose(ours.numpy(), expected)


def test_adding_to_a_dense_tensor_in_place_keeps_it_dense(sparse):
    dense = tt.ones(2, 3)
    assert dense.add_(sparse) is dense
    assert dense.tolist() == [[1.0, 1.0, 10.0], [5.0, 1.0, 6.0]]


def test_a_dense_result_does_not_go_into_a_sparse_tensor(sparse):
    with pytest.raises(InplaceError, match=r"layout tt\.strided cannot be stored in a tensor of the layout"):
        sparse.add_(tt.ones(2, 3))


def test_the_sum_of_coalesced_tensors_is_coalesced(sparse):
    assert (sparse.coalesce() + sparse.coalesce()).is_coalesced()
    assert not (sparse + sparse).is_coalesced()


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (tt.int64, tt.float32, tt.float32),
        (tt.float32, tt.float64, tt.float64),
        (tt.int32, tt.int64, tt.int64),
        (tt.bfloat16, tt.bfloat16, tt.bfloat16),
        (tt.float16, tt.bfloat16, tt.float32),
    ],
)
def test_dtypes_promote_as_those_of_dense_tensors_do(sparse, left, right, expected):
    made, dense = sparse.to_dense().to(left).to_sparse(), tt.ones(2, 3, dtype=right)
    for result in (made + dense, dense + made, made + dense.to_sparse(), made * dense):
        assert result.dtype == expected
    assert (made + dense).tolist() == [[1.0, 1.0, 10.0], [5.0, 1.0, 6.0]]


def test_an_integer_tensor_times_a_float_is_floating():
    made = tt.sparse_coo_tensor([[0, 1]], [1, 2], (2,))
    assert ((made * 2).dtype, (made * 2.5).dtype, (made / 2).dtype) == (tt.int64, tt.float32, tt.float32)


def test_shapes_are_not_broadcast(sparse):
    for call in (lambda: sparse + tt.ones(3), lambda: tt.ones(3) + sparse):
        with pytest.raises(ShapeError, match="must be the same; they are not broadcast"):
            call()
    with pytest.raises(ShapeError, match="the sparse one, which is not broadcast itself"):
        sparse * tt.ones(4, 2, 3)


def test_a_dense_factor_is_broadcast(sparse):
    assert (sparse * tt.tensor([1.0, 2.0, 3.0])).to_dense().tolist() == [[0, 0, 27], [4, 0, 15]]


def test_a_number_is_not_added(sparse):
    with pytest.raises(ValueRangeError, match="would fill it"):
        sparse + 1


def test_a_gradient_flows_to_the_dense_operand(sparse):
    dense = tt.zeros(2, 3, requires_grad=True)
    (dense + sparse).sum().backward()
    assert dense.grad.tolist() == [[1.0] * 3] * 2


def test_gradients_flow_through_the_conversions_to_the_values(sparse):
    values = tt.tensor(VALUES, dtype=tt.float64, requires_grad=True)
    weights = tt.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=tt.float64)
    (tt.sparse_coo_tensor(INDICES, values, SIZE).to_dense() * weights).sum().backward()
    assert values.grad.tolist() == [3.0, 4.0, 6.0, 3.0]
    values.grad = None
    (tt.sparse_coo_tensor(INDICES, values, SIZE) + weights).sum().backward()
    assert values.grad.tolist() == [1.0, 1.0, 1.0, 1.0]
    values.grad = None
    (
        tt.sparse_coo_tensor(INDICES, values, SIZE).coalesce().values() * tt.tensor([1.0, 2.0, 3.0])
    ).sum().backward()
    assert values.grad.tolist() == [1.0, 2.0, 3.0, 1.0]
    dense = tt.tensor(DENSE, dtype=tt.float64, requires_grad=True)
    (dense.to_sparse().to_dense() * weights).sum().backward()
    assert dense.grad.tolist() == [[0.0, 0.0, 3.0], [4.0, 0.0, 6.0]]


# --- its limits -----------------------------------------------------------------------------------------


def test_an_operator_without_a_kernel_says_to_convert(sparse):
    with pytest.raises(NoKernelError) as caught:
        tt.exp(sparse)
    message = str(caught.value)
    assert "has no kernel for sparse_coo/cpu/float32" in message
    assert "argument 'self': device=cpu layout=sparse_coo dtype=float32" in message
    assert "try: self.to_dense()" in message
    assert "see: tt ops explain exp cpu/sparse_coo:float32" in message


def test_a_sparse_tensor_prints_its_coordinates_and_values(sparse):
    assert repr(sparse) == (
        "tensor(indices=tensor([[0, 1, 1, 0],\n                       [2, 0, 2, 2]]),\n"
        "       values=tensor([3., 4., 5., 6.]),\n       size=(2, 3), nnz=4, layout=tt.sparse_coo)"
    )


# --- against PyTorch -------------------------------------------------------------------------------------------


@pytest.mark.torch
def test_construction_and_coalescing_agree_with_pytorch():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for _ in range(20):
        indices, values = rng.integers(0, 4, (2, 6)), rng.standard_normal((6, 2)).astype(np.float32)
        theirs = torch.sparse_coo_tensor(indices, values, (4, 4, 2), check_invariants=True).coalesce()
        ours = tt.sparse_coo_tensor(indices, values, (4, 4, 2)).coalesce()
        np.testing.assert_array_equal(ours.indices().numpy(), theirs.indices().numpy())
        np.testing.assert_allclose(ours.values().numpy(), theirs.values().numpy(), rtol=1e-6)
