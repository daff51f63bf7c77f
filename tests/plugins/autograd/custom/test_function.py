"""`autograd.Function`: a class's own gradient, next to torch's where torch is installed."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import tt
from tt.autograd import Function
from tt.autograd.function import once_differentiable


def exponential(module: Any) -> Any:
    """Return a function that saves its result."""

    class Exponential(module.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (result,) = ctx.saved_tensors
            return gradient * result

    return Exponential


class Scaled(Function):
    """With a context of its own, and an argument that is not a tensor."""

    @staticmethod
    def forward(x: Any, factor: float = 2.0) -> Any:
        return x * factor

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        assert ctx.needs_input_grad == (True, False)
        return gradient * ctx.factor, None


@pytest.fixture
def x() -> Any:
    return tt.tensor([0.5, 2.0], dtype=tt.float64, requires_grad=True)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["tt", "torch"])
def test_derivatives_of_all_orders_go_through_a_saved_result(name: str) -> None:
    module = pytest.importorskip(name)
    x = module.tensor([0.5, 2.0], dtype=module.float64, requires_grad=True)
    y = exponential(module).apply(x)
    assert y.grad_fn.name() == "ExponentialBackward"
    for _ in range(3):
        (y,) = module.autograd.grad(y.sum(), x, create_graph=True)
    assert y.tolist() == pytest.approx(x.exp().tolist())


def test_gradcheck_accepts_it(x: Any) -> None:
    function = exponential(tt).apply
    assert tt.autograd.gradcheck(function, x)
    assert tt.autograd.gradgradcheck(function, x)


def test_arguments_may_be_given_by_name_with_setup_context(x: Any) -> None:
    Scaled.apply(x, factor=3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert Scaled.apply(x).tolist() == [1.0, 4.0]


def test_nothing_is_recorded_for_what_needs_no_gradient(x: Any) -> None:
    assert Scaled.apply(x.detach()).grad_fn is None
    with tt.no_grad():
        assert not Scaled.apply(x).requires_grad


def test_forward_runs_without_recording(x: Any) -> None:
    seen: list[bool] = []

    class Look(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.extend([tt.is_grad_enabled(), (x * 2).requires_grad])
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    assert Look.apply(x).requires_grad
    assert seen == [False, False]


class Two(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, materialize: bool) -> Any:
        ctx.set_materialize_grads(materialize)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, first: Any, second: Any) -> Any:
        Two.seen = (first, second)
        return (first if first is not None else 0 * second) * 2, None

    seen: Any = None


def test_gradients_of_unused_results_are_zeros_or_none(x: Any) -> None:
    Two.apply(x, True)[0].sum().backward()
    assert Two.seen[1].tolist() == [0.0, 0.0]
    Two.apply(x, False)[0].sum().backward()
    assert Two.seen[1] is None


def test_gradients_of_several_results_arrive_by_their_number(x: Any) -> None:
    first, second = Two.apply(x, True)
    assert (first.output_nr, second.output_nr) == (0, 1)
    (second * 5).sum().backward()
    assert [g.tolist() for g in Two.seen] == [[0.0, 0.0], [5.0, 5.0]]


def test_results_marked_as_non_differentiable_need_no_gradient(x: Any) -> None:
    class Sorted(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            values, indices = x.sort(descending=True)
            rounded = values.round()
            ctx.mark_non_differentiable(indices, rounded)
            ctx.save_for_backward(indices)
            return values, indices, rounded

        @staticmethod
        def backward(ctx: Any, gradient: Any, *rest: Any) -> Any:
            (indices,) = ctx.saved_tensors
            return tt.zeros_like(gradient).scatter(0, indices, gradient)

    values, indices, rounded = Sorted.apply(x)
    assert values.requires_grad and not indices.requires_grad and not rounded.requires_grad
    (values * tt.tensor([1.0, 10.0], dtype=tt.float64)).sum().backward()
    assert x.grad.tolist() == [10.0, 1.0]


# --- in place --------------------------------------------------------------------------------------------------


class Increment(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 10


def test_an_argument_that_is_changed_gets_a_new_history(x: Any) -> None:
    y = x * 2
    z = Increment.apply(y)
    assert z is y and y.grad_fn.name() == "IncrementBackward" and y.tolist() == [2.0, 5.0]
    y.sum().backward()
    assert x.grad.tolist() == [20.0, 20.0]


def test_a_change_of_a_view_is_part_of_the_history_of_its_base(x: Any) -> None:
    base = x * 2
    Increment.apply(base[0:1])
    base.sum().backward()
    assert x.grad.tolist() == [20.0, 2.0]


def test_a_leaf_is_not_changed(x: Any) -> None:
    with pytest.raises(tt.errors.InplaceError, match="leaf"):
        Increment.apply(x)


def test_what_is_marked_as_dirty_is_an_argument_and_a_result(x: Any) -> None:
    class Wrong(Increment):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x * 1

    class Strange(Increment):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 1
            ctx.mark_dirty(y)
            return y

    with pytest.raises(tt.errors.GradientError, match="not among its results"):
        Wrong.apply(x * 1)
    with pytest.raises(tt.errors.GradientError, match="arguments of forward"):
        Strange.apply(x * 1)


def test_saving_what_is_changed_later_is_found(x: Any) -> None:
    y = exponential(tt).apply(x)
    y.add_(1)
    with pytest.raises(tt.errors.SavedTensorError, match="ExponentialBackward"):
        y.sum().backward()


class Identity(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 3


def test_an_argument_that_is_returned_becomes_another_tensor(x: Any) -> None:
    y = x * 1
    z = Identity.apply(y)
    assert z is not y and z.data_ptr() == y.data_ptr()
    z.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_views_that_a_function_made_are_not_changed_in_place(x: Any) -> None:
    y = x * 1
    z = Identity.apply(y)
    with pytest.raises(tt.errors.InplaceError, match="inside a Function"):
        z.add_(1)
    y.add_(1)
    with pytest.raises(tt.errors.InplaceError, match="inside a Function"):
        z.sum().backward()


# --- what goes wrong -------------------------------------------------------------------------------------------


def returning(value: Any) -> type[Function]:
    class Returning(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, k: float) -> Any:
            return x * k

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return value

    return Returning


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((None,), "must return 2 gradients"),
        ((None, None, tt.ones(2)), "must return 2 gradients"),
        ((tt.ones(2), tt.ones(1)), "argument 1, which is not a tensor"),
        ((tt.ones(3), None), "does not fit"),
        ((1.0, None), "is a tensor or None"),
    ],
)
def test_wrong_results_of_backward_are_refused(x: Any, value: Any, message: str) -> None:
    y = returning(value).apply(x, 2.0)
    with pytest.raises(tt.errors.GradientError, match=message):
        y.sum().backward()


def test_further_nones_are_allowed(x: Any) -> None:
    returning((tt.ones(2, dtype=tt.float64), None, None)).apply(x, 2.0).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_arguments_by_name_take_their_positions(x: Any) -> None:
    class Scale(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: float = 2.0, other: float = 1.0) -> Any:
            ctx.factor, ctx.count = factor * other, len(ctx.needs_input_grad)
            return x * ctx.factor

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            assert ctx.count == 2
            return grad * ctx.factor, None

    Scale.apply(x=x, factor=3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    for call, message in (
        (lambda: Scale.apply(x, other=3.0), "missing the argument 'factor'"),
        (lambda: Scale.apply(x, 3.0, factor=3.0), "multiple values for argument 'factor'"),
        (lambda: Scale.apply(x, by=3.0), "unexpected keyword argument 'by'"),
    ):
        with pytest.raises(TypeError, match=message):
            call()


def test_wrong_uses_are_refused(x: Any) -> None:
    with pytest.raises(TypeError, match="keyword"):
        exponential(tt).apply(y=x)

    class Method(Function):
        def forward(self, x: Any) -> Any:  # type: ignore[override]
            return x

    with pytest.raises(tt.errors.GradientError, match="staticmethod"):
        Method.apply(x)

    class Saves(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(3)
            return x * 1

    with pytest.raises(TypeError, match="only tensors and None"):
        Saves.apply(x)

    class Nothing(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

    with pytest.raises(NotImplementedError, match="backward"):
        Nothing.apply(x).sum().backward()


def test_a_second_pass_needs_the_graph(x: Any) -> None:
    y = exponential(tt).apply(x).sum()
    y.backward()
    with pytest.raises(tt.errors.GradientError, match="retain_graph"):
        y.backward()


def test_once_differentiable_means_once(x: Any) -> None:
    class Once(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensors
            assert not tt.is_grad_enabled()
            return 2 * x * gradient

    (first,) = tt.autograd.grad(Once.apply(x * 1).sum(), x, create_graph=True)
    assert first.tolist() == [1.0, 4.0]
    y = Once.apply(x * 1)
    gradient = tt.ones(2, dtype=tt.float64, requires_grad=True)
    (first,) = tt.autograd.grad(y, x, gradient, create_graph=True)
    with pytest.raises(tt.errors.GradientError, match="once_differentiable"):
        first.sum().backward()


# --- transforms ------------------------------------------------------------------------------------------------


class Cube(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * gradient

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * tangent


def test_a_generated_rule_maps_values_gradients_and_tangents(x: Any) -> None:
    x = x.detach()
    func = tt.func
    assert func.vmap(Cube.apply)(x).tolist() == [0.125, 8.0]
    assert func.vmap(func.grad(Cube.apply))(x).tolist() == [0.75, 12.0]
    assert func.vmap(func.vmap(Cube.apply))(x.reshape(1, 2)).tolist() == [[0.125, 8.0]]
    assert func.jacfwd(Cube.apply)(x).tolist() == [[0.75, 0.0], [0.0, 12.0]]
    assert func.jacrev(Cube.apply)(x).tolist() == [[0.75, 0.0], [0.0, 12.0]]
    assert func.hessian(lambda v: Cube.apply(v).sum())(x).tolist() == [[3.0, 0.0], [0.0, 12.0]]


def test_a_vmap_method_is_asked(x: Any) -> None:
    class Outer(Cube):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            Outer.seen = (info.batch_size, in_dims)
            return Outer.apply(x), in_dims[0]

        seen: Any = None

    assert tt.func.vmap(Outer.apply, in_dims=1)(x.detach().reshape(1, 2)).tolist() == [[0.125], [8.0]]
    assert Outer.seen == (2, (1,))


def test_a_function_without_a_rule_says_what_is_missing(x: Any) -> None:
    with pytest.raises(TypeError, match="generate_vmap_rule"):
        tt.func.vmap(Scaled.apply)(x.detach())
    with pytest.raises(NotImplementedError, match="jvp"):
        tt.func.jvp(Scaled.apply, (x.detach(),), (x.detach(),))


def test_the_module_of_functions_is_public() -> None:
    assert importlib.import_module("tt.autograd.function").Function is Function


# --- classes of tensors, and what ctx says of the arguments -----------------------------------------------------------


def subclass(lib: Any) -> Any:
    return type("Image", (lib.Tensor,), {})


def written(lib: Any, forward: Any) -> Any:
    class Made(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return forward(lib, x)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            assert type(ctx.saved_tensors[0]).__name__ in ("Image", "Parameter")
            return gradient.reshape(2, 2)

    return Made.apply


@pytest.mark.torch
@pytest.mark.parametrize("gradient", [True, False])
@pytest.mark.parametrize(
    "forward",
    [
        lambda lib, x: x,
        lambda lib, x: x * 2,
        lambda lib, x: x.view(-1),
        lambda lib, x: lib.ones(4).as_subclass(subclass(lib)),
    ],
    ids=["argument", "new", "view", "other"],
)
def test_results_are_of_the_class_that_forward_returned(forward: Any, gradient: bool) -> None:
    torch = pytest.importorskip("torch")

    def described(lib: Any) -> Any:
        x = lib.ones(2, 2).as_subclass(subclass(lib)).requires_grad_(gradient)
        y = written(lib, forward)(x)
        if gradient:
            y.sum().backward()
        return type(y).__name__, y is x, y.requires_grad

    assert described(tt) == described(torch)


def test_a_parameter_that_forward_returns_is_a_plain_tensor_outside() -> None:
    parameter = tt.nn.Parameter(tt.ones(2, 2))
    y = written(tt, lambda lib, x: x)(parameter)
    assert type(y) is tt.Tensor and y is not parameter
    y.sum().backward()
    assert parameter.grad is not None


@pytest.mark.torch
@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("mode", ["enable_grad", "no_grad", "inference_mode"])
def test_needs_input_grad_is_that_of_the_arguments_in_every_mode(mode: str, split: bool) -> None:
    torch = pytest.importorskip("torch")

    def needs(lib: Any) -> Any:
        found = []

        class Plain(lib.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any, y: Any, k: int) -> Any:
                found.append(ctx.needs_input_grad)
                return x * y

        class Split(lib.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(x: Any, y: Any, k: int) -> Any:
                return x * y

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                found.append(ctx.needs_input_grad)

        with getattr(lib, mode)():
            (Split if split else Plain).apply(lib.ones(2, requires_grad=True), lib.ones(2), 3)
        return found

    assert needs(tt) == needs(torch)


def test_saved_variables_is_the_older_name_of_saved_tensors() -> None:
    class Square(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with pytest.warns(DeprecationWarning, match="use 'saved_tensors'"):
                (x,) = ctx.saved_variables
            return 2 * x * g

    x = tt.tensor([3.0], requires_grad=True)
    Square.apply(x).backward()
    assert x.grad.tolist() == [6.0]


def test_an_instance_of_a_function_is_deprecated_and_not_called() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient

    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        same = Same()
    assert isinstance(same, Same)
    with pytest.raises(RuntimeError, match="non-static forward method is deprecated"):
        same(tt.ones(1))
    assert same.forward(None, tt.ones(1)).tolist() == [1]
