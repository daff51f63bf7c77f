"""Operators that change their arguments: schema, versions, refusals, and every layer and backend."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.core.errors import (
    ArgumentError,
    GradientError,
    InplaceError,
    KernelContractError,
    SavedTensorError,
    SchemaError,
)
from tt.core.library import RegistrationHandle
from tt.library import REGISTRY, ArrayApiBackend, KernelTable, custom_op


@pytest.fixture
def double(define):
    @define("test::double", mutates="x")
    def double(x: tt.Tensor) -> None:
        """Doubles x in place."""

    @double.kernel("cpu")
    def on_cpu(x):
        x *= 2

    return double


@pytest.fixture
def accumulate(define):
    """Adds to each of several tensors, to an optional one, and returns what was added."""

    @define("test::accumulate", mutates=("totals", "count"))
    def accumulate(totals: list[tt.Tensor], x: tt.Tensor, count: tt.Tensor | None = None) -> tt.Tensor: ...

    @accumulate.kernel("cpu")
    def on_cpu(totals, x, count):
        for total in totals:
            total += x
        if count is not None:
            count += 1
        return 2 * x

    accumulate.fake(lambda totals, x, count: tt.empty_like(x))
    return accumulate


# --- the schema ------------------------------------------------------------------------------------------------


def test_the_schema_marks_what_changes(double, accumulate):
    assert str(double.schema) == "test::double(Tensor(a0!) x) -> ()"
    assert str(accumulate.schema) == (
        "test::accumulate(Tensor(a0!)[] totals, Tensor x, Tensor(a2!)? count=None) -> Tensor"
    )


def test_unknown_means_every_tensor(define):
    @define("test::unknown", mutates_args="unknown")
    def unknown(x: tt.Tensor, n: int, y: tt.Tensor) -> None: ...

    assert str(unknown.schema) == "test::unknown(Tensor(a0!) x, int n, Tensor(a2!) y) -> ()"


def test_what_does_not_exist_or_is_no_tensor_does_not_change():
    def change(x: tt.Tensor, n: int) -> None: ...

    with pytest.raises(ArgumentError, match="mutates: unknown argument 'y'"):
        custom_op("test::change", mutates=("y",))(change)
    with pytest.raises(ArgumentError, match="mutates: 'n' is int, and only tensors change"):
        custom_op("test::change", mutates="n")(change)
    with pytest.raises(ArgumentError, match="the schema does not mark it as changed"):
        custom_op("test::change", mutates="x", schema="(Tensor x) -> ()")(change)


def test_what_changes_does_not_promote_and_has_no_derived_forms():
    from tt.core.schema.load import loads

    with pytest.raises(SchemaError) as caught:
        loads(
            "schema_version: 1\nnamespace: t\nops:\n- func: f(Tensor(a!) x, Tensor y) -> ()\n  kind: pointwise\n"
            "  promote: [x, y]\n  variants: [function, out]\n"
        )
    text = str(caught.value)
    assert "'x' is changed by the operator: it keeps its dtype and does not promote" in text
    assert "an operator that changes its arguments has no form 'out'" in text
    assert "an operator that changes its arguments has the kind other or composite" in text


# --- calling ---------------------------------------------------------------------------------------------------


def test_the_kernel_changes_the_memory_and_the_version_advances(double):
    x = tt.ones(3)
    view = x[1:]
    assert double(x) is None
    assert view.tolist() == [2.0, 2.0]
    assert x._version == view._version == 1
    double(view)
    assert (x.tolist(), x._version) == ([2.0, 4.0, 4.0], 2)


def test_lists_and_optional_arguments_change_and_results_are_returned(accumulate):
    first, second, count = tt.zeros(2), tt.ones(2), tt.zeros(())
    x = tt.full((2,), 3.0)
    made = accumulate([first, second], x, count)
    assert (first.tolist(), second.tolist(), count.item()) == ([3.0, 3.0], [4.0, 4.0], 1.0)
    assert made.tolist() == [6.0, 6.0]
    assert [t._version for t in (first, second, count, x)] == [1, 1, 1, 0]
    accumulate([], x)
    assert x._version == 0


def test_a_kernel_may_return_the_new_values_instead(define):
    @define("test::swap", mutates=("x", "y"))
    def swap(x: tt.Tensor, y: tt.Tensor) -> tt.Tensor: ...

    swap.kernel("cpu", lambda x, y: (y, x, x + y), form="functional")
    x, y = tt.zeros(2), tt.ones(2)
    assert swap(x, y).tolist() == [1.0, 1.0]
    assert (x.tolist(), y.tolist()) == ([1.0, 1.0], [1.0, 1.0])


def test_new_values_that_do_not_fit_are_refused(define):
    @define("test::reset", mutates="x")
    def reset(x: tt.Tensor) -> None: ...

    wrong = reset.kernel("cpu", lambda x: None, form="functional")
    with pytest.raises(KernelContractError, match=r"must return the new values of x .* it returned nothing"):
        reset(tt.ones(2))
    reset.handle(wrong).remove()
    reset.kernel("cpu", lambda x: np.zeros(3, np.float32), form="functional")
    with pytest.raises(
        KernelContractError, match=r"a new value of shape \[3\] .* an argument of shape \[2\]"
    ):
        reset(tt.ones(2))


def test_a_result_may_be_the_argument(define):
    op = custom_op("test::add_one_", schema="(Tensor(a!) self) -> Tensor(a!)")(lambda self: None)
    try:

        @op.kernel("cpu")
        def on_cpu(self):
            self += 1

        x = tt.zeros(2)
        assert op(x) is x
        assert tt.ops.test.add_one_(x) is x
        assert x.tolist() == [2.0, 2.0]
    finally:
        op.remove()


def test_a_body_in_other_operators_serves_every_device_and_the_gradient(define):
    @define("test::scale_", mutates="x")
    def scale_(x: tt.Tensor, by: float) -> None:
        x.mul_(by)

    x = tt.ones(2, requires_grad=True)
    y = x * 1
    scale_(y, 3.0)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    empty = tt.zeros(2, device="meta")
    scale_(empty, 2.0)
    assert empty._version == 1


# --- refusals -------------------------------------------------------------------------------------------


def test_memory_with_several_elements_in_one_place_is_refused(double):
    with pytest.raises(InplaceError, match=r"test::double\(\): several elements"):
        double(tt.ones(1).expand(3))


def test_an_operand_that_covers_a_part_is_refused_and_one_in_the_same_place_is_not(accumulate):
    x = tt.zeros(4)
    with pytest.raises(InplaceError, match="an operand covers a part of the memory"):
        accumulate([x[:3]], x[1:])
    accumulate([x], x)
    assert x._version == 1


def test_two_changed_arguments_in_one_place_are_refused(accumulate):
    x = tt.zeros(4)
    for pair in ([x, x], [x, x[:]], [x[:2], x[:3]]):
        with pytest.raises(InplaceError, match="test::accumulate"):
            accumulate(pair, tt.zeros(()))
    accumulate([x[:2], x[2:]], tt.ones(2))
    assert x.tolist() == [1.0] * 4


def test_leaves_that_require_a_gradient_and_their_views_are_refused(double):
    x = tt.ones(2, requires_grad=True)
    with pytest.raises(InplaceError, match="a leaf that requires a gradient"):
        double(x)
    with pytest.raises(InplaceError, match="a view of a leaf"):
        double(x[:1])
    with tt.no_grad():
        double(x)
    assert x.tolist() == [2.0, 2.0]


def test_tensors_made_in_inference_mode_change_only_there(double):
    with tt.inference_mode():
        x = tt.ones(2)
        double(x)
    with pytest.raises(tt.errors.InferenceTensorError, match="test::double: a tensor made in inference mode"):
        double(x)
    double(x.clone())
    assert x.tolist() == [2.0, 2.0]


def test_a_tensor_with_a_tangent_is_changed_by_a_body_only(double, define):
    def changed(x, op):
        y = x * 1
        op(y)
        return y

    ones = tt.ones(2)
    with pytest.raises(GradientError, match=r"test::double\(\) changes its arguments, and has no formula"):
        tt.func.jvp(lambda x: changed(x, double), (ones,), (ones,))

    @define("test::triple", mutates="x")
    def triple(x: tt.Tensor) -> None:
        x.mul_(3)

    assert tt.func.jvp(lambda x: changed(x, triple), (ones,), (ones,))[1].tolist() == [3.0, 3.0]


# --- gradients -------------------------------------------------------------------------------------------------


def test_a_changed_history_is_an_error_in_the_backward_pass_and_no_wrong_number(double, accumulate):
    x = tt.ones(2, requires_grad=True)
    y = x * 1
    double(y)
    assert y.tolist() == [2.0, 2.0] and y.requires_grad
    with pytest.raises(GradientError, match=r"the derivative for 'test::double' is not implemented"):
        y.sum().backward()
    total = tt.zeros(2)
    made = accumulate([total], x)
    assert total.requires_grad and made.requires_grad
    for value in (total, made):
        with pytest.raises(GradientError, match="test::accumulate"):
            value.sum().backward()


def test_a_changed_view_ends_the_history_of_its_whole_memory(double):
    x = tt.ones(4, requires_grad=True)
    y = x * 1
    other = y[2:]
    double(y[:2])
    for value in (y, other):
        with pytest.raises(GradientError, match="test::double"):
            value.sum().backward()


def test_a_saved_tensor_that_was_changed_is_found(double):
    x = tt.ones(2, requires_grad=True)
    y = tt.ones(2)
    z = x * y
    double(y)
    with pytest.raises(SavedTensorError):
        z.sum().backward()


def test_an_operator_without_gradient_lets_statistics_be_counted(define):
    @define("test::count", mutates="total", tags="nondifferentiable")
    def count(total: tt.Tensor, x: tt.Tensor) -> tt.Tensor: ...

    @count.kernel("cpu")
    def on_cpu(total, x):
        total += x
        return x + 1

    total, x = tt.zeros(2), tt.ones(2, requires_grad=True)
    made = count(total, x)
    assert not total.requires_grad and not made.requires_grad
    y = x * 1
    count(y, x)
    with pytest.raises(GradientError, match="test::count"):
        y.sum().backward()


def test_a_gradient_of_its_own_is_refused(double):
    for register in (
        lambda: double.backward(lambda ctx, g: g),
        lambda: double.backward(x=lambda g: g),
        lambda: double.register_autograd(lambda ctx, g: g),
    ):
        with pytest.raises(ArgumentError, match="an operator that changes its arguments has no gradient"):
            register()


# --- without data ----------------------------------------------------------------------------------------------


def test_meta_tensors_change_in_version_only(double, accumulate):
    x = tt.zeros(3, device="meta")
    assert double(x) is None  # without results there is nothing that a fake would have to say
    assert x._version == 1
    total = tt.zeros(2, 2, device="meta")
    made = accumulate([total], tt.zeros(2, 2, device="meta"))
    assert (made.shape, total._version) == ((2, 2), 1)
    with pytest.raises(InplaceError, match="several elements"):
        double(tt.zeros(1, device="meta").expand(3))


def test_fake_tensors_change_in_version_only(double, accumulate):
    with tt.fake_mode():
        x, total = tt.zeros(2, device="cuda"), tt.zeros(2, device="cuda")
        assert double(x) is None
        made = accumulate([total], x)
    assert (x._version, total._version, made.device.type, made.shape) == (1, 1, "cuda", (2,))


def test_a_fake_tensor_is_not_written_into_one_with_data(accumulate):
    with tt.fake_mode():
        fake = tt.zeros(2)
    with pytest.raises(InplaceError, match="cannot be written into a tensor with data"):
        accumulate([tt.zeros(2)], fake)


# --- vmap, trace, explain ----------------------------------------------------------------------------------------


def test_vmap_changes_each_example(double, accumulate):
    x = tt.arange(6.0).reshape(3, 2)
    tt.func.vmap(lambda row: (double(row), row)[1])(x)
    assert x.tolist() == [[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]]
    totals, values = tt.zeros(3, 2), tt.arange(3.0)
    made = tt.func.vmap(lambda total, value: accumulate([total], value))(totals, values)
    assert totals.tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert made.tolist() == [0.0, 2.0, 4.0]


def test_vmap_does_not_change_what_all_examples_share(accumulate):
    shared = tt.zeros(())
    with pytest.raises(InplaceError, match="the same for all examples"):
        tt.func.vmap(lambda value: accumulate([shared], value))(tt.arange(3.0))


def test_trace_and_explain_show_the_call(double):
    with tt.trace_calls() as trace:
        double(tt.ones(2))
    assert [str(call).split(" -> ")[0] for call in trace.calls if call.depth == 0][-1] == (
        "test::double(float32[2])"
    )
    steps = tt.explain("test::double", ["cpu:float32"]).steps()
    assert any(step["taken"] and "in place" in step["reason"] for step in steps)


# --- backends whose arrays do not change -------------------------------------------------------------------------


@pytest.fixture
def immutable():
    """A device whose arrays cannot change and share no memory."""
    xp = pytest.importorskip("array_api_strict")
    backend = ArrayApiBackend(xp, "immutable")
    with REGISTRY.add_backend(backend), REGISTRY.add(backend.kernels()):
        yield "immutable"


@pytest.mark.parametrize("form", ["inplace", "functional"])
def test_a_backend_whose_arrays_do_not_change_is_functionalised(define, immutable, form):
    @define("test::bump", mutates="x")
    def bump(x: tt.Tensor, y: tt.Tensor) -> tt.Tensor: ...

    if form == "inplace":

        @bump.kernel(immutable)
        def in_place(x, y):
            x += y
            return y * 2.0

    else:
        bump.kernel(immutable, lambda x, y: (x + y, y * 2.0), form="functional")
    x = tt.zeros(4, device=immutable)
    view, before = x[2:], x.clone()
    made = bump(view, tt.ones(2, device=immutable))
    assert made.tolist() == [2.0, 2.0] and made.device.type == immutable
    assert x.tolist() == [0.0, 0.0, 1.0, 1.0]
    assert before.tolist() == [0.0] * 4
    assert x._version == view._version == 1
    with pytest.raises(InplaceError):
        bump(tt.ones(1, device=immutable).expand(2), tt.ones(2, device=immutable))


def test_a_body_is_functionalised_in_its_parts(define, immutable):
    @define("test::negate_", mutates="x")
    def negate_(x: tt.Tensor) -> None:
        x.neg_()

    x = tt.ones(3, device=immutable)
    negate_(x[1:])
    assert x.tolist() == [1.0, -1.0, -1.0]


def test_a_fallback_writes_back(define):
    class Elsewhere(ArrayApiBackend):
        fallback = "cpu"

    backend = Elsewhere(np, "elsewhere")
    with REGISTRY.add_backend(backend), REGISTRY.add(backend.kernels()):

        @define("test::fill_one", mutates="x")
        def fill_one(x: tt.Tensor) -> tt.Tensor: ...

        @fill_one.kernel("cpu")
        def on_cpu(x):
            x[...] = 1
            return x + 1

        x = tt.zeros(2, device="elsewhere")
        with tt.fallback_policy("silent"):
            made = fill_one(x)
        assert (x.tolist(), made.tolist(), made.device.type) == ([1.0, 1.0], [2.0, 2.0], "elsewhere")


def test_a_table_of_kernels_says_inplace(define):
    op = custom_op("test::tabled", schema="(Tensor(a!) x, float by) -> ()")(lambda x, by: None)
    table = KernelTable(device="cpu")

    @table.kernel("test::tabled", form="inplace")
    def tabled(x, by):
        x += by

    handle = REGISTRY.add(table)
    assert isinstance(handle, RegistrationHandle)
    x = tt.zeros(2)
    op(x, 2.0)
    assert x.tolist() == [2.0, 2.0]
    handle.remove()
    op.remove()
