"""Functions that write in place under all transforms of `tt.func`, and in forward mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tt
from tt.autograd import forward_ad
from tt.func import grad, hessian, jacfwd, jacrev, jvp, vmap

# torch compiles something of its own the first time that it makes a dual number, and warns itself of that; and of
# operators that it runs example by example.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning"),
]

POINT: Final = np.array([[1.1, 2.3, 0.7], [0.4, 1.9, 2.6], [1.5, 0.8, 1.2]])


def mask(t: Any) -> Any:
    return t.tensor([[True, False, True]])


def rows(t: Any) -> Any:
    return t.tensor([2, 0])


def chain(t: Any, y: Any, x: Any) -> None:
    y[0].mul_(x[1])
    y[:, 0].add_(x[0] ** 2)
    y[1] = y[0] + y[2]


def view_from_before(t: Any, y: Any, x: Any) -> None:
    row = y[0]
    y.mul_(x)
    row.mul_(x[1])


def view_read_after(t: Any, y: Any, x: Any) -> None:
    row = y[0]
    y[0] = x[1] ** 2
    y[1] = row * 2


def zeros_of_its_own(t: Any, y: Any, x: Any) -> None:
    z = t.zeros(3, 3, dtype=t.float64)
    column = z[:, 1]
    z[0] = x[1] ** 2
    y.mul_(z)
    y[2] += column


def zeros_like_the_argument(t: Any, y: Any, x: Any) -> None:
    z = t.zeros_like(y)
    z[0] = x[1] ** 2
    y.copy_(z * x)


def new_zeros(t: Any, y: Any, x: Any) -> None:
    z = y.new_zeros((3, 3))
    z[:, 1] = x[1] ** 2
    y.mul_(z)


Write = Callable[[Any, Any, Any], Any]

WRITES: Final[dict[str, Write]] = {
    "y[0] = t": lambda t, y, x: y.__setitem__(0, x[1] ** 2),
    "y[0] = 5": lambda t, y, x: y.__setitem__(0, 5.0),
    "y[1:] = t": lambda t, y, x: y.__setitem__(slice(1, None), x[:2] * x[1:]),
    "y[mask] = 2": lambda t, y, x: y.__setitem__(t.tensor([True, False, True]), 2.0),
    "y[rows] = t": lambda t, y, x: y.__setitem__(rows(t), x[:2] ** 2),
    "fill_": lambda t, y, x: y.fill_(2.0),
    "fill_ of a view": lambda t, y, x: y[0].fill_(x[1, 1] ** 2),
    "zero_ of a view": lambda t, y, x: y[1].zero_(),
    "copy_": lambda t, y, x: y.copy_(x[1] ** 3),
    "copy_ to a view": lambda t, y, x: y[0].copy_(x[2] ** 3),
    "masked_fill_": lambda t, y, x: y.masked_fill_(mask(t), x[0, 0] ** 2),
    "masked_scatter_": lambda t, y, x: y.masked_scatter_(mask(t), x**2),
    "mul_": lambda t, y, x: y.mul_(x),
    "mul_ of a view": lambda t, y, x: y[0].mul_(x[1]),
    "mul_ of t()": lambda t, y, x: y.t().mul_(x),
    "add_ with alpha": lambda t, y, x: y[1:].add_(x[0] ** 2, alpha=2),
    "sub_ of a diagonal": lambda t, y, x: y.diagonal().sub_(x[0] ** 2),
    "div_ of a view": lambda t, y, x: y[:, 0].div_(x[0]),
    "pow_": lambda t, y, x: y[0].pow_(x[1]),
    "float_power_": lambda t, y, x: y.float_power_(2.0),
    "renorm_": lambda t, y, x: y.renorm_(2, 0, 1.0),
    "clamp_": lambda t, y, x: y[0].clamp_(1.2, 2.0),
    "lerp_": lambda t, y, x: y[0].lerp_(x[1] ** 2, x[2]),
    "addcmul_": lambda t, y, x: y.addcmul_(x, x, value=2.0),
    "addmm_": lambda t, y, x: y.addmm_(x, x),
    "exp_ of a view": lambda t, y, x: y[0].exp_(),
    "index_add_": lambda t, y, x: y.index_add_(0, t.tensor([0, 0, 2]), x**2),
    "index_copy_": lambda t, y, x: y.index_copy_(0, rows(t), x[:2] ** 2),
    "index_fill_": lambda t, y, x: y.index_fill_(0, rows(t), 1.5),
    "index_put_": lambda t, y, x: y.index_put_((rows(t), rows(t)), x[0, :2] ** 2, accumulate=True),
    "scatter_": lambda t, y, x: y.scatter_(0, t.tensor([[0, 1, 2]]), x[:1] ** 2),
    "scatter_add_": lambda t, y, x: y.scatter_add_(0, t.tensor([[0, 1, 2]]), x[:1] ** 2),
    "tril_": lambda t, y, x: y.tril_(),
    "cumprod_": lambda t, y, x: y.cumprod_(0),
    "t_": lambda t, y, x: y.t_().mul_(x),
    "transpose_": lambda t, y, x: y.transpose_(0, 1)[0].mul_(x[0]),
    "unsqueeze_": lambda t, y, x: y.unsqueeze_(0).mul_(x),
    "squeeze_": lambda t, y, x: y.unsqueeze_(1).squeeze_().mul_(x),
    "elu_": lambda t, y, x: t.nn.functional.elu_(y.sub_(1.3)[0]),
    "fill_diagonal_": lambda t, y, x: y.fill_diagonal_(2.0),
    "a chain": chain,
    "a view from before": view_from_before,
    "a view read after": view_read_after,
    "zeros of its own": zeros_of_its_own,
    "zeros_like": zeros_like_the_argument,
    "new_zeros": new_zeros,
}
"""What is written into `y`, a copy of the argument `x`."""

MAPPED_REFUSES: Final = ("zeros of its own",)
"""Writes of what differs by example into what does not, which `vmap` refuses."""


def written(t: Any, write: Write) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        y = x.clone()
        write(t, y, x)
        return ((y**2) * t.tensor([1.0, 2.0, 3.0], dtype=t.float64)).sum()

    return function


def stacked(t: Any, x: Any) -> Any:
    return t.stack([x, x * 1.1], 1)


Transform = Callable[[Any, Any, Any, Any], Any]

TRANSFORMS: Final[dict[str, Transform]] = {
    "G": lambda t, f, h, x: h.grad(f)(x),
    "J": lambda t, f, h, x: h.jacfwd(f)(x),
    "hessian": lambda t, f, h, x: h.hessian(f)(x),
    "J(J)": lambda t, f, h, x: h.jacfwd(h.jacfwd(f))(x),
    "R(R)": lambda t, f, h, x: h.jacrev(h.jacrev(f))(x),
    "R(J)": lambda t, f, h, x: h.jacrev(h.jacfwd(f))(x),
    "jvp(G)": lambda t, f, h, x: h.jvp(h.grad(f), (x,), (x * x,))[1],
    "G(jvp)": lambda t, f, h, x: h.grad(lambda z: h.jvp(f, (z,), (x * x,))[1])(x),
    "V(G)": lambda t, f, h, x: h.vmap(h.grad(f), in_dims=1)(stacked(t, x)),
    "G(V)": lambda t, f, h, x: h.grad(lambda z: h.vmap(f, in_dims=1)(z).sum())(stacked(t, x)),
    "V(J)": lambda t, f, h, x: h.vmap(h.jacfwd(f), in_dims=1)(stacked(t, x)),
    "J(V)": lambda t, f, h, x: h.jacfwd(h.vmap(f, in_dims=1))(stacked(t, x)),
    "V(hessian)": lambda t, f, h, x: h.vmap(h.hessian(f), in_dims=1)(stacked(t, x)),
    "V(J(J))": lambda t, f, h, x: h.vmap(h.jacfwd(h.jacfwd(f)), in_dims=1)(stacked(t, x)),
}


# torch's rules for many examples save what they change.
REFUSED_BY_TORCH: Final[dict[tuple[str, str], Transform]] = {
    (write, "G(V)"): lambda t, f, h, x: TRANSFORMS["V(G)"](t, f, h, x).movedim(0, 1)
    for write in ("pow_", "cumprod_")
}


@pytest.mark.sampled(8)
@pytest.mark.torch
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("write", WRITES)
def test_a_derivative_sees_what_is_written(write: str, transform: str) -> None:
    torch = pytest.importorskip("torch")
    if write in MAPPED_REFUSES and "V" in transform:
        with pytest.raises(tt.errors.InplaceError, match="differs by example"):
            TRANSFORMS[transform](tt, written(tt, WRITES[write]), tt.func, tt.tensor(POINT))
        return
    result = TRANSFORMS[transform](tt, written(tt, WRITES[write]), tt.func, tt.tensor(POINT))
    in_torch = REFUSED_BY_TORCH.get((write, transform), TRANSFORMS[transform])
    expected = in_torch(torch, written(torch, WRITES[write]), torch.func, torch.tensor(POINT))
    np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-9)


def one_entry(x: tt.Tensor) -> tt.Tensor:
    y = x.clone()
    y[0] = x[1] ** 2
    return (y**2).sum()


@pytest.mark.parametrize(
    "second", [hessian, lambda f: jacfwd(jacfwd(f)), lambda f: jacrev(jacfwd(f)), lambda f: jacrev(jacrev(f))]
)
def test_second_derivatives_of_a_written_entry(second: Any) -> None:
    x = tt.tensor([1.0, 2.0, 3.0])
    expected = [[0.0, 0.0, 0.0], [0.0, 50.0, 0.0], [0.0, 0.0, 2.0]]
    expected[1][1] = 12 * 2.0**2 + 2  # of x1 ** 4 + x1 ** 2 + x2 ** 2
    assert second(one_entry)(x).tolist() == expected
    assert vmap(second(one_entry))(tt.stack([x, x])).tolist() == [expected, expected]


def test_the_product_of_a_tensor_with_itself_in_place() -> None:
    def fourth(x: tt.Tensor) -> tt.Tensor:
        y = x.clone()
        y.mul_(y)
        return (y**2).sum()

    x = tt.tensor([0.5, 2.0])
    assert jacfwd(fourth)(x).tolist() == (4 * x**3).tolist()
    assert jacfwd(jacfwd(fourth))(x).tolist() == tt.diag(12 * x**2).tolist()
    assert hessian(fourth)(x).tolist() == tt.diag(12 * x**2).tolist()


# --- tensors without a tangent ---------------------------------------------------------------------------------


def test_a_plain_tensor_gets_a_tangent_by_a_write_and_so_do_its_views() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.tensor([3.0, 4.0]), tt.tensor([1.0, 2.0]))
        buffer = tt.zeros(4)
        last, copy = buffer[2:], buffer.detach()
        buffer[1:3] = x * x
        assert forward_ad.unpack_dual(buffer).tangent.tolist() == [0.0, 6.0, 16.0, 0.0]
        assert forward_ad.unpack_dual(last).tangent.tolist() == [16.0, 0.0]
        assert forward_ad.unpack_dual(copy).tangent is None
        last.mul_(2)
        assert forward_ad.unpack_dual(buffer).tangent.tolist() == [0.0, 6.0, 32.0, 0.0]
        assert copy.tolist() == [0.0, 9.0, 32.0, 0.0]


def test_views_of_other_kinds_get_tangents() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.tensor([3.0, 4.0]), tt.tensor([1.0, 2.0]))
        z = tt.zeros(2, 2, dtype=tt.complex64)
        parts, turned, bits = tt.view_as_real(z), z.t(), z.view(tt.float32)
        z.real[0] = x
        assert forward_ad.unpack_dual(z).tangent.tolist() == [[1, 2], [0, 0]]
        assert forward_ad.unpack_dual(parts).tangent[0].tolist() == [[1.0, 0.0], [2.0, 0.0]]
        assert forward_ad.unpack_dual(turned).tangent.tolist() == [[1, 0], [2, 0]]
        assert bits.tolist() == [[3.0, 0.0, 4.0, 0.0], [0.0, 0.0, 0.0, 0.0]]


def test_a_tensor_from_outside_is_a_plain_one_after_the_level() -> None:
    seen = tt.zeros(2)
    first = seen[0]
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.tensor([3.0, 4.0]), tt.tensor([1.0, 1.0]))
        value, tangent = forward_ad.unpack_dual(seen.copy_(x) * x)
    assert (value.tolist(), tangent.tolist()) == ([9.0, 16.0], [6.0, 8.0])
    assert (seen.tolist(), first.item(), type(seen.numpy())) == ([3.0, 4.0], 3.0, np.ndarray)
    seen.add_(1)
    assert first.item() == 4.0


def test_a_tensor_from_outside_is_a_plain_one_after_mapped_directions() -> None:
    seen = tt.zeros(2)
    first = seen[0]

    def function(x: tt.Tensor, seen: tt.Tensor) -> tt.Tensor:
        seen.copy_(x)
        return (x**3).sum()

    assert hessian(function)(tt.tensor([1.0, 2.0]), seen).tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert seen.tolist() == [1.0, 2.0]
    assert first.item() == 1.0


def test_numbers_without_derivatives_take_the_value() -> None:
    with forward_ad.dual_level():
        x = forward_ad.make_dual(tt.tensor([3.7, 0.0]), tt.ones(2))
        counts = tt.zeros(2, dtype=tt.int64)
        counts.copy_(x)
        assert counts.tolist() == [3, 0]
        assert forward_ad.unpack_dual(counts).tangent is None


def test_a_leaf_that_requires_a_gradient_gets_no_tangent() -> None:
    leaf = tt.zeros(2, requires_grad=True)
    with forward_ad.dual_level(), tt.no_grad():
        x = forward_ad.make_dual(tt.ones(2), tt.ones(2))
        with pytest.raises(tt.errors.InplaceError, match="leaf"):
            leaf.add_(x)


def test_a_written_tensor_with_a_history_keeps_it() -> None:
    weight = tt.tensor([2.0, 5.0], requires_grad=True)

    def function(x: tt.Tensor) -> tt.Tensor:
        y = weight * 3
        whole = y[:]
        y[0] = x[1] ** 2 * weight[1]
        return (whole * x).sum()

    _, tangent = jvp(function, (tt.tensor([1.0, 2.0]),), (tt.tensor([1.0, 1.0]),))
    assert tangent.item() == 5 * (4 + 4) + 15
    tangent.backward()
    assert weight.grad.tolist() == [0.0, 11.0]


def test_a_write_leaves_the_tangents_of_the_caller_alone() -> None:
    x, y, same = tt.tensor([1.0, 2.0]), tt.tensor([3.0, 4.0]), tt.ones(2)

    def function(x: tt.Tensor, y: tt.Tensor) -> tuple[tt.Tensor, tt.Tensor]:
        row = x[1:]
        x[0] = x[0] * 7
        x.mul_(2)
        row.zero_()
        return x * 1, y * 1

    _, (first, second) = jvp(function, (x, y), (same, same))
    assert first.tolist() == [14.0, 0.0]
    assert second.tolist() == same.tolist() == [1.0, 1.0]


class Floored(tt.autograd.Function):
    """Passes its tangent on."""

    @staticmethod
    def forward(x: tt.Tensor) -> tt.Tensor:
        return x.floor()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def jvp(ctx: Any, tangent: tt.Tensor) -> tt.Tensor:
        return tangent


@pytest.mark.parametrize(
    "pass_on",
    [
        Floored.apply,
        lambda x: x.prod(),
        lambda x: x.sort()[0],
        lambda x: x.cummax(0)[0],
        lambda x: x.logcumsumexp(0),
        lambda x: x.topk(1)[0],
        lambda x: x % 1,
    ],
)
def test_a_write_into_a_view_of_a_result_leaves_the_argument_alone(
    pass_on: Callable[[tt.Tensor], tt.Tensor],
) -> None:
    def function(x: tt.Tensor) -> tuple[tt.Tensor, tt.Tensor]:
        x = x * 1
        y = pass_on(x)
        y.view(1).mul_(5)
        return x, y

    _, tangents = jvp(function, (tt.tensor(0.5),), (tt.tensor(10.0),))
    assert [t.item() for t in tangents] == [10.0, 50.0]
    assert [j.item() for j in jacfwd(function)(tt.tensor(0.5))] == [1.0, 5.0]


# --- new tensors under vmap ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda x: tt.zeros_like(x),
        lambda x: tt.full_like(x, 0.0),
        lambda x: tt.zeros_like(x, memory_format=tt.channels_last),
        lambda x: x.new_zeros(x.shape),
        lambda x: x.new_full(x.shape, 0.0),
        lambda x: x.new_empty_strided(x.shape, (8, 4, 2, 1)).zero_(),
    ],
)
def test_a_new_tensor_like_an_example_can_be_written_to(make: Any) -> None:
    x = tt.arange(24.0).reshape(3, 1, 2, 2, 2)

    def function(example: tt.Tensor) -> tt.Tensor:
        new = make(example)
        new[0, 0] = example[0, 1] * 2
        return new

    assert vmap(function)(x).tolist() == tt.stack([function(example) for example in x]).tolist()


@pytest.mark.parametrize(("name", "args"), [("renorm", (2, 0, 1.0)), ("float_power", (2.0,))])
def test_a_composite_in_place_can_be_differentiated(name: str, args: tuple[Any, ...]) -> None:
    x = tt.tensor([[0.5, 2.0], [0.1, 0.2]], dtype=tt.float64)
    expected = grad(lambda v: (getattr(v * 1, name)(*args) * x).sum())(x)
    assert grad(lambda v: (getattr(v * 1, f"{name}_")(*args) * x).sum())(x).tolist() == expected.tolist()


@pytest.mark.parametrize("operator", ["log_softmax", "softmax", "normalize", "softmin"])
def test_a_result_whose_inner_tangent_is_expanded_can_be_written_to(operator: str) -> None:
    def written(x: Any) -> Any:
        y = getattr(tt.nn.functional, operator)(x, dim=1)
        y[0].mul_(2)
        return y * y

    def new(x: Any) -> Any:
        y = getattr(tt.nn.functional, operator)(x, dim=1)
        y = tt.cat([y[:1] * 2, y[1:]])
        return y * y

    x = tt.tensor(POINT)
    tt.testing.assert_close(jacfwd(jacfwd(written))(x), jacrev(jacrev(new))(x))
    value, tangent = jvp(jacfwd(written), (x,), (x * 2,))
    tt.testing.assert_close(value, jacrev(new)(x))
    tt.testing.assert_close(tangent, (jacrev(jacrev(new))(x) * (x * 2)).sum((-2, -1)))
