"""Communication hooks: PowerSGD against its paper, eight bits, hooks by name, values that are computed on demand."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt import nn
from tt.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook
from tt.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power
from tt.distributed.algorithms.ddp_comm_hooks import quantization_hooks as eight_bits
from tt.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_wrapper
from tt.distributed.algorithms.ddp_comm_hooks.deferred import Deferred
from tt.nn.parallel import DistributedDataParallel


class Given(nn.Module):
    """A module whose gradients are the tensors that it is called with."""

    def __init__(self, *shapes):
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(tt.zeros(shape, dtype=tt.float64)) for shape in shapes])

    def forward(self, *gradients):
        return sum((w * g).sum() for w, g in zip(self.weights, gradients, strict=True))


def numbers(seed, shape, rank=None):
    """Return random numbers, as a matrix of a rank."""
    generator = np.random.default_rng(seed)
    if rank is None:
        return generator.normal(size=shape)
    return generator.normal(size=(shape[0], rank)) @ generator.normal(size=(rank, shape[1]))


def reduced(shapes, gradients, hook, state, steps, **options):
    """Return, for each step, what the hook makes of the gradients, which are given by rank and step."""
    parallel = DistributedDataParallel(Given(*shapes), **options)
    parallel.register_comm_hook(state, hook)
    found = []
    for step in range(steps):
        parallel.zero_grad()
        parallel(*map(tt.from_numpy, gradients(dist.get_rank(), step))).backward()
        found.append([w.grad.numpy().copy() for w in parallel.module.weights])
    return found


HOOKS = {"matrices": power.powerSGD_hook, "one matrix": power.batched_powerSGD_hook}


@pytest.mark.parametrize("epsilon", [0, 1e-12])
@pytest.mark.parametrize("batched", [False, True])
def test_the_average_of_matrices_of_low_rank_is_exact(engine, batched, epsilon):
    shapes = [(20, 12), (5,), (20, 12), (2, 3), (8, 3, 10)]
    left = [numbers(7, (20, 1)), numbers(9, (8, 1))]

    def gradients(rank, step):
        # One column space on both ranks: the average has rank 1 as well.
        seed = 10 * rank + 100 * step
        return [
            left[0] @ numbers(seed, (1, 12)),
            numbers(seed + 1, 5),
            left[0] @ numbers(seed + 2, (1, 12)),
            numbers(seed + 3, (2, 3)),
            (left[1] @ numbers(seed + 4, (1, 30))).reshape(8, 3, 10),
        ]

    def train():
        state = power.PowerSGDState(
            None, 1, 2, orthogonalization_epsilon=epsilon, batch_tensors_with_same_shape=batched
        )
        return reduced(shapes, gradients, power.powerSGD_hook, state, 4), state.compression_stats()

    for found, (rate, before, after) in run(train, 2, backend=engine):
        for step, row in enumerate(found):
            mean = [(a + b) / 2 for a, b in zip(gradients(0, step), gradients(1, step), strict=True)]
            for ours, theirs in zip(row, mean, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
        # (2, 3) and (5,) travel whole; the factors are 20 + 12, twice, and 8 + 30.
        assert (before, after) == (2 * (240 * 2 + 240 + 11), 2 * (64 + 38 + 11))
        assert rate == before / after


@pytest.mark.parametrize("name", HOOKS)
def test_all_ranks_have_the_same_approximation_of_the_rank_that_is_asked_for(engine, name):
    def gradients(rank, step):
        return [numbers(rank + 10 * step, (24, 24))]

    def train():
        state = power.PowerSGDState(None, 3, 2)
        return reduced([(24, 24)], gradients, HOOKS[name], state, 4)

    first, second, third = run(train, 3, backend=engine)
    for step in range(4):
        (ours,) = first[step]
        np.testing.assert_array_equal(ours, second[step][0])
        np.testing.assert_array_equal(ours, third[step][0])
        assert np.linalg.matrix_rank(ours) == (24 if step < 2 else 3)
    mean = sum(gradients(rank, 2)[0] for rank in range(3)) / 3
    error, best = np.linalg.norm(mean - first[2][0]), np.sqrt((np.linalg.svd(mean)[1][3:] ** 2).sum())
    assert best <= error < np.linalg.norm(mean)


def test_a_warm_start_comes_near_to_the_best_approximation_from_step_to_step(engine):
    matrix = numbers(3, (30, 20))
    u, s, v = np.linalg.svd(matrix, full_matrices=False)
    best = (u[:, :2] * s[:2]) @ v[:2]

    def train(warm):
        state = power.PowerSGDState(None, 2, 2, use_error_feedback=False, warm_start=warm)
        return reduced([(30, 20)], lambda rank, step: [matrix], power.powerSGD_hook, state, 60)

    warm, cold = (run(lambda warm=warm: train(warm), 2, backend=engine)[0] for warm in (True, False))
    distances = [np.linalg.norm(row[0] - best) for row in warm]
    assert distances[-1] < 0.02 * distances[2]
    assert np.linalg.norm(cold[-1][0] - best) > 10 * distances[-1]


@pytest.mark.parametrize("name", HOOKS)
def test_what_an_approximation_leaves_out_is_added_to_the_next_gradient(engine, name):
    matrices = [numbers(rank, (16, 16)) for rank in range(2)]

    def train(feedback):
        state = power.PowerSGDState(None, 1, 2, use_error_feedback=feedback)
        return reduced([(16, 16)], lambda rank, step: [matrices[rank]], HOOKS[name], state, 200)

    mean = (matrices[0] + matrices[1]) / 2
    missing = []
    for feedback in (True, False):
        found = run(lambda feedback=feedback: train(feedback), 2, backend=engine)[0]
        missing.append(np.linalg.norm(np.mean([row[0] for row in found[2:]], axis=0) - mean))
    assert missing[0] < 0.15 * missing[1]


def test_without_feedback_and_warm_start_the_first_step_is_compressed(engine):
    def train():
        state = power.PowerSGDState(None, 1, 0, use_error_feedback=False, warm_start=False)
        found = reduced([(16, 8)], lambda rank, step: [numbers(rank, (16, 8))], power.powerSGD_hook, state, 2)
        assert not state.error_dict and not state.q_memory_dict
        return [np.linalg.matrix_rank(row[0]) for row in found]

    assert run(train, 2, backend=engine) == [[1, 1]] * 2
    with pytest.raises(ValueError, match="Expect `start_powerSGD_iter` > 1"):
        power.PowerSGDState(None, 1, 1)
    with pytest.raises(ValueError, match="must be positive, got 0"):
        power.PowerSGDState(None, 0)


def test_a_state_is_pickled_without_its_group_and_goes_on(engine):
    def train():
        state = power.PowerSGDState(dist.group.WORLD, 1, 2, random_seed=5)
        reduced([(16, 8)], lambda rank, step: [numbers(step, (16, 8))], power.powerSGD_hook, state, 3)
        copy = pickle.loads(pickle.dumps(state))
        assert (copy.process_group, copy.iter, copy.rng.random()) == (None, 3, state.rng.random())
        return tt.equal(copy.q_memory_dict[0][0], state.q_memory_dict[0][0])

    assert run(train, 2, backend=engine) == [True, True]


@pytest.mark.parametrize("kind", ["POWER_SGD", "BATCHED_POWER_SGD", "QUANTIZE_PER_CHANNEL", "half PowerSGD"])
def test_a_small_net_learns_as_without_a_hook(engine, kind):
    generator = np.random.default_rng(0)
    inputs = tt.from_numpy(generator.normal(size=(64, 16))).float()
    targets = (inputs @ tt.from_numpy(generator.normal(size=(16, 4))).float()).tanh()

    def train(hooked):
        model = nn.Sequential(nn.Linear(16, 48), nn.Tanh(), nn.Linear(48, 4))
        start = np.random.default_rng(1)
        with tt.no_grad():
            for parameter in model.parameters():
                parameter.copy_(tt.from_numpy(start.normal(size=tuple(parameter.shape)) * 0.2))
        parallel = DistributedDataParallel(model, bucket_cap_mb=1e-3)
        if hooked and kind == "half PowerSGD":
            state = power.PowerSGDState(None, 2, 2)
            parallel.register_comm_hook(state, fp16_compress_wrapper(power.powerSGD_hook))
        elif hooked and "POWER" in kind:
            hook = power.powerSGD_hook if kind == "POWER_SGD" else power.batched_powerSGD_hook
            parallel.register_comm_hook(power.PowerSGDState(None, 2, 5), hook)
        elif hooked:
            register_ddp_comm_hook(DDPCommHookType[kind], parallel)
        optimizer = tt.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
        rank = dist.get_rank()
        for _ in range(100):
            optimizer.zero_grad()
            (parallel(inputs[rank::2]) - targets[rank::2]).square().mean().backward()
            optimizer.step()
        loss = (model(inputs) - targets).square().mean().item()
        return loss, [p.detach().numpy().copy() for p in model.parameters()]

    plain = run(lambda: train(False), 2, backend=engine)[0][0]
    (loss, first), (_, second) = run(lambda: train(True), 2, backend=engine)
    assert plain < 0.1 and abs(loss - plain) < 0.1 * plain
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "hook", [eight_bits.quantization_pertensor_hook, eight_bits.quantization_perchannel_hook]
)
def test_eight_bits_miss_at_most_half_a_step_of_each_range(engine, hook):
    def gradients(rank, step):
        return [numbers(rank, (40, 30)) * np.linspace(0.01, 1.0, 1200).reshape(40, 30), np.zeros(3)]

    found = run(lambda: reduced([(40, 30), (3,)], gradients, hook, None, 1), 2, backend=engine)
    both = [gradients(rank, 0)[0] for rank in range(2)]
    whole = hook is eight_bits.quantization_pertensor_hook
    flat = np.concatenate([np.stack([m.reshape(-1) for m in both]), np.zeros((2, 3))], axis=1)
    width = flat.shape[1] if whole else 512
    for (matrix, zeros), _ in zip((found[0][0], found[1][0]), range(2), strict=True):
        assert not zeros.any()
        order = np.concatenate([matrix.reshape(-1), zeros])
        # The bucket holds the parameters in reverse.
        given = np.concatenate([flat[:, 1200:], flat[:, :1200]], axis=1)
        order = np.concatenate([order[1200:], order[:1200]])
        for start in range(0, given.shape[1], width):
            part = given[:, start : start + width]
            steps = (np.maximum(part.max(1), 0) - np.minimum(part.min(1), 0)) / 255
            missing = np.abs(part.mean(0) - order[start : start + width])
            assert missing.max() <= 1.01 * steps.mean()
    np.testing.assert_array_equal(found[0][0][0], found[1][0][0])


@pytest.mark.parametrize("kind", DDPCommHookType)
def test_every_hook_has_a_name(engine, kind):
    def train():
        parallel = DistributedDataParallel(nn.Linear(2, 1, bias=False))
        register_ddp_comm_hook(kind, parallel)
        parallel(tt.full((1, 2), dist.get_rank() + 1.0)).sum().backward()
        with pytest.raises(RuntimeError, match="only be called once"):
            register_ddp_comm_hook(kind, parallel)
        return parallel.module.weight.grad[0, 0].item()

    expected = [1.0, 2.0] if kind is DDPCommHookType.NOOP else [1.5, 1.5]
    assert run(train, 2, backend=engine) == pytest.approx(expected)
    with pytest.raises(TypeError, match="expected a DDPCommHookType, got str"):
        register_ddp_comm_hook("NOOP", None)


def test_a_deferred_value_is_computed_once_and_an_error_is_raised_by_every_wait():
    calls = []
    future = Deferred(lambda: calls.append(1) or 5)
    after = future.then(lambda done: done.value() + 1)
    assert not calls and (after.wait(), after.wait(), future.wait()) == (6, 6, 5) and calls == [1]

    def fail():
        raise ValueError("no gradient")

    broken = Deferred(fail)
    for _ in range(2):
        with pytest.raises(ValueError, match="no gradient"):
            broken.then(lambda done: done.value()).wait()
