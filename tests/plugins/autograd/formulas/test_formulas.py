"""Every formula: against finite differences, twice, and against torch, on the samples of the operators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tt
from tests.plugins.autograd.calls import (
    DIFFERENTIABLE,
    Call,
    calls,
    is_moderate,
    serves,
    tensors_of,
)
from tests.plugins.autograd.formulas.in_torch import (
    CONSTANT,
    NEVER_COMPARED,
    call_torch,
    is_refusal,
    to_torch,
)
from tt.core.library import OpDefinition

MOST_ELEMENTS = 30


# Singular vectors have a phase that is anybody's choice: what does not depend on it is checked below.
BY_HAND = {"linalg_svd", "svd", "linalg_eigh", "linalg_eig", "linalg_eigvals"}
# They read one triangle of a Hermitian matrix, and their gradient is that of the whole matrix.
BY_HAND |= {"linalg_eigvalsh", "linalg_cholesky", "linalg_cholesky_ex", "cholesky"}
# Some of their samples have no gradient, or one that takes values below a tolerance for zero.
BY_HAND |= {"linalg_qr", "qr", "linalg_pinv", "linalg_pinv.rcond", "pinverse", "linalg_lstsq"}
# The most frequent of equal elements: a small change leaves each of them alone; tests/opinfo compares its gradient.
BY_HAND |= {"mode"}
# torch has no function of these under that name, or one with other arguments.
NOT_IN_TORCH = {
    "copy",
    "div.optional_mode",
    "to.device",
    "to.dtype",
    "to.other",
    "contiguous",
    "fill",
    "_conv_weight",
    "_unpool",
    "_avg_unpool",
    "_attention",
    "_rnn_layer",
    "_rnn_layer_backward",
    "_weighted_taps",
    "_pad_places",
    "_fractional_max_pool",
    "_grid_sampler_backward",
    "_spread_taps",
    "_adaptive_avg_unpool",
    "_batch_norm",
    "_cross_entropy",
    "_elementwise_loss",
    "_elementwise_loss_backward",
    "_cross_entropy_backward",
    "_prelu_kernel",
    "_prelu_backward",
    "_multi_margin",
    "_multi_margin_backward",
    "_multilabel_margin",
    "_multilabel_margin_backward",
    "_lp_pool",
    "_lp_pool_backward",
    "_local_response_norm",
    "_local_response_norm_backward",
    "_softmax_backward",
    "_log_softmax_backward",
    "_layer_norm_backward",
    "_rms_norm_backward",
    "_group_norm_backward",
    "_batch_norm_backward",
    "_attention_backward",
    "polygamma.method",
    "split_copy.sizes",
    "fill_diagonal",
    "native_channel_shuffle",
}
# torch leaves out the gradients of the statistics; the finite differences above do not.
NOT_IN_TORCH |= {"native_layer_norm", "native_batch_norm"}
# torch fails on an empty result.
NOT_IN_TORCH |= {"narrow_copy"}
# torch's gradient of the factor is not zero in the triangle that is not read; finite differences are.
NOT_IN_TORCH |= {"cholesky_solve", "cholesky_inverse"}
# torch's gradient of a singular matrix is zero where that of its cofactors is not.
NOT_IN_TORCH |= {"linalg_det", "det"}
NOT_IN_TORCH |= {"float", "double", "half", "bfloat16", "cfloat", "cdouble"}
NOT_IN_TORCH |= {"_vector_norm"}  # compared as linalg_vector_norm
# torch gives self the gradient of what src replaced; the finite differences above say otherwise.
NOT_IN_TORCH |= {"as_strided_scatter"}
# torch's backward pass fails on a list in which a tensor has no dimensions.
NOT_IN_TORCH |= {"_foreach_addcdiv.Scalar", "_foreach_mul.Tensor"}
# torch has no formulas for these.
NOT_IN_TORCH |= {f"_foreach_{name}.Tensor" for name in ("addcmul", "addcmul_", "addcdiv", "addcdiv_")}
NOT_IN_TORCH |= {"_foreach_powsum.Scalar"}
# torch does not differentiate these.
NOT_IN_TORCH |= {"_standard_gamma_grad", "_dirichlet_grad", "_ctc_loss_backward", "_ctc_alpha_backward"}
# torch takes Bessel functions for constants.
NOT_IN_TORCH |= {d.name for d in DIFFERENTIABLE if d.name.startswith("special_") and "bessel" in d.name}
NOT_IN_TORCH |= {"dequantize", "dequantize.tensors"}
# torch computes these gradients in the dtype of an integer argument, or by powers of two that overflow.
ROUGH_IN_TORCH = {"atan2", "frexp", "ldexp"}


# torch divides by the nan or by the number of none, or takes the logarithm of 0, and so loses known values.
NAN_IN_TORCH = {
    ("prod.dim", "nan and infinity"),
    ("nanmean", "nan only"),
    ("nanquantile", "q tt.Size([4]), nan"),
    ("kl_div", "target 0"),
    ("xlogy", "zeros"),
    ("xlogy.Scalar", "zero"),
    ("xlogy.Scalar", "not contiguous: zero"),
}


def cases(without: set[str]) -> list[Any]:
    return [
        pytest.param(d, dtype, id=f"{d.name}-{dtype.name}")
        for d in DIFFERENTIABLE
        for dtype in (tt.float64, tt.complex128)
        if d.name not in without and serves(d, dtype)
    ]


def leaves(call: Call) -> list[Any]:
    return [tt.tensor(np.array(t.detach().numpy())).requires_grad_() for t in call.inputs]


# --- finite differences ----------------------------------------------------------------------------------------


def smooth(call: Call) -> bool:
    if call.definition.name in ("embedding", "_embedding") and (
        call.bound[2] is not None or any(value is True for value in call.bound)
    ):
        return False  # the gradient of a row that pads, or scaled by frequency, is not that of the result
    if call.definition.name in ("ctc_loss", "ctc_loss.IntList", "_ctc_loss"):
        return False  # the gradient is that through log_softmax, by PyTorch's definition
    if call.definition.name == "_embedding_bag":
        names = [a.name for a in call.definition.signature.arguments]
        if call.bound[names.index("scale_grad_by_freq")] is True:
            return False  # here, too; a row that pads is in no bag
    arrays = [t.detach().numpy() for t in call.inputs]
    return all(np.isfinite(a).all() for a in arrays) and sum(a.size for a in arrays) <= MOST_ELEMENTS


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("definition", "dtype"), cases(BY_HAND))
def test_a_formula_agrees_with_finite_differences(definition: OpDefinition, dtype: tt.dtype) -> None:
    for name, call in calls(definition, dtype):
        if smooth(call) and differentiable_here(call):
            assert tt.autograd.gradcheck(call, leaves(call), fast_mode=True, check_undefined_grad=False), name


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("definition", "dtype"), cases(BY_HAND))
def test_a_formula_can_be_differentiated_again(definition: OpDefinition, dtype: tt.dtype) -> None:
    checked = 0
    for name, call in calls(definition, dtype):
        if smooth(call) and differentiable_here(call) and checked < 6:
            outputs = call(*leaves(call))
            if any(t.requires_grad for t in tensors_of(outputs)):
                assert tt.autograd.gradgradcheck(
                    call, leaves(call), fast_mode=True, check_undefined_grad=False
                ), name
                checked += 1


def differentiable_here(call: Call) -> bool:
    """Return whether small steps to both sides give finite values that lie close to each other."""
    arrays = [np.array(t.detach().numpy()) for t in call.inputs]
    middle = outputs_at(call, arrays)
    for step in (1e-5, -1e-5):
        if any((a + step == a).any() for a in arrays):
            return False  # the step is lost next to large numbers
        try:
            moved = outputs_at(call, [a + step for a in arrays])
        except tt.core.errors.ValueRangeError:
            return False  # at the edge of the operator's domain, as probabilities of 0 and 1
        for a, b in zip(middle, moved, strict=True):
            # Differences need results in double precision.
            if a.shape != b.shape or a.dtype.name not in ("float64", "complex128"):
                return False
            if not (np.isfinite(a).all() and np.isfinite(b).all()):
                return False
            if a.size and np.abs(a - b).max() > 1e-2 * max(1.0, np.abs(a).max()):
                return False
    return not any(has_kink(call, a) for a in arrays)


def outputs_at(call: Call, arrays: list[Any]) -> list[Any]:
    return [np.array(t.numpy()) for t in tensors_of(call(*[tt.tensor(a) for a in arrays]))]


# Their kinks and branch points are at integers.
WITH_KINKS = {
    "abs", "relu", "sign", "pow", "sqrt", "clamp", "remainder", "xlogy", "asin", "acos", "acosh", "relu6", "hardtanh",
    "selu", "leaky_relu", "celu", "hardsigmoid", "hardswish", "threshold",
}  # fmt: skip
RANKED = {"aminmax", "cummax", "cummin", "kthvalue", "median", "nanmedian", "quantile", "nanquantile"}


def has_kink(call: Call, array: Any) -> bool:
    """Zeros are where abs, relu, pow and sign have their kinks, and equal numbers where an extreme is shared."""
    name = call.definition.name.split(".")[0]
    if name in WITH_KINKS:
        return bool((array == np.round(array.real)).any())
    if name in ("max", "min", "amax", "amin", "maximum", "minimum", "sort", "topk", "std") or name in RANKED:
        return len(np.unique(array)) < array.size or (name == "std" and array.size < 2)
    return False


# --- torch -----------------------------------------------------------------------------------------------------


def loss(lib: Any, outputs: Any) -> Any:
    """Return a real number that depends on every floating-point result with weights of its own."""
    total = lib.zeros((), dtype=lib.float64)
    for k, output in enumerate([outputs] if not isinstance(outputs, list | tuple) else outputs):
        if output is not None and (output.is_floating_point() or output.is_complex()):
            weights = np.cos(np.arange(output.numel()) + k).reshape(tuple(output.shape))
            if output.is_complex():
                weights = weights + 1j * np.sin(np.arange(output.numel()) * 2 + k).reshape(
                    tuple(output.shape)
                )
            product = output * lib.tensor(
                weights.astype(np.complex128 if output.is_complex() else np.float64)
            )
            total = total + (product.real if product.is_complex() else product).sum()
    return total


@pytest.mark.sampled(4)
@pytest.mark.torch
@pytest.mark.parametrize(("definition", "dtype"), cases(BY_HAND | NOT_IN_TORCH | ROUGH_IN_TORCH))
def test_a_gradient_is_that_of_torch(definition: OpDefinition, dtype: tt.dtype) -> None:
    torch = pytest.importorskip("torch")
    compared = drawn = 0
    for name, call in calls(definition, dtype, CONSTANT.get(definition.name, ())):
        if definition.name in ("var", "std", "var_mean", "std_mean") and "dim []" in name:
            continue  # torch forgets the number of elements there; the finite differences above do not
        if definition.name == "cosine_similarity" and name.endswith("eps"):
            continue  # torch differentiates a norm that eps replaces; the finite differences above do not
        if (definition.name, name) in NAN_IN_TORCH:
            continue
        if definition.name == "_embedding_bag" and call.bound[5] and call.bound[2][-1] != len(call.bound[1]):
            continue  # torch gives rows past the last bag a gradient; the finite differences above do not
        if definition.name == "_embedding_bag" and name == "scaled by frequency":
            continue  # torch's frequency of the i-th row is that of the i-th index; one row a bag is compared below
        if definition.name == "embedding_dense_backward" and name.endswith("scaled by frequency"):
            continue  # torch forgets the scale when it differentiates this; the finite differences above do not
        if not all(is_moderate(t) for t in call.inputs):
            continue  # no derivative at infinities; next to them each formula overflows in its own place
        if definition.name == "polar" and (call.inputs[0].detach().numpy() < 0).any():
            continue  # torch takes a negative length for a positive one; the finite differences above do not
        if definition.name == "pdist" and name == "0 rows":
            continue  # torch's gradient of no rows ends the process
        drawn += 1
        theirs = [to_torch(t).requires_grad_() for t in call.inputs]
        try:
            expected = loss(torch, call_torch(call, theirs))
            expected_gradients = (
                torch.autograd.grad(expected, theirs, allow_unused=True)
                if expected.requires_grad
                else [None] * len(theirs)
            )
        except Exception as error:
            if not is_refusal(definition.name, error):
                raise
            continue
        mine = leaves(call)
        result = loss(tt, call(*mine))
        found = (
            tt.autograd.grad(result, mine, allow_unused=True) if result.requires_grad else [None] * len(mine)
        )
        for e, f in zip(expected_gradients, found, strict=True):
            e_array = np.zeros(()) if e is None else e.numpy(force=True)
            f_array = np.zeros(()) if f is None else f.numpy()
            np.testing.assert_allclose(
                *np.broadcast_arrays(f_array, e_array), rtol=1e-6, atol=1e-9, err_msg=name
            )
        compared += 1
    if not drawn:
        pytest.skip("no sample in this dtype")
    never = (definition.name, dtype.name) in NEVER_COMPARED
    assert (compared == 0) == never, f"{compared} of {drawn} samples are compared"


@pytest.mark.torch
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_rows_of_bags_are_scaled_by_their_frequency(mode: str) -> None:
    # torch has this right for rows without bags only.
    torch = pytest.importorskip("torch")
    indices, weights = [1, 4, 1, 0, 2, 2], np.arange(15.0).reshape(5, 3)
    mine = tt.tensor(weights).requires_grad_()
    places = tt.tensor(indices)
    bags = tt.nn.functional.embedding_bag(
        places, mine, tt.arange(len(indices)), mode=mode, scale_grad_by_freq=True
    )
    (bags * bags).sum().backward()
    theirs = torch.tensor(weights, requires_grad=True)
    rows = torch.nn.functional.embedding(torch.tensor(indices), theirs, scale_grad_by_freq=True)
    (rows * rows).sum().backward()
    np.testing.assert_allclose(mine.grad.numpy(), theirs.grad.numpy())


def test_the_gradient_of_a_product_that_would_overflow_on_the_way():
    values = [0.875, 0.73046875, 1.53125]
    for dtype in (tt.float32, tt.bfloat16):
        x = tt.tensor(values, dtype=dtype).repeat_interleave(257, 0).detach().requires_grad_()
        (grad,) = tt.autograd.grad(x.prod(), x)
        expected = np.prod(np.repeat(values, 257)) / np.repeat(values, 257)
        np.testing.assert_allclose(
            grad.double().numpy(), expected, rtol=3e-2 if dtype is tt.bfloat16 else 1e-3
        )
    x = tt.tensor([0.0, 5.0, 300.0, -300.0], dtype=tt.float16, requires_grad=True)
    assert tt.autograd.grad(x.prod(), x)[0].tolist() == [-math.inf, 0, 0, 0]
    x = tt.tensor([2.0, -3.0, 0.5], dtype=tt.float64, requires_grad=True)
    assert tt.autograd.gradgradcheck(lambda x: x.prod(), (x,)) and tt.autograd.gradgradcheck(
        lambda x: x.prod(0), (x,)
    )


@pytest.mark.parametrize("dtype", [tt.float16, tt.bfloat16, tt.float32, tt.float64], ids=str)
@pytest.mark.parametrize("name, slope", [("i1", 0.5), ("i1e", 0.5), ("i0", 0.0), ("i0e", 0.0)])
def test_bessel_functions_have_gradients_at_zero(name, slope, dtype):
    x = tt.tensor([0.0, -0.0], dtype=dtype, requires_grad=True)
    (grad,) = tt.autograd.grad(getattr(tt.special, name)(x).sum(), x)
    np.testing.assert_allclose(grad.double().numpy(), slope, atol=1e-5)


def test_a_divisor_of_single_precision_leaves_the_gradient_in_double() -> None:
    a, b = tt.zeros(1, dtype=tt.float64), tt.ones(1, dtype=tt.float64, requires_grad=True)
    (found,) = tt.autograd.grad(tt.addcdiv(a, b, tt.tensor([3.0])), [b])
    assert found.item() == 1 / 3


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.trace(),
        lambda x: x.as_strided_scatter(tt.zeros(2, dtype=tt.float64), (2,), (1,), 2),
        lambda x: x.tril(),
        lambda x: (x + tt.arange(4.0).reshape(2, 2)).max(),
        lambda x: (x + tt.arange(4.0).reshape(2, 2)).median(),
    ],
)
def test_an_infinite_gradient_leaves_zeros_where_no_element_counts(function):
    x = tt.ones(2, 2, dtype=tt.float64, requires_grad=True)
    result = function(x)
    (finite,) = tt.autograd.grad(result, x, tt.ones_like(result), retain_graph=True)
    (infinite,) = tt.autograd.grad(result, x, tt.full_like(result, math.inf))
    assert 0 in finite and ((infinite == 0) == (finite == 0)).all() and not infinite.isnan().any()


def test_second_derivatives_of_complex_magnitudes_at_zero_are_zero():
    def length(parts):
        return tt.view_as_complex(parts).abs().sum()

    point = tt.tensor([[0.0, 0.0], [3.0, 4.0]], dtype=tt.float64)
    expected = np.zeros((2, 2, 2, 2))
    expected[1, :, 1] = np.array([[16.0, -12.0], [-12.0, 9.0]]) / 125
    for inner in (tt.func.jacrev, tt.func.jacfwd):
        for outer in (tt.func.jacrev, tt.func.jacfwd):
            np.testing.assert_allclose(outer(inner(length))(point).numpy(), expected, atol=1e-15)
