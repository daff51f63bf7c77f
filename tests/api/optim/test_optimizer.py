"""Optimizer: groups, names, hooks, closures, gradients, state dicts and errors."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings

import pytest

import tt
from tt.optim import SGD, Adam, Optimizer
from tt.optim.optimizer import (
    _default_to_fused_or_foreach,
    _use_grad_for_differentiable,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    required,
)


def leaf(*shape):
    p = tt.ones(*shape or (2,), requires_grad=True)
    p.grad = tt.ones_like(p.detach())
    return p


def test_groups_have_options_of_their_own_and_defaults_for_the_rest():
    a, b, c = leaf(), leaf(), leaf()
    optimizer = SGD([{"params": a, "lr": 1.0}, {"params": iter([b])}], lr=0.5, momentum=0.9)
    optimizer.add_param_group({"params": [c], "momentum": 0})
    assert [g["lr"] for g in optimizer.param_groups] == [1.0, 0.5, 0.5]
    assert [g["momentum"] for g in optimizer.param_groups] == [0.9, 0.9, 0]
    optimizer.step()
    assert [p.tolist() for p in (a, b, c)] == [[0, 0], [0.5, 0.5], [0.5, 0.5]]
    assert set(optimizer.state) == {a, b}


def test_parameters_may_have_names():
    a, b = leaf(), leaf()
    optimizer = SGD([("a", a), ("b", b)])
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"]
    assert optimizer.param_groups[0]["params"] == [a, b]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]
    unnamed = SGD([leaf(), leaf()])
    optimizer.load_state_dict(unnamed.state_dict())
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"]


@pytest.mark.parametrize(("params", "error", "message"), [
    (lambda: leaf(), TypeError, "iterable of Tensors or dicts, but got"),
    (lambda: [], ValueError, "empty parameter list"),
    (lambda: [1], TypeError, "one of the params is int"),
    (lambda: [leaf() * 2], ValueError, "non-leaf"),
    (lambda: [("a", leaf()), leaf()], ValueError, "Some param names are missing"),
    (lambda: [{"params": [("a", leaf())]}, {"params": [leaf()]}], ValueError, "without names to the optimizer"),
    (lambda: [{"params": [leaf()]}, {"params": [("a", leaf())]}], ValueError, "with names to the optimizer"),
    (lambda: [{"params": {leaf()}}], TypeError, "ordered collections"),
    (lambda: [{}], KeyError, "params"),
])  # fmt: skip
def test_wrong_parameters_are_refused(params, error, message):
    with pytest.raises(error, match=message):
        SGD(params())


def test_parameters_belong_to_one_group_once():
    p = leaf()
    with pytest.raises(ValueError, match="more than one parameter group"):
        SGD([{"params": p}, {"params": p}])
    with pytest.warns(UserWarning, match="duplicate parameters"):
        SGD([p, p])
    with pytest.raises(TypeError, match="param_group must be a dict"):
        SGD([p]).add_param_group([p])


def test_options_may_be_required_and_step_must_be_defined():
    with pytest.raises(ValueError, match="required optimization parameter lr"):
        Optimizer([leaf()], {"lr": required})
    with pytest.raises(NotImplementedError, match="Optimizer has no step"):
        Optimizer([leaf()], {}).step()


def test_a_closure_is_called_with_gradients_enabled():
    p = leaf()
    optimizer = SGD([p], lr=0.5)

    def closure():
        assert tt.is_grad_enabled()
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with tt.no_grad():
        assert float(optimizer.step(closure)) == 2.0
    assert p.tolist() == [0, 0]


def test_gradients_are_dropped_or_filled_with_zeros():
    p, without = leaf(), tt.ones(1, requires_grad=True)
    optimizer = SGD([p, without])
    grad = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is grad
    assert grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert p.grad is None
    optimizer.step()
    assert p.tolist() == [1, 1]


def test_hooks_run_around_steps_in_order_and_can_be_removed():
    optimizer, seen = SGD([leaf()], lr=0.5), []
    handles = [
        register_optimizer_step_pre_hook(lambda o, a, k: seen.append("global before")),
        register_optimizer_step_post_hook(lambda o, a, k: seen.append("global after")),
        optimizer.register_step_pre_hook(lambda o, a, k: seen.append("before")),
        optimizer.register_step_post_hook(lambda o, a, k: seen.append("after")),
    ]
    try:
        optimizer.step()
    finally:
        for handle in handles:
            handle.remove()
    assert seen == ["global before", "before", "after", "global after"]
    optimizer.step()
    assert len(seen) == 4


def test_a_hook_may_change_the_arguments_of_a_step():
    optimizer = SGD([leaf()], lr=0.5)
    handle = optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 7.0), {}))
    assert optimizer.step() == 7.0
    handle.remove()
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()


def test_hooks_of_state_dicts_may_replace_them():
    optimizer, seen = SGD([leaf()], lr=0.5), []
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("save"))
    optimizer.register_state_dict_post_hook(lambda o, d: {**d, "more": 1})
    optimizer.register_state_dict_post_hook(lambda o, d: seen.append(sorted(d)), prepend=True)
    saved = optimizer.state_dict()
    assert saved["more"] == 1
    assert seen == ["save", ["param_groups", "state"]]

    def faster(optimizer, state_dict):
        group = {**state_dict["param_groups"][0], "lr": 0.75}
        return {**state_dict, "param_groups": [group]}

    optimizer.register_load_state_dict_pre_hook(faster)
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["lr"] == 0.75
    assert seen[-1] == "loaded"


def test_a_state_dict_that_does_not_fit_leaves_the_optimizer_as_it_was():
    optimizer = Adam([leaf()])
    optimizer.step()
    before = optimizer.state_dict()
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optimizer.load_state_dict(Adam([{"params": leaf()}, {"params": leaf()}]).state_dict())
    with pytest.raises(ValueError, match="doesn't match the size"):
        optimizer.load_state_dict(Adam([leaf(), leaf()]).state_dict())
    assert optimizer.state_dict() == before


def test_loaded_states_get_dtype_and_device_of_their_parameters_and_steps_stay_float32():
    double = Adam([leaf()])
    double.step()
    half = tt.ones(2, dtype=tt.float16, requires_grad=True)
    optimizer = Adam([half])
    optimizer.load_state_dict(double.state_dict())
    state = optimizer.state[half]
    assert state["exp_avg"].dtype is tt.float16
    assert state["step"].dtype is tt.float32
    old = double.state_dict()
    old["state"] = {0: {**old["state"][0], "step": 5}}
    old["param_groups"] = [
        {k: v for k, v in old["param_groups"][0].items() if k not in ("fused", "maximize")}
    ]
    optimizer.load_state_dict(old)
    assert float(optimizer.state[half]["step"]) == 5
    assert optimizer.param_groups[0]["maximize"] is False


def test_the_representation_lists_the_options():
    assert repr(SGD([leaf()], lr=0.5)).splitlines()[:4] == [
        "SGD (", "Parameter Group 0", "    dampening: 0", "    differentiable: False",
    ]  # fmt: skip


def test_parameters_of_several_dtypes_and_devices_without_gradients_are_trained_together():
    params = [
        tt.ones(2, dtype=d, requires_grad=True) for d in (tt.float32, tt.float64, tt.float16, tt.complex64)
    ]
    idle = tt.ones(3, requires_grad=True)
    for form in ({}, {"foreach": True}, {"foreach": False}):
        optimizer = Adam([*params, idle], lr=0.1, **form)
        before = [p.detach().clone() for p in params]
        for p in params:
            p.grad = tt.ones_like(p.detach())
        optimizer.step()
        for p, old in zip(params, before, strict=True):
            assert float((p.detach() - (old - 0.1)).abs().max()) < 2e-3
    assert idle.tolist() == [1, 1, 1]


def test_old_hooks_survive_pickles_without_them():
    import pickle

    optimizer = SGD([leaf()])
    optimizer.register_step_pre_hook(print)
    new = pickle.loads(pickle.dumps(optimizer))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new.step()
    assert not new._optimizer_step_pre_hooks


def test_importing_tt_imports_no_optimizers_and_these_load_no_plugin():
    code = (
        "import sys, tt; assert 'tt.optim' not in sys.modules; tt.optim.SGD; "
        "assert not [m for m in sys.modules if m.startswith(('tt.plugins', 'tt.backends.'))]; print('fine')"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "fine\n"
    )


def test_groups_are_printed_with_a_line_between_them():
    groups = [{"params": [tt.nn.Parameter(tt.ones(1))], "lr": rate} for rate in (0.5, 0.25)]
    lines = str(SGD(groups)).split("\n")
    assert lines[0] == "SGD (" and lines[-1] == ")" and lines[1] == "Parameter Group 0"
    assert lines[lines.index("Parameter Group 1") - 1] == "" and lines.count("") == 1


def test_groups_with_and_without_names_do_not_mix_whoever_gives_the_names():
    named = {"params": [leaf()], "param_names": ["a"]}
    optimizer = SGD([named, {"params": [("b", leaf())]}])
    assert [group["param_names"] for group in optimizer.param_groups] == [["a"], ["b"]]
    with pytest.raises(ValueError, match="without names to the optimizer"):
        optimizer.add_param_group({"params": [leaf()]})
    with pytest.raises(ValueError, match="cannot add param group with names"):
        SGD([{"params": [leaf()]}, {"params": [leaf()], "param_names": ["a"]}])
    with pytest.raises(ValueError, match="cannot add param group without names"):
        SGD([{"params": [leaf()], "param_names": ["a"]}, {"params": [leaf()]}])


def test_hooks_get_the_arguments_of_the_function_step():
    optimizer, seen = SGD([leaf()], lr=0.5), []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append((args, kwargs)))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append((args, kwargs)))

    def closure():
        return 3.0

    optimizer.step()
    optimizer.step(closure)
    optimizer.step(closure=closure)
    assert seen[::2] == seen[1::2] == [
        ((optimizer,), {}), ((optimizer, closure), {}), ((optimizer,), {"closure": closure})
    ]  # fmt: skip


def _wrapper(optim):
    """Return a class that wraps an optimizer and is one, without the initialisation of one."""

    class Wrapper(optim.Optimizer):
        def __init__(self, optimizer):
            self.optimizer, self.steps = optimizer, 0

        @property
        def param_groups(self):
            return self.optimizer.param_groups

        def step(self, closure=None):
            self.steps += 1
            return self.optimizer.step(closure)

    return Wrapper


@pytest.mark.parametrize("library", ["tt", pytest.param("torch", marks=pytest.mark.torch)])
def test_a_wrapper_that_is_never_initialised_steps_without_hooks_of_its_own(library):
    module = tt if library == "tt" else pytest.importorskip("torch")
    p = module.zeros(2, requires_grad=True)
    wrapped = _wrapper(module.optim)(module.optim.SGD([p], lr=1.0))
    calls = []
    wrapped.optimizer.register_step_post_hook(lambda optimizer, args, kwargs: calls.append(optimizer))
    optimizers = importlib.import_module(f"{library}.optim.optimizer")
    handle = optimizers.register_optimizer_step_pre_hook(
        lambda optimizer, args, kwargs: calls.append(optimizer)
    )
    scheduler = module.optim.lr_scheduler.StepLR(wrapped, 1, gamma=0.5)
    p.sum().backward()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # the scheduler sees that the wrapper has stepped
            wrapped.step()
            scheduler.step()
    finally:
        handle.remove()
    assert p.tolist() == [-1.0, -1.0] and wrapped.steps == 1 and calls == [wrapped.optimizer] * 2
    assert wrapped.param_groups[0]["lr"] == 0.5


@pytest.mark.torch
def test_every_optimizer_is_in_the_names_of_the_module():
    import torch

    def classes(module):
        return {name for name, value in vars(module).items() if isinstance(value, type)}

    assert classes(torch.optim) == classes(tt.optim) and tt.optim.__dict__["SGD"] is SGD


def test_the_names_of_the_module_are_imported_when_they_are_asked_for():
    program = (
        "import sys, tt\n"
        "tt.optim.SGD\n"
        "assert 'tt.optim.rprop' not in sys.modules\n"
        "assert vars(tt.optim)['Rprop'] is tt.optim.Rprop and 'tt.optim.rprop' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_step_of_another_library_records_gradients_only_if_it_is_differentiable():
    class Mine(Optimizer):
        @_use_grad_for_differentiable
        def step(self):
            return tt.is_grad_enabled()

    for differentiable in (False, True):
        assert Mine([tt.ones(1)], {"differentiable": differentiable}).step() is differentiable
    assert not Mine([tt.ones(1)], {}).step()


def test_a_step_on_the_cpu_is_neither_fused_nor_takes_lists_by_default():
    assert _default_to_fused_or_foreach([tt.ones(1)], differentiable=False, use_fused=True) == (False, False)
    assert _default_to_fused_or_foreach([], differentiable=False) == (False, False)
