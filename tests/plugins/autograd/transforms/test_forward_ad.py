"""Tensors that carry a tangent inside of a level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
import tt.autograd.forward_ad as forward_ad

# torch compiles something of its own the first time that it makes a dual number, and warns itself of that.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")


def test_a_tangent_is_seen_inside_of_its_level_only() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.tensor([1.0, 2.0]), tt.tensor([1.0, 0.0]))
        y = x.sin()
        assert forward_ad.unpack_dual(y).tangent.tolist() == pytest.approx([0.5403023, 0.0])
    assert forward_ad.unpack_dual(y).tangent is None
    assert (y * 2).tolist() == pytest.approx([1.6829420, 1.8185949])


def test_in_place_operations_and_views_move_the_tangent() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.tensor([[1.0, 2.0], [3.0, 4.0]]), tt.ones(2, 2))
        y = x * 1
        y[0].mul_(3)
        y[:, 1].zero_()
        value, tangent = forward_ad.unpack_dual(y)
    assert value.tolist() == [[3.0, 0.0], [3.0, 0.0]]
    assert tangent.tolist() == [[3.0, 0.0], [1.0, 0.0]]


def test_a_plain_tensor_gets_a_tangent_by_what_is_written() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.ones(2), tt.tensor([1.0, 2.0]))
        for result in (tt.zeros(2).add_(x), tt.add(x, 1, out=tt.zeros(2))):
            assert forward_ad.unpack_dual(result).tangent.tolist() == [1.0, 2.0]


def test_detach_drops_the_tangent() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.ones(2), tt.ones(2))
        assert forward_ad.unpack_dual(x.detach()).tangent is None


def test_integers_and_comparisons_have_no_tangent() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.tensor([3.0, 1.0]), tt.ones(2))
        assert forward_ad.unpack_dual(x > 2).tangent is None
        values, indices = x.sort()
        assert forward_ad.unpack_dual(indices).tangent is None
        assert forward_ad.unpack_dual(values).tangent.tolist() == [1.0, 1.0]
        assert bool(x[0] > 2)


def test_levels_nest() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.tensor(2.0), tt.tensor(1.0))
        with forward_ad.dual_level():
            y = forward_ad.make_dual(x, tt.tensor(1.0))
            inner_tangent = forward_ad.unpack_dual(y**3).tangent
        assert forward_ad.unpack_dual(inner_tangent).tangent.item() == 12.0


def test_a_tangent_can_be_differentiated_backwards() -> None:
    x = tt.tensor([0.5, 1.0], requires_grad=True, dtype=tt.float64)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(forward_ad.make_dual(x, tt.ones(2, dtype=tt.float64)).exp()).tangent
    tangent.sum().backward()
    tt.testing.assert_close(x.grad, x.detach().exp())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: forward_ad.make_dual(tt.ones(2), tt.ones(3)), "shape"),
        (lambda: forward_ad.make_dual(tt.ones(2), tt.ones(2, dtype=tt.float64)), "float64"),
        (lambda: forward_ad.make_dual(tt.arange(2), tt.arange(2)), "no derivative"),
        (lambda: forward_ad.make_dual(tt.ones(2), 1.0), "must be a Tensor"),
        (lambda: forward_ad.make_dual(tt.ones(2), tt.ones(2), level=3), "level 3 does not exist"),
    ],
)
def test_what_cannot_be_a_pair_is_refused(make: Any, message: str) -> None:
    with forward_ad.dual_level(), pytest.raises((RuntimeError, TypeError), match=message):
        make()


def test_without_a_level_there_are_no_tangents() -> None:
    with pytest.raises(RuntimeError, match="dual_level"):
        forward_ad.make_dual(tt.ones(1), tt.ones(1))
    with pytest.raises(RuntimeError, match="no level"):
        forward_ad.exit_dual_level()
    assert forward_ad.unpack_dual(tt.ones(1)).tangent is None


# --- what has no tangents --------------------------------------------------------------------------------------

INDICES = tt.tensor([[0, 1, 1], [2, 0, 1]])
MASK = tt.tensor([[True, False, True], [True, True, False]])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.to_sparse(),
        lambda x: x.to_sparse_csr(),
        lambda x: x.to_sparse_csc(),
        lambda x: x[:, :2].contiguous().to_sparse_bsr((1, 1)),
        lambda x: x[:, :2].contiguous().to_sparse_bsc((1, 1)),
        lambda x: tt.sparse_coo_tensor(INDICES, x[0], (2, 3)),
        lambda x: tt.sparse_csr_tensor(tt.tensor([0, 2, 3]), tt.tensor([0, 2, 1]), x[0], (2, 3)),
        lambda x: x.sparse_mask(tt.eye(3)[:2].to_sparse()),
        lambda x: tt.nested.as_nested_tensor([x[0], x[1]], layout=tt.jagged),
        lambda x: tt.nested.nested_tensor_from_jagged(x, tt.tensor([0, 1, 2])),
    ],
)
def test_tensors_of_other_layouts_have_no_tangents(function):
    x = tt.arange(6.0).reshape(2, 3)
    with pytest.raises(NotImplementedError, match="forward mode has no tangents of tensors of layout"):
        tt.func.jvp(function, (x,), (x,))
    with pytest.raises(NotImplementedError, match="forward mode has no tangents of tensors of layout"):
        tt.func.jacfwd(function)(x)


def test_a_constant_sparse_matrix_maps_tangents():
    x, constant = tt.arange(6.0).reshape(3, 2), tt.eye(3)[:2]
    for matrix in (constant.to_sparse(), constant.to_sparse_csr()):
        _, tangent = tt.func.jvp(lambda v: (matrix @ v) ** 2, (x,), (x + 1,))  # noqa: B023
        assert tangent.tolist() == (2 * x[:2] * (x[:2] + 1)).tolist()


@pytest.mark.parametrize("make", [tt.masked.masked_tensor, tt.masked.as_masked_tensor])
def test_masked_tensors_have_tangents(make):
    x = tt.arange(6.0).reshape(2, 3)

    def function(v):
        masked = make(v, MASK)
        return (masked * masked).sum(1).get_data()

    _, tangent = tt.func.jvp(function, (x,), (x + 1,))
    assert tangent.tolist() == (2 * x * (x + 1) * MASK).sum(1).tolist()


@pytest.mark.parametrize("export", [lambda x: x.numpy(), np.asarray, np.sin, tt.from_dlpack, np.from_dlpack])
def test_an_export_that_would_lose_a_tangent_is_refused(export):
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.ones(2), tt.ones(2))
        with pytest.raises(
            (tt.errors.GradientError, BufferError), match=r"the tangent of the tensor.*detach\(\)"
        ):
            export(x)
        assert not hasattr(x, "__array_interface__")
        assert x.detach().numpy().tolist() == x.numpy(force=True).tolist() == x.tolist() == [1.0, 1.0]
    assert x.numpy().tolist() == [1.0, 1.0]
