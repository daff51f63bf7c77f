"""Selective checkpoints: PyTorch's gradients and second runs, kept results, and clear errors."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

import tt
from tt.library import TTDispatchMode
from tt.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    checkpoint,
    create_selective_checkpoint_contexts,
)


class Names(TTDispatchMode):
    """Writes down the names of the operators that run."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __tt_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.name != "detach":
            self.names.append(func.name)
        return func(*args, **(kwargs or {}))


def contexts(policy: Any, names: Any, **options: Any) -> tuple[Any, Any]:
    """Return the contexts of a policy; the operators that run again are written down."""
    first, second = create_selective_checkpoint_contexts(policy, **options)

    @contextmanager
    def both() -> Iterator[None]:
        with names, second:
            yield

    return first, both()


def block(x: Any, w: Any) -> Any:
    return x.mm(w).sin().mm(w).exp().sum(0).mul(2.0).cos()


def inputs() -> tuple[Any, Any]:
    tt.manual_seed(3)
    return tuple(tt.randn(3, 3, dtype=tt.float64, requires_grad=True) for _ in range(2))


def plain(function: Any, *args: Any) -> list[Any]:
    return list(tt.autograd.grad(function(*args).sum(), args))


def again(function: Any, policy: Any, *args: Any, **options: Any) -> tuple[list[Any], list[str]]:
    """Return the gradients through a checkpoint with a policy, and the operators that ran again."""
    names = Names()
    out = checkpoint(
        function, *args, use_reentrant=False, context_fn=lambda: contexts(policy, names), **options
    )
    return list(tt.autograd.grad(out.sum(), args)), names.names


def save(*names: str) -> Any:
    def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        return CheckpointPolicy.PREFER_SAVE if op.name in names else CheckpointPolicy.MUST_RECOMPUTE

    return policy


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ([tt.ops.mm], ["sin", "exp", "sum", "mul", "cos"]),
        ([tt.ops.mm, tt.ops.exp], ["sin", "sum", "mul", "cos"]),
        (save("sin", "sum"), ["mm", "mm", "exp", "mul", "cos"]),
        ([], ["mm", "sin", "mm", "exp", "sum", "mul", "cos"]),
        (lambda *args: True, []),
        (lambda *args: False, ["mm", "sin", "mm", "exp", "sum", "mul", "cos"]),
        (lambda *args: CheckpointPolicy.MUST_CPU_OFFLOAD, []),
    ],
)
def test_gradients_are_the_same_and_saved_operators_do_not_run_again(policy: Any, expected: Any) -> None:
    x, w = inputs()
    found, ran = again(block, policy, x, w)
    for one, other in zip(found, plain(block, x, w), strict=True):
        tt.testing.assert_close(one, other, rtol=0, atol=0)
    assert ran == expected


@pytest.mark.torch
@pytest.mark.parametrize("saved", [(), ("mm",), ("sin", "exp"), ("mm", "mul", "sum"), ("cos",)])
@pytest.mark.parametrize("early_stop", [True, False])
def test_the_operators_of_pytorch_run_again(saved: tuple[str, ...], early_stop: bool) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils import checkpoint as peer
    from torch.utils._python_dispatch import TorchDispatchMode

    class Peers(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = func.overloadpacket.__name__
            if name != "detach":
                self.names.append(name)
            return func(*args, **(kwargs or {}))

    def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        name = op.overloadpacket.__name__
        return peer.CheckpointPolicy.MUST_SAVE if name in saved else peer.CheckpointPolicy.MUST_RECOMPUTE

    theirs = Peers()

    def their_contexts() -> Any:
        first, second = peer.create_selective_checkpoint_contexts(policy)

        @contextmanager
        def both() -> Iterator[None]:
            with theirs, second:
                yield

        return first, both()

    x, w = inputs()
    args = [torch.tensor(t.tolist(), dtype=torch.float64, requires_grad=True) for t in (x, w)]
    out = peer.checkpoint(block, *args, use_reentrant=False, early_stop=early_stop, context_fn=their_contexts)
    expected = torch.autograd.grad(out.sum(), args)
    found, ran = again(block, save(*saved), x, w, early_stop=early_stop)
    for one, other in zip(found, expected, strict=True):
        tt.testing.assert_close(one, tt.tensor(other.tolist(), dtype=tt.float64))
    # PyTorch saves the arguments of the last operator before it runs, tt afterwards.
    last = ["cos"] if early_stop and "cos" not in saved else []
    assert ran == theirs.names + last


def test_only_saved_results_are_kept() -> None:
    alive: dict[str, Any] = {}

    def run(x: Any) -> Any:
        for name in ("exp", "sin", "cos"):
            x = getattr(x, name)()
            alive.setdefault(name, weakref.ref(x._handle))
        return x.tanh()

    x = inputs()[0]
    y = checkpoint(
        run, x, context_fn=partial(create_selective_checkpoint_contexts, [tt.ops.sin]), use_reentrant=False
    )
    gc.collect()
    assert [alive[name]() is not None for name in ("exp", "sin", "cos")] == [False, True, False]
    y.sum().backward()
    del y
    gc.collect()
    assert alive["sin"]() is None


def test_a_policy_sees_the_result_and_the_arguments() -> None:
    seen = []

    def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        assert isinstance(context, SelectiveCheckpointContext)
        seen.append((op.name, context.is_recompute, tuple(context.op_output.shape), len(args), kwargs))
        return CheckpointPolicy.PREFER_SAVE

    x, w = inputs()
    again(lambda x, w: x.mm(w).add(w, alpha=2.0), policy, x, w)
    assert seen == [("mm", False, (3, 3), 2, {}), ("add", False, (3, 3), 2, {"alpha": 2.0})]


def test_views_and_changes_in_place_run_again_and_give_the_same_gradients() -> None:
    def run(x: Any, w: Any) -> Any:
        y = x.mm(w).t()[1:]
        z = y.sin()
        z = z.clone()
        z.mul_(y)
        z[0].exp_()
        first, second = z.split(1)
        return (first * second).reshape(-1).sigmoid()

    x, w = inputs()
    expected = plain(run, x, w)
    for policy in (
        [tt.ops.mm],
        [tt.ops.mm, tt.ops.sin, tt.ops.mul],
        save("mul_", "exp_", "t", "select", "split"),
    ):
        found, ran = again(run, policy, x, w)
        assert {"t", "mul_", "exp_"} <= set(ran)
        for one, other in zip(found, expected, strict=True):
            tt.testing.assert_close(one, other, rtol=0, atol=0)


def test_a_saved_random_operator_leaves_the_later_ones_as_they_were() -> None:
    def run(x: Any) -> Any:
        return (x * tt.rand(4, dtype=tt.float64)).sin() * tt.rand_like(x)

    x = tt.ones(4, dtype=tt.float64, requires_grad=True)
    for policy in (save("rand"), save("rand_like"), save()):
        tt.manual_seed(4)
        expected = plain(run, x)[0]
        after = tt.rand(1)
        tt.manual_seed(4)
        found, _ = again(run, policy, x)
        tt.testing.assert_close(found[0], expected, rtol=0, atol=0)
        tt.testing.assert_close(tt.rand(1), after, rtol=0, atol=0)


def test_saved_random_numbers_stay_without_the_state_of_the_generators() -> None:
    x = tt.ones(50, requires_grad=True)
    y = checkpoint(
        lambda t: t * tt.rand(50),
        x,
        preserve_rng_state=False,
        context_fn=partial(create_selective_checkpoint_contexts, save("rand")),
        use_reentrant=False,
    )
    tt.testing.assert_close(tt.autograd.grad(y.sum(), x)[0], y.detach())


def test_several_results_are_kept() -> None:
    def run(x: Any) -> Any:
        values, indices = x.exp().sort(0)
        return values.sin() * (indices + 1)

    x = inputs()[0]
    found, ran = again(run, save("sort"), x)
    tt.testing.assert_close(found[0], plain(run, x)[0], rtol=0, atol=0)
    assert ran == ["exp", "sin", "add", "mul"]


def test_policies_inside_checkpoints_and_the_reverse() -> None:
    x, w = inputs()
    selective = partial(
        checkpoint, use_reentrant=False, context_fn=partial(create_selective_checkpoint_contexts, [tt.ops.mm])
    )
    expected = plain(lambda x, w: block(block(x.tanh(), w).expand(3, 3).clone(), w), x, w)

    def inner(x: Any, w: Any) -> Any:
        return block(selective(block, x.tanh(), w).expand(3, 3).clone(), w)

    def outer(x: Any, w: Any) -> Any:
        return block(checkpoint(block, x.tanh(), w, use_reentrant=False).expand(3, 3).clone(), w)

    for run in (
        partial(checkpoint, inner, use_reentrant=False),
        partial(selective, outer),
        partial(selective, inner),
    ):
        for one, other in zip(plain(run, x, w), expected, strict=True):
            tt.testing.assert_close(one, other, rtol=0, atol=0)


def test_a_kept_result_that_was_changed_is_refused_unless_that_is_allowed() -> None:
    def run(x: Any, w: Any) -> Any:
        y = x.mm(w)
        y.relu_()
        return y.sin()

    x, w = inputs()
    with pytest.raises(CheckpointError, match="changed in place"):
        again(run, [tt.ops.mm], x, w)
    allowed = partial(create_selective_checkpoint_contexts, [tt.ops.mm], allow_cache_entry_mutation=True)
    found = plain(partial(checkpoint, run, use_reentrant=False, context_fn=allowed), x, w)
    for one, other in zip(found, plain(run, x, w), strict=True):
        tt.testing.assert_close(one, other, rtol=0, atol=0)


def test_a_second_backward_pass_is_refused() -> None:
    x, w = inputs()
    y = checkpoint(
        block,
        x,
        w,
        context_fn=partial(create_selective_checkpoint_contexts, [tt.ops.mm]),
        use_reentrant=False,
    ).sum()
    y.backward(retain_graph=True)
    with pytest.raises(CheckpointError, match="second backward pass"):
        y.backward()


def test_a_function_that_does_more_is_refused() -> None:
    more = []

    def run(x: Any) -> Any:
        for _ in more:
            x = x.tan()
        return x.sin().exp()

    y = checkpoint(
        run,
        inputs()[0],
        context_fn=partial(create_selective_checkpoint_contexts, [tt.ops.sin]),
        use_reentrant=False,
    )
    more.append(1)
    with pytest.raises(CheckpointError, match="called tan 0 times in the forward pass"):
        y.sum().backward()


def test_wrong_policies_are_refused() -> None:
    with pytest.raises(ValueError, match=r"try: tt\.ops\.sum\.default or tt\.ops\.sum\.dim"):
        create_selective_checkpoint_contexts([tt.ops.sum])
    with pytest.raises(ValueError, match="has overloads"):
        create_selective_checkpoint_contexts(["mm"])
    with pytest.raises(ValueError, match="consists of other operators"):
        create_selective_checkpoint_contexts([tt.ops.tanhshrink])
    with pytest.raises(TypeError, match="a policy function or a list of operators"):
        create_selective_checkpoint_contexts(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the policy returned 'yes' for sin"):
        checkpoint(
            tt.sin,
            inputs()[0],
            context_fn=lambda: create_selective_checkpoint_contexts(lambda *args: "yes"),
            use_reentrant=False,
        )


@pytest.mark.torch
def test_policies_have_the_numbers_of_pytorch() -> None:
    pytest.importorskip("torch")
    from torch.utils.checkpoint import CheckpointPolicy as Peer

    assert {one.name: one.value for one in CheckpointPolicy} == {one.name: one.value for one in Peer}
