"""Steps of optimizers over lists: on the host behind the shim, against the CPU's kernels in double precision."""

from __future__ import annotations

from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import tt
from tests.backends.cuda.running import Running, prepared
from tt.backends.cpu import optimizer as cpu
from tt.backends.cuda.launch.gather_scatter import INDEXING
from tt.backends.cuda.optimizer import steps as optimizer
from tt.backends.cuda.optimizer.steps import CHUNK, OPTIMIZER

FLOATING = ("float16", "bfloat16", "float32", "float64")
KERNELS = [
    *(f"step_{name}<{dtype}>" for name in ("sgd", "adagrad") for dtype in FLOATING),
    *(f"step_adam<{dtype}, {decoupled}>" for dtype in FLOATING for decoupled in ("false", "true")),
]
SHAPES = ((3, 5), (), (CHUNK + 7,), (0, 4), (4, 2, 3))


@pytest.fixture(scope="module", autouse=True)
def compiled(host_engine):
    prepared(host_engine, OPTIMIZER, KERNELS)
    prepared(
        host_engine,
        INDEXING,
        [f"{k}_places<{u}, int32, 0>" for k in ("take", "put") for u in ("uint32", "uint64", "Unit16")],
    )


@pytest.fixture
def run(host_backend):
    return Running(host_backend, optimizer)


def arrays(dtype, seed, positive=False, shapes=SHAPES):
    rng = np.random.default_rng(seed)
    drawn = [np.asarray(rng.standard_normal(shape)) for shape in shapes]
    return [np.asarray(np.abs(d) if positive else d).astype(dtype) for d in drawn]


def numbers(values, dtype=np.float32):
    return [np.array(value, dtype) for value in values]


def sgd(dtype, **changes):
    options = {
        "weight_decay": 0.0, "momentum": 0.0, "lr": 0.1, "dampening": 0.0, "nesterov": False, "maximize": False,
        "is_first_step": False, "grad_scale": None, "found_inf": None, **changes,
    }  # fmt: skip
    momenta = arrays(dtype, 3) if options["momentum"] else []
    return [arrays(dtype, 1), arrays(dtype, 2), momenta], list(options.values())


def adam(dtype, **changes):
    options = {
        "lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0, "eps": 1e-6, "amsgrad": False, "maximize": False,
        "grad_scale": None, "found_inf": None, **changes,
    }  # fmt: skip
    largest = arrays(dtype, 5, True) if options["amsgrad"] else []
    steps = numbers(range(1, len(SHAPES) + 1))
    return [
        arrays(dtype, 1),
        arrays(dtype, 2),
        arrays(dtype, 3),
        arrays(dtype, 4, True),
        largest,
        steps,
    ], list(options.values())


def adagrad(dtype, **changes):
    options = {
        "lr": 0.1, "lr_decay": 0.0, "weight_decay": 0.0, "eps": 1e-8, "maximize": False, "grad_scale": None,
        "found_inf": None, **changes,
    }  # fmt: skip
    steps = numbers(range(1, len(SHAPES) + 1), np.int64)
    return [arrays(dtype, 1), arrays(dtype, 2), arrays(dtype, 4, True), steps], list(options.values())


OPS = {
    "_fused_sgd_": (sgd, cpu.fused_sgd), "_fused_adam_": (adam, cpu.fused_adam),
    "_fused_adamw_": (adam, cpu.fused_adamw), "_fused_adagrad_": (adagrad, cpu.fused_adagrad),
}  # fmt: skip
SCALED = {"grad_scale": np.array(4.0, np.float32), "found_inf": np.array(0.0, np.float32)}
CASES = [
    *(("_fused_sgd_", changes) for changes in (
        {}, {"weight_decay": 0.1, "maximize": True}, {"momentum": 0.9, "dampening": 0.2},
        {"momentum": 0.9, "nesterov": True}, {"momentum": 0.9, "is_first_step": True},
        {"lr": np.array(0.05, np.float32), "momentum": 0.5, **SCALED},
    )),
    *((op, changes) for op in ("_fused_adam_", "_fused_adamw_") for changes in (
        {}, {"weight_decay": 0.1, "amsgrad": True}, {"maximize": True, "lr": np.array(0.02), **SCALED},
    )),
    *(("_fused_adagrad_", changes) for changes in (
        {}, {"lr_decay": 0.1, "weight_decay": 0.1, "maximize": True}, SCALED,
    )),
]  # fmt: skip


def expect_step(run, op, lists, options, precision):
    """Compare a step with that of the CPU's kernel on the same numbers, halves as they are rounded."""
    expected = run.copied(lists)
    OPS[op][1](*expected, *options)
    run.inplace(op, *lists, *options)
    for found, wanted in zip(lists, expected, strict=True):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(
                one.astype(np.float64), other.astype(np.float64), rtol=precision, atol=precision
            )


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize(("op", "changes"), CASES)
def test_a_step_is_that_of_the_cpu(run, dtype, op, changes):
    lists, options = OPS[op][0](getattr(ml_dtypes, dtype, dtype), **changes)
    precision = {"float16": 2**-9, "bfloat16": 2**-6, "float32": 2e-6, "float64": 1e-13}[dtype]
    expect_step(run, op, lists, options, precision)


@pytest.mark.parametrize("op", OPS)
def test_nothing_happens_where_a_gradient_was_infinite(run, op):
    lists, options = OPS[op][0]("float32", grad_scale=np.array(2.0), found_inf=np.array(1.0, np.float32))
    before = run.copied(lists)
    run.inplace(op, *lists, *options)
    for found, wanted in zip(lists, before, strict=True):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_one_launch_steps_all_tensors_of_a_dtype(run, host_engine):
    params = [np.ones(5, np.float32), np.ones((2, 3), np.float64), np.ones(7, np.float32)]
    grads = [np.full_like(p, 2) for p in params]
    host_engine.launches.clear()
    run.inplace("_fused_sgd_", params, grads, [], *sgd("float32")[1])
    assert [name for name, *_ in host_engine.launches] == ["step_sgd<float32>", "step_sgd<float64>"]
    assert all(np.allclose(p, 0.8) for p in params)


def test_the_tables_of_addresses_stay_on_the_device(run, monkeypatch):
    uploads = []
    backend = run.backend
    asarray = backend.namespace.asarray
    monkeypatch.setattr(backend.namespace, "asarray", lambda *args: uploads.append(args) or asarray(*args))
    lists, options = adam("float32")
    for _ in range(3):
        run.inplace("_fused_adam_", *lists, *options)
    assert len(uploads) == 2
    others = adam("float32")[0]
    run.inplace("_fused_adam_", *others, *options)
    assert len(uploads) == 4


def test_tables_of_a_captured_step_belong_to_its_graph(run, monkeypatch):
    kept = []

    def upload(array, index, non_blocking):
        kept.append((array, index, non_blocking))
        return run.handle(array)

    transfers = SimpleNamespace(captured=[], pinned=np.empty, upload=upload)
    lists, options = adam("float32")
    run.inplace("_fused_adam_", *lists, *options)
    monkeypatch.setattr(run.backend, "transfers", transfers)
    for count in (2, 4):  # neither those of the step before nor those of another graph are taken
        expect_step(run, "_fused_adam_", lists, options, 2e-6)
        assert len(kept) == count and all(non_blocking for _, _, non_blocking in kept)


@pytest.mark.parametrize("layout", ["transposed", "mixed", "gaps"])
def test_memory_in_another_order_is_stepped_as_it_lies(run, host_engine, layout):
    shapes = ((4, 6),)
    made = [arrays("float32", seed, seed == 4, shapes) for seed in (1, 2, 3, 4)]
    if layout == "transposed":
        lists = [[np.asfortranarray(a) for a in some] for some in made]
    elif layout == "mixed":
        lists = [[np.asfortranarray(a) if n == 1 else a for a in some] for n, some in enumerate(made)]
    else:
        lists = [[np.repeat(a, 2, axis=1)[:, ::2] for a in some] for some in made]
    lists += [[], numbers([3])]
    host_engine.launches.clear()
    expect_step(run, "_fused_adam_", lists, adam("float32")[1], 2e-6)
    copies = {"transposed": 0, "mixed": 8, "gaps": 8}[layout]
    assert len(host_engine.launches) == 1 + copies


@pytest.mark.parametrize(
    "lists",
    [
        [[np.ones(2)], [np.ones(3)], []], [[np.ones(2)], [np.ones(2, np.float32)], []], [[np.ones(2)], [], []],
        [[], [], []],
    ],
)  # fmt: skip
def test_lists_that_do_not_fit_are_left_to_the_shape_rule(run, lists):
    with pytest.raises(ValueError, match="which the shape rule refuses"):
        run.inplace("_fused_sgd_", *lists, *sgd("float32")[1])


@pytest.mark.cupy
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_the_source_compiles_for_gpus(nvrtc, arch):
    names = KERNELS[::3] if arch == "sm_80" else KERNELS[1::3]
    assert set(nvrtc.compile_source(OPTIMIZER.source, names, arch).names) == set(names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_all_of_the_source_compiles_for_gpus(nvrtc, arch):
    assert set(nvrtc.compile_source(OPTIMIZER.source, KERNELS, arch).names) == set(KERNELS)


RULES = {
    "adamax": (2, [0.75, 0.9, 0.1, -0.5]), "nadam": (2, [0.75, 0.9, 0.1, 0.5, -0.3, -0.2]),
    "radam": (2, [0.75, 0.9, 0.1, -0.5, -0.4]), "radam, first steps": (2, [0.75, 0.9, 0.1, -0.5, 0.0]),
    "adadelta": (2, [0.75, 0.1, -0.5]), "rmsprop": (1, [0.75, 0.5, -0.5, 0.0]),
    "rmsprop, momentum": (2, [0.75, 0.5, -0.5, 0.5]), "rmsprop, centered": (3, [0.75, 4.0, -0.5, 0.5]),
    "rprop": (2, [0.5, 1.25, 0.1, 2.0]), "asgd": (1, [0.25, 0.5, 1.0]), "asgd, averaged": (1, [0.25, 0.5, 0.5]),
}  # fmt: skip
"""How many states a rule has, and its numbers."""


def by_rule(rule, dtype):
    """Return the lists of a step and its other arguments."""
    states, given = RULES[rule]
    if "centered" in rule:
        made = [arrays(dtype, 3, True), [], [np.zeros_like(a) for a in arrays(dtype, 5)]]
    else:
        made = [arrays(dtype, 3 + k, True) if k < states else [] for k in range(3)]
    return [arrays(dtype, 1), arrays(dtype, 2), *made], (rule.partition(",")[0], [0.25, 0.75, *given], True)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("rule", RULES)
def test_a_step_by_rule_is_that_of_the_cpu(run, rule, dtype):
    lists, (name, given, maximize) = by_rule(rule, dtype)
    wide = [[tt.from_numpy(a.astype(np.float64)) for a in one] for one in lists]
    run.inplace("_fused_step_", *lists, name, given, maximize)
    tt.ops._fused_step_(*wide, name, given, maximize=maximize)
    tolerance = {"float64": 1e-12, "float32": 2e-5, "float16": 5e-3}[dtype]
    for mine, other in zip(lists, wide, strict=True):
        for one, two in zip(mine, other, strict=True):
            np.testing.assert_allclose(one.astype(float), two.numpy(), tolerance, tolerance, err_msg=rule)


@pytest.mark.parametrize("wrong", [("unknown", [0.0] * 5), ("asgd", [0.0] * 4), ("nadam", [0.0] * 8)])
def test_a_rule_without_its_numbers_or_states_is_left_to_the_shape_rule(run, wrong):
    with pytest.raises(ValueError, match="refuses"):
        run.inplace("_fused_step_", *by_rule("asgd", "float32")[0], *wrong, False)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("rule", optimizer.RULES)
def test_rules_compile_for_gpus(nvrtc, rule):
    names = [f"step_by_rule<{dtype}, rules::{rule.capitalize()}>" for dtype in FLOATING]
    assert set(nvrtc.compile_source(OPTIMIZER.source, names, "sm_80").names) == set(names)
