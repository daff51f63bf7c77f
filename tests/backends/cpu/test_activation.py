"""Activation functions, against PyTorch, where the samples do not reach."""

from __future__ import annotations

import math

import pytest

import tt
import tt.nn.functional as F

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

NUMBERS = [-1e4, -100.0, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0, 100.0, 1e4, math.inf, -math.inf, math.nan]
INPLACE = {
    "relu": (), "relu6": (), "elu": (0.5,), "celu": (2.0,), "selu": (), "leaky_relu": (0.2,), "hardtanh": (-2.0, 2.0),
    "threshold": (0.5, 7.0), "hardsigmoid": (), "hardswish": (), "silu": (), "mish": (),
}  # fmt: skip
OTHERS = {
    "hardshrink": (), "softshrink": (), "softplus": (2.0, 5.0), "logsigmoid": (), "softsign": (), "tanhshrink": (),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", [*INPLACE, *OTHERS])
def test_extreme_numbers(same, name, dtype):
    if name == "mish" and dtype == "float16":
        return  # PyTorch rounds between its steps there
    arguments = {**INPLACE, **OTHERS}[name]
    same(
        lambda m, x: getattr(m.nn.functional, name)(x, *arguments),
        torch.tensor(NUMBERS).to(getattr(torch, dtype)),
    )


def derivatives(module, name, numbers, dtype):
    """Return the first and the second derivative; the second is zero where the first is constant."""
    x = module.tensor(numbers, dtype=getattr(module, dtype), requires_grad=True)
    y = getattr(module.nn.functional, name)(x, *{**INPLACE, **OTHERS, "gelu": ()}[name])
    (first,) = module.autograd.grad(y, x, module.ones_like(y), create_graph=True)
    if not first.requires_grad or name == "hardsigmoid":  # whose second derivative PyTorch lacks
        return first.tolist(), [0.0] * len(numbers)
    return first.tolist(), module.autograd.grad(first.sum(), x)[0].tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*INPLACE, *OTHERS, "gelu"])
def test_derivatives_of_extreme_numbers(name, dtype):
    # PyTorch's vectors disagree with its loops and with its CUDA kernels about NaN; single numbers take the loops.
    single = [derivatives(torch, name, [number], dtype) for number in NUMBERS]
    for order, found in enumerate(derivatives(tt, name, NUMBERS, dtype)):
        for number, mine, theirs in zip(NUMBERS, found, (one[order][0] for one in single), strict=True):
            if order and math.isnan(theirs):
                continue  # PyTorch's second derivative of mish and gelu is NaN for large numbers
            assert mine == pytest.approx(theirs, rel=1e-4, abs=5e-6, nan_ok=True), (number, order)


@pytest.mark.parametrize("name", INPLACE)
def test_in_place_on_demand(name):
    arguments = INPLACE[name]
    x = tt.tensor([-4.0, -0.5, 0.25, 5.0])
    expected = getattr(F, name)(x, *arguments)
    kept = x.clone()
    assert getattr(F, name)(kept, *arguments, inplace=False).equal(expected)
    assert kept.equal(x)
    changed = x.clone()
    assert getattr(F, name)(changed, *arguments, inplace=True) is changed
    assert changed.equal(expected)
    by_position = x.clone()
    assert getattr(F, name)(by_position, *arguments, True) is by_position
    assert by_position.equal(expected)


@pytest.mark.parametrize("name", ["relu", "elu", "celu", "selu", "leaky_relu", "hardtanh", "threshold"])
def test_functions_that_change_their_argument(name):
    arguments = INPLACE[name]
    x = tt.tensor([-4.0, -0.5, 0.25, 5.0])
    expected = getattr(F, name)(x, *arguments)
    assert getattr(F, f"{name}_")(x, *arguments) is x
    assert x.equal(expected)


@pytest.mark.parametrize("name", INPLACE)
def test_gradients_of_the_in_place_form(name):
    arguments = INPLACE[name]
    x = tt.tensor([-2.5, -0.4, 0.3, 1.7], dtype=tt.float64, requires_grad=True)
    (expected,) = tt.autograd.grad(getattr(F, name)(x, *arguments).sum(), x)
    (found,) = tt.autograd.grad(getattr(F, name)(x * 1, *arguments, inplace=True).sum(), x)
    assert found.equal(expected)


def test_a_leaf_is_not_changed_in_place():
    x = tt.tensor([-1.0], requires_grad=True)
    with pytest.raises(RuntimeError):
        F.elu(x, inplace=True)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4), (1, 2, 3, 2)])
@pytest.mark.filterwarnings("ignore:.*no dim is given")
def test_without_a_dimension(same, name, shape):
    same(lambda m, x: getattr(m.nn.functional, name)(x), torch.randn(shape))
    same(lambda m, x: getattr(m.nn.functional, name)(x, dim=0, dtype=m.float64), torch.randn(shape))


def test_a_dimension_that_is_guessed_is_warned_of():
    with pytest.warns(UserWarning, match=r"dim=\.\.\."):
        F.softmax(tt.zeros(2, 2))


def test_large_numbers_do_not_overflow():
    x = tt.tensor([1e4, -1e4])
    assert F.logsigmoid(x).tolist() == [0.0, -1e4]
    assert F.softplus(x).tolist() == [1e4, 0.0]
    assert F.log_softmax(x, 0).tolist() == [0.0, -2e4]
    assert F.gelu(tt.tensor(-10.0, dtype=tt.float64)).item() == pytest.approx(-7.61985302416e-23, rel=1e-9)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4), ()])
@pytest.mark.parametrize("parameters", [(), (1,), (3,), (2,), (1, 1)])
def test_prelu(same, shape, parameters):
    same(lambda m, x, w: m.nn.functional.prelu(x, w), torch.randn(shape), torch.rand(parameters))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["elu", "celu"])
def test_an_infinite_slope_leaves_zeros(same, name, dtype):
    x = torch.tensor([0.0, -0.0, -1.0, 2.0, math.inf, math.nan] * 7).to(getattr(torch, dtype))
    same(lambda m, x: getattr(m.nn.functional, name)(x, math.inf), x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize(
    ("shape", "dim"), [((6,), 0), ((4, 6), -1), ((4, 6), 0), ((2, 4, 70), 1), ((300, 200), 1)]
)
def test_glu_multiplies_by_the_sigmoid_of_the_other_half(dtype, shape, dim):
    x = torch.randn(shape, dtype=torch.float64) * 4
    x.view(-1)[:2] = torch.tensor([math.inf, -math.inf])
    x = x.to(getattr(torch, dtype))
    wide = torch.nn.functional.glu(x.double(), dim).to(x.dtype)
    exact = {"float32": 1e-6, "float64": 1e-14, "float16": 1e-3, "bfloat16": 8e-3}[dtype]
    found = F.glu(tt.tensor(x.double().tolist(), dtype=getattr(tt, dtype)), dim)
    assert found.dtype is getattr(tt, dtype)
    backwards = tt.tensor(x.double().numpy().T.copy(), dtype=getattr(tt, dtype))
    turned = F.glu(backwards.permute(*reversed(range(x.ndim))), dim)
    for result in (found, turned):
        torch.testing.assert_close(
            torch.tensor(result.double().tolist(), dtype=torch.float64),
            wide.double(),
            rtol=exact,
            atol=exact,
            equal_nan=True,
        )


def test_glu_needs_two_halves(same):
    same(lambda m, x: m.nn.functional.glu(x), torch.randn(3))
    same(lambda m, x: m.nn.functional.glu(x), torch.tensor(1.0))
    same(lambda m, x: m.nn.functional.glu(x, 0), torch.randn(4, 3))


def test_the_gradient_of_glu_refuses_what_does_not_fit(same):
    def backward(m, grad, x, dim):
        return (tt.ops if m is tt else torch.ops.aten).glu_backward(grad, x, dim)

    for grad, shape, dim in (
        ((1,), (3,), 0), ((2,), (4,), 1), ((2,), (4,), -2), ((3,), (4,), 0), ((2, 4), (2, 4), 1), ((), (), 0),
        ((2, 2), (2, 4), -1), ((2,), (2, 4), 1), ((2, 1), (2, 4), 1), ((0, 2), (0, 4), 1), ((0, 3), (0, 3), 0),
    ):  # fmt: skip
        same(lambda m, grad, x, dim=dim: backward(m, grad, x, dim), torch.randn(grad), torch.randn(shape))
    with pytest.raises(RuntimeError, match="does not fit the result of glu"):
        tt.ops.glu_backward(tt.ones(2, 2), tt.ones(4), 0)
    with pytest.raises(RuntimeError):
        tt.ops.glu_backward(tt.ones(2), tt.ones(4, dtype=tt.float64), 0)


def test_arguments_that_make_no_sense(same):
    x = torch.randn(3)
    same(lambda m, x: m.nn.functional.softshrink(x, -1.0), x)
    same(lambda m, x: m.nn.functional.hardtanh(x, 1.0, -1.0), x)
    same(lambda m, x: m.nn.functional.celu(x, 0.0), x)
    same(lambda m, x: m.nn.functional.elu(x), torch.tensor([1, 2]))


@pytest.mark.parametrize("dtype", [tt.float32, tt.float64, tt.float16, tt.bfloat16])
def test_relu_keeps_the_sign_of_a_zero(dtype):
    found = tt.relu(tt.tensor([-0.0, 0.0, -1.0, math.nan] * 9, dtype=dtype)).float().tolist()
    assert [math.copysign(1, x) for x in found[:3]] == [-1, 1, 1] and math.isnan(found[3])
    assert str(found) == str(found[:4] * 9)


def test_hardtanh_of_an_unsigned_type_refuses_negative_limits():
    x, y = (m.tensor([0, 1, 200], dtype=m.uint8) for m in (tt, torch))
    for limits in ((-1, 1), (-2, -1), (-1.5, 3)):
        for m, values in ((tt, x), (torch, y)):
            with pytest.raises(RuntimeError, match="unsigned type with negative limits"):
                m.nn.functional.hardtanh(values, *limits)
    for limits in ((-0.5, 3), (0, 2)):
        assert F.hardtanh(x, *limits).tolist() == torch.nn.functional.hardtanh(y, *limits).tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("weights", [1, 3])
def test_gradients_of_prelu_with_nan_and_zeros(dtype, weights):
    found = []
    for m in (tt, torch):
        x = m.tensor([NUMBERS] * 3, dtype=m.float64).reshape(5, 3, 3).to(getattr(m, dtype)).requires_grad_()
        weight = m.full((weights,), 0.25, dtype=getattr(m, dtype)).requires_grad_()
        result = m.nn.functional.prelu(x, weight)
        (grad,) = m.autograd.grad(result, [x], m.full_like(result, 3.0))
        found.append([result.detach().double().tolist(), grad.double().tolist()])
    assert str(found[0]) == str(found[1])
