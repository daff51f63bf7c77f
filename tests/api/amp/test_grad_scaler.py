"""GradScaler: training as PyTorch's does, states that both read, and what is refused."""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import warnings

import numpy as np
import pytest

import tt
from tt.amp.grad_scaler import OptState
from tt.errors import InplaceError

INF, NAN = float("inf"), float("nan")


def parts(lib, name="SGD", shape=(3,), **options):
    """Return a parameter, its optimizer and a scaler."""
    weight = lib.ones(shape, requires_grad=True)
    options = {"lr": 0.125, **options}
    scaler = lib.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    return weight, getattr(lib.optim, name)([weight], **options), scaler


def scaled(*args, **options):
    """Return the same, after a loss has been scaled."""
    weight, optimizer, scaler = parts(tt, *args, **options)
    scaler.scale(weight.sum()).backward()
    return weight, optimizer, scaler


# --- training --------------------------------------------------------------------------------------------------

FACTORS = [1.0, INF, 2.0, 3.0, NAN, 1.0, 1.0, 1.0, -INF, 1.0]
"""Factors of the losses, one for each step."""


def history(lib, name, options, explicit):
    weight, optimizer, scaler = parts(lib, name, **options)
    found = []
    for factor in FACTORS:
        optimizer.zero_grad()
        scaler.scale((weight * weight).sum() * factor).backward()
        if explicit:
            scaler.unscale_(optimizer)
            lib.nn.utils.clip_grad_norm_([weight], 1.0, error_if_nonfinite=False)
        scaler.step(optimizer)
        scaler.update()
        assert not hasattr(optimizer, "grad_scale") and not hasattr(optimizer, "found_inf")
        found.append((weight.detach().numpy().copy(), scaler.get_scale(), scaler.state_dict()))
    return found


@pytest.mark.torch
@pytest.mark.parametrize("explicit", [False, True], ids=["step", "unscaled before"])
@pytest.mark.parametrize(("name", "options"), [
    ("SGD", {}), ("SGD", {"momentum": 0.5}), ("Adam", {}), ("RMSprop", {"foreach": True}),
    ("SGD", {"fused": True}), ("SGD", {"fused": True, "momentum": 0.5, "weight_decay": 0.25}),
    ("Adam", {"fused": True}), ("AdamW", {"fused": True, "amsgrad": True}), ("Adagrad", {"fused": True}),
])  # fmt: skip
def test_parameters_and_scales_are_those_of_pytorch(name, options, explicit):
    torch = pytest.importorskip("torch")
    for ours, theirs in zip(
        history(tt, name, options, explicit), history(torch, name, options, explicit), strict=True
    ):
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5)
        assert ours[1:] == theirs[1:]


def test_a_velocity_begins_with_the_first_step_that_is_taken():
    weight, optimizer, scaler = parts(tt, "SGD", fused=True, momentum=0.5, dampening=0.5)
    for factor in (INF, 1.0):
        optimizer.zero_grad()
        scaler.scale(weight.sum() * factor).backward()
        scaler.step(optimizer)
        scaler.update()
    assert optimizer.state[weight]["momentum_buffer"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", [tt.float64, tt.float16, tt.bfloat16])
@pytest.mark.torch
def test_losses_of_any_dtype_and_nesting_are_scaled_as_in_pytorch(dtype):
    torch = pytest.importorskip("torch")
    ours, theirs = tt.amp.GradScaler("cpu"), torch.amp.GradScaler("cpu")
    for value in (0.25, 3.0):
        mine = tt.full((2,), value, dtype=dtype)
        other = torch.full((2,), value, dtype=getattr(torch, dtype.name))
        one, (two, three) = ours.scale([mine, (mine, mine)])
        expected = theirs.scale([other, (other, other)])[0]
        for result in (one, two, three, ours.scale(mine), *ours.scale(iter([mine]))):
            assert result.dtype is dtype
            np.testing.assert_array_equal(result.double().numpy(), expected.double().numpy())


def test_two_optimizers_share_a_scale_and_each_leaves_out_its_own_steps():
    first, second = tt.ones(2, requires_grad=True), tt.ones(2, requires_grad=True)
    optimizers = [tt.optim.SGD([weight], lr=1.0) for weight in (first, second)]
    scaler = tt.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(first.sum() + second.sum() * INF).backward()
    for optimizer in optimizers:
        scaler.step(optimizer)
    scaler.update()
    assert first.tolist() == [0, 0] and second.tolist() == [1, 1] and scaler.get_scale() == 2


@pytest.mark.torch
@pytest.mark.parametrize("value", [0.25, INF])
def test_sparse_gradients_are_unscaled_as_in_pytorch(value):
    torch = pytest.importorskip("torch")
    results = []
    for lib in (tt, torch):
        weight = lib.ones((4, 2), requires_grad=True)
        optimizer, scaler = lib.optim.SGD([weight], lr=0.5), lib.amp.GradScaler("cpu", init_scale=8.0)
        rows = lib.nn.functional.embedding(lib.tensor([1, 3, 1]), weight, sparse=True)
        scaler.scale(rows.sum() * value).backward()
        scaler.step(optimizer)
        scaler.update()
        results.append((weight.tolist(), scaler.get_scale()))
    assert results[0] == results[1]


def test_the_sum_of_float16_elements_of_one_index_is_what_is_checked():
    weight = tt.ones(4, dtype=tt.float16, requires_grad=True)
    optimizer, scaler = tt.optim.SGD([weight], lr=1.0), tt.amp.GradScaler("cpu")
    weight.grad = tt.sparse_coo_tensor([[1, 1]], tt.tensor([6e4, 6e4], dtype=tt.float16), (4,))
    found = scaler._unscale_grads_(optimizer, tt.tensor(1.0), tt.tensor(0.0), True)
    assert [flag.item() for flag in found.values()] == [1.0]
    assert weight.grad.is_coalesced() and weight.grad._values().tolist() == [INF]


def test_gradients_on_several_devices_have_a_scale_and_a_flag_each():
    from tests.backends.cuda.devices import fake_cuda

    with fake_cuda(), np.errstate(all="ignore"):
        here, there = tt.ones(2, requires_grad=True), tt.ones(2, device="cuda", requires_grad=True)
        for options in ({}, {"fused": True}):
            optimizer = tt.optim.SGD([here, there], lr=1.0, **options)
            scaler = tt.amp.GradScaler("cpu", init_scale=4.0)
            before = here.tolist(), there.tolist()
            for factor in (INF, 1.0):
                optimizer.zero_grad()
                losses = scaler.scale([here.sum(), there.sum() * factor])
                for loss in losses:
                    loss.backward()
                scaler.step(optimizer)
                assert {device.type for device in scaler._found_inf_per_device(optimizer)} == {"cpu", "cuda"}
                scaler.update()
                if factor == INF:
                    assert (here.tolist(), there.tolist()) == before and scaler.get_scale() == 2.0
            assert here.tolist() == there.tolist() == [value - 1 for value in before[0]]


# --- the scale -------------------------------------------------------------------------------------------------


def test_a_new_scale_may_be_a_number_or_a_tensor_which_is_copied():
    _, _, scaler = scaled()
    scaler.update(16.0)
    assert scaler.get_scale() == 16
    value = tt.tensor([32.0])
    scaler.update(value)
    value.fill_(7.0)
    assert scaler.get_scale() == 32 and scaler._scale.shape == ()


@pytest.mark.parametrize(
    "value", [tt.ones(2), tt.ones(1, requires_grad=True), tt.ones(1, device="meta")], ids=str
)
def test_a_new_scale_that_does_not_fit_is_refused(value):
    _, _, scaler = scaled()
    with pytest.raises(AssertionError, match=r"new_scale should be a float.*new_scale.item\(\) is a float"):
        scaler.update(value)


def test_factors_can_be_read_and_set():
    _, optimizer, scaler = scaled()
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()) == (
        2.0,
        0.5,
        2,
    )
    scaler.set_growth_factor(4.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(1)
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 4096.0


def test_before_the_first_loss_there_is_a_scale_without_a_tensor():
    scaler = tt.amp.GradScaler("cpu", init_scale=8.0)
    assert scaler.get_scale() == 8.0 and scaler._get_growth_tracker() == 0 and scaler._scale is None


# --- states ----------------------------------------------------------------------------------------------------


def used(lib):
    weight, optimizer, scaler = parts(lib)
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    return scaler


@pytest.mark.torch
def test_each_library_reads_the_state_of_the_other():
    torch = pytest.importorskip("torch")
    for source, target in ((tt, torch), (torch, tt)):
        file = io.BytesIO()
        source.save(used(source).state_dict(), file)
        file.seek(0)
        state = target.load(file)
        for scaler in (target.amp.GradScaler("cpu"), used(target)):
            scaler.load_state_dict(state)
            assert scaler.state_dict() == state == used(source).state_dict()
            assert state["_growth_tracker"] == 1


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda scaler: pickle.loads(pickle.dumps(scaler))])
def test_a_copy_continues_with_the_same_scale(duplicate):
    scaler = used(tt)
    scaler.update(64.0)
    other = duplicate(scaler)
    assert other.state_dict() == scaler.state_dict() and other._scale is None
    assert other.scale(tt.ones(1)).item() == 64.0 and other._growth_tracker.item() == 1


def test_a_scaler_is_not_pickled_within_an_iteration():
    _, optimizer, scaler = scaled()
    scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="only be pickled at the beginning of an iteration"):
        pickle.dumps(scaler)


def test_an_empty_state_is_refused_unless_the_scaler_is_disabled():
    with pytest.raises(RuntimeError, match=r"source state dict is empty.*disable this one too"):
        tt.amp.GradScaler("cpu").load_state_dict({})
    tt.amp.GradScaler("cpu", enabled=False).load_state_dict({})


# --- what is refused -------------------------------------------------------------------------------------------


def unscale_twice():
    _, optimizer, scaler = scaled()
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)


def unscale_after_step():
    _, optimizer, scaler = scaled()
    scaler.step(optimizer)
    scaler.unscale_(optimizer)


def step_twice():
    _, optimizer, scaler = scaled()
    scaler.step(optimizer)
    scaler.step(optimizer)


def step_without_scale():
    _, optimizer, scaler = parts(tt)
    scaler.step(optimizer)


def unscale_without_scale():
    _, optimizer, scaler = parts(tt)
    scaler.unscale_(optimizer)


def update_without_scale():
    parts(tt)[2].update()


def update_without_step():
    scaled()[2].update()


def step_without_gradients():
    weight, optimizer, scaler = scaled()
    weight.grad = None
    scaler.step(optimizer)


def closure_by_name():
    _, optimizer, scaler = scaled()
    scaler.step(optimizer, closure=lambda: 1)


def closure_by_position():
    _, optimizer, scaler = scaled()
    scaler.step(optimizer, lambda: 1)


def half_gradients():
    weight = tt.ones(2, dtype=tt.float16, requires_grad=True)
    optimizer, scaler = tt.optim.SGD([weight], lr=1.0), tt.amp.GradScaler("cpu", init_scale=2.0)
    scaler.scale(weight.sum()).backward()
    scaler.step(optimizer)


def complex_gradients():
    weight = tt.ones(2, dtype=tt.complex64, requires_grad=True)
    optimizer, scaler = tt.optim.SGD([weight], lr=1.0), tt.amp.GradScaler("cpu", init_scale=2.0)
    scaler.scale(weight.abs().sum()).backward()
    scaler.step(optimizer)


def fused_sparse_gradients():
    weight = tt.ones((4, 2), requires_grad=True)
    optimizer, scaler = tt.optim.SGD([weight], lr=1.0, fused=True), tt.amp.GradScaler("cpu")
    scaler.scale(tt.nn.functional.embedding(tt.tensor([1]), weight, sparse=True).sum()).backward()
    scaler.step(optimizer)


def fused_in_one_group():
    weight, other = tt.ones(2, requires_grad=True), tt.ones(2, requires_grad=True)
    groups = [{"params": [weight]}, {"params": [other], "fused": False}]
    optimizer, scaler = tt.optim.SGD(groups, lr=1.0, fused=True), tt.amp.GradScaler("cpu")
    scaler.scale((weight + other).sum()).backward()
    scaler.step(optimizer)


def shared_memory_fused():
    memory = tt.ones(4)
    params = [memory[:3].requires_grad_(), memory[1:].requires_grad_()]
    optimizer, scaler = tt.optim.SGD(params, lr=1.0, fused=True), tt.amp.GradScaler("cpu")
    scaler.scale(params[0].sum() + params[1].sum()).backward()
    scaler.step(optimizer)


@pytest.mark.parametrize(("program", "error", "message"), [
    (unscale_twice, RuntimeError, r"unscale_\(\) has already been called on this optimizer since the last update"),
    (unscale_after_step, RuntimeError, r"unscale_\(\) is being called after step\(\).*before"),
    (step_twice, RuntimeError, r"step\(\) has already been called since the last update\(\).*call update\(\)"),
    (step_without_scale, AssertionError, "Attempted step but _scale is None.*did not use scaler.scale"),
    (unscale_without_scale, AssertionError, "Attempted unscale_ but _scale is None"),
    (update_without_scale, AssertionError, "Attempted update but _scale is None"),
    (update_without_step, AssertionError, r"No inf checks were recorded prior to update\.  Call step"),
    (step_without_gradients, AssertionError, r"No inf checks were recorded for this optimizer.*backward\(\)"),
    (closure_by_name, RuntimeError, "Closure use is not currently supported if GradScaler is enabled.*before"),
    (closure_by_position, RuntimeError, "Closure use is not currently supported"),
    (half_gradients, ValueError, r"Attempting to unscale FP16 gradients\.  Keep the parameters in float32"),
    (complex_gradients, NotImplementedError, "complex64 cannot be unscaled: make tt.view_as_real"),
    (fused_sparse_gradients, RuntimeError, "no scaled sparse gradients: make the optimizer with fused=False"),
    (fused_in_one_group, AssertionError, "only fused steps unscale gradients"),
    (shared_memory_fused, InplaceError, "memory"),
    (lambda: tt.amp.GradScaler("cpu", growth_factor=1.0), AssertionError, "growth factor must be > 1.0, not 1.0"),
    (lambda: tt.amp.GradScaler("cpu", backoff_factor=1.0), AssertionError, "backoff factor must be < 1.0, not 1.0"),
    (lambda: tt.amp.GradScaler("cpu").scale(3), ValueError, "outputs must be a Tensor.*int"),
])  # fmt: skip
def test_what_is_refused_says_what_to_do(program, error, message):
    with pytest.raises(error, match=message):
        program()


@pytest.mark.torch
def test_pytorch_refuses_the_same_with_the_same_types(monkeypatch):
    torch = pytest.importorskip("torch")
    programs = [
        unscale_twice, unscale_after_step, step_twice, step_without_scale, unscale_without_scale, update_without_scale,
        update_without_step, step_without_gradients, closure_by_name, half_gradients,
    ]  # fmt: skip
    for program in programs:
        with pytest.raises(Exception) as ours:  # compared below
            program()
        with monkeypatch.context() as patch:
            patch.setitem(globals(), "tt", torch)
            with pytest.raises(Exception) as theirs:
                program()
        assert isinstance(ours.value, theirs.type)
        first = str(theirs.value).rstrip(".").split(".")[0]
        assert str(ours.value).startswith(first), program


def test_a_refused_fused_step_leaves_no_scale_behind():
    _, optimizer, scaler = scaled("SGD", fused=True)
    with pytest.raises(TypeError):
        scaler.step(optimizer, wrong=True)
    assert not hasattr(optimizer, "grad_scale") and not hasattr(optimizer, "found_inf")


# --- other optimizers, other forms -----------------------------------------------------------------------------


def test_an_optimizer_that_takes_the_scaler_itself_gets_it_with_a_warning():
    class Own(tt.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure=None, grad_scaler=None):
            grad_scaler.unscale_(self)
            return grad_scaler

    weight = tt.ones(2, requires_grad=True)
    optimizer, scaler = Own([weight], lr=1.0), tt.amp.GradScaler("cpu")
    scaler.scale(weight.sum()).backward()
    with pytest.warns(FutureWarning, match="stop passing itself"):
        assert scaler.step(optimizer) is scaler
    assert weight.grad.tolist() == [1, 1]
    assert scaler._per_optimizer_states[id(optimizer)]["stage"] is OptState.STEPPED


def test_a_scale_that_the_program_has_set_is_multiplied():
    weight, optimizer, scaler = scaled("SGD", fused=True)
    weight.grad.mul_(8.0)
    optimizer.grad_scale = tt.tensor(8.0)
    scaler.step(optimizer)
    assert weight.tolist() == [0.875] * 3


def test_the_result_of_the_step_and_its_arguments_are_passed_on():
    class Own(tt.optim.SGD):
        def step(self, *args, **kwargs):
            return args, kwargs

    weight = tt.ones(2, requires_grad=True)
    scaler = tt.amp.GradScaler("cpu")
    scaler.scale(weight.sum()).backward()
    assert scaler.step(Own([weight], lr=1.0), 1, two=2) == ((1,), {"two": 2})


@pytest.mark.parametrize("module", ["cpu", "cuda"])
def test_the_former_names_warn(module):
    amp = importlib.import_module(f"tt.{module}.amp")
    with pytest.warns(FutureWarning, match=rf"tt.{module}.amp.GradScaler\(...\) is deprecated.*'{module}'"):
        scaler = amp.GradScaler(init_scale=4.0, enabled=module == "cpu")
    assert isinstance(scaler, tt.amp.GradScaler) and scaler.is_enabled() is (module == "cpu")


def test_without_cuda_it_is_disabled_with_a_warning(monkeypatch):
    monkeypatch.setattr(tt.cuda, "is_available", lambda: False)
    with pytest.warns(UserWarning, match="GradScaler is enabled, but CUDA is not available.  Disabling"):
        scaler = tt.amp.GradScaler()
    assert not scaler.is_enabled() and scaler.get_scale() == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tt.amp.GradScaler(enabled=False)


@pytest.mark.torch
def test_a_pickle_of_pytorch_has_the_same_fields():
    torch = pytest.importorskip("torch")
    ours, theirs = used(tt).__getstate__(), used(torch).__getstate__()
    assert ours.keys() == theirs.keys()
    fields = [name for name in ours if name != "_per_optimizer_states"]
    assert [ours[name] for name in fields] == [theirs[name] for name in fields]


def test_a_disabled_scaler_passes_everything_on():
    scaler, steps = tt.amp.GradScaler(enabled=False), []

    class Optimizer:
        def step(self, closure=None):
            steps.append(closure)
            return 3

    loss = tt.ones(1)
    assert scaler.scale(loss) is loss
    scaler.unscale_(Optimizer())
    assert scaler.step(Optimizer()) == 3 and steps == [None]
    scaler.update()
    assert scaler.get_scale() == 1.0 and scaler.state_dict() == {}
    scaler.load_state_dict({})
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(5)
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()) == (
        3.0,
        0.25,
        5,
    )
