"""The arguments and results of opcheck, and that tt's own operators pass it."""

from __future__ import annotations

from pathlib import Path

import pytest

import tt
from tests.testing.opcheck.faulty import FAULTY
from tests.testing.opcheck.made import Made, X
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.schema.classes import dtype_names
from tt.library import custom_op, opcheck
from tt.testing.checks.call import tensors_in
from tt.testing.opcheck import FAULTS, TESTS, OpCheckReport
from tt.testing.samples import samples

# --- arguments ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", [tt.ops.exp, tt.exp, "exp", "tt::exp"])
def test_an_operator_is_given_itself_or_by_name(op):
    assert opcheck(op, (X,)).op == "exp(Tensor self) -> Tensor"


def test_a_custom_operator_is_given_as_what_defined_it_by_its_place_and_by_its_name():
    with Made() as op:
        found = [opcheck(o, (X,)) for o in (op, op.name, getattr(tt.ops.faulty, op.name.partition("::")[2]))]
    assert [report.op for report in found] == [str(op.schema)] * 3


def test_the_overload_is_chosen_by_the_arguments():
    assert opcheck("max", (X, 1)).op.startswith("max.dim(")
    assert opcheck("max.other", (X, X + 1)).op.startswith("max.other(")


def test_in_place_forms_declare_what_they_change():
    report = opcheck("add_", (X, 2.0))
    assert report.op.startswith("add_(Tensor(a!) self") and report.ok


@pytest.mark.parametrize(
    ("args", "options", "error", "says"),
    [
        ((X,), {"test_utils": "test_grads"}, tt.errors.UnknownNameError, "did you mean 'test_gradients'"),
        ((X,), {"rtol": 1e-3}, ValueError, "rtol and atol must both be given"),
        (X, {}, tt.errors.ArgumentError, r"opcheck\(op, \(x,\)\)"),
        ((X, 1), {}, tt.errors.ArgumentError, "exp"),
        ((tt.empty(2, device="meta"),), {}, tt.errors.ArgumentError, "must have data"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(args, options, error, says):
    with pytest.raises(error, match=says):
        opcheck(tt.ops.exp, args, **options)


def test_what_is_no_operator_is_refused():
    with pytest.raises(tt.errors.ArgumentError, match="is not an operator"):
        opcheck(len, (X,))
    with pytest.raises(tt.errors.UnknownOpError, match="exp"):
        opcheck("exxp", (X,))


def test_the_arguments_are_left_as_they_were():
    x = tt.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x.detach().T
    before = x.tolist(), y.tolist(), x._version, y.stride()
    opcheck("add_", (y, 1.0), raise_exception=False)
    opcheck(tt.ops.mul, (x, y))
    assert (x.tolist(), y.tolist(), x._version, y.stride()) == before and x.grad is None


def test_the_state_of_the_generator_is_left_as_it_was():
    before = tt.get_rng_state().tolist()
    opcheck("rand_like", (X,))
    opcheck("bernoulli", (tt.full((3,), 0.5),))
    assert tt.get_rng_state().tolist() == before


# --- results -------------------------------------------------------------------------------------------


def test_the_report_is_a_dict_as_that_of_pytorch():
    report = opcheck(tt.ops.exp, (X,))
    assert isinstance(report, OpCheckReport) and report == dict.fromkeys(TESTS, "SUCCESS")
    assert report.calls > 50


def test_only_the_wanted_tests_are_made():
    assert list(opcheck(tt.ops.exp, (X,), test_utils=["test_vmap"])) == ["test_vmap"]
    assert list(opcheck(tt.ops.exp, (X,), test_utils="test_schema")) == ["test_schema"]


def test_all_failures_of_all_tests_are_in_one_report():
    def kernel(x):
        x *= 2
        return x

    with Made(kernel=kernel, fake=None, backward=lambda ctx, g: g) as op:
        report = opcheck(op, (X,), raise_exception=False)
        with pytest.raises(tt.errors.OpCheckError) as caught:
            opcheck(op, (X,))
    faults = {failure.fault for failure in report.failures}
    assert {"mutated_input", "aliased_input", "missing_fake"} <= faults
    assert isinstance(caught.value, AssertionError) and str(caught.value) == str(report)
    assert isinstance(report["test_schema"], tt.errors.OpCheckError)
    assert [f.fault for f in report["test_schema"].failures] == ["mutated_input"]


def test_the_report_says_on_what_how_to_repeat_it_and_what_to_do():
    with Made(fake=lambda x: tt.empty(2, 3, dtype=x.dtype, device=x.device)) as op:
        report = opcheck(op, (tt.ones(2, 3),), raise_exception=False)
        (failure,) = report.failures
        assert str(failure).splitlines() == [
            "test_faketensor: fake_shape",
            "  on sizes 4 instead of 2 (also: sizes 4 instead of 3, no elements instead of 2, "
            "no elements instead of 3)",
            "  the result has shape [2, 3] without data, [1, 1] with",
            "  try: return the kernel's shape",
            "  repeat:",
            "    import tt",
            "    x = tt.tensor([[1.0]], dtype=tt.float32)",
            "    with tt.fake_mode():",
            f"        tt.ops.{op.name.replace('::', '.')}(x)",
        ]


@pytest.mark.parametrize("which", ["an_input_that_is_changed", "no_fake", "a_gradient_that_is_scaled",
                                   "a_gradient_that_raises", "a_composite_that_asks_for_values"])  # fmt: skip
def test_the_snippet_runs_and_meets_the_fault(which):
    fault, make, args = FAULTY[which]
    with make() as op:
        failure = next(f for f in opcheck(op, args, raise_exception=False).failures if f.fault == fault)
        assert "tt.tensor" in failure.snippet
        scope: dict[str, object] = {}
        if fault == "mutated_input":
            assert failure.snippet.endswith("print(x)")
            before = failure.snippet.rpartition("\n")[0].rpartition("\n")[0]
            exec(before, scope)
            old = scope["x"].tolist()
            exec(failure.snippet, scope)
            assert scope["x"].tolist() != old
        else:
            with pytest.raises(Exception, match=r"fake implementation|Jacobian mismatch|^no"):
                exec(failure.snippet, scope)


def test_a_snippet_is_as_small_as_the_fault_allows():
    with Made(backward=lambda ctx, g: 3 * g) as op:
        (failure,) = opcheck(
            op, (tt.rand(5, 7),), raise_exception=False, test_utils="test_gradients"
        ).failures
    assert "x = tt.tensor([[0." in failure.snippet and failure.snippet.count("0.") == 1


def test_a_snippet_has_the_arguments_that_the_fault_needs():
    def kernel(x, ys, bias, scale, times):
        return sum(ys, x) * scale if x.shape[-1] < 3 else sum(ys, x) * scale + 1

    schema = "(Tensor x, Tensor[] ys, Tensor? bias=None, *, float scale=1.0, int times=1) -> Tensor"
    with Made(
        schema,
        kernel,
        fake=lambda x, ys, bias, scale, times: tt.empty_like(x, dtype=tt.int8),
        backward=None,
        tags=("nondifferentiable",),
        dtypes=("float32",),
    ) as op:
        x = tt.ones(5, 7)
        options = {"raise_exception": False, "test_utils": "test_faketensor"}
        (failure,) = opcheck(op, (x, [x, x, x], x), {"scale": 2.0, "times": 3}, **options).failures
    assert failure.snippet.splitlines()[1:] == [
        "x = tt.tensor([[1.0]], dtype=tt.float32)",
        "ys = [tt.tensor([[1.0]], dtype=tt.float32)]",
        "with tt.fake_mode():",
        f"    tt.ops.{op.name.replace('::', '.')}(x, ys)",
    ]


def test_a_call_that_fails_is_shrunk_as_long_as_it_fails_in_the_same_way():
    def kernel(x, by):
        if x.shape[0] < 3:
            raise TypeError("another refusal")
        raise ValueError(f"cannot take {x.shape}")

    with Made("(Tensor x, float by=1.0) -> Tensor", kernel, fake=lambda x, by: tt.empty_like(x)) as op:
        (failure,) = opcheck(op, (tt.ones(9, 5), 2.0), raise_exception=False).failures
    assert failure.fault == "call_fails" and "cannot take (3, 1)" in failure.message
    assert failure.snippet.splitlines()[-1] == f"tt.ops.{op.name.replace('::', '.')}(x)"


def test_what_could_not_be_looked_at_is_noted():
    report = opcheck("exp", (tt.tensor([1, 2]),))
    assert report.notes["test_gradients"] == [
        "no argument that may have a gradient is a floating-point tensor"
    ]
    report = opcheck("eq", (X, X))
    assert report.notes["test_autograd_registration"] == ["the operator is declared non-differentiable"]


def test_tolerances_are_those_that_were_given():
    def kernel(x):
        found = x + x
        return found if x.flags.c_contiguous else found + x.dtype.type(1e-3)

    with Made(kernel=kernel, dtypes=("float32", "float64")) as op:
        options = {"test_utils": "test_layouts", "raise_exception": False}
        assert not opcheck(op, (X,), **options).ok
        assert opcheck(op, (X,), rtol=0.01, atol=0.01, **options).ok


def test_operators_on_lists_optional_tensors_and_several_results_are_checked():
    @custom_op("faulty::weighted")
    def weighted(xs: list[tt.Tensor], w: tt.Tensor | None = None) -> tuple[tt.Tensor, tt.Tensor]:
        total = xs[0] * 1
        for x in xs[1:]:
            total = total + x
        return total if w is None else total * w, total.sum()

    try:
        assert opcheck(weighted, ([X, X + 1],)).ok
        assert opcheck(weighted, ([X, X + 1], tt.tensor([1.0, 2.0, 3.0]))).ok
    finally:
        weighted.remove()


def test_every_fault_is_described():
    text = (Path(__file__).parents[3] / "docs" / "opcheck.md").read_text(encoding="utf-8")
    assert [fault for fault in FAULTS if f"| `{fault}` |" not in text] == []
    assert [name for name in TESTS if f"| `{name}` |" not in text] == []


# --- tt's own operators ----------------------------------------------------------------------------------------

RETURNS_ITS_ARGUMENT = "if there is nothing to do, it returns its argument, as PyTorch's does"
MEMORY = "it reads memory, not elements, so the same elements elsewhere give something else"
VALUES = "the shape depends on values unless a number says it is given"
LISTS = "vmap maps no function of which one of several results is a list"
SYMMETRIC = "its gradient takes the matrix for symmetric, which a finite difference does not leave it"
THROUGH_SOFTMAX = "its gradient is that through log_softmax, of which log_probs is taken to be a result"
KNOWN = {
    "einsum.sublist": ({"aliased_input", "fake_aliases"}, RETURNS_ITS_ARGUMENT),
    "as_strided": ({"layout_wrong", "alias_not_shared", "vmap_wrong"}, MEMORY),
    "as_strided_scatter": ({"layout_wrong"}, MEMORY),
    "as_strided_copy": ({"layout_wrong", "vmap_wrong"}, MEMORY),
    "view_as_complex_copy": ({"layout_fails", "layout_wrong", "vmap_fails"}, MEMORY),
    "histogramdd": ({"vmap_fails"}, LISTS),
    "histogramdd.int_bins": ({"vmap_fails"}, LISTS),
    "view.dtype": ({"dtype_wrong"}, MEMORY),
    "repeat_interleave.Tensor": ({"fake_needs_data"}, VALUES),
    "repeat_interleave.self_Tensor": ({"fake_needs_data"}, VALUES),
    "one_hot": ({"fake_needs_data"}, VALUES),
    "normal.Tensor_Tensor": ({"gradient_wrong"}, "its gradient is zero, as PyTorch's"),
    "normal.Tensor_float": ({"gradient_wrong"}, "its gradient is zero, as PyTorch's"),
    "normal.float_Tensor": ({"gradient_wrong"}, "its gradient is zero, as PyTorch's"),
    "poisson": ({"gradient_wrong"}, "its gradient is zero, as PyTorch's"),
    "lobpcg": ({"gradient_wrong"}, SYMMETRIC),
    "_ctc_loss": ({"gradient_wrong"}, THROUGH_SOFTMAX),
    "ctc_loss.IntList": ({"gradient_wrong"}, THROUGH_SOFTMAX),
    "linalg_cholesky": ({"gradient_wrong"}, SYMMETRIC),
    "linalg_cholesky_ex": ({"gradient_wrong"}, SYMMETRIC),
    "linalg_eigh": ({"gradient_wrong"}, SYMMETRIC),
    "linalg_eigvalsh": ({"gradient_wrong"}, SYMMETRIC),
    "linalg_eig": ({"gradient_fails"}, "the phase of eigenvectors has no derivative, and backward says so"),
    "linalg_svd": (
        {"gradient_wrong"},
        "the vectors of a full matrix that belong to no value have no derivative",
    ),
    "linalg_qr": ({"gradient_fails"}, "the mode 'r' has no derivative, and backward says so"),
    "linalg_lstsq": ({"gradient_fails", "empty_fails"}, "LAPACK refuses a system without right-hand sides"),
    "multinomial": ({"empty_fails"}, "there is nothing to draw from"),
    "_standard_gamma": (
        {"gradient_wrong"},
        "the number changes as its quantile does, and not as that of one seed",
    ),
    "_sample_dirichlet": ({"gradient_wrong"}, "as for _standard_gamma"),
    "resize": ({"layout_wrong"}, "elements are taken as they lie in memory, in whatever order that is"),
    "_conv_weight": ({"fake_shape"}, "takes the size of its result as an argument"),
}
"""Operators of tt's in which opcheck finds something, and why that is as it should be."""


def first_sample(definition):
    """Return a call of an operator on the dtype that says most, with more than one element."""
    words = ("float32", "int64", "complex64", "bool", "float8_e4m3fn", "int8")
    dtype = next(d for d in words if d in dtype_names(definition.dtypes))
    for sample in samples(definition, "cpu", getattr(tt, dtype), 0):
        tensors = list(tensors_in((sample.args, sample.kwargs)))
        if sample.error is None and (not tensors or max(t.numel() for t in tensors) > 1):
            return sample
    return None


SLOW = {"lobpcg", "_rnn_layer_backward"}
"""Operators whose numeric gradients take seconds."""
OWN = [
    pytest.param(name, marks=pytest.mark.exhaustive) if name in SLOW else name
    for name in sorted(d.name for d in REGISTRY.definitions() if d.samples is not None)
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", OWN)
def test_own_operators_pass(name):
    operator = REGISTRY.operator(name)
    sample = first_sample(operator.definition)
    if sample is None:
        pytest.skip("the operator has no sample with more than one element")
    caller = operator.overload("inplace" if "inplace_only" in operator.definition.tags else "functional")
    report = opcheck(caller, sample.args, sample.kwargs, raise_exception=False)
    known = KNOWN.get(name, (set(), ""))[0]
    assert {failure.fault for failure in report.failures} <= known, str(report)
