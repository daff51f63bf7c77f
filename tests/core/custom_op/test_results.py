"""What the function of a custom operator returns: checked at each call, by the signature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tt import library
from tt.core.errors import ArgumentError, KernelContractError, MissingFakeError
from tt.library import custom_op, opcheck

T = tt.Tensor


def operator(returns, body, **options):
    def function(x):
        return body(x)

    function.__annotations__ = {"x": T, "return": returns}
    return custom_op("test::returning", function, **options)


def twice(x):
    y = x + 1
    return y, y


def with_view(x):
    y = x + 1
    return y, y[1:]


ALIASES = {
    "its argument": (T, lambda x: x),
    "a view of it": (T, lambda x: x.view(3)),
    "a part of it": (T, lambda x: x[1:]),
    "it without history": (T, lambda x: x.detach()),
    "an expanded argument": (T, lambda x: x.expand(2, 3)),
    "one result twice": (tuple[T, T], twice),
    "a result and its view": (tuple[T, T], with_view),
    "its argument in a list": (list[T], lambda x: [x + 1, x]),
    "a changed argument": (T, lambda x: x.add_(1)),
}


@pytest.mark.parametrize("devices", [None, "cpu"])
@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("name", ALIASES)
def test_results_that_share_memory_are_refused(name, gradient, devices):
    returns, body = ALIASES[name]
    changes = name == "a changed argument"
    op = operator(returns, body, mutates_args={"x"} if changes else (), device_types=devices)
    x = tt.ones(3, requires_grad=gradient and not changes)
    for _ in range(2):  # at each call, not only at the first
        with pytest.raises(KernelContractError, match="the custom operator test::returning"):
            op(x)


@pytest.mark.parametrize("name", [name for name in ALIASES if "history" not in name])
def test_arrays_of_a_kernel_that_share_memory_are_refused(name):
    returns, body = ALIASES[name]
    arrays = {
        "a view of it": lambda x: x.view(),
        "an expanded argument": lambda x: np.broadcast_to(x, (2, 3)),
        "a changed argument": lambda x: np.add(x, 1, out=x),
    }
    op = operator(returns, lambda x: None, mutates_args={"x"} if name == "a changed argument" else ())
    op.kernel("cpu", arrays.get(name, body))
    for _ in range(2):
        with pytest.raises(KernelContractError, match="the custom operator test::returning"):
            op(tt.ones(3))


def test_an_argument_that_is_returned_at_times_only_is_refused_then():
    op = operator(T, lambda x: x if x.sum() > 2 else x * 2)
    assert op(tt.zeros(3)).tolist() == [0.0] * 3
    with pytest.raises(KernelContractError, match=r"result\.clone\(\)"):
        op(tt.ones(3))


@pytest.mark.parametrize("transform", [tt.func.vmap, tt.func.grad, tt.func.jacfwd])
def test_results_are_checked_within_transforms(transform):
    op = operator(T, lambda x: x)
    with pytest.raises(KernelContractError):
        transform(lambda x: op(x).sum())(tt.ones(2, 3) if transform is tt.func.vmap else tt.ones(3))
    op.remove()
    op = operator(T, lambda x: x * 2)
    assert tt.func.vmap(op)(tt.ones(2, 3)).tolist() == [[2.0] * 3] * 2
    assert tt.func.grad(lambda x: op(x).sum())(tt.ones(3)).tolist() == [2.0] * 3


WRONG = [
    (T, lambda x: 5, "returned int 5, and must return Tensor"),
    (T, lambda x: None if x.numel() else x, "returned nothing, and must return Tensor"),
    (T, lambda x: (x + 1, x + 2), "a tuple of 2: Tensor, Tensor"),
    (T, lambda x: x.numpy() + 1, "returned ndarray"),
    (None, lambda x: x + 1, "returned a tensor, and must return nothing"),
    (int, lambda x: x + 1, "returned a tensor, and must return int"),
    (int, lambda x: 2.5, "returned float 2.5, and must return int"),
    (tuple[T, T], lambda x: (x + 1,), "a tuple of 1: Tensor, and must return Tensor, Tensor"),
    (tuple[T, T], lambda x: x + 1, "returned a tensor, and must return Tensor, Tensor"),
    (list[T], lambda x: [x + 1, 2], "a list of 2: Tensor, int"),
]


@pytest.mark.parametrize("devices", [None, "cpu"])
@pytest.mark.parametrize(("returns", "body", "message"), WRONG)
def test_results_that_the_signature_does_not_say_are_refused(returns, body, message, devices):
    op = operator(returns, body, device_types=devices)
    with pytest.raises(KernelContractError, match=f"the custom operator test::returning.*{message}"):
        op(tt.ones(3))


def test_whole_numbers_become_floats_where_these_are_promised():
    result = operator(float, lambda x: x.numel())(tt.ones(3))
    assert result == 3.0 and type(result) is float


def test_a_body_that_changes_its_argument_may_return_it_where_the_schema_says_so():
    with library.scoped():
        library.define("test::bump_", "(Tensor(a!) x) -> Tensor(a!)")
        library.impl("test::bump_", "default", lambda x: x.add_(1))
        x = tt.zeros(2)
        assert tt.ops.test.bump_(x) is x and x.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("devices", ["cpu", ["cpu", "cuda"]])
def test_a_body_for_some_devices_does_not_serve_tensors_without_data(devices):
    op = operator(T, lambda x: x + 1, device_types=devices)
    assert op(tt.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(MissingFakeError, match=r"@op\.fake"):
        op(tt.ones(2, device="meta"))
    with tt.FakeMode(), pytest.raises(MissingFakeError):
        op(tt.ones(2))
    op.fake(lambda x: tt.empty_like(x))
    assert op(tt.ones(2, device="meta")).shape == (2,)
    with tt.FakeMode():
        assert op(tt.ones(2)).shape == (2,)


def test_a_body_for_some_devices_refuses_lists_of_tensors_on_others():
    def joined(xs: list[T]) -> T:
        return tt.cat(xs)

    op = custom_op("test::joined", joined, device_types="cpu")
    with pytest.raises(MissingFakeError):
        op([tt.ones(2, device="meta")])


@pytest.mark.torch
@pytest.mark.parametrize("name", ALIASES)
def test_pytorch_refuses_the_same(name):
    torch = pytest.importorskip("torch")
    returns, body = ALIASES[name]
    names = {T: torch.Tensor, tuple[T, T]: tuple[torch.Tensor, torch.Tensor], list[T]: list[torch.Tensor]}

    def function(x):
        return body(x)

    function.__annotations__ = {"x": torch.Tensor, "return": names[returns]}
    changed = {"x"} if name == "a changed argument" else ()
    op = torch.library.custom_op(f"tt_tests::returning_{len(name)}", function, mutates_args=changed)
    with pytest.raises(RuntimeError, match="alias"):
        op(torch.ones(3))


# --- lists among several results -------------------------------------------------------------------------------


def parts_of(form: str) -> Any:
    """Return an operator with a list and a number among its results, by its body or by kernels."""

    @custom_op("test::parts")
    def parts(x: tt.Tensor, count: int) -> tuple[list[tt.Tensor], int, tt.Tensor]:
        return [x * (i + 1) for i in range(count)], count, x + 1

    if form == "kernel":

        @custom_op("test::parts")
        def parts(x: tt.Tensor, count: int) -> tuple[list[tt.Tensor], int, tt.Tensor]: ...

        parts.kernel(
            "cpu", lambda x, count: ([x * (i + 1) for i in range(count)], count, x + 1), dtypes="floating"
        )
        parts.fake(lambda x, count: ([tt.empty_like(x) for _ in range(count)], count, tt.empty_like(x)))
    return parts


@pytest.mark.parametrize("form", ["body", "kernel"])
def test_a_list_may_be_one_of_several_results(form: str) -> None:
    parts = parts_of(form)
    listed, count, last = parts(tt.ones(2), 2)
    assert [t.tolist() for t in listed] == [[1, 1], [2, 2]] and count == 2 and last.tolist() == [2, 2]
    assert parts(tt.ones(2), 0)[0] == [] and type(listed) is list
    listed, count, last = parts(tt.empty(3, device="meta"), 2)
    assert [t.shape for t in (*listed, last)] == [(3,)] * 3 and count == 2
    with tt.FakeMode():
        listed, count, last = parts(tt.empty(3), 2)
        assert [tuple(t.shape) for t in (*listed, last)] == [(3,)] * 3
    mapped = tt.func.vmap(lambda x: parts(x, 2)[0][1])(tt.tensor([[1.0], [2.0]]))
    assert mapped.tolist() == [[2], [4]]


@pytest.mark.parametrize("form", ["body", "kernel"])
def test_gradients_reach_a_backward_in_the_form_of_the_results(form: str) -> None:
    parts, seen = parts_of(form), []

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        seen.append([type(value).__name__ for value in output])

    def backward(ctx: Any, listed: Any, count: Any, last: Any) -> Any:
        seen.append(count)
        return sum((i + 1) * g for i, g in enumerate(listed)) + last, None

    parts.register_autograd(backward, setup_context=setup)
    x = tt.ones(2, requires_grad=True)
    listed, _, last = parts(x, 3)
    (listed[0].sum() + listed[2].sum() + last.sum()).backward()
    assert x.grad.tolist() == [5, 5] and seen == [["list", "int", "Tensor"], None]
    opcheck(parts, (tt.ones(2), 2))


def test_lists_among_results_are_checked() -> None:
    parts = custom_op("test::wrong", schema="(Tensor x) -> (Tensor[], int)")(lambda x: (x, 1))
    with pytest.raises(KernelContractError, match="returned a tensor"):
        parts(tt.ones(1))
    own = custom_op("test::own", schema="(Tensor x) -> (Tensor[], int)")(lambda x: ([x], 1))
    with pytest.raises(KernelContractError, match="shares memory"):
        own(tt.ones(1))
    kernel = custom_op("test::kernel", schema="(Tensor x) -> (Tensor[], int)")(lambda x: None)
    kernel.kernel("cpu", lambda x: (x + 1, 1))
    with pytest.raises(KernelContractError, match="expected: Tensor"):
        kernel(tt.ones(1))
    with pytest.raises(ArgumentError, match="register_autograd"):
        own.backward(lambda gs: gs[0])
