"""In-place calls whose target shares memory with itself or with an operand, or does not fit the result."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest

import tt
from tt.core.library import REGISTRY
from tt.core.schema.classes import dtype_names

INPLACE = [
    d
    for d in REGISTRY.definitions()
    if "::" not in d.name
    and d.has_inplace
    and d.kind == "pointwise"
    and not {"fill", "masked_fill"} & {d.name}
]
BINARY = [
    d
    for d in INPLACE
    if len([a for a in d.signature.arguments if a.default is not None and a.type.is_tensor]) >= 2
    and str(d.signature.arguments[1].type).startswith("Tensor")
    and len(d.promote) >= 2
]


def dtype_of(definition: Any) -> Any:
    served = dtype_names(definition.dtypes)
    return getattr(tt, next((n for n in ("float32", "int64", "bool") if n in served), served[0]))


def further(definition: Any, dtype: Any) -> list[Any]:
    """Return values for the required arguments behind the second one."""
    return [
        tt.ones(1, dtype=dtype) if argument.type.is_tensor else 1
        for argument in definition.signature.arguments[2:]
        if not argument.keyword_only and not argument.type.optional
    ]


def inplace(definition: Any, *args: Any) -> Any:
    operator = REGISTRY.operator(definition.name)
    caller = operator.overload("inplace")
    binder = caller.binder or operator.binder(caller)
    kwargs = {"rounding_mode": "floor"} if definition.name == "div.mode" else {}
    return caller.dispatch(binder(args, kwargs))


# --- every pointwise operator ----------------------------------------------------------------------------------


@pytest.mark.parametrize("definition", BINARY, ids=lambda d: d.name)
def test_an_operand_in_a_part_of_the_target_is_refused(definition: Any) -> None:
    dtype = dtype_of(definition)
    memory = tt.ones(4, dtype=dtype)
    with pytest.raises(RuntimeError, match="an operand covers a part"):
        inplace(definition, memory[1:], memory[:-1], *further(definition, dtype))
    assert memory.tolist() == [1] * 4


@pytest.mark.parametrize("definition", BINARY, ids=lambda d: d.name)
def test_a_broader_operand_is_refused(definition: Any) -> None:
    dtype = dtype_of(definition)
    target = tt.ones(3, dtype=dtype)
    with pytest.raises(RuntimeError, match="cannot hold"):
        inplace(definition, target, tt.ones(2, 3, dtype=dtype), *further(definition, dtype))


@pytest.mark.parametrize("definition", BINARY, ids=lambda d: d.name)
def test_an_expanded_target_is_refused(definition: Any) -> None:
    dtype = dtype_of(definition)
    target = tt.ones(1, dtype=dtype).expand(3)
    with pytest.raises(RuntimeError, match="are one in memory"):
        inplace(definition, target, tt.ones(3, dtype=dtype), *further(definition, dtype))


# --- PyTorch decides alike -------------------------------------------------------------------------------------

CALLS = {
    "a row": lambda x, v: x.add_(x[0]),
    "an element": lambda x, v: v.div_(v[1]),
    "the transpose": lambda x, v: x.add_(x.t()),
    "itself": lambda x, v: x.add_(x),
    "a view of itself": lambda x, v: x.add_(x.view(3, 3)),
    "copy of neighbours": lambda x, v: v[1:].copy_(v[:-1]),
    "assignment of neighbours": lambda x, v: v.__setitem__(slice(1, None), v[:-1]),
    "even and odd": lambda x, v: v[::2].add_(v[1::2]),
    "halves": lambda x, v: v[:2].add_(v[2:]),
    "an expanded operand": lambda x, v: x.mul_(x[0].clone().expand(3, 3)),
    "columns": lambda x, v: x[:, :1].add_(x[:, 1:2]),
    "fill with an element": lambda x, v: v.fill_(v[0]),
    "masked_fill with an element": lambda x, v: v.masked_fill_(v > 1, v[0]),
    "fill of an expanded tensor": lambda x, v: v[:1].expand(3).fill_(7),
    "index_add": lambda x, v: v.index_add_(0, v[:1].long() * 0, v[1:2]),
    "scatter": lambda x, v: v.scatter_(0, v[:1].long() * 0, v[1:2]),
    "lerp": lambda x, v: x.lerp_(x.t(), 0.5),
    "clamp with an element": lambda x, v: v.clamp_(min=v[:1]),
    "one element expanded once": lambda x, v: v[:1].expand(1).add_(1),
    "a complex operand": lambda x, v: v.add_(1j),
    "a shape that grows": lambda x, v: v.add_(x[:, :1]),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", CALLS)
def test_pytorch_refuses_the_same_calls(name: str) -> None:
    torch = pytest.importorskip("torch")

    def outcome(lib: Any) -> Any:
        x, v = lib.arange(9.0).reshape(3, 3).clone(), lib.arange(1.0, 5.0)
        try:
            CALLS[name](x, v)
        except RuntimeError:
            return "refused"
        return x.tolist(), v.tolist()

    assert outcome(tt) == outcome(torch)


SAME_MEMORY: dict[str, Any] = {
    "data": lambda lib, x: x.data.t(),
    "detach": lambda lib, x: x.detach().t(),
    "set_": lambda lib, x: lib.empty(0).set_(x.untyped_storage(), 0, (3, 3), (1, 3)),
    "assigned data": lambda lib, x: assigned(lib.nn.Parameter(lib.empty(3, 3)), x).detach().t(),
    "a row of data": lambda lib, x: x.data[1],
}
"""Tensors that lie in a part of the memory of another one, or in all of it in another order, and are no views of it."""

WRITTEN: dict[str, Any] = {
    "add_": lambda lib, x, o: x.add_(o),
    "copy_": lambda lib, x, o: x.copy_(o),
    "addcmul_": lambda lib, x, o: x.addcmul_(x, o),
    "lerp_": lambda lib, x, o: x.lerp_(o, 0.5),
    "out=": lambda lib, x, o: lib.add(o, x, out=x),
    "out= of a unary operator": lambda lib, x, o: (
        lib.exp(o, out=x) if o.ndim == 2 else lib.exp(o[:2], out=x[1, 1:])
    ),
    "_foreach_add_": lambda lib, x, o: lib._foreach_add_([x], [o]),
    "setitem": lambda lib, x, o: x.__setitem__(slice(None), o),
    "into the other": lambda lib, x, o: o.add_(x if o.ndim == 2 else x.view(9)[4:7]),
}


def assigned(parameter: Any, value: Any) -> Any:
    parameter.data = value
    return parameter


@pytest.mark.torch
@pytest.mark.parametrize("write", WRITTEN)
@pytest.mark.parametrize("same", SAME_MEMORY)
def test_what_shares_memory_without_being_a_view_is_refused_as_in_pytorch(same: str, write: str) -> None:
    torch = pytest.importorskip("torch")

    def outcome(lib: Any) -> Any:
        x = lib.tensor([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]])
        other = SAME_MEMORY[same](lib, x)
        try:
            WRITTEN[write](lib, x, other)
        except RuntimeError:
            return "refused", x.tolist()
        return x.tolist()

    assert outcome(tt) == outcome(torch)


@pytest.mark.parametrize("write", [name for name in WRITTEN if not name.startswith("out= of")])
def test_arrays_over_one_memory_are_seen_as_such(write: str) -> None:
    array = np.arange(9.0).reshape(3, 3)
    x = tt.from_numpy(array)
    with pytest.raises(RuntimeError, match="an operand covers a part"):
        WRITTEN[write](tt, x, tt.from_numpy(array.T))
    assert (array == np.arange(9.0).reshape(3, 3)).all()
    assert x.add_(tt.from_numpy(array)).tolist() == (2 * np.arange(9.0).reshape(3, 3)).tolist()


def test_disjoint_parts_and_other_memory_are_no_overlap() -> None:
    x = tt.arange(6.0)
    x[:3].add_(x[3:])
    assert x.tolist() == [3.0, 5.0, 7.0, 3.0, 4.0, 5.0]
    x[3:].sub_(tt.from_numpy(x.numpy().copy())[3:])
    assert x[3:].tolist() == [0.0, 0.0, 0.0]


def test_a_composite_refuses_as_a_kernel_does() -> None:
    x = tt.arange(4.0)
    with tt.mask_kernels("@non-core"), pytest.raises(RuntimeError, match="an operand covers a part"):
        x[1:].fmod_(x[:-1])


def test_a_tensor_without_data_is_checked_too() -> None:
    x = tt.zeros(3, 3, device="meta")
    with pytest.raises(RuntimeError, match="an operand covers a part"):
        x.add_(x.t())
    with pytest.raises(RuntimeError, match="are one in memory"):
        tt.zeros(1, device="meta").expand(3).add_(1)


def test_a_change_under_autograd_is_checked_before_it_is_recorded() -> None:
    leaf = tt.ones(3, 3, requires_grad=True)
    x = leaf * 1
    with pytest.raises(RuntimeError, match="an operand covers a part"):
        x.mul_(x.t())
    x.sum().backward()
    assert leaf.grad.tolist() == [[1.0] * 3] * 3


# --- dtypes of in-place calls ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.add_(0.5),
        lambda x: x.div_(2),
        lambda x: x.mul_(tt.ones(2)),
        lambda x: x.pow_(0.5),
        lambda x: x.atan2_(x.clone()),
        lambda x: x.logical_not_().add_(1j),
    ],
)
def test_a_result_that_cannot_be_cast_to_the_target_is_refused(call: Any) -> None:
    with pytest.raises(RuntimeError, match="cannot hold"):
        call(tt.tensor([1, 2]))


def test_targets_of_an_exact_dtype() -> None:
    with pytest.raises(RuntimeError, match="to have dtype float64, but got float32"):
        tt.ones(2).float_power_(2)
    assert tt.tensor([3.0], dtype=tt.float64).float_power_(2).item() == 9.0
    with pytest.raises(RuntimeError, match="to have dtype float32, but got complex64"):
        tt.ones(2, dtype=tt.complex64).abs_()


# --- bools in differences --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda b, x: b - b,
        lambda b, x: b - 1,
        lambda b, x: x - b,
        lambda b, x: x - True,
        lambda b, x: True - x,
        lambda b, x: 1 - b,
        lambda b, x: tt.rsub(b, x),
        lambda b, x: x.sub_(b),
    ],
)
def test_bools_have_no_difference(call: Any) -> None:
    with pytest.raises(RuntimeError, match="bool"):
        call(tt.tensor([True]), tt.tensor([1.0]))


def test_factors_of_add_and_sub_fit_the_result() -> None:
    whole = tt.tensor([1])
    with pytest.raises(RuntimeError, match="alpha is a bool"):
        tt.add(whole, whole, alpha=True)
    with pytest.raises(RuntimeError, match="alpha is a bool"):
        tt.sub(tt.ones(1), 1, alpha=False)
    with pytest.raises(RuntimeError, match="floating point"):
        tt.add(whole, whole, alpha=0.5)
    with pytest.raises(RuntimeError, match="complex"):
        tt.add(tt.ones(1), 1, alpha=1j)
    assert tt.add(tt.tensor([False]), tt.tensor([True]), alpha=True).tolist() == [True]


# --- lists of targets ------------------------------------------------------------------------------------------


def fused(params: list[Any], grads: list[Any]) -> Any:
    """Change all parameters by one operator."""
    return tt.ops._fused_sgd_(
        params, grads, [], weight_decay=0.0, momentum=0.0, lr=1.0, dampening=0.0, nesterov=False, maximize=False,
        is_first_step=False,
    )  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_parts_of_one_memory_are_changed_in_any_order(device: str) -> None:
    x = tt.zeros(4, 6, device=device)
    fused([x[2], x[0], x[3]], list(tt.ones(3, 6, device=device)))
    fused([x[1, :3], x[1, 3:]], list(tt.ones(2, 3, device=device)))
    if device == "cpu":
        assert x.tolist() == [[-1.0] * 6] * 4


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(
    ("parts", "says"),
    [
        (lambda x: [x, x], "the same memory"),
        (lambda x: [x[:6], x[6:12], x[:6].view(2, 3).view(6)], "the same memory"),
        (lambda x: [x[8:], x[:4], x[2:6]], "covers a part"),
        (lambda x: [x[:9], x[12:], x[2:4], x[20:]], "covers a part"),
        (lambda x: [x[:6].view(2, 3).t(), x[6:12].view(3, 2), x[5:8]], "covers a part"),
        (lambda x: [x[:1].expand(4), x[4:8]], "one in memory"),
    ],
)
def test_parts_of_one_memory_that_meet_are_refused(parts: Any, says: str, device: str) -> None:
    x = tt.zeros(24, device=device)
    params = parts(x)
    with pytest.raises(tt.errors.InplaceError, match=says):
        fused(params, [tt.ones(p.shape, device=device) for p in params])
    if device == "cpu":
        assert not x.any()


def test_operands_that_cover_a_part_of_a_target_are_refused() -> None:
    x = tt.zeros(12)
    with pytest.raises(tt.errors.InplaceError, match="covers a part"):
        fused([x[:4], x[8:]], [tt.ones(4), x[6:10]])


def test_parts_with_gaps_may_lie_between_each_other() -> None:
    x = tt.zeros(8)
    fused([x[1::2], x[::2]], [tt.ones(4), tt.ones(4)])
    assert x.tolist() == [-1.0] * 8


def saved(x: Any) -> Any:
    file = io.BytesIO()
    tt.save(x, file)
    file.seek(0)
    return tt.load(file)


REPEATED = np.lib.stride_tricks.as_strided(np.zeros(3, np.float32), (2, 3), (0, 4))
NO_VIEWS: dict[str, Any] = {
    "detach": lambda: tt.zeros(1, 3).expand(2, 3).detach(),
    "detach of a recorded tensor": lambda: tt.zeros(1, 3, requires_grad=True).expand(2, 3).detach(),
    "data": lambda: tt.zeros(1, 3).expand(2, 3).data,
    "data of a parameter": lambda: tt.nn.Parameter(tt.zeros(1, 3).expand(2, 3)).data,
    "array": lambda: tt.from_numpy(REPEATED),
    "as_tensor": lambda: tt.as_tensor(REPEATED),
    "pickle": lambda: pickle.loads(pickle.dumps(tt.zeros(1, 3).expand(2, 3))),
    "copy": lambda: copy.deepcopy(tt.zeros(1, 3).expand(2, 3).detach()),
    "file": lambda: saved(tt.zeros(1, 3).expand(2, 3)),
    "set_": lambda: tt.zeros(1).set_(tt.zeros(1, 3).expand(2, 3)),
    "set_ of a storage": lambda: tt.zeros(1).set_(tt.zeros(3).untyped_storage(), 0, (2, 3), (0, 1)),
    "as_strided_": lambda: tt.zeros(6).as_strided_((2, 3), (0, 1)),
    "meta": lambda: tt.zeros(1, 3, device="meta").expand(2, 3).detach(),
}


@pytest.mark.parametrize("made", NO_VIEWS)
def test_elements_that_are_one_in_memory_are_found_in_tensors_that_are_no_views(made: str) -> None:
    y = tt.arange(6.0).reshape(2, 3)
    writes = (
        lambda x, y: x.add_(y),
        lambda x, y: x.copy_(y),
        lambda x, y: x.__setitem__(slice(None), y),
        lambda x, y: tt.add(y, y, out=x),
        lambda x, y: tt._foreach_mul_([x], 2.0),
    )
    for write in writes:
        x = NO_VIEWS[made]()
        with pytest.raises(
            tt.errors.InplaceError,
            match="several elements of the tensor that is written to are one in memory",
        ):
            write(x, y.to(x.device))
    x = NO_VIEWS[made]()
    assert x.fill_(2.0) is x, "one value may be written anywhere"


def test_detached_views_of_other_places_are_written() -> None:
    x = tt.zeros(2, 3)
    x.t().detach().add_(1)
    x[:, 1].detach().mul_(3)
    x.expand(2, 3).detach().add_(1)
    assert x.tolist() == [[2.0, 4.0, 2.0]] * 2


@pytest.mark.parametrize("name", ["zero_", "fill_"])
def test_one_value_for_all_may_be_written_where_elements_are_one(name):
    x = tt.ones(2, 1)
    wide = x.expand(2, 3)
    assert getattr(wide, name)(*([0] if name == "fill_" else [])) is wide
    assert not x.any()


@pytest.mark.torch
def test_a_threshold_is_written_into_elements_that_are_one_in_memory():
    torch = pytest.importorskip("torch")
    found = []
    for library in (tt, torch):
        x = library.tensor([[0.25, 0.75, -1.0]]).expand(3, 3)
        library.nn.functional.threshold(x, 0.5, 0.5, inplace=True)
        found.append(x.tolist())
    assert found[0] == found[1]
