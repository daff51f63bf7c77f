"""Floating-point operations, modules that run, weak mappings, exchange and TensorBoard."""

from __future__ import annotations

import gc
import importlib.util

import pytest

import tt
from tt.utils.flop_counter import FlopCounterMode, register_flop_formula
from tt.utils.module_tracker import ModuleTracker
from tt.utils.weak import TensorWeakRef, WeakIdRef, WeakTensorKeyDictionary

F = tt.nn.functional

# --- operations --------------------------------------------------------------------------------------------------


def counted(function, *shapes, backward=True):
    """Return how many operations a function of tensors makes, and its backward pass."""
    with FlopCounterMode(display=False) as counter:
        result = function(*(tt.rand(*shape, requires_grad=True) for shape in shapes))
        if backward:
            result.sum().backward()
    return counter.get_total_flops()


@pytest.mark.parametrize(
    ("function", "shapes", "forward"),
    [
        (tt.matmul, ((2, 5, 3), (3, 4)), 2 * 2 * 5 * 3 * 4),
        (tt.bmm, ((2, 5, 3), (2, 3, 4)), 2 * 2 * 5 * 3 * 4),
        (F.linear, ((5, 3), (4, 3), (4,)), 2 * 5 * 3 * 4),
        (lambda x, w: F.conv2d(x, w, stride=2, groups=2), ((2, 4, 9, 9), (6, 2, 3, 3)), 2 * 2 * 6 * 16 * 18),
        (lambda x, w: F.conv_transpose2d(x, w, stride=2), ((2, 4, 5, 5), (4, 6, 3, 3)), 2 * 2 * 4 * 25 * 54),
    ],
)
def test_products_and_convolutions_are_counted_with_their_gradients(function, shapes, forward):
    assert counted(function, *shapes, backward=False) == forward
    assert counted(function, *shapes) == 3 * forward


def test_attention_and_recurrent_layers_are_counted():
    shape = (2, 2, 5, 4)
    forward = counted(F.scaled_dot_product_attention, shape, shape, shape, backward=False)
    assert forward == 2 * 2 * 2 * 5 * 5 * (4 + 4)
    with FlopCounterMode(display=False) as counter:
        tt.nn.LSTM(3, 4)(tt.rand(5, 2, 3))
    assert counter.get_total_flops() == 2 * 5 * 2 * 16 * (3 + 4)


@pytest.mark.torch
def test_counts_of_modules_are_those_of_pytorch():
    import torch
    from torch.utils.flop_counter import FlopCounterMode as TorchCounter

    def counts(m, counter_class):
        net = m.nn.Sequential(
            m.nn.Conv2d(3, 4, 3, padding=1),
            m.nn.ReLU(),
            m.nn.Flatten(),
            m.nn.Linear(256, 5),
            m.nn.Linear(5, 2),
        )
        with counter_class(display=False) as counter:
            net(m.ones(2, 3, 8, 8)).sum().backward()
        assert counter.get_total_flops() == sum(counter.get_flop_counts()["Global"].values())
        return {module: sum(counts.values()) for module, counts in counter.get_flop_counts().items()}

    assert counts(tt, FlopCounterMode) == counts(torch, TorchCounter)


def test_formulas_are_added_for_one_counter_or_for_all(capsys):
    with FlopCounterMode(custom_mapping={tt.ops.exp: lambda x, out_shape: 7}) as counter:
        tt.ones(3).exp()
    assert counter.get_flop_counts() == {"Global": {"exp": 7}} and "exp" in capsys.readouterr().out
    with FlopCounterMode(display=False) as counter:
        tt.ones(3).exp()
    assert counter.get_total_flops() == 0 and "Global" not in counter.get_flop_counts()
    with pytest.raises(TypeError, match=r"tt\.ops\.mm"):
        register_flop_formula(3)


def test_the_table_shows_modules_to_a_depth():
    net = tt.nn.Sequential(tt.nn.Sequential(tt.nn.Linear(100, 1000)))
    with FlopCounterMode(display=False) as counter:
        net(tt.ones(500, 100))
    assert counter.get_table().count("100.000M") == 8 and "Sequential.0.0" in counter.get_table(3)
    assert "Sequential.0 " not in counter.get_table(1)


def test_modules_are_tracked_forward_and_backward():
    seen = []

    class Inner(tt.nn.Module):
        def forward(self, x):
            seen.append(sorted(tracker.parents))
            return x * 2

    net = tt.nn.Sequential(Inner(), Inner())
    with ModuleTracker() as tracker:
        y = net(tt.ones(2, requires_grad=True))
        assert tracker.parents == {"Global"} and not tracker.is_bw
        y.sum().backward()
        assert tracker.is_bw
    assert seen == [["Global", "Sequential", "Sequential.0"], ["Global", "Sequential", "Sequential.1"]]
    net(tt.ones(2))
    assert seen[-1] == ["Global"]


# --- weak mappings, exchange -----------------------------------------------------------------------------------------


def test_weak_mappings_compare_tensors_by_identity_and_end_with_them():
    x, y = tt.ones(2), tt.ones(2)
    found = WeakTensorKeyDictionary({x: 1, y: 2})
    assert (found[x] == 1 and found[y] == 2 and list(found) == [x, y]) or len(found) == 2
    assert found.pop(y) == 2 and y not in found and 3 not in found
    with pytest.raises(KeyError):
        found[y]
    other = found.copy()
    reference, tensor_reference = WeakIdRef(x), TensorWeakRef(x)
    del x
    gc.collect()
    assert len(found) == len(other) == 0 and reference() is tensor_reference() is None
    assert hash(reference) == hash(reference) and reference == reference
    with pytest.raises(TypeError):
        TensorWeakRef([])


def test_capsules_carry_tensors():
    from tt.utils.dlpack import DLDeviceType, from_dlpack, to_dlpack

    assert tt.ones(1).__dlpack_device__()[0] == DLDeviceType.kDLCPU
    assert type(to_dlpack(tt.ones(2))).__name__ == "PyCapsule" and from_dlpack(tt.arange(2)).tolist() == [
        0,
        1,
    ]


def test_facts_about_the_machine_are_texts():
    import tt.__config__
    from tt.utils import collect_env

    assert "numpy" in tt.__config__.show() and "tt.get_num_threads()" in tt.__config__.parallel_info()
    assert "libraries" in collect_env.get_env_info()


@pytest.mark.skipif(
    importlib.util.find_spec("tensorboard") is not None, reason="the package tensorboard is there"
)
def test_a_writer_without_tensorboard_says_what_to_install(tmp_path):
    from tt.utils.tensorboard import SummaryWriter

    with pytest.raises(NotImplementedError, match="pip install tensorboard"):
        SummaryWriter(str(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(importlib.util.find_spec("tensorboard") is None, reason="needs the package tensorboard")
def test_what_a_writer_writes_is_read_back(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from tt.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        for step in range(3):
            writer.add_scalar("loss", tt.tensor(0.5**step), step)
        writer.add_histogram("weights", tt.randn(100), 1)
        with pytest.raises(ValueError, match="one number"):
            writer.add_scalar("loss", tt.ones(2))
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [(e.step, e.value) for e in events.Scalars("loss")] == [(0, 1.0), (1, 0.5), (2, 0.25)]
    assert events.Histograms("weights")[0].histogram_value.num == 100


# --- points that fill a cube ---------------------------------------------------------------------------------------


def test_sobol_points_are_even_reproducible_and_skipped():
    engine = tt.quasirandom.SobolEngine(3)
    points = engine.draw_base2(3)
    assert sorted((points[:, 1] * 8).int().tolist()) == list(range(8))
    with pytest.raises(ValueError, match="not a power of two"):
        engine.draw_base2(1)
    assert tt.equal(engine.reset().draw(8), points) and engine.num_generated == 8
    assert tt.equal(tt.quasirandom.SobolEngine(3).fast_forward(3).draw(2), points[3:5])
    scrambled = [tt.quasirandom.SobolEngine(2, scramble=True, seed=4).draw(4) for _ in range(2)]
    assert tt.equal(*scrambled) and not tt.equal(scrambled[0], points[:4, :2])
    out = tt.empty(0, dtype=tt.float64)
    assert tt.quasirandom.SobolEngine(1).draw(2, out=out, dtype=tt.float64) is out and out.shape == (2, 1)
    for wrong in (
        lambda: tt.quasirandom.SobolEngine(0),
        lambda: tt.quasirandom.SobolEngine(21202),
        lambda: engine.draw(-1),
    ):
        with pytest.raises(ValueError):
            wrong()


@pytest.mark.torch
def test_sobol_points_are_those_of_pytorch():
    import torch

    ours, theirs = tt.quasirandom.SobolEngine(7), torch.quasirandom.SobolEngine(7)
    for count in (1, 3, 8):
        assert tt.equal(ours.draw(count), tt.from_numpy(theirs.draw(count).numpy()))


# --- autograd ------------------------------------------------------------------------------------------------------


def test_saved_tensors_may_be_changed_where_it_is_allowed():
    x = tt.ones(2, requires_grad=True)
    with tt.autograd.graph.allow_mutation_on_saved_tensors():
        y = x.clone()
        z = (y**2).sum()
        y.sin_()
        z.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_variables_are_tensors():
    from tt.autograd.variable import Variable

    x = Variable(tt.ones(2), requires_grad=True)
    assert x.requires_grad and x.is_leaf and isinstance(x, tt.Tensor) and isinstance(tt.ones(1), Variable)
    assert not isinstance(1, Variable) and Variable().shape == (0,)
    with pytest.raises(TypeError):
        Variable([1])


def test_modes_are_where_pytorch_has_them():
    from tt.autograd.anomaly_mode import detect_anomaly
    from tt.autograd.grad_mode import no_grad, set_multithreading_enabled

    assert no_grad is tt.no_grad and detect_anomaly is tt.autograd.detect_anomaly
    with set_multithreading_enabled(False) as mode:
        assert mode.clone().mode is False


def test_the_setting_of_multithreading_is_kept_as_in_pytorch():
    from tt.autograd import is_multithreading_enabled, set_multithreading_enabled

    with set_multithreading_enabled(False):
        assert not is_multithreading_enabled()
        set_multithreading_enabled(True)
        assert is_multithreading_enabled()
    assert is_multithreading_enabled()
    set_multithreading_enabled(False)
    try:
        assert not is_multithreading_enabled()
    finally:
        set_multithreading_enabled(True)
