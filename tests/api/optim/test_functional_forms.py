"""Optimizers as functions of lists: the numbers of the classes, and PyTorch's."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest

import tt

SHAPES = ((3,), (2, 2), ())
ADAM = {"amsgrad": True, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.1, "maximize": False}

CASES = {
    # the class, its states in the order of the function's lists, options of the function
    "sgd": ("SGD", ["momentum_buffer"], {"weight_decay": 0.1, "momentum": 0.9, "dampening": 0.2, "nesterov": False,
                                         "maximize": False}),
    "adam": ("Adam", ["exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"], ADAM),
    "adamw": ("AdamW", ["exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"], ADAM),
    "adamax": ("Adamax", ["exp_avg", "exp_inf", "step"], {"eps": 1e-8, "beta1": 0.9, "beta2": 0.95,
                                                          "weight_decay": 0.1}),
    "nadam": ("NAdam", ["exp_avg", "exp_avg_sq", "mu_product", "step"], {"eps": 1e-8, "beta1": 0.9, "beta2": 0.95,
                                                                        "weight_decay": 0.1, "momentum_decay": 0.01}),
    "radam": ("RAdam", ["exp_avg", "exp_avg_sq", "step"], {"eps": 1e-8, "beta1": 0.9, "beta2": 0.95,
                                                           "weight_decay": 0.1}),
    "adagrad": ("Adagrad", ["sum", "step"], {"weight_decay": 0.1, "lr_decay": 0.01, "eps": 1e-8, "maximize": False}),
    "adadelta": ("Adadelta", ["square_avg", "acc_delta", "step"], {"rho": 0.9, "eps": 1e-6, "weight_decay": 0.1,
                                                                   "maximize": False}),
    "rmsprop": ("RMSprop", ["square_avg", "grad_avg", "momentum_buffer", "step"],
                {"alpha": 0.9, "eps": 1e-6, "weight_decay": 0.1, "momentum": 0.9, "centered": True}),
    "rprop": ("Rprop", ["prev", "step_size", "step"],
              {"step_size_min": 1e-6, "step_size_max": 50.0, "etaminus": 0.5, "etaplus": 1.2}),
    "asgd": ("ASGD", ["ax", "mu", "eta", "step"],
             {"lambd": 1e-4, "t0": 1.0, "alpha": 0.75, "weight_decay": 0.1}),
}  # fmt: skip
START = {"mu_product": 1.0, "mu": 1.0, "eta": 0.1, "step_size": 0.1}
NUMBERS = ("step", "mu_product", "mu", "eta")


def values(seed):
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.standard_normal(shape), dtype="f4") for shape in SHAPES]


def run(lib, name, steps=4, **form):
    """Return parameters and states after steps of a function."""
    _, states, options = CASES[name]
    function = getattr(importlib.import_module(f"{lib.__name__}.optim.{name}"), name)
    params = [lib.tensor(v) for v in values(0)]
    lists = []
    for state in states:
        start = START.get(state, 0.0)
        if state == "momentum_buffer" and name == "sgd":
            lists.append([None] * len(params))
        elif state in NUMBERS:
            lists.append([lib.tensor(start) for _ in params])
        else:
            lists.append([lib.full_like(p, start) for p in params])
    rate = {} if name == "rprop" else {"lr": 0.1}
    for step in range(steps):
        grads = [lib.tensor(v) for v in values(step + 1)]
        function(params, grads, *lists, **options, **rate, **form)
    return [t.numpy() for t in params], [[t.numpy() for t in items] for items in lists]


def options_of(name):
    """Return the options of a class with those of its function."""
    options = dict(CASES[name][2])
    if "beta1" in options:
        options["betas"] = (options.pop("beta1"), options.pop("beta2"))
    if name == "rprop":
        options = {"etas": (0.5, 1.2), "step_sizes": (1e-6, 50.0)}
    return options


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("foreach", [None, True, False])
def test_a_function_takes_the_steps_of_its_class(name, foreach):
    kind, states, _ = CASES[name]
    params, lists = run(tt, name, foreach=foreach)
    own = [tt.tensor(v, requires_grad=True) for v in values(0)]
    optimizer = getattr(tt.optim, kind)(own, lr=0.1, **options_of(name))
    for step in range(4):
        for param, grad in zip(own, values(step + 1), strict=True):
            param.grad = tt.tensor(grad)
        optimizer.step()
    for i, param in enumerate(own):
        np.testing.assert_allclose(params[i], np.array(param.detach()), rtol=1e-5, atol=1e-6)
        for state, items in zip(states, lists, strict=True):
            np.testing.assert_allclose(
                items[i], np.array(optimizer.state[param][state]), rtol=1e-5, atol=1e-6
            )


def test_velocities_begin_in_the_list():
    buffers = [None]
    options = {"weight_decay": 0, "momentum": 0.5, "lr": 1.0, "dampening": 0}
    tt.optim.sgd.sgd([tt.zeros(2)], [tt.ones(2)], buffers, **options, nesterov=False, maximize=False)
    assert buffers[0].tolist() == [1, 1]


def test_sparse_gradients_are_taken_or_refused():
    grad = tt.sparse_coo_tensor(tt.tensor([[1]]), tt.tensor([2.0]), (3,))
    param, total, step = tt.zeros(3), tt.zeros(3), tt.tensor(0.0)
    tt.optim.adagrad.adagrad(
        [param], [grad], [total], [step], lr=1.0, weight_decay=0, lr_decay=0, eps=0.0, maximize=False
    )
    assert param.tolist() == [0, -1, 0] and total.tolist() == [0, 4, 0] and step == 1
    with pytest.raises(RuntimeError, match="sparse"):
        tt.optim.adamax.adamax(
            [param], [grad], [total], [total], [step], eps=0, beta1=0, beta2=0, lr=1, weight_decay=0
        )


@pytest.mark.torch
@pytest.mark.parametrize("name", CASES)
def test_a_function_gives_pytorchs_numbers(name):
    torch = pytest.importorskip("torch")
    (params, lists), (theirs, states) = run(tt, name), run(torch, name)
    for mine, other in zip([params, *lists], [theirs, *states], strict=True):
        for one, reference in zip(mine, other, strict=True):
            np.testing.assert_allclose(one, reference, rtol=1e-4, atol=1e-6)
    signatures = [
        inspect.signature(getattr(importlib.import_module(f"{lib}.optim.{name}"), name)).parameters.values()
        for lib in ("tt", "torch")
    ]
    assert [(p.name, p.default, p.kind) for p in signatures[0]] == [
        (p.name, p.default, p.kind) for p in signatures[1]
    ]


def factored(lib, foreach=False):
    """Return matrices and a vector after steps of Adafactor as a function, and its states."""
    module = importlib.import_module(f"{lib.__name__}.optim._adafactor")
    shapes = [(3, 4), (5,), (2, 3, 2)]
    rng = np.random.default_rng(0)
    params = [lib.tensor(rng.standard_normal(shape)) for shape in shapes]
    rows = [lib.zeros((*s[:-1], 1), dtype=lib.float64) if len(s) > 1 else None for s in shapes]
    columns = [lib.zeros((*s[:-2], 1, s[-1]), dtype=lib.float64) if len(s) > 1 else None for s in shapes]
    variances = [None if len(s) > 1 else lib.zeros(s, dtype=lib.float64) for s in shapes]
    steps = [lib.tensor(0.0) for _ in shapes]
    for _ in range(3):
        grads = [lib.tensor(rng.standard_normal(shape)) for shape in shapes]
        module.adafactor(
            params, grads, rows, columns, variances, steps, foreach, d=1.5, lr=0.1, beta2_decay=-0.8,
            weight_decay=0.1, eps1=None, eps2=1e-3, maximize=False,
        )  # fmt: skip
    return [t.numpy() for t in (*params, *rows, *columns, *variances, *steps) if t is not None]


def orthogonal_steps(lib, nesterov=True):
    """Return matrices after steps of Muon as a function, and the averages."""
    module = importlib.import_module(f"{lib.__name__}.optim._muon")
    rng = np.random.default_rng(0)
    shapes = [(3, 4), (5, 2)]
    params = [lib.tensor(rng.standard_normal(shape)) for shape in shapes]
    means = [lib.zeros(shape, dtype=lib.float64) for shape in shapes]
    for _ in range(3):
        grads = [lib.tensor(rng.standard_normal(shape)) for shape in shapes]
        module.muon(
            params, grads, means, lr=0.1, weight_decay=0.1, momentum=0.9, nesterov=nesterov,
            ns_coefficients=(3.4445, -4.775, 2.0315), ns_steps=5, eps=1e-7, adjust_lr_fn=None, has_complex=False,
        )  # fmt: skip
    return [t.numpy() for t in (*params, *means)]


@pytest.mark.torch
def test_adafactor_and_muon_are_functions_too():
    torch = pytest.importorskip("torch")
    for mine, other in zip(factored(tt), factored(torch), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6)
    for mine, other in zip(factored(tt, True), factored(torch, False), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6)
    for nesterov in (True, False):
        for mine, other in zip(
            orthogonal_steps(tt, nesterov), orthogonal_steps(torch, nesterov), strict=True
        ):
            np.testing.assert_allclose(mine, other, rtol=2e-2, atol=2e-3)  # the iterations are in bfloat16
    for name in ("adafactor", "muon"):
        own, theirs = (
            inspect.signature(getattr(importlib.import_module(f"{lib}.optim._{name}"), name)).parameters
            for lib in ("tt", "torch")
        )
        assert [(p.name, p.default, p.kind) for p in own.values()] == [
            (p.name, p.default, p.kind) for p in theirs.values()
        ]


def test_what_adafactor_and_muon_refuse_as_functions():
    from tt.optim._adafactor import adafactor
    from tt.optim._muon import muon

    p = tt.ones(2)
    options = {"d": 1.0, "lr": 0.1, "beta2_decay": -0.8, "weight_decay": 0, "eps1": None, "eps2": 1e-3}
    with pytest.raises(AssertionError, match="needs its states in variances"):
        adafactor([p], [p], [None], [None], [None], [tt.tensor(0.0)], **options, maximize=False)
    with pytest.raises(RuntimeError, match="singleton tensors"):
        adafactor([p], [p], [None], [None], [p], [0], **options, maximize=False)
    with pytest.raises(AssertionError, match="unscaled before"):
        adafactor([p], [p], [None], [None], [p], [p], grad_scale=p, **options, maximize=False)
    options = {"lr": 0.1, "weight_decay": 0, "momentum": 0.9, "nesterov": True, "ns_coefficients": (1, 1, 1)}
    options |= {"ns_steps": 1, "eps": 1e-7, "adjust_lr_fn": None, "has_complex": False}
    with pytest.raises(RuntimeError, match="Foreach"):
        muon([tt.eye(2)], [tt.eye(2)], [tt.eye(2)], foreach=True, **options)
    with pytest.raises(ValueError, match="2D parameters"):
        muon([p], [p], [p], **options)
