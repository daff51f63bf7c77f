"""`out=` of every operator: shapes, dtypes, devices, memory that is shared, gradients."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tt
from tt.core.library import REGISTRY, OpDefinition
from tt.core.schema.classes import dtype_names
from tt.testing.samples import samples

DEFINITIONS = [d for d in REGISTRY.definitions() if "::" not in d.name and d.has_out and d.samples]
PREFERRED = ("float32", "int64", "complex64", "float64", "bool")
DTYPE_OF_OUT = "out_decides"

# `range` and `lu_solve` are deprecated, as in PyTorch, and say so.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.* is deprecated:UserWarning", "ignore:.* not contiguous:UserWarning", "ignore:i?stft:UserWarning"
)


class Call:
    """A call of an operator that gives tensors with more than one element, if one of its samples does."""

    def __init__(self, definition: OpDefinition) -> None:
        self.definition, self.operator = definition, REGISTRY.operator(definition.name)
        served = dtype_names(definition.dtypes)
        name = next((n for n in PREFERRED if n in served), served[0])
        caller = self.operator.overload()
        binder = caller.binder or self.operator.binder(caller)
        best: Any = None
        for sample in samples(definition, "cpu", getattr(tt, name)):
            if sample.error is not None:
                continue
            args = binder(sample.args, sample.kwargs)
            try:
                results = self.run(args)
            except (RuntimeError, TypeError):  # a part of a composite lacks the dtype
                continue
            if best is None or min(r.numel() for r in results) > min(r.numel() for r in best[1]):
                best = args, results
            if min(r.numel() for r in results) > 1:
                break
        assert best is not None, f"no sample of {definition.name} runs"
        self.args, self.results = best

    def run(self, args: Any) -> list[Any]:
        found = self.operator.overload().dispatch(args)
        return [found] if isinstance(found, tt.Tensor) else list(found)

    def into(self, outs: list[Any]) -> Any:
        from tt.core.dispatch.mutate.out import call_with_out

        return call_with_out(self.operator, self.args, outs[0] if len(outs) == 1 else tuple(outs))

    def fresh(self, make: Any = None) -> list[Any]:
        """Return an output for each result, the first of another kind."""
        rest = [tt.zeros(tuple(r.shape), dtype=r.dtype) for r in self.results]
        return rest if make is None else [make(self.results[0]), *rest[1:]]


@pytest.fixture(params=DEFINITIONS, ids=lambda d: d.name)
def call(request: pytest.FixtureRequest) -> Call:
    return Call(request.param)


def array(tensor: Any) -> Any:
    return tensor.detach().numpy()


# --- shapes ----------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
def test_the_output_is_filled_and_returned(call: Call) -> None:
    outs = call.fresh()
    found = call.into(outs)
    found = [found] if isinstance(found, tt.Tensor) else list(found)
    assert all(a is b for a, b in zip(found, outs, strict=True))
    if "random" not in call.definition.tags and not call.definition.name.startswith(("empty", "new_empty")):
        for out, result in zip(outs, call.results, strict=True):
            np.testing.assert_array_equal(array(out), array(result))


@pytest.mark.sampled(3)
def test_an_output_of_another_shape_is_resized_with_a_warning(call: Call) -> None:
    outs = call.fresh(lambda r: tt.zeros((*r.shape, 2), dtype=r.dtype))
    if not outs[0].numel():
        pytest.skip("no result has elements")
    with pytest.warns(UserWarning, match="was resized"):
        call.into(outs)
    assert outs[0].shape == call.results[0].shape


@pytest.mark.sampled(3)
def test_an_empty_output_is_resized_silently(call: Call) -> None:
    outs = call.fresh(lambda r: tt.zeros(0, dtype=r.dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings(
            "ignore", ".* (is deprecated|not contiguous)"
        )  # about the operator, not the size
        call.into(outs)
    assert outs[0].shape == call.results[0].shape


# --- dtypes and devices ----------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
def test_a_result_is_not_cast_to_a_lesser_kind(call: Call) -> None:
    lesser = {"complex": tt.float32, "floating": tt.int64, "signed": tt.bool}.get(call.results[0].dtype.kind)
    decided_by_out = call.operator.is_factory or DTYPE_OF_OUT in call.definition.tags
    if lesser is None or decided_by_out or call.definition.name.startswith("bernoulli"):
        pytest.skip("the result is cast to every dtype")
    with pytest.raises(RuntimeError, match=r"dtype|cast"):
        call.into(call.fresh(lambda r: tt.zeros(tuple(r.shape), dtype=lesser)))


@pytest.mark.sampled(3)
def test_a_wider_output_is_cast_to_or_refused_as_the_schema_says(call: Call) -> None:
    wider = {"float32": tt.float64, "int64": tt.float64, "complex64": tt.complex128}
    target = wider.get(call.results[0].dtype.name)
    if target is None or call.operator.is_factory or DTYPE_OF_OUT in call.definition.tags:
        pytest.skip("no wider dtype, or the output decides the dtype")
    outs = call.fresh(lambda r: tt.zeros(tuple(r.shape), dtype=target))
    if {"exact_out", "exact_target"} & set(call.definition.tags):
        with pytest.raises(RuntimeError, match="to have dtype"):
            call.into(outs)
    else:
        call.into(outs)
        assert outs[0].dtype is target


@pytest.mark.sampled(3)
def test_an_output_on_another_device_is_refused(call: Call) -> None:
    if not any(isinstance(v, tt.Tensor) for v in call.args):
        pytest.skip("the output alone says where the call runs")
    with pytest.raises(RuntimeError, match="device"):
        call.into(call.fresh(lambda r: tt.zeros(tuple(r.shape), dtype=r.dtype, device="meta")))


# --- memory ----------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
def test_an_output_with_several_elements_in_one_place_is_refused(call: Call) -> None:
    if call.results[0].numel() < 2:
        pytest.skip("no result with several elements")
    with pytest.raises(RuntimeError, match="are one in memory"):
        call.into(call.fresh(lambda r: tt.zeros((), dtype=r.dtype).expand(tuple(r.shape))))


@pytest.mark.sampled(3)
def test_an_output_that_covers_a_part_of_an_operand_is_refused(call: Call) -> None:
    result = call.results[0]
    place = next(
        (
            i
            for i, v in enumerate(call.args)
            if isinstance(v, tt.Tensor) and v.dtype is result.dtype and v.numel() >= result.numel() > 1
        ),
        None,
    )
    if place is None or call.definition.kind != "pointwise":
        pytest.skip("no operand that an output could cover in part")
    value = call.args[place]
    memory = tt.zeros(value.numel() + 1, dtype=value.dtype)
    operand = memory[:-1].view(tuple(value.shape))
    operand.copy_(value)
    call.args = (*call.args[:place], operand, *call.args[place + 1 :])
    with pytest.raises(RuntimeError, match="memory"):
        call.into(call.fresh(lambda r: memory[1 : 1 + r.numel()].view(tuple(r.shape))))


def test_an_operand_may_be_the_output() -> None:
    x = tt.tensor([1.0, 2.0])
    assert tt.add(x, x, out=x) is x
    assert x.tolist() == [2.0, 4.0]


# --- gradients -------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
def test_an_output_does_not_require_a_gradient(call: Call) -> None:
    if "nondifferentiable" in call.definition.tags or call.results[0].dtype.kind not in (
        "floating",
        "complex",
    ):
        pytest.skip("the operator has no gradient")

    def leaf(result: Any) -> Any:
        return tt.zeros(tuple(result.shape), dtype=result.dtype, requires_grad=True)

    with pytest.raises(RuntimeError, match="is not differentiated"):
        call.into(call.fresh(leaf))
    with tt.no_grad():
        outs = call.fresh(leaf)
        found = call.into(outs)
    assert (found if isinstance(found, tt.Tensor) else found[0]) is outs[0]
    assert outs[0].requires_grad


def test_an_operand_does_not_require_a_gradient() -> None:
    x = tt.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="is not differentiated"):
        tt.mul(x, 2, out=tt.ones(2))
    assert tt.eq(x, 1, out=tt.zeros(2, dtype=tt.bool)).all()


# --- the argument ----------------------------------------------------------------------------------------------


def test_the_number_of_outputs_is_checked() -> None:
    with pytest.raises(TypeError, match="must be a tuple of 2 Tensors"):
        tt.frexp(tt.ones(2), out=tt.ones(2))
    with pytest.raises(TypeError, match="must be a Tensor, not"):
        tt.add(tt.ones(2), 1, out=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
        tt.isnan(tt.ones(2), out=tt.ones(2))


def test_out_none_is_no_output() -> None:
    assert tt.add(tt.ones(2), 1, out=None).tolist() == [2.0, 2.0]
    assert tt.max(tt.ones(2, 2), 0, out=None).values.tolist() == [1.0, 1.0]


# --- lists -------------------------------------------------------------------------------------------------------


def test_operators_that_return_lists_write_to_lists() -> None:
    x = tt.arange(6.0).reshape(3, 2)
    rows = [tt.empty(2) for _ in range(3)]
    assert tt.unbind_copy(x, out=rows) is None
    assert [row.tolist() for row in rows] == x.tolist()
    parts = [tt.empty(0), tt.empty(4).view(2, 2).t()]
    tt.split_with_sizes_copy(x, [1, 2], out=parts)
    assert [part.tolist() for part in parts] == [[[0.0, 1.0]], [[2.0, 3.0], [4.0, 5.0]]]
    assert parts[1].stride() == (1, 2)
    tt.split_copy(x, 2, 1, out=(whole := tt.empty(3, 2),))
    assert tt.equal(whole, x)
    assert len(tt.unbind_copy(x, 1, out=None)) == 2


def test_wrong_lists_are_refused() -> None:
    x, rows = tt.ones(3, 2), [tt.empty(2) for _ in range(3)]
    with pytest.raises(RuntimeError, match="must have 3 tensors, and it has 2"):
        tt.unbind_copy(x, out=rows[:2])
    for bad in (rows[0], [*rows[:2], 3]):
        with pytest.raises(TypeError, match="must be a list of Tensors"):
            tt.unbind_copy(x, out=bad)
    with pytest.raises(RuntimeError, match="float32"):
        tt.unbind_copy(x, out=[row.double() for row in rows])
    with pytest.raises(RuntimeError, match="not differentiated"):
        tt.unbind_copy(x.requires_grad_(), out=rows)


HELD = {
    "bmm": lambda m, out: m.bmm(m.ones(2, 3, 4), m.ones(2, 4, 5), out=out),
    "add": lambda m, out: m.add(m.ones(5), 1.0, out=out),
    "eq": lambda m, out: m.eq(m.ones(3), 1.0, out=out),
    "sum": lambda m, out: m.sum(m.ones(2, 2), 0, out=out),
    "sort": lambda m, out: m.sort(m.ones(3), out=(out, m.zeros(1, dtype=m.int64)))[0],
}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.*(resized|not match the required output shape)")
@pytest.mark.parametrize("shape", [(0,), (1,), (7, 2)], ids=str)
@pytest.mark.parametrize("name", HELD)
def test_an_output_that_a_layer_holds_is_resized(name: str, shape: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")

    def seen(m: Any) -> Any:
        with m.inference_mode():
            inside = m.zeros(shape)
            results = [HELD[name](m, inside) is inside]
        recorded = m.zeros(shape, requires_grad=True)
        with m.set_grad_enabled(name == "eq"):
            results.append(HELD[name](m, recorded) is recorded)
        return [*results, inside.tolist(), recorded.tolist(), recorded.requires_grad]

    assert seen(tt) == seen(torch)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["range", "arange", "linspace"])
def test_rows_of_numbers_fill_a_tensor_of_as_many_elements(name):
    torch = pytest.importorskip("torch")
    found = []
    args = {"range": (0, 3), "arange": (0, 4), "linspace": (0, 3, 4)}[name]
    for library in (tt, torch):
        x = library.zeros(2, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(library, name)(*args, out=x.narrow(1, 1, 2))
        found.append(x.tolist())
    assert found[0] == found[1] == [[0, 0, 1], [0, 2, 3]]
