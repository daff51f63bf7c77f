"""Optimizers against PyTorch's: its own inputs, 50 steps in each form, state dicts both ways, errors."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import tt

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")
optim_db = pytest.importorskip("torch.testing._internal.common_optimizers").optim_db

STEPS = 50
SHAPES = ((10,), (4, 3), (), (3, 2, 2))
MATRICES = ((4, 3), (3, 5), (2, 2))
NAMES = [info.name for info in optim_db]


def inputs():
    """Yield optimizers and options of PyTorch's own tests."""
    for info in optim_db:
        for number, given in enumerate(info.optim_inputs_func(device="cpu")):
            yield pytest.param(info.name, given.kwargs, id=f"{info.name}-{number}-{given.desc}")


def convert(value):
    """Return options or a state of PyTorch's with tt's tensors."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        if value.dtype == torch.bfloat16:
            return tt.tensor(value.float().numpy()).to(tt.bfloat16)
        return tt.tensor(value.cpu().numpy())
    if isinstance(value, dict):
        return {key: convert(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(convert(item) for item in value)
    return value


def back(value):
    """Return a state of tt's with PyTorch's tensors."""
    if tt.is_tensor(value):
        return torch.tensor(np.array(value.detach()))
    if isinstance(value, dict):
        return {key: back(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(back(item) for item in value)
    return value


class Pair:
    """The same parameters in both libraries, trained on the same gradients."""

    def __init__(self, name, options, dtype="float32", **form):
        rng = np.random.default_rng(3)
        shapes = MATRICES if name == "Muon" else SHAPES
        self.values = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
        if np.dtype(dtype).kind == "c":
            self.values = [v + 1j * rng.standard_normal(v.shape).astype(dtype) for v in self.values]
        self.targets = [rng.standard_normal(v.shape).astype(dtype) for v in self.values]
        self.theirs = [torch.tensor(v, requires_grad=True) for v in self.values]
        self.ours = [tt.tensor(v, requires_grad=True) for v in self.values]
        self.reference = getattr(torch.optim, name)(self.theirs, **options)
        self.optimizer = getattr(tt.optim, name)(self.ours, **convert(options), **form)

    def step(self):
        def closure(lib, params, optimizer):
            def loss():
                optimizer.zero_grad()
                total = sum(
                    ((p - lib.tensor(t)).abs() ** 2).sum() * (1 + 0.1 * i)
                    for i, (p, t) in enumerate(zip(params, self.targets, strict=True))
                )
                total.backward()
                return total

            return loss

        self.reference.step(closure(torch, self.theirs, self.reference))
        self.optimizer.step(closure(tt, self.ours, self.optimizer))

    def check(self, rtol=2e-4, atol=2e-5):
        for mine, theirs in zip(self.ours, self.theirs, strict=True):
            np.testing.assert_allclose(np.array(mine.detach()), theirs.detach().numpy(), rtol=rtol, atol=atol)

    def tolerance(self, name):
        return {"rtol": 2e-2, "atol": 2e-2} if name == "Muon" else {}


def forms(name):
    info = next(info for info in optim_db if info.name == name)
    yield {}
    if "foreach" in info.supported_impls:
        yield {"foreach": True}
        yield {"foreach": False}
    if "fused" in info.supported_impls:
        yield {"fused": True}


@pytest.mark.sampled(5)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "options"), [p for p in inputs() if p.values[0] != "SparseAdam"])
def test_fifty_steps_in_every_form(name, options):
    for form in forms(name):
        if form.get("foreach") and isinstance(options.get("lr"), torch.Tensor) and name in ("Adam", "AdamW"):
            continue
        used = {
            k: v for k, v in options.items() if k not in ("foreach", "fused", "capturable", "differentiable")
        }
        pair = Pair(name, used, **form)
        for _ in range(STEPS if name != "LBFGS" else 8):
            pair.step()
        pair.check(**pair.tolerance(name))
        mine, theirs = pair.optimizer.state_dict(), pair.reference.state_dict()
        compare_states(name, mine, theirs)


def compare_states(name, mine, theirs):
    assert list(mine) == list(theirs)
    for one, other in zip(mine["param_groups"], theirs["param_groups"], strict=True):
        assert list(one) == list(other)
        for key in one:
            if key not in ("foreach", "fused", "lr"):
                assert type(one[key]) is type(other[key]) or tt.is_tensor(one[key]), key
    assert list(mine["state"]) == list(theirs["state"])
    if name == "LBFGS":
        return
    for number in theirs["state"]:
        one, other = mine["state"][number], theirs["state"][number]
        assert list(one) == list(other)
        for key, value in other.items():
            if isinstance(value, torch.Tensor):
                assert str(one[key].dtype).split(".")[-1] == str(value.dtype).split(".")[-1]
                np.testing.assert_allclose(np.array(one[key]), value.numpy(), rtol=1e-3, atol=2e-4)
            else:
                assert one[key] == value


# --- state dicts ------------------------------------------------------------------------------------------------

TRAINED = [name for name in NAMES if name not in ("SparseAdam", "LBFGS")]
OPTIONS = {
    "SGD": {"momentum": 0.9},
    "RMSprop": {"momentum": 0.9, "centered": True},
    "Adam": {"amsgrad": True},
}


@pytest.mark.parametrize("direction", ["to tt", "to torch"])
@pytest.mark.parametrize("name", TRAINED)
def test_state_dicts_are_exchanged(name, direction):
    options = OPTIONS.get(name, {})
    first, second = Pair(name, options), Pair(name, options)
    for _ in range(4):
        first.step()
    with torch.no_grad():
        for mine, theirs, ours, old in zip(second.ours, second.theirs, first.ours, first.theirs, strict=True):
            theirs.copy_(old)
            mine.data = tt.tensor(old.detach().numpy()) if direction == "to tt" else ours.detach().clone()
    if direction == "to tt":
        second.optimizer.load_state_dict(convert(first.reference.state_dict()))
        second.reference.load_state_dict(first.reference.state_dict())
    else:
        second.optimizer.load_state_dict(first.optimizer.state_dict())
        second.reference.load_state_dict(back(first.optimizer.state_dict()))
    for _ in range(4):
        second.step()
    second.check(**second.tolerance(name))
    compare_states(name, second.optimizer.state_dict(), second.reference.state_dict())


@pytest.mark.parametrize("name", [n for n in TRAINED if n not in ("Adafactor", "Muon")])
@pytest.mark.parametrize("foreach", [None, True])
def test_complex_parameters(name, foreach):
    pair = Pair(name, {}, dtype="complex64", foreach=foreach)
    for _ in range(5):
        pair.step()
    pair.check()


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("options", [{}, {"maximize": True, "lr": 0.01}, {"betas": (0.5, 0.6), "eps": 0.1}])
def test_sparse_adam(options):
    values = np.random.default_rng(0).standard_normal((5, 2)).astype("f4")
    params = {lib: lib.tensor(values, requires_grad=True) for lib in (tt, torch)}
    optimizers = {lib: lib.optim.SparseAdam([p], **options) for lib, p in params.items()}
    for n in range(STEPS):
        for lib, optimizer in optimizers.items():
            entries = lib.tensor([[1.0, n], [0.5, -1.0], [2.0, 2.0]])
            params[lib].grad = lib.sparse_coo_tensor([[n % 5, 3, n % 5]], entries, (5, 2))
            optimizer.step()
    np.testing.assert_allclose(
        params[tt].detach().numpy(), params[torch].detach().numpy(), rtol=1e-4, atol=1e-6
    )
    mine, theirs = optimizers[tt].state_dict(), optimizers[torch].state_dict()
    compare_states("SparseAdam", mine, theirs)


@pytest.mark.parametrize("options", [{}, {"line_search_fn": "strong_wolfe", "history_size": 3}])
def test_state_dicts_of_lbfgs_are_exchanged(options):
    first, second = (Pair("LBFGS", {"max_iter": 3, **options}) for _ in range(2))
    for _ in range(3):
        first.step()
    mine, theirs = first.optimizer.state_dict(), first.reference.state_dict()
    assert set(mine["state"][0]) == set(theirs["state"][0])
    for key, value in theirs["state"][0].items():
        assert tt.is_tensor(mine["state"][0][key]) == isinstance(value, torch.Tensor), key
        assert isinstance(value, torch.Tensor) or type(mine["state"][0][key]) is type(value), key
    with torch.no_grad():
        for ours, other, old in zip(second.ours, second.theirs, first.theirs, strict=True):
            other.copy_(old)
            ours.data = tt.tensor(old.detach().numpy())
    second.optimizer.load_state_dict(convert(theirs))
    second.reference.load_state_dict(back(mine))
    for _ in range(2):
        second.step()
    second.check()


@pytest.mark.parametrize(
    "most", [{"max_eval": 4, "max_iter": 9}, {"max_iter": 5}, {"max_iter": 1, "max_eval": 1}]
)
def test_line_searches_try_no_more_points_than_lbfgs_may_evaluate(most):
    def fitted(lib):
        weights = [[0.3, -0.8, 0.5, 1.1], [0.2, 0.4, -0.6, 0.1], [0.9, -0.2, 0.7, -0.5]]
        params = [lib.tensor(row, dtype=lib.float64, requires_grad=True) for row in weights]
        x = lib.linspace(-2, 2, 20, dtype=lib.float64).unsqueeze(1)
        optimizer = lib.optim.LBFGS(params, line_search_fn="strong_wolfe", **most)

        def closure():
            optimizer.zero_grad()
            loss = (((x * params[0] + params[1]).tanh() @ params[2] - (2 * x[:, 0]).sin()) ** 2).mean()
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(4)]
        return losses, optimizer.state_dict()["state"][0]["func_evals"]

    (ours, evaluations), (theirs, expected) = fitted(tt), fitted(torch)
    assert evaluations == expected
    np.testing.assert_allclose(ours, theirs, rtol=1e-8)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_state_dicts_of_sparse_adam_are_exchanged():
    def trained(lib, state=None):
        param = lib.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        optimizer = lib.optim.SparseAdam([param], lr=0.1)
        if state is not None:
            optimizer.load_state_dict(state)
        for _ in range(3):
            param.grad = lib.sparse_coo_tensor([[1]], lib.tensor([[0.5, -1.0]]), (2, 2))
            optimizer.step()
        return param.detach().numpy(), optimizer.state_dict()

    (_, mine), (_, theirs) = trained(tt), trained(torch)
    compare_states("SparseAdam", mine, theirs)
    (ours, mine), (other, theirs) = trained(tt, convert(theirs)), trained(torch, back(mine))
    np.testing.assert_allclose(ours, other, rtol=1e-5)
    compare_states("SparseAdam", mine, theirs)


# --- errors -----------------------------------------------------------------------------------------------------


def mistakes():
    """Return the wrong inputs of PyTorch's own tests."""
    for info in optim_db:
        for number, error in enumerate(info.optim_error_inputs_func(device="cpu", dtype=torch.float32)):
            yield pytest.param(info.name, error, id=f"{info.name}-{number}")


def wrong_params(params):
    """Return the parameters of a wrong input with tt's tensors, one for each of PyTorch's."""
    known = {}

    def made(value):
        if isinstance(value, torch.Tensor):
            if id(value) not in known:
                if value.is_sparse:
                    new = tt.sparse_coo_tensor(
                        convert(value._indices()), convert(value._values()), tuple(value.shape)
                    )
                else:
                    new = convert(value)
                known[id(value)] = new.requires_grad_(value.requires_grad)
                if value.grad is not None:
                    known[id(value)].grad = convert(value.grad)
            return known[id(value)]
        if isinstance(value, dict):
            return {key: made(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(made(item) for item in value)
        return value

    return made(params)


@pytest.mark.parametrize(("name", "error"), list(mistakes()))
def test_errors_are_those_of_pytorch(name, error):
    given = error.optimizer_error_input
    params, options = wrong_params(given.params), convert(given.kwargs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error.error_type) as caught:
            optimizer = getattr(tt.optim, name)(params, **options)
            if str(error.error_on).endswith("STEP_ERROR"):
                optimizer.step()
    assert re.search(error.error_regex, str(caught.value))
