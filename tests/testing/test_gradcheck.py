"""gradcheck finds wrong gradients and nothing else."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tt
from tt.autograd import gradcheck, gradgradcheck
from tt.core.errors import GradcheckError
from tt.core.library import CustomOp, custom_op


def point(*shape: int, complex: bool = False) -> tt.Tensor:
    rng = np.random.default_rng(0)
    values = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if complex else 0)
    return tt.tensor(values, requires_grad=True)


@pytest.fixture
def wrong() -> Iterator[CustomOp]:
    """An operator x ** 2 whose gradient is off by a factor of two."""

    @custom_op("gradcheck_test::square")
    def square(x: tt.Tensor) -> tt.Tensor:
        """Squares x."""
        return x * x

    @square.setup_context
    def save(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])

    @square.backward
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradient * x

    yield square
    square.remove()


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("complex", [False, True])
def test_right_gradients_pass(fast_mode: bool, complex: bool) -> None:
    x, y = point(2, 3, complex=complex), point(3, complex=complex)
    assert gradcheck(lambda x, y: (x * y).exp(), (x, y), fast_mode=fast_mode)
    assert gradcheck(lambda x, y: ((x * y).sum(1), x.abs()), (x, y), fast_mode=fast_mode)
    assert gradgradcheck(lambda x, y: (x * y).exp(), (x, y), fast_mode=fast_mode)


def test_functions_from_complex_to_real_and_back() -> None:
    assert gradcheck(lambda z: (z * z.conj()).real, point(3, complex=True))
    assert gradcheck(lambda x: x * (1 + 2j), point(3))


def test_a_wrong_gradient_shows_both_jacobians(wrong: CustomOp) -> None:
    with pytest.raises(
        GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"
    ) as raised:
        gradcheck(wrong, point(2))
    message = str(raised.value)
    assert "numerical:[[" in message and "analytical:[[" in message
    with pytest.raises(GradcheckError, match="along random directions"):
        gradcheck(wrong, point(2), fast_mode=True)
    assert gradcheck(wrong, point(2), raise_exception=False) is False


def test_arguments_that_are_no_tensors_or_need_no_gradient_are_left_alone() -> None:
    assert gradcheck(lambda x, n, y: x * n + y, (point(2), 3, point(2).detach()))


def test_a_constant_function_has_no_gradient() -> None:
    assert gradcheck(lambda x: tt.zeros(2, dtype=tt.float64), point(2))


def test_inputs_must_require_gradients() -> None:
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient"):
        gradcheck(lambda x: x, tt.zeros(2))


@pytest.mark.parametrize("fast_mode", [False, True])
def test_inputs_of_single_precision_stay_so_when_they_are_moved(fast_mode) -> None:
    seen = set()

    def double(x: Any) -> Any:
        seen.add(x.dtype)
        return x * 2

    for x in (tt.ones((), requires_grad=True), tt.ones(0, 3, requires_grad=True)):
        with pytest.warns(UserWarning, match="double precision"):
            assert gradcheck(double, x, fast_mode=fast_mode, eps=2.0**-10)
    assert seen == {tt.float32}


def test_single_precision_is_warned_about() -> None:
    x = tt.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="is not a double precision floating point"):
        gradcheck(lambda x: x * 2, x, eps=1e-2, atol=1e-2)


def test_noise_is_found_and_tolerated_on_demand() -> None:
    noise = iter(np.linspace(0, 1e-4, 1000))

    def hook(g: Any) -> Any:
        return g if g is None else g * (1 + float(next(noise)))

    def noisy(x: Any) -> Any:
        y = x * 2
        if y.requires_grad:
            y.register_hook(hook)
        return y

    with pytest.raises(GradcheckError, match="not deterministic"):
        gradcheck(noisy, point(2), atol=1e-2)
    assert gradcheck(noisy, point(2), atol=1e-2, nondet_tol=1e-3)


class WrongTangent(tt.autograd.Function):
    """Squares; its tangent is wrong, and its gradient of several vectors at once, too."""

    generate_vmap_rule = False

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        several = type(gradient._handle).__name__ == "Batched"
        return gradient * x * (3 if several else 2)

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        (x,) = ctx.saved_tensors
        return tangent * x


def test_forward_mode_and_many_vectors_are_checked_on_demand() -> None:
    assert gradcheck(lambda x: x.sin() * x, point(2), check_forward_ad=True, check_batched_grad=True)
    assert gradcheck(WrongTangent.apply, point(2))
    with pytest.raises(GradcheckError, match="forward mode: Jacobian mismatch"):
        gradcheck(WrongTangent.apply, point(2), check_forward_ad=True)
    with pytest.raises(GradcheckError, match="several vectors at once"):
        gradcheck(WrongTangent.apply, point(2), check_batched_grad=True)
    assert gradcheck(lambda x: x.sin(), point(2), check_forward_ad=True, check_backward_ad=False)


class WrongTangents(WrongTangent):
    """Squares; the tangent is wrong where several are taken at once."""

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradient * x * 2

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        (x,) = ctx.saved_tensors
        several = type(tangent._handle).__name__ == "Batched"
        return tangent * x * (3 if several else 2)


def test_forward_passes_with_several_tangents_are_checked_on_demand() -> None:
    options: dict[str, Any] = {"check_forward_ad": True, "check_batched_forward_grad": True}
    z = point(2, complex=True)
    constant = tt.ones(2, dtype=tt.float64)
    assert gradcheck(lambda x, z: (x.sin() * z, z.abs(), x.sum(), constant), (point(2), z), **options)
    assert gradcheck(WrongTangents.apply, point(2), check_forward_ad=True)
    with pytest.raises(GradcheckError, match="several tangents at once"):
        gradcheck(WrongTangents.apply, point(2), **options)
    assert not gradcheck(WrongTangents.apply, point(2), raise_exception=False, **options)


def test_several_vectors_need_the_mode_that_takes_them() -> None:
    with pytest.raises(ValueError, match="needs check_forward_ad=True"):
        gradcheck(lambda x: x, point(2), check_batched_forward_grad=True)
    with pytest.raises(ValueError, match="needs check_backward_ad=True"):
        gradcheck(
            lambda x: x, point(2), check_batched_grad=True, check_forward_ad=True, check_backward_ad=False
        )


def test_a_check_of_nothing_is_refused() -> None:
    with pytest.raises(AssertionError, match="nothing is checked"):
        gradcheck(lambda x: x, point(2), check_backward_ad=False)
    with pytest.raises(AssertionError, match="nothing is checked"):
        gradgradcheck(lambda x: x, point(2), check_rev_over_rev=False)


# --- layouts that store some elements --------------------------------------------------------------------------

STORED: dict[str, Callable[[Any, Any], Any]] = {
    "coo": lambda lib, m: m.to_sparse(),
    "hybrid coo": lambda lib, m: m.to_sparse(1),
    "csr": lambda lib, m: m.to_sparse_csr(),
    "csc": lambda lib, m: m.to_sparse_csc(),
    "bsr": lambda lib, m: m.to_sparse_bsr((1, 2)),
    "bsc": lambda lib, m: m.to_sparse_bsc((2, 2)),
}


def stored_input(lib: Any, layout: str, dtype: str = "float64") -> Any:
    matrix = lib.tensor([[1.0, 0.0, 2.0, 0.0], [0.0, 0.0, 3.0, 4.0]], dtype=getattr(lib, dtype))
    matrix = matrix * (1 - 0.5j) if dtype == "complex128" else matrix
    return STORED[layout](lib, matrix).requires_grad_()


def check_stored(lib: Any, layout: str, masked: bool, masked_grad: bool, **options: Any) -> bool:
    """Say whether cos, whose derivative at zero is zero, or sin, whose derivative there is one, passes the check."""
    function = options.pop("function", "sin")
    try:
        found = lib.autograd.gradcheck(
            lambda a: getattr(a.to_dense(masked_grad=masked_grad), function)(),
            stored_input(lib, layout, options.pop("dtype", "float64")),
            masked=masked,
            **options,
        )
    except RuntimeError as error:
        assert "Jacobian mismatch" in str(error)
        return False
    return bool(found)


@pytest.mark.parametrize("layout", STORED)
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("masked_grad", [True, False])
def test_masked_says_what_is_constant(layout: str, masked: bool, masked_grad: bool) -> None:
    # These store all of their elements.
    everything = layout in ("hybrid coo", "bsc")
    expected = everything or masked is masked_grad
    assert check_stored(tt, layout, masked, masked_grad) is expected
    # At zero the derivative of the cosine is zero, so that it does not matter whether it is looked at.
    assert check_stored(tt, layout, masked, masked_grad, function="cos")


@pytest.mark.torch
@pytest.mark.parametrize("layout", STORED)
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("masked_grad", [True, False])
@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")  # torch's, that all of this may change
def test_masked_is_that_of_torch(layout: str, masked: bool, masked_grad: bool) -> None:
    torch = pytest.importorskip("torch")
    found = check_stored(tt, layout, masked, masked_grad)
    assert found is check_stored(torch, layout, masked, masked_grad)
    # torch's fast mode does not see elements that are not stored; this one does.
    if found or not masked:
        assert check_stored(tt, layout, masked, masked_grad, fast_mode=True) is found


@pytest.mark.parametrize("layout", STORED)
def test_second_derivatives_of_layouts_that_store_some_elements(layout: str) -> None:
    for masked in (True, False):
        x = stored_input(tt, layout)
        assert gradgradcheck(
            lambda a, m=masked: a.to_dense(masked_grad=m) ** 3, x, masked=masked, fast_mode=True
        )


def test_complex_elements_of_layouts_that_store_some() -> None:
    x = stored_input(tt, "csr", "complex128")
    assert gradcheck(lambda a: a.to_dense(masked_grad=True).sin(), x, masked=True)


def test_places_that_are_stored_twice_and_layouts_of_gradients() -> None:
    values = tt.tensor([1.0, 2.0, 3.0], dtype=tt.float64)
    twice = tt.sparse_coo_tensor(tt.tensor([[0, 0, 1]]), values, (3,)).requires_grad_()
    assert gradcheck(lambda a: a.to_dense(masked_grad=True) ** 2, twice, masked=True)

    class Wrong(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            return a * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return (gradient * 2).to_sparse()

    with pytest.raises(
        tt.errors.GradcheckError, match=r"has the layout tt.sparse_coo, the input has tt.strided"
    ):
        gradcheck(Wrong.apply, point(2))


def test_masked_means_nothing_for_inputs_that_store_all() -> None:
    assert gradcheck(lambda x: x.sin(), point(2), masked=True)


def test_second_derivatives_are_checked_in_forward_mode_on_demand() -> None:
    assert gradgradcheck(lambda x: x.sin() * x, point(2), check_fwd_over_rev=True)


def test_no_warning_where_all_is_well() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradcheck(lambda x: x.sin(), point(2), check_grad_dtypes=True)


# --- functions whose outputs depend on the values ---------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"fast_mode": True}, {"check_forward_ad": True}], ids=str)
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, same: x * 2 if same else (x * 2)[:, :1], r"\[1, 2\] first, float64\[1, 1\]"),
        (lambda x, same: x * 2 if same else (x * 2).t(), r"\[1, 2\] first, float64\[2, 1\]"),
        (lambda x, same: (x * 2,) if same else (x * 2, x), r"first, float64\[1, 2\], float64\[1, 2\]"),
        (lambda x, same: x * 2 if same else (x * 2).float(), r"first, float32\[1, 2\]"),
        (lambda x, same: (x * 2, x.detach() if same else x.detach()[0]), "differ in number, shape or dtype"),
    ],
    ids=["size", "transposed", "number", "dtype", "constant"],
)
def test_outputs_that_depend_on_the_values_have_no_derivative(
    function: Callable[..., Any], message: str, options: dict[str, bool]
) -> None:
    x = tt.tensor([[0.5, 0.7]], dtype=tt.float64, requires_grad=True)

    def depends(x: Any) -> Any:
        return function(x, float(x.detach()[0, 0]) == 0.5 and float(x.detach()[0, 1]) == 0.7)

    with pytest.raises(GradcheckError, match=message) as caught:
        gradcheck(depends, x, **options)
    assert isinstance(caught.value, AssertionError)
    assert not gradcheck(depends, x, raise_exception=False, **options)
    assert gradcheck(lambda x: x[x > 0.6], x, **options)


def test_functions_see_inputs_that_require_gradients_in_every_call():
    seen = []

    def function(x):
        y = x * 2
        seen.append(y.requires_grad)
        y.register_hook(lambda gradient: gradient)
        return y.sin()

    assert gradcheck(function, (tt.ones(2, dtype=tt.float64, requires_grad=True),))
    assert len(seen) > 4 and all(seen)


def test_a_gradient_that_is_not_a_multiple_of_the_output_s_is_refused():
    def shifted(x):
        y = x.clone()
        y.register_hook(lambda gradient: gradient + 1e-2)
        return y

    x = tt.ones(2, dtype=tt.float64, requires_grad=True)
    with pytest.raises(GradcheckError, match="not multiplied by grad_output"):
        gradcheck(shifted, (x,), atol=1e-1)
    assert not gradcheck(shifted, (x,), atol=1e-1, raise_exception=False)


# --- gradients and tangents that are not there ------------------------------------------------------------------------


class GradientAsIs(tt.autograd.Function):
    """The product of its arguments, whose backward is not given zeros for what is not there."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_backward_that_fails_without_a_gradient_is_refused(fast_mode):
    x = point(2)
    with pytest.warns(UserWarning, match="check_undefined_grad=False"):
        with pytest.raises(GradcheckError, match=r"handle undefined output grads.*TypeError"):
            gradcheck(GradientAsIs.apply, x, fast_mode=fast_mode)
        assert not gradcheck(GradientAsIs.apply, x, raise_exception=False, fast_mode=fast_mode)
    assert gradcheck(GradientAsIs.apply, x, check_undefined_grad=False, fast_mode=fast_mode)


def test_gradients_that_come_from_nothing_are_refused():
    class FromNothing(GradientAsIs):
        @staticmethod
        def backward(ctx, gradient):
            return tt.ones(2, dtype=tt.float64) if gradient is None else gradient * 2

    with pytest.warns(UserWarning), pytest.raises(GradcheckError, match="neither None nor zero"):
        gradcheck(FromNothing.apply, point(2))


class CountedTangents(tt.autograd.Function):
    """Both arguments as they are; counts how often tangents pass."""

    calls = 0

    @staticmethod
    def forward(ctx, x, y):
        return x.clone(), y.clone()

    @staticmethod
    def jvp(ctx, x, y):
        CountedTangents.calls += 1
        return x, y


@pytest.mark.parametrize(
    ("second", "undefined", "batched", "calls"),
    [(True, False, False, 2), (True, True, False, 6), (True, True, True, 12), (False, True, True, 5)],
)
def test_forward_mode_passes_for_inputs_that_require_gradients_alone(second, undefined, batched, calls):
    CountedTangents.calls = 0
    inputs = (point(1), point(1).requires_grad_() if second else point(1).detach())
    options = {"check_undefined_grad": undefined, "check_batched_forward_grad": batched}
    assert gradcheck(CountedTangents.apply, inputs, check_forward_ad=True, check_backward_ad=False, **options)
    assert CountedTangents.calls == calls


def test_a_tangent_that_is_not_there_must_count_as_zeros():
    class Particular(CountedTangents):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            return x + y

        @staticmethod
        def jvp(ctx, x, y):
            given = [tangent for tangent in (x, y) if tangent is not None]
            return sum(given) + (len(given) - 1)

    inputs = (point(2), point(2))
    options = {"check_forward_ad": True, "check_backward_ad": False}
    with pytest.raises(GradcheckError, match="undefined tangent"):
        gradcheck(Particular.apply, inputs, **options)
    assert gradcheck(Particular.apply, inputs, check_undefined_grad=False, **options)


def test_a_sparse_gradient_of_other_dimensions_is_refused():
    def function(x):
        y = x.clone()
        y.register_hook(lambda gradient: gradient if gradient is None else gradient.to_dense().to_sparse(1))
        return y.to_dense()

    x = tt.ones(2, 2, dtype=tt.float64, requires_grad=True).to_sparse()
    with pytest.raises(GradcheckError, match="1 sparse and 1 dense dimensions, the input has 2 and 0"):
        gradcheck(function, (x,), masked=True)


# --- wrappers ---------------------------------------------------------------------------------------------------------


class Wrapped(tt.Tensor):
    """A tensor that holds another one, with a gradient of its own."""

    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        options = {"dtype": inner.dtype, "device": inner.device, "requires_grad": requires_grad}
        self = tt.Tensor._make_wrapper_subclass(cls, inner.shape, strides=inner.stride(), **options)
        self.inner = inner.detach() if requires_grad else inner
        return self

    @classmethod
    def __tt_dispatch__(cls, func, types, args=(), kwargs=None):
        tree = tt.utils._pytree.tree_map
        args, kwargs = tree(lambda x: x.inner if isinstance(x, cls) else x, (args, kwargs or {}))
        return tree(lambda x: cls(x) if isinstance(x, tt.Tensor) else x, func(*args, **kwargs))


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("complex", [False, True])
def test_inputs_of_classes_that_wrap_tensors_are_checked(fast_mode, complex):
    x = Wrapped(point(2, 2, complex=complex).detach(), requires_grad=True)
    assert gradcheck(lambda x: x * x, x, fast_mode=fast_mode)
    assert gradgradcheck(lambda x: x * x * x, x, fast_mode=fast_mode)

    def wrong(x):
        y = x * x
        y.register_hook(lambda gradient: gradient if gradient is None else gradient * 1.5)
        return y

    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradcheck(wrong, x, fast_mode=fast_mode)
