"""Every optimizer against its formula in NumPy, in each of its forms; without PyTorch."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import tt
from tt.optim.optimizer import Optimizer

SHAPES = ((4,), (3, 2), (), (2, 1, 3))
STEPS = 6


def moments(state, g, beta1, beta2):
    m = state["m"] = state.get("m", 0) * beta1 + (1 - beta1) * g
    v = state["v"] = state.get("v", 0) * beta2 + (1 - beta2) * g * g
    return m, v


def sgd(p, g, s, t, lr=0.1, momentum=0.9, weight_decay=0.1, dampening=0.0, nesterov=True):
    g = g + weight_decay * p
    s["b"] = g if t == 1 else s["b"] * momentum + (1 - dampening) * g
    return p - lr * (g + momentum * s["b"] if nesterov else s["b"])


def adam(p, g, s, t, lr=0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1, amsgrad=True):
    m, v = moments(s, g + weight_decay * p, *betas)
    s["max"] = v = np.maximum(s.get("max", 0), v) if amsgrad else v
    return p - lr / (1 - betas[0] ** t) * m / (np.sqrt(v / (1 - betas[1] ** t)) + eps)


def adamw(p, g, s, t, lr=0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1):
    return adam(p * (1 - lr * weight_decay), g, s, t, lr, betas, eps, 0, False)


def adamax(p, g, s, t, lr=0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1):
    m, _ = moments(s, g + weight_decay * p, *betas)
    s["u"] = np.maximum(s.get("u", 0) * betas[1], abs(g + weight_decay * p) + eps)
    return p - lr / (1 - betas[0] ** t) * m / s["u"]


def nadam(p, g, s, t, lr=0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1, momentum_decay=0.04):
    g = g + weight_decay * p
    m, v = moments(s, g, *betas)
    mu, following = (betas[0] * (1 - 0.5 * 0.96 ** (n * momentum_decay)) for n in (t, t + 1))
    s["mu"] = s.get("mu", 1.0) * mu
    mean = following * m / (1 - s["mu"] * following) + (1 - mu) * g / (1 - s["mu"])
    return p - lr * mean / (np.sqrt(v / (1 - betas[1] ** t)) + eps)


def radam(p, g, s, t, lr=0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1):
    m, v = moments(s, g + weight_decay * p, *betas)
    mean, longest = m / (1 - betas[0] ** t), 2 / (1 - betas[1]) - 1
    length = longest - 2 * t * betas[1] ** t / (1 - betas[1] ** t)
    if length <= 5:
        return p - lr * mean
    r = math.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
    return p - lr * mean * r * math.sqrt(1 - betas[1] ** t) / (np.sqrt(v) + eps)


def adagrad(p, g, s, t, lr=0.1, lr_decay=0.2, weight_decay=0.1, initial_accumulator_value=0.5, eps=1e-3):
    g = g + weight_decay * p
    s["sum"] = s.get("sum", initial_accumulator_value) + g * g
    return p - lr / (1 + (t - 1) * lr_decay) * g / (np.sqrt(s["sum"]) + eps)


def adadelta(p, g, s, t, lr=2.0, rho=0.8, eps=1e-3, weight_decay=0.1):
    g = g + weight_decay * p
    s["v"] = s.get("v", 0) * rho + (1 - rho) * g * g
    delta = np.sqrt(s.get("d", 0) + eps) / np.sqrt(s["v"] + eps) * g
    s["d"] = s.get("d", 0) * rho + (1 - rho) * delta**2
    return p - lr * delta


def rmsprop(p, g, s, t, lr=0.1, alpha=0.8, eps=1e-3, weight_decay=0.1, momentum=0.5, centered=True):
    g = g + weight_decay * p
    s["v"] = s.get("v", 0) * alpha + (1 - alpha) * g * g
    s["g"] = s.get("g", 0) * alpha + (1 - alpha) * g
    s["b"] = s.get("b", 0) * momentum + g / (np.sqrt(s["v"] - s["g"] ** 2) + eps)
    return p - lr * s["b"]


def rprop(p, g, s, t, lr=0.1, etas=(0.5, 1.2), step_sizes=(0.01, 0.15)):
    turn = np.sign(g * s.get("prev", np.zeros_like(g)))
    factor = np.where(turn > 0, etas[1], np.where(turn < 0, etas[0], 1.0))
    s["size"] = np.clip(s.get("size", lr) * factor, *step_sizes)
    s["prev"] = g = np.where(turn < 0, 0, g)
    return p - np.sign(g) * s["size"]


def asgd(p, g, s, t, lr=0.1, lambd=0.01, alpha=0.75, t0=2, weight_decay=0.1):
    eta = s.get("eta", lr)
    g = g + weight_decay * p
    p = p * (1 - lambd * eta) - eta * g
    s["eta"] = lr / (1 + lambd * lr * t) ** alpha
    return p


def adafactor(p, g, s, t, lr=0.1, weight_decay=0.1):
    new, rate, eps = t**-0.8, min(lr, 1 / math.sqrt(t)), np.finfo("f8").eps
    size = max(1e-3, math.sqrt((p**2).mean())) * rate
    p = p * (1 - lr * weight_decay)
    if g.ndim < 2:
        v = s["v"] = s.get("v", 0) * (1 - new) + new * g * g
    else:
        s["r"] = s.get("r", 0) * (1 - new) + new * (g * g).mean(-1, keepdims=True)
        s["c"] = s.get("c", 0) * (1 - new) + new * (g * g).mean(-2, keepdims=True)
        v = s["r"] @ s["c"] / np.maximum(s["r"].mean(-2, keepdims=True), eps)
    update = g / np.sqrt(np.maximum(v, eps**2))
    return p - size * update / max(1, math.sqrt((update**2).mean()))


FORMULAS = {
    "SGD": sgd, "Adam": adam, "AdamW": adamw, "Adamax": adamax, "NAdam": nadam, "RAdam": radam, "Adagrad": adagrad,
    "Adadelta": adadelta, "RMSprop": rmsprop, "Rprop": rprop, "ASGD": asgd, "Adafactor": adafactor,
}  # fmt: skip
FORMS = ({}, {"foreach": False}, {"foreach": True}, {"fused": True}, {"differentiable": True})


def options_of(name):
    function = FORMULAS[name]
    named = dict(
        zip(
            function.__code__.co_varnames[4 : function.__code__.co_argcount],
            function.__defaults__,
            strict=True,
        )
    )
    return named


def accepts(name, form):
    return all(option in getattr(tt.optim, name).__init__.__annotations__ for option in form)


def gradients(values, t):
    return [np.asarray(np.cos(v * 3 + t) + 0.1) for v in values]


CASES = [pytest.param(name, form, id=f"{name}-{'-'.join(form) or 'default'}-{maximize}", marks=[])
         for name in FORMULAS for form in FORMS for maximize in ("",) if accepts(name, form)]  # fmt: skip


@pytest.mark.parametrize(("name", "form"), CASES)
@pytest.mark.parametrize("maximize", [False, True])
def test_steps_are_those_of_the_formula(name, form, maximize):
    rng = np.random.default_rng(1)
    values = [rng.standard_normal(shape) for shape in SHAPES]
    leaves = [tt.tensor(v, requires_grad=True) for v in values]
    params = [p.clone() for p in leaves] if form.get("differentiable") else leaves
    for p in params:
        p.retain_grad()
    options = options_of(name)
    groups = [{"params": params[:1]}, {"params": params[1:]}]
    optimizer = getattr(tt.optim, name)(groups, **options, **form, maximize=maximize)
    states = [{} for _ in values]
    for t in range(1, STEPS + 1):
        grads = gradients(values, t)
        for p, g in zip(params, grads, strict=True):
            p.grad = tt.tensor(g)
        optimizer.step()
        sign = -1 if maximize else 1
        values = [
            FORMULAS[name](v, sign * g, s, t, **options)
            for v, g, s in zip(values, grads, states, strict=True)
        ]
    for p, v in zip(params, values, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), v, rtol=1e-6, atol=1e-9)
    if form.get("differentiable"):
        sum(p.sum() for p in params).backward()
        assert all(leaf.grad is not None for leaf in leaves)


def trained(name, params, steps=3, **options):
    optimizer = getattr(tt.optim, name)(params, **options)
    step(optimizer, params, steps)
    return optimizer


def step(optimizer, params, steps=1):
    for _ in range(steps):
        for p in params:
            p.grad = (p.detach() * 2 + 1).cos()
        optimizer.step()


def params_of(dtype=tt.float32):
    return [tt.linspace(-1, 1, 6).to(dtype).requires_grad_(), tt.ones(2, 2, dtype=dtype, requires_grad=True)]


ALL = ["SGD", *[name for name in FORMULAS if name != "SGD"]]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("how", ["state dict", "deepcopy", "pickle"])
def test_a_run_continues_where_it_was(name, how):
    options = {"momentum": 0.9} if name == "SGD" else {}
    params = params_of()
    optimizer = trained(name, params, **options)
    if how == "state dict":
        others = [p.detach().clone().requires_grad_() for p in params]
        second = getattr(tt.optim, name)(others, **options)
        second.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    elif how == "deepcopy":
        second = copy.deepcopy(optimizer)
        others = second.param_groups[0]["params"]
    else:
        second = pickle.loads(pickle.dumps(optimizer))
        others = second.param_groups[0]["params"]
    assert isinstance(second, Optimizer)
    step(optimizer, params, 2)
    step(second, others, 2)
    for one, two in zip(params, others, strict=True):
        np.testing.assert_array_equal(one.detach().numpy(), two.detach().numpy())


@pytest.mark.parametrize("name", ALL)
def test_every_dtype_is_trained_and_halves_agree_roughly(name):
    wide = params_of(tt.float64)
    trained(name, wide)
    for dtype, tolerance in ((tt.float32, 1e-4), (tt.float16, 2e-2), (tt.bfloat16, 1e-1)):
        params = params_of(dtype)
        optimizer = trained(name, params)
        for p, w in zip(params, wide, strict=True):
            assert p.dtype is dtype
            np.testing.assert_allclose(
                p.detach().double().numpy(), w.detach().numpy(), atol=tolerance, rtol=tolerance
            )
        for state in optimizer.state.values():
            assert state.get("step") is None or state["step"].dtype is tt.float32


@pytest.mark.parametrize("name", [name for name in ALL if name != "Adafactor"])
@pytest.mark.parametrize("foreach", [None, True, False])
def test_complex_parameters_are_pairs_of_real_ones(name, foreach):
    real = [tt.tensor([[0.5, -1.0], [2.0, 0.25]], requires_grad=True)]
    both = [tt.view_as_complex(real[0].detach().clone()).requires_grad_()]
    optimizers = [getattr(tt.optim, name)(p, lr=0.1, foreach=foreach) for p in (real, both)]
    for t in range(3):
        grad = (real[0].detach() + t).cos()
        real[0].grad, both[0].grad = grad, tt.view_as_complex(grad.clone())
        for optimizer in optimizers:
            optimizer.step()
    np.testing.assert_allclose(tt.view_as_real(both[0].detach()).numpy(), real[0].detach().numpy(), rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in ALL if name not in ("SGD", "Adagrad")])
def test_sparse_gradients_are_refused(name):
    p = tt.ones(3, requires_grad=True)
    p.grad = tt.sparse_coo_tensor([[1]], [4.0], (3,))
    with pytest.raises(RuntimeError, match="does not support sparse gradients"):
        getattr(tt.optim, name)([p]).step()


@pytest.mark.parametrize("name", ["SGD", "Adagrad"])
@pytest.mark.parametrize("maximize", [False, True])
def test_sparse_gradients_change_what_they_have(name, maximize):
    params = [tt.ones(4, 2, requires_grad=True) for _ in range(2)]
    optimizers = [getattr(tt.optim, name)([p], lr=0.1, maximize=maximize) for p in params]
    for _ in range(3):
        grad = tt.sparse_coo_tensor([[1, 3, 1]], [[1.0, 2.0], [3.0, 4.0], [0.5, 0.5]], (4, 2))
        params[0].grad, params[1].grad = grad, grad.to_dense()
        for optimizer in optimizers:
            optimizer.step()
    np.testing.assert_allclose(params[0].detach().numpy(), params[1].detach().numpy(), rtol=1e-6)


def test_sgd_with_momentum_takes_sparse_gradients():
    params = [tt.ones(4, requires_grad=True) for _ in range(2)]
    optimizers = [tt.optim.SGD([p], lr=0.1, momentum=0.9, nesterov=True) for p in params]
    for n in range(3):
        grad = tt.sparse_coo_tensor([[n, 3]], [1.0, 2.0], (4,))
        params[0].grad, params[1].grad = grad, grad.to_dense()
        for optimizer in optimizers:
            optimizer.step()
    np.testing.assert_allclose(params[0].detach().numpy(), params[1].detach().numpy(), rtol=1e-6)


def test_sparse_adam_changes_only_rows_with_gradients():
    values, state = np.ones((4, 2)), {}
    p = tt.tensor(values, requires_grad=True)
    optimizer = tt.optim.SparseAdam([p], lr=0.1, betas=(0.8, 0.9), eps=1e-3)
    grad = np.array([[1.0, 2.0], [3.0, 4.0]])
    rows = values[[1, 3]]
    for t in range(1, 4):
        p.grad = tt.sparse_coo_tensor([[1, 3]], grad * t, (4, 2))
        optimizer.step()
        m, v = moments(state, grad * t, 0.8, 0.9)
        rows = rows - 0.1 * math.sqrt(1 - 0.9**t) / (1 - 0.8**t) * m / (np.sqrt(v) + 1e-3)
    np.testing.assert_allclose(p.detach().numpy()[[1, 3]], rows, rtol=1e-6)
    np.testing.assert_array_equal(p.detach().numpy()[[0, 2]], 1)
    assert optimizer.state[p]["step"] == 3
    p.grad = tt.ones(4, 2, dtype=tt.float64)
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        optimizer.step()


def test_muon_makes_updates_orthogonal():
    for shape in ((5, 3), (3, 5), (4, 4)):
        p = tt.zeros(shape, requires_grad=True)
        p.grad = tt.tensor(np.random.default_rng(0).standard_normal(shape).astype("f4"))
        tt.optim.Muon([p], lr=1.0, weight_decay=0.0).step()
        sizes = np.linalg.svd(p.detach().numpy(), compute_uv=False) / math.sqrt(max(1, shape[0] / shape[1]))
        assert sizes.min() > 0.5
        assert sizes.max() < 1.4
    with pytest.raises(ValueError, match="2D parameters"):
        tt.optim.Muon([tt.ones(2)])
    with pytest.raises(ValueError, match="Adjust learning rate function x"):
        tt.optim.Muon([tt.ones(2, 2)], adjust_lr_fn="x")


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_lbfgs_finds_the_minimum_of_rosenbrock(line_search):
    p = tt.tensor([-0.5, 0.8], dtype=tt.float64, requires_grad=True)
    optimizer = tt.optim.LBFGS([p], lr=1 if line_search else 0.2, max_iter=300, line_search_fn=line_search)

    def closure():
        optimizer.zero_grad()
        loss = (1 - p[0]) ** 2 + 10 * (p[1] - p[0] ** 2) ** 2
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    np.testing.assert_allclose(p.detach().numpy(), [1, 1], atol=1e-3)
    with pytest.raises(ValueError, match="parameter groups"):
        tt.optim.LBFGS([{"params": [p]}, {"params": [tt.ones(1)]}])


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad", "Adamax", "RMSprop"])
def test_rates_may_be_tensors(name):
    params = [params_of(), params_of()]
    trained(name, params[0], lr=0.25)
    trained(name, params[1], lr=tt.tensor(0.25))
    for one, two in zip(*params, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), two.detach().numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in FORMULAS if name not in ("Adafactor", "Rprop", "ASGD")])
def test_a_differentiable_step_gives_the_gradient_of_its_rate(name):
    def loss(rate):
        p = tt.tensor([2.0, -1.0], dtype=tt.float64, requires_grad=True).clone()
        optimizer = getattr(tt.optim, name)([p], lr=rate, differentiable=True)
        for n in range(2):
            p.grad = tt.tensor([0.5, -2.0], dtype=tt.float64) * (n + 1)
            optimizer.step()
        return (p * p).sum()

    rate = tt.tensor(0.1, dtype=tt.float64, requires_grad=True)
    loss(rate).backward()
    above, below = (float(loss(tt.tensor(r, dtype=tt.float64)).detach()) for r in (0.1 + 1e-6, 0.1 - 1e-6))
    numeric = (above - below) / 2e-6
    assert float(rate.grad) == pytest.approx(numeric, rel=1e-4)


def test_scaled_gradients_are_unscaled_and_infinite_ones_leave_the_step_out():
    p = tt.ones(3, requires_grad=True)
    optimizer = tt.optim.Adam([p], lr=0.1, fused=True)
    for found, steps in ((1.0, 0.0), (0.0, 1.0)):
        p.grad = tt.full((3,), 8.0)
        optimizer.grad_scale, optimizer.found_inf = tt.tensor(4.0), tt.tensor(found)
        optimizer.step()
        assert float(optimizer.state[p]["step"]) == steps
    np.testing.assert_allclose(optimizer.state[p]["exp_avg"].numpy(), 0.2, rtol=1e-6)


@pytest.mark.parametrize("name", ["Adam", "RMSprop", "Adadelta", "NAdam", "ASGD"])
def test_capturable_needs_a_device_that_captures(name):
    p = tt.ones(2, requires_grad=True)
    p.grad = tt.ones(2)
    with pytest.raises(AssertionError, match="capturable=True"):
        getattr(tt.optim, name)([p], capturable=True).step()


@pytest.mark.parametrize(("name", "options", "message"), [
    ("Adam", {"lr": -1.0}, "Invalid learning rate: -1"),
    ("Adam", {"lr": tt.ones(2)}, "Tensor lr must be 1-element"),
    ("Adam", {"betas": (1.0, 0.0)}, "Invalid beta parameter at index 0: 1.0"),
    ("Adam", {"eps": -1.0}, "Invalid epsilon value: -1"),
    ("Adam", {"lr": tt.tensor(0.1), "foreach": True}, "lr as a Tensor is not supported"),
    ("Adam", {"betas": (tt.tensor(0.1), 0.2)}, "both floats or both Tensors"),
    ("SGD", {"momentum": -0.5}, "Invalid momentum value: -0.5"),
    ("SGD", {"nesterov": True}, "Nesterov momentum requires"),
    ("Rprop", {"etas": (1.0, 0.5)}, "Invalid eta values: 1.0, 0.5"),
    ("Adadelta", {"rho": 1.1}, "Invalid rho value: 1.1"),
    ("Adagrad", {"lr_decay": -0.5}, "Invalid lr_decay value: -0.5"),
    ("NAdam", {"momentum_decay": -0.2}, "Invalid momentum_decay value: -0.2"),
    ("Adafactor", {"d": 0.0}, "Clipping threshold d should be >= 1"),
    ("Adafactor", {"beta2_decay": 0.8}, "beta2_decay should be <= 0"),
    ("Adafactor", {"eps": (-1.0, 1.0)}, "epsilon1 should be >= 0"),
])  # fmt: skip
def test_wrong_options_are_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        getattr(tt.optim, name)([tt.ones(2, requires_grad=True)], **options)


def test_forms_that_exclude_each_other_are_refused():
    p = [tt.ones(2, requires_grad=True)]
    with pytest.raises(RuntimeError, match="`fused` and `foreach` cannot be `True` together"):
        tt.optim.SGD(p, fused=True, foreach=True)
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        tt.optim.Adam(p, fused=True, differentiable=True)


# --- jagged parameters --------------------------------------------------------------------------------------------

ELEMENTWISE = (
    "SGD",
    "Adam",
    "AdamW",
    "Adagrad",
    "RMSprop",
    "Adadelta",
    "Adamax",
    "ASGD",
    "NAdam",
    "RAdam",
    "Rprop",
)


def steps_of(name, ragged, **options):
    """Take steps with a jagged and a strided parameter, or with two strided ones, and return the values."""
    start = tt.tensor([1.0, -2.0, 3.0, 0.5, 2.0])
    first = tt.nn.Parameter(
        tt.nested.nested_tensor_from_jagged(start, tt.tensor([0, 2, 5])) if ragged else start
    )
    second = tt.nn.Parameter(tt.ones(3))
    optimizer = getattr(tt.optim, name)([first, second], lr=0.03, **options)
    for _ in range(3):
        optimizer.zero_grad()
        square = first * first
        ((square.values() if ragged else square).sum() + second.exp().sum()).backward()
        optimizer.step()
    detached = first.detach()
    return (detached.values() if ragged else detached).tolist() + second.tolist()


@pytest.mark.parametrize("options", [{}, {"foreach": True}, {"foreach": False}, {"maximize": True}], ids=str)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_jagged_parameters_are_trained_as_their_values_are(name, options):
    assert steps_of(name, True, **options) == pytest.approx(steps_of(name, False, **options), rel=1e-5)


def test_fused_steps_of_jagged_parameters_are_refused_only_if_they_are_asked_for():
    with pytest.raises(RuntimeError, match="`fused=True` requires all the params to be strided"):
        steps_of("Adam", True, fused=True)
