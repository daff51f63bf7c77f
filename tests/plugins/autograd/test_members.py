"""Members that the plugin gives to tensors."""

from __future__ import annotations

import warnings

import pytest

import tt


def test_the_gradient_of_what_is_no_leaf_is_warned_of():
    x = tt.ones(2, requires_grad=True)
    y = x * 2
    with pytest.warns(UserWarning, match="not a leaf is read"):
        assert y.grad is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.grad is None and tt.ones(1).grad is None and y.detach().grad is None
        y.retain_grad()
        assert y.grad is None
        y.sum().backward()
        assert y.grad.tolist() == [1.0, 1.0]


def test_grad_has_a_second_name_that_never_warns():
    x = tt.ones(2, requires_grad=True)
    x._grad = tt.tensor([3.0, 4.0])
    assert x.grad.tolist() == [3.0, 4.0] and x._grad is x.grad
    with pytest.raises(RuntimeError, match="same shape"):
        x._grad = tt.ones(3)
    del x._grad
    assert x.grad is None and "_grad" not in x.__dict__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (x * 2)._grad is None and tt.ones(1)._grad is None


NESTINGS = {
    "jvp": lambda f, g, x, one: f.jvp(g, (x,), (one,)),
    "vmap": lambda f, g, x, one: f.vmap(g)(x),
    "grad": lambda f, g, x, one: f.grad(lambda v: g(v).sum())(x),
    "vjp": lambda f, g, x, one: f.vjp(g, x),
    "jacfwd": lambda f, g, x, one: f.jacfwd(g)(x),
    "jacrev": lambda f, g, x, one: f.jacrev(g)(x),
    "hessian": lambda f, g, x, one: f.hessian(lambda v: g(v).sum())(x),
    "grad of vmap": lambda f, g, x, one: f.grad(lambda v: f.vmap(g)(v).sum())(x),
    "vmap of grad": lambda f, g, x, one: f.vmap(f.grad(lambda v: g(v).sum()))(x),
    "grad of jvp": lambda f, g, x, one: f.grad(lambda v: f.jvp(g, (v,), (one,))[1].sum())(x),
    "jvp of grad": lambda f, g, x, one: f.jvp(f.grad(lambda v: g(v).sum()), (x,), (one,)),
    "vmap of vmap of grad": lambda f, g, x, one: f.vmap(f.vmap(f.grad(lambda v: g(v))))(x[None]),
}


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("kind", ["plain", "requires_grad", "frozen", "parameter"])
@pytest.mark.parametrize("nesting", NESTINGS)
def test_a_tensor_inside_of_transforms_shows_the_history_of_the_innermost(nesting, kind):
    torch = pytest.importorskip("torch")

    def shown(m):
        x = m.ones(3, requires_grad=kind == "requires_grad")
        if kind in ("frozen", "parameter"):
            x = m.nn.Parameter(x, requires_grad=kind == "parameter")
        seen = []

        def function(v):
            y = v * v * v
            seen.append((v.requires_grad, y.requires_grad, y.is_leaf, y.grad_fn is not None))
            return y

        results = NESTINGS[nesting](m.func, function, x, m.ones(3))
        results = [r for r in (results if isinstance(results, tuple) else (results,)) if not callable(r)]
        return seen[0], [(r.requires_grad, r.is_leaf) for r in results], x.requires_grad

    assert shown(tt) == shown(torch)


def test_requires_grad_cannot_be_deleted():
    x = tt.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot be deleted"):
        del x.requires_grad
    assert x.requires_grad


def test_calls_that_were_recorded_lead_to_a_leaf_that_requires_a_gradient_again():
    x = tt.ones(2, requires_grad=True)
    seen = []
    x.register_hook(lambda gradient: seen.append(gradient.tolist()))
    y = (x * 3).sum()
    x.requires_grad_(False)
    x.mul_(2)
    x.requires_grad_(True)
    z = (x * 5).sum()
    (y + z).backward()
    assert x.grad.tolist() == [8, 8] and seen == [[8, 8]]


def test_a_leaf_that_requires_no_gradient_now_gets_none_from_calls_recorded_before():
    x, w = (tt.ones(2, requires_grad=True) for _ in range(2))
    (x * 1).sum().backward()
    after = []
    x.register_post_accumulate_grad_hook(after.append)
    y = (x * w).sum()
    x.requires_grad = False
    y.backward()
    assert x.grad.tolist() == [1, 1] and w.grad.tolist() == [1, 1] and len(after) == 1
    x.requires_grad = True
    (x * w).sum().backward()
    assert x.grad.tolist() == [2, 2]
