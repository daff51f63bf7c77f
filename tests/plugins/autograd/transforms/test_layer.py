"""What ends a history, and what changes the geometry of a tensor, inside transforms."""

# ruff: noqa: N806 - functions of functions have a letter each.

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tt
from tt.errors import SavedTensorError
from tt.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

X = [1.0, 2.0, 3.0]


def detached_in_place(v: Any) -> Any:
    w = v * 1
    w.detach_()
    return v * w


DETACHED: dict[str, Callable[[Any], Any]] = {
    "detach": lambda v: v * v.detach(),
    "data": lambda v: v * (v * 1).data,
    "detach_": detached_in_place,
    "detach and clone": lambda v: v * v.detach().clone(),
    "detach_copy": lambda v: v * tt.detach_copy(v),
    "twice": lambda v: v * (v.detach() * 1).detach(),
}


@pytest.mark.parametrize("name", DETACHED)
def test_what_is_detached_is_a_constant_to_every_transform(name: str) -> None:
    f = DETACHED[name]
    x = tt.tensor(X)
    assert vmap(grad(f))(x).tolist() == X
    assert grad(lambda t: vmap(f)(t).sum())(x).tolist() == X
    for J in (jacrev, jacfwd):
        assert vmap(J(f))(x).tolist() == X
        assert J(vmap(f))(x).diagonal().tolist() == X
    assert jvp(f, (x,), (tt.ones(3),))[1].tolist() == X
    assert vmap(lambda v: jvp(f, (v,), (tt.ones(()),))[1])(x).tolist() == X
    assert not hessian(lambda t: f(t).sum())(x).any()
    leaf = tt.tensor(X, requires_grad=True)
    vmap(f)(leaf).sum().backward()
    assert leaf.grad.tolist() == X


def through_data(v: Any) -> Any:
    c = v * 1
    result = (c * c.sin()).sum()
    c.data.mul_(2)
    return result


@pytest.mark.parametrize(
    "transform",
    [
        grad,
        lambda f: vmap(grad(f)),
        lambda f: grad(lambda v: grad(f)(v).sum()),
        hessian,
        lambda f: lambda v: vjp(f, v)[1](tt.ones(())),
        lambda f: lambda v: tt.autograd.grad(jacfwd(f)(v.requires_grad_()).sum(), v),
    ],
    ids=["G", "V(G)", "GG", "hess", "vjp", "J below a graph"],
)
def test_changes_through_data_of_what_a_transform_saved_are_seen(transform: Callable[..., Any]) -> None:
    with pytest.raises(SavedTensorError):
        transform(through_data)(tt.ones(2, 3))


def test_changes_through_data_leave_tangents_as_they_were() -> None:
    x = tt.tensor(X, dtype=tt.float64)
    assert jacfwd(through_data)(x).tolist() == pytest.approx((x.sin() + x * x.cos()).tolist(), rel=1e-15)


def test_changes_through_data_outside_of_transforms_are_not_seen() -> None:
    x = tt.tensor(X, requires_grad=True)
    result = (x * x.detach()).sum()
    x.data.mul_(2)
    result.backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]  # the numbers as they are when backward runs


def test_detached_examples_require_no_gradient() -> None:
    leaf = tt.tensor(X, requires_grad=True)
    assert vmap(lambda v: v * 2)(leaf).requires_grad
    assert not vmap(lambda v: v.detach())(leaf).requires_grad
    assert not vmap(detached_in_place)(leaf.detach()).requires_grad


def test_backward_that_reaches_an_operator_without_a_derivative_raises_under_vmap() -> None:
    # Its composite is made of parts that have derivatives.
    x = tt.tensor([[3.0, 1.0, 2.0], [1.0, 1.0, 5.0]])
    for derivative in (grad, jacrev):
        with pytest.raises(RuntimeError, match="geqrf"):
            vmap(derivative(lambda v: tt.geqrf(v.reshape(3, 1))[0].sum()))(x)


GEOMETRY: dict[str, Callable[[Any], Any]] = {
    "squeeze_": lambda y: y.reshape(1, 3, 1).clone().squeeze_(),
    "squeeze_ of a dim": lambda y: y.reshape(1, 3, 1).clone().squeeze_(0),
    "unsqueeze_": lambda y: y.clone().unsqueeze_(-1),
    "t_": lambda y: y.reshape(1, 3).clone().t_(),
    "transpose_": lambda y: y.reshape(1, 3).clone().transpose_(0, 1),
    "as_strided_": lambda y: y.clone().as_strided_((2, 2), (1, 1)),
    "several": lambda y: y.reshape(1, 3, 1).clone().squeeze_().unsqueeze_(0).t_(),
}


@pytest.mark.parametrize("name", GEOMETRY)
def test_geometry_is_changed_in_place_inside_transforms(name: str) -> None:
    f = GEOMETRY[name]
    rows = tt.tensor([X, [4.0, -1.0, 0.5]])

    def g(v: Any) -> Any:
        return f(v) ** 2 * v.sum()

    expected = tt.stack([jacrev(g)(row) for row in rows])
    tt.testing.assert_close(vmap(g)(rows), tt.stack([g(row) for row in rows]))
    tt.testing.assert_close(vmap(jacrev(g))(rows), expected)
    tt.testing.assert_close(vmap(jacfwd(g))(rows), expected)
    tt.testing.assert_close(tt.stack([jacfwd(g)(row) for row in rows]), expected)
    tt.testing.assert_close(
        vmap(hessian(lambda v: g(v).sum()))(rows),
        tt.stack([jacrev(grad(lambda v: g(v).sum()))(row) for row in rows]),
    )


def test_the_argument_of_vmap_keeps_its_shape() -> None:
    rows = tt.ones(2, 1, 3)
    assert vmap(lambda v: v.squeeze_())(rows).shape == (2, 3)
    assert rows.shape == (2, 1, 3)


@pytest.mark.parametrize("transform", [vmap, jacfwd])
def test_wrapped_tensors_are_not_resized(transform: Any) -> None:
    with pytest.raises(RuntimeError, match="resize"):
        transform(lambda v: v.clone().resize_(2))(tt.ones(3, 3))


def test_an_example_of_vmap_has_no_storage() -> None:
    def function(x: tt.Tensor) -> tt.Tensor:
        x.untyped_storage()
        return x

    with pytest.raises(NotImplementedError, match="Cannot access storage of a tensor that vmap maps over"):
        tt.vmap(function)(tt.ones(2, 3))


def test_a_tensor_with_a_tangent_shows_the_storage_of_its_value() -> None:
    value = tt.ones(2)
    with tt.autograd.forward_ad.dual_level():
        x = tt.autograd.forward_ad.make_dual(value, tt.ones(2))
        assert x.untyped_storage().tolist() == value.untyped_storage().tolist()
        assert x.untyped_storage().data_ptr() == value.untyped_storage().data_ptr()
        assert x.view(2, 1).untyped_storage().nbytes() == 8
