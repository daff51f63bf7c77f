"""In-place changes and views, side by side with torch."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tt

_spec = importlib.util.spec_from_file_location("autograd_programs", Path(__file__).parents[1] / "programs.py")
assert _spec is not None and _spec.loader is not None
programs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(programs)


def values(tensors: list[Any]) -> list[np.ndarray[Any, Any]]:
    return [
        np.array(t.detach().resolve_conj().numpy() if hasattr(t, "resolve_conj") else t.detach().numpy())
        for t in tensors
    ]


@pytest.mark.torch
@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_gives_the_gradients_of_torch(program: Callable[[Any], list[Any]]) -> None:
    torch = pytest.importorskip("torch")
    expected, found = values(program(torch)), values(program(tt))
    assert len(expected) == len(found)
    for e, f in zip(expected, found, strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-5, atol=1e-6)
        assert f.dtype == e.dtype


# --- random programs -------------------------------------------------------------------------------------------

VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x[0], lambda x: x[..., 1:], lambda x: x.transpose(0, -1), lambda x: x.unsqueeze(0), lambda x: x[..., ::2],
]  # fmt: skip
CHANGES: list[Callable[[Any, Any], Any]] = [
    lambda x, w: x.mul_(w[0]), lambda x, w: x.add_(w[1]), lambda x, w: x.sin_(), lambda x, w: x.mul_(2),
    lambda x, w: x.copy_(w[2] * w[0]), lambda x, w: x.zero_(),
]  # fmt: skip
steps = st.lists(
    st.tuples(st.sampled_from(["view", "change", "combine"]), st.integers(0, 10), st.integers(0, 10)),
    max_size=8,
)


def run_steps(lib: Any, steps: list[tuple[str, int, int]], from_leaf: bool) -> Any:
    w = lib.tensor([0.5, -1.5, 2.0], dtype=lib.float64, requires_grad=True)
    root = lib.arange(12.0, dtype=lib.float64).reshape(3, 4) / 7
    if from_leaf:
        root = root * w[0]
    tensors = [root]
    for kind, which, how in steps:
        x = tensors[which % len(tensors)]
        # torch takes a view whose base got its first history for a leaf until somebody asks for its grad_fn.
        assert x.grad_fn is None or x.requires_grad
        if kind == "view" and x.ndim:
            tensors.append(VIEWS[how % len(VIEWS)](x))
        elif kind == "change":
            CHANGES[how % len(CHANGES)](x, w)
        elif kind == "combine":
            x.add_(tensors[how % len(tensors)].sum() * w[1])
    total = sum((t * t * (i + 1)).sum() for i, t in enumerate(tensors))
    if not total.requires_grad:
        return None
    (gradient,) = lib.autograd.grad(total, w, allow_unused=True)
    return gradient


@pytest.mark.torch
@given(steps=steps, from_leaf=st.booleans())
def test_random_programs_of_views_and_changes_agree_with_torch(
    steps: list[tuple[str, int, int]], from_leaf: bool
) -> None:
    torch = pytest.importorskip("torch")
    try:
        expected = run_steps(torch, steps, from_leaf)
    except RuntimeError as error:
        with pytest.raises(RuntimeError) as raised:
            run_steps(tt, steps, from_leaf)
        assert ("needs was changed in place" in str(error)) == ("modified by an inplace" in str(raised.value))
        return
    found = run_steps(tt, steps, from_leaf)
    if expected is None or found is None:
        assert expected is None and found is None
    else:
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-6, atol=1e-9)


# --- refusals -------------------------------------------------------------------------------------------

LEAF = "a leaf that requires a gradient is changed in place"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x.mul_(2), LEAF),
        (lambda x: x.zero_(), LEAF),
        (lambda x: x.normal_(), LEAF),
        (
            lambda x: x[0].mul_(2),
            "a view of a leaf that requires a gradient is changed in place",
        ),
        (lambda x: x.__setitem__(0, 1.0), "a view of a leaf"),
        (lambda x: (x * 1).unbind()[0].mul_(2), "is one of several views that came from one call"),
        (lambda x: x.resize_(1), "a tensor that requires a gradient is not resized"),
    ],
)
def test_changes_that_would_lose_a_history_are_refused(change: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message.replace(".", r"\.")):
        change(tt.ones(3, requires_grad=True))


@pytest.mark.parametrize("mode", [tt.no_grad, tt.inference_mode])
@pytest.mark.parametrize("leaf", [True, False])
def test_a_view_made_without_recording_is_not_changed_with_it(mode: Any, leaf: bool) -> None:
    x, w = tt.ones(3, requires_grad=True), tt.ones(1, requires_grad=True)
    base = x if leaf else x * 1
    with mode():
        view = base[:2]
        inner = view[:1]
    assert view.requires_grad and view.is_leaf and view.grad_fn is None and view._base is base
    for made in (view, inner, view.view(2)):
        for factor in (2.0, w):
            with pytest.raises(RuntimeError, match=f"it was made under {mode.__name__}"):
                made.mul_(factor)
    (view * 2).sum().backward()
    assert x.grad is None
    assert view.grad.tolist() == [2.0, 2.0]
    with mode():
        view.mul_(2)
        assert (view + 0).tolist() == [2.0, 2.0]
    assert base.tolist() == [2.0, 2.0, 1.0]
    with pytest.raises(RuntimeError, match="the memory of a view was changed in place"):
        _ = view + 1
    assert view.detach().tolist() == [2.0, 2.0]


def test_one_of_several_views_is_not_used_after_its_memory_changed() -> None:
    base = tt.ones(3, requires_grad=True) * 1
    parts = base.unbind()
    base.mul_(2)
    with pytest.raises(RuntimeError, match="one of several views that came from one call"):
        _ = parts[0] + 1
    with tt.no_grad():
        assert (parts[0] + 1).item() == 3.0


def test_a_detached_tensor_hands_no_history_on() -> None:
    x, w = tt.ones(3), tt.ones((), requires_grad=True)
    part = x.detach()[0]
    part.mul_(w)
    assert part.requires_grad and not x.requires_grad


def test_out_is_refused_where_a_gradient_would_be_lost() -> None:
    x = tt.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"add\(\): out= is not differentiated"):
        tt.add(x, 1, out=tt.zeros(3))
    with pytest.raises(RuntimeError, match="out="):
        tt.add(tt.zeros(3), 1, out=x)
    with tt.no_grad():
        out = tt.zeros(3)
        tt.add(x, 1, out=out)
    assert out.tolist() == [2.0, 2.0, 2.0]


def test_leaves_can_be_changed_without_recording() -> None:
    x = tt.ones(3, requires_grad=True)
    with tt.no_grad():
        x -= 0.5
        x[0] = 7.0
    assert x.tolist() == [7.0, 0.5, 0.5]
    assert x.is_leaf and x.requires_grad


def test_detach_gives_a_history_of_its_own() -> None:
    x, w = tt.ones(3, requires_grad=True), tt.full((3,), 2.0, requires_grad=True)
    y = x.detach()
    y.mul_(w)
    y.sum().backward()
    assert w.grad is not None and w.grad.tolist() == [1.0, 1.0, 1.0]
    assert x.grad is None and x.is_leaf
    assert x.tolist() == [2.0, 2.0, 2.0]


def test_views_of_a_tensor_with_history_cannot_be_detached_in_place() -> None:
    x = tt.ones(3, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="a view of a tensor with a history always has one"):
        x[0].detach_()
    x.detach_()
    assert not x.requires_grad and x.is_leaf and x.grad_fn is None


TURNS = {
    "transpose_": lambda x: x.transpose_(0, 2), "unsqueeze_": lambda x: x.unsqueeze_(0),
    "squeeze_": lambda x: x.squeeze_(), "squeeze_ of a dim": lambda x: x.squeeze_(1),
    "swapaxes_": lambda x: x.swapaxes_(0, 1),
}  # fmt: skip


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("turn", TURNS)
def test_views_made_before_their_base_was_seen_in_another_way_keep_their_place(turn, changed):
    leaf = tt.arange(9.0, dtype=tt.float64).requires_grad_()
    base = leaf.reshape(3, 1, 3).clone()
    row = base[1]
    part = row[0, 1:]
    TURNS[turn](base)
    if changed:
        row.mul_(2)
        part.mul_(3)
    (part * part).sum().backward(retain_graph=True)
    factor = tt.tensor([0, 0, 0, 0, 1, 1, 0, 0, 0]) * (6 if changed else 1)
    assert leaf.grad.tolist() == (2 * factor * factor * leaf.detach()).tolist()
    leaf.grad = None
    (base * base).sum().backward()
    factor = tt.tensor([1, 1, 1, 2, 6, 6, 1, 1, 1]) if changed else tt.ones(9)
    assert leaf.grad.tolist() == (2 * factor * factor * leaf.detach()).tolist()


@pytest.mark.parametrize("turn", ["transpose_", "transpose_ twice"])
@pytest.mark.parametrize("kept", [False, True])
def test_views_of_views_keep_their_place_whatever_order_they_are_found_in(kept, turn):
    leaf = tt.arange(24.0, dtype=tt.float64).requires_grad_()
    base = leaf.reshape(2, 3, 4) * 1
    middle = base.unsqueeze(2)
    part = middle[..., 0:]
    last = part.diagonal(2, -1, -3)
    places = last.detach().flatten().tolist()
    if kept:
        middle.transpose_(0, 1)  # the first of them to hold its geometry
    last.mul_(3)
    part.transpose_(1, 2)
    if turn == "transpose_ twice":
        last.mul_(1)
        middle.transpose_(0, 1)
    (last * last).sum().backward()
    expected = [18 * x if x in places else 0 for x in range(24)]
    assert leaf.grad.tolist() == expected


@pytest.mark.parametrize(
    "view", [lambda x: x[:, 1:], lambda x: x.view(6), lambda x: x.tensor_split(1, 1)[-1]]
)
@pytest.mark.parametrize("turn", ["unsqueeze_", "t_"])
def test_a_view_that_was_turned_itself_sees_later_changes_of_its_base(view, turn):
    leaf = tt.arange(6.0, dtype=tt.float64).reshape(2, 3).clone().requires_grad_()
    base = leaf * 1
    part = view(base)
    getattr(part, turn)(*((0,) if turn == "unsqueeze_" else ()))
    base.mul_(-0.5)
    part.mul_(3)
    (part * part).sum().backward()
    inside = view(tt.arange(6.0, dtype=tt.float64).reshape(2, 3)).flatten().tolist()
    assert leaf.grad.flatten().tolist() == [4.5 * x if x in inside else 0 for x in range(6)]


@pytest.mark.parametrize(
    "layout", ["strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"]
)
def test_zero_of_a_tensor_with_a_history_cuts_it_off_in_any_layout(layout):
    if layout == "jagged":
        x = tt.nested.nested_tensor([tt.ones(2), tt.ones(3)], layout=tt.jagged, requires_grad=True)
    elif layout == "strided":
        x = tt.eye(4).requires_grad_()
    else:
        options = {"blocksize": (2, 2)} if layout in ("sparse_bsr", "sparse_bsc") else {}
        x = tt.eye(4).to_sparse(layout=getattr(tt, layout), **options).requires_grad_()
    y = x * 2
    version = y._version
    assert y.zero_() is y and y.requires_grad and y._version == version + 1 and "Zero" in y.grad_fn.name()
    whole = y.values() if layout == "jagged" else y if layout == "strided" else y.to_dense()
    assert whole.abs().sum().item() == 0
    whole.sum().backward()
    gradient = x.grad.values() if layout == "jagged" else x.grad if layout == "strided" else x.grad.to_dense()
    assert gradient.abs().sum().item() == 0


@pytest.mark.parametrize("change", ["exp_", "sigmoid_", "tanh_", "sqrt_"])
def test_a_recorded_pass_through_a_changed_view_frees_only_what_it_is_done_with(change):
    x = tt.tensor([[0.5, 0.75]], dtype=tt.float64, requires_grad=True)
    y = x.clone()
    view = y.squeeze(0)
    getattr(
        view, change
    )()  # saves its result, through which the second derivative comes to its node by itself
    (slope,) = tt.autograd.grad((view * y).sum(), x, create_graph=True)
    (second,) = tt.autograd.grad(slope.sum(), x)
    z = x.detach().requires_grad_()
    result = getattr(z, change.rstrip("_"))()
    (slope,) = tt.autograd.grad((result * result).sum(), z, create_graph=True)
    tt.testing.assert_close(second, tt.autograd.grad(slope.sum(), z)[0])
    with pytest.raises(tt.errors.GradientError, match="are gone"):
        tt.autograd.grad((view * y).sum(), x)
