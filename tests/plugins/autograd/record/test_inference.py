"""Inference mode: nothing is recorded, and its tensors can never be; next to torch where it is installed."""

from __future__ import annotations

import copy
import io
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt


def test_values_can_be_read_in_the_mode() -> None:
    with tt.inference_mode():
        x = tt.ones(2) + 1
        assert x.tolist() == [2.0, 2.0]
        assert repr(x) == "tensor([2., 2.])"
        assert x.numpy().tolist() == [2.0, 2.0]


@pytest.mark.torch
@pytest.mark.parametrize("name", ["tt", "torch"])
def test_what_is_an_inference_tensor(name: str) -> None:
    module = pytest.importorskip(name)
    x = module.ones(2, requires_grad=True)
    with module.inference_mode():
        assert module.is_inference_mode_enabled() and not module.is_grad_enabled()
        made, computed, view = module.ones(2), x * 2, x.view(2, 1)
        inner = computed[0]
        x_changed = module.ones(2)
        x_changed.add_(1)
        with module.inference_mode(False):
            assert (x * 2).requires_grad and not module.ones(1).is_inference()
    assert [t.is_inference() for t in (made, computed, inner, x_changed)] == [True] * 4
    assert not view.is_inference() and not x.is_inference()
    assert computed[0].is_inference(), "a view of one is one"
    assert not (computed + 1).is_inference() and not computed.clone().is_inference()
    assert not module.is_inference_mode_enabled() and module.is_grad_enabled()


@pytest.mark.torch
@pytest.mark.parametrize("name", ["tt", "torch"])
def test_what_is_refused_outside(name: str) -> None:
    module = pytest.importorskip(name)
    parameter = module.ones(2, requires_grad=True)
    with module.inference_mode():
        made = module.ones(2)
    for call in (
        lambda: made.add_(1),
        lambda: module.add(parameter.detach(), 1, out=made),
        lambda: parameter * made,
        lambda: made.requires_grad_(),
    ):
        with pytest.raises(RuntimeError):
            call()
    assert (parameter + made).requires_grad, "addition saves nothing"
    assert not (parameter.detach() * made).requires_grad
    with module.inference_mode():
        made.fill_(2)
    assert made.tolist() == [2.0, 2.0]


def test_errors_say_what_to_do() -> None:
    with tt.inference_mode():
        made = tt.ones(2)
    with pytest.raises(tt.errors.InferenceTensorError, match=r"clone\(\)"):
        made.mul_(2)
    with pytest.raises(tt.errors.InferenceTensorError, match="MulBackward0 would save"):
        tt.ones(2, requires_grad=True) * made


def test_it_decorates_functions_and_generators() -> None:
    @tt.inference_mode()
    def make() -> Any:
        return tt.ones(1)

    @tt.inference_mode
    def make_too() -> Any:
        return tt.ones(1)

    @tt.inference_mode()
    def several() -> Any:
        yield tt.ones(1)
        yield tt.ones(1)

    assert make().is_inference() and make_too().is_inference()
    for made in several():
        assert made.is_inference() and not tt.is_inference_mode_enabled()


def test_each_thread_has_its_own() -> None:
    found: list[bool] = []
    with tt.inference_mode():
        thread = threading.Thread(target=lambda: found.append(tt.ones(1).is_inference()))
        thread.start()
        thread.join()
    assert found == [False]


# --- what is an inference tensor: made of data, and made of others ----------------------------------------------------


def written(lib: Any) -> io.BytesIO:
    file = io.BytesIO()
    lib.save(lib.ones(3), file)
    file.seek(0)
    return file


MADE: dict[str, Callable[[Any, Any], Any]] = {
    "tensor": lambda lib, x: lib.tensor([1.0, 2.0]),
    "tensor of an array": lambda lib, x: lib.tensor(np.ones(2)),
    "from_numpy": lambda lib, x: lib.from_numpy(np.ones(2)),
    "as_tensor": lambda lib, x: lib.as_tensor([1.0]),
    "as_tensor of a tensor": lambda lib, x: lib.as_tensor(x),
    "asarray": lambda lib, x: lib.asarray(np.ones(2)),
    "asarray of a tensor": lambda lib, x: lib.asarray(x),
    "frombuffer": lambda lib, x: lib.frombuffer(bytearray(8), dtype=lib.float32),
    "from_dlpack": lambda lib, x: lib.from_dlpack(np.ones(2)),
    "new_tensor": lambda lib, x: x.new_tensor([1.0]),
    "load": lambda lib, x: lib.load(written(lib)),
    "unpickled": lambda lib, x: pickle.loads(pickle.dumps(x)),
    "deepcopy": lambda lib, x: copy.deepcopy(x),
    "a copied parameter": lambda lib, x: copy.deepcopy(lib.nn.Parameter(x.detach().clone())),
    "the generator's state": lambda lib, x: lib.get_rng_state(),
    "collated": lambda lib, x: lib.utils.data.default_collate([1.0, 2.0]),
    "sparse": lambda lib, x: lib.sparse_coo_tensor(
        lib.tensor([[0]]), lib.tensor([1.0]), (2,), check_invariants=False
    ),
    "vmap": lambda lib, x: lib.func.vmap(lib.sin)(x),
    "computed": lambda lib, x: x + 1,
    "a parameter": lambda lib, x: lib.nn.Linear(2, 2).weight,
}
"""How a tensor can be made in the mode, also of a tensor from outside."""

SHARED: dict[str, Callable[[Any, Any], Any]] = {
    "view": lambda lib, x: x.view(-1),
    "reshape": lambda lib, x: x.reshape(2, 2),
    "view_as": lambda lib, x: x.view_as(x),
    "expand_as": lambda lib, x: x.expand_as(x),
    "chunk": lambda lib, x: x.chunk(2)[0],
    "tensor_split": lambda lib, x: lib.tensor_split(x, 2)[1],
    "unbind": lambda lib, x: x.unbind()[0],
    "flatten": lambda lib, x: x.flatten(),
    "ravel": lambda lib, x: x.ravel(),
    "T": lambda lib, x: x.T,
    "mT": lambda lib, x: x.mT,
    "movedim": lambda lib, x: x.movedim(0, 1),
    "narrow": lambda lib, x: x.narrow(0, 0, 1),
    "unflatten": lambda lib, x: x.unflatten(0, (1, 2)),
    "atleast_3d": lambda lib, x: lib.atleast_3d(x),
    "iteration": lambda lib, x: next(iter(x)),
    "contiguous": lambda lib, x: x.contiguous(),
    "to": lambda lib, x: x.to(lib.float32),
    "cpu": lambda lib, x: x.cpu(),
    "float": lambda lib, x: x.float(),
    "dropout": lambda lib, x: lib.nn.functional.dropout(x, 0.5, False),
    "conj": lambda lib, x: x.conj(),
    "resolve_conj": lambda lib, x: x.resolve_conj(),
    "positive": lambda lib, x: +x,
    "as_tensor": lambda lib, x: lib.as_tensor(x),
    "asarray": lambda lib, x: lib.asarray(x),
}
"""Ways to another tensor with the memory of one."""


@pytest.mark.torch
@pytest.mark.parametrize("name", [*MADE, *SHARED])
def test_what_is_made_in_the_mode_is_an_inference_tensor_and_views_of_others_are_not(name: str) -> None:
    torch = pytest.importorskip("torch")

    def described(lib: Any) -> Any:
        x = lib.ones(2, 2)
        with lib.inference_mode():
            result = {**MADE, **SHARED}[name](lib, x)
        assert not x.is_inference()
        return result.is_inference(), result.requires_grad

    assert described(tt) == described(torch)


@pytest.mark.torch
@pytest.mark.parametrize("name", [*SHARED, "tensor of an array"])
def test_what_shares_the_memory_of_an_inference_tensor_is_one(name: str) -> None:
    torch = pytest.importorskip("torch")

    def described(lib: Any) -> Any:
        with lib.inference_mode():
            x = lib.ones(2, 2)
        result = {**MADE, **SHARED}[name](lib, x)
        try:
            result.mul_(2)
        except RuntimeError:
            return result.is_inference(), "refused"
        return result.is_inference(), "changed"

    assert described(tt) == described(torch)


@pytest.mark.parametrize("name", ["contiguous", "to", "cpu", "float", "as_tensor", "dropout"])
def test_an_inference_tensor_is_returned_itself_where_nothing_is_to_be_done(name: str) -> None:
    with tt.inference_mode():
        x = tt.ones(2, 2)
    assert SHARED[name](tt, x) is x


# --- recording in the mode --------------------------------------------------------------------------------------------


def recorded(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    with lib.inference_mode(), lib.enable_grad():
        y, view, leaf = x * 2, x[:1], lib.ones(2).requires_grad_()
        facts = [lib.is_grad_enabled(), y.requires_grad, view.requires_grad, (leaf * 2).requires_grad]
        x.mul_(3)
        with lib.inference_mode(False):
            facts += [(x * 2).requires_grad, lib.is_grad_enabled()]
        facts += [(x * 2).requires_grad, lib.is_inference_mode_enabled()]
    return facts, lib.is_grad_enabled(), (x * 2).requires_grad, x.tolist()


def switched(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)
    facts = []
    with lib.no_grad():
        with lib.inference_mode():
            facts.append(lib.is_grad_enabled())
        facts.append((x * 2).requires_grad)
        with lib.inference_mode(False):
            facts.append((x * 2).requires_grad)
    with lib.inference_mode():
        lib.set_grad_enabled(True)
        facts.append((x * 2).requires_grad)
    return facts, lib.is_grad_enabled()


@pytest.mark.torch
@pytest.mark.parametrize("program", [recorded, switched])
def test_nothing_is_recorded_in_the_mode(program: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch")
    assert program(tt) == program(torch)


def test_nothing_is_left_of_the_mode_after_an_error() -> None:
    x = tt.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="stop"), tt.inference_mode(), tt.enable_grad():
        raise ValueError("stop")
    assert (x * 2).requires_grad and not tt.ones(1).is_inference()


# --- transforms -------------------------------------------------------------------------------------------------------


def cubes(v: Any) -> Any:
    return (v**3).sum()


def written_in_place(v: Any) -> Any:
    y = v.clone()
    y[0] = v[1]
    return (y.mul_(v) ** 2).sum()


TRANSFORMS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda lib, x: lib.func.grad(cubes)(x),
    "grad_and_value": lambda lib, x: lib.func.grad_and_value(cubes)(x),
    "vjp": lambda lib, x: lib.func.vjp(lib.sin, x)[1](lib.ones(3)),
    "jvp": lambda lib, x: lib.func.jvp(lib.sin, (x,), (lib.ones(3),)),
    "jacrev": lambda lib, x: lib.func.jacrev(lib.sin)(x),
    "jacfwd": lambda lib, x: lib.func.jacfwd(lib.sin)(x),
    "hessian": lambda lib, x: lib.func.hessian(cubes)(x),
    "grad of grad": lambda lib, x: lib.func.grad(lambda v: lib.func.grad(cubes)(v).sum())(x),
    "vmap of grad": lambda lib, x: lib.func.vmap(lib.func.grad(lambda v: v**2))(x),
    "in place": lambda lib, x: lib.func.grad(written_in_place)(x),
    "closed over": lambda lib, x: lib.func.grad(lambda v: (v * x * v).sum())(x),
    "made inside": lambda lib, x: lib.func.grad(lambda v: (v * lib.tensor([1.0, 2.0, 3.0])).sum())(x),
    "no_grad inside": lambda lib, x: lib.func.grad(lambda v: (v * lib.no_grad()(lib.exp)(v)).sum())(x),
    "the mode inside": lambda lib, x: lib.func.grad(lambda v: lib.inference_mode()(cubes)(v))(x),
}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # torch's own
@pytest.mark.parametrize("where", ["in the mode", "on its tensors", "both"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_work_in_the_mode_and_on_its_tensors(name: str, where: str) -> None:
    torch = pytest.importorskip("torch")

    def run(lib: Any) -> Any:
        with lib.inference_mode(where != "in the mode"):
            x = lib.tensor([1.0, 2.0, 3.0])
        with lib.inference_mode(where != "on its tensors"):
            result = TRANSFORMS[name](lib, x)
        results = result if isinstance(result, tuple) else (result,)
        return [(r.requires_grad, r.detach().clone().numpy()) for r in results]

    for (ours, mine), (theirs, other) in zip(run(tt), run(torch), strict=True):
        assert ours == theirs
        np.testing.assert_allclose(mine, other, rtol=1e-5)


@pytest.mark.parametrize("where", ["in the mode", "on its tensors", "both"])
def test_derivatives_in_the_mode_are_not_zero_where_pytorch_gives_zeros(where: str) -> None:
    with tt.inference_mode(where != "in the mode"):
        x = tt.tensor([1.0, 2.0])
    with tt.inference_mode(where != "on its tensors"):
        _, derivative = tt.func.linearize(tt.square, x)
        results = [
            derivative(tt.ones(2)).tolist(),
            tt.autograd.functional.jacobian(tt.square, x).diagonal().tolist(),
            tt.autograd.functional.vjp(tt.square, x, tt.ones(2))[1].tolist(),
        ]
    assert results == [[2.0, 4.0]] * 3


@pytest.mark.parametrize("inside", [True, False])
def test_arrays_of_inference_tensors_share_their_memory(inside):
    with tt.inference_mode():
        x = tt.ones(4)
    exports = (
        lambda: x.numpy(),
        lambda: x.detach().numpy(),
        lambda: np.asarray(x),
        lambda: np.from_dlpack(x),
    )
    for index, export in enumerate(exports):
        with tt.inference_mode(inside):
            export()[index] = 5
    assert x.tolist() == [5, 5, 5, 5]
