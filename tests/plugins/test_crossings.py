"""Layouts and wrapper tensors met by everything that handles tensors: equal to plain tensors, or a clear refusal.

Each scenario is written once, over functions that make a tensor of five numbers and give the numbers back, and runs
with plain tensors and with every other kind.  A refusal is written down with its error; all else has to be equal.
"""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import tt
from tt.autograd import forward_ad
from tt.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from tt.utils._pytree import tree_map_only
from tt.utils.checkpoint import checkpoint

START = (1.0, -2.0, 3.0, 0.5, 2.0)


class Wrapped(tt.Tensor):
    """Holds a tensor, and computes with it."""

    @staticmethod
    def __new__(cls, inner):
        new = tt.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, strides=inner.stride())
        new.inner = inner
        return new

    __tt_function__ = tt.overrides.disabled_tt_function_impl

    @classmethod
    def __tt_dispatch__(cls, func, types, args=(), kwargs=None):
        args, kwargs = tree_map_only(cls, lambda t: t.inner, (args, kwargs or {}))
        return tree_map_only(tt.Tensor, lambda t: t if isinstance(t, cls) else cls(t), func(*args, **kwargs))


class Wrap(tt.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return Wrapped(x.detach())

    @staticmethod
    def backward(ctx, g):
        return Unwrap.apply(g)


class Unwrap(tt.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.inner.clone()

    @staticmethod
    def backward(ctx, g):
        return Wrap.apply(g)


def csr(v):
    return tt.sparse_csr_tensor(tt.tensor([0, 5]), tt.arange(5), v, (1, 5))


def bsr(v):
    return tt.sparse_bsr_tensor(tt.tensor([0, 1]), tt.tensor([0]), v.reshape(1, 1, 5), (1, 5))


KINDS = {
    "wrapper": (Wrapped, lambda x: Unwrap.apply(x) if isinstance(x, Wrapped) else x),
    "sparse_coo": (
        lambda v: tt.sparse_coo_tensor(tt.arange(5)[None], v, (5,), is_coalesced=True), lambda x: x.to_dense()
    ),
    "sparse_csr": (csr, lambda x: x.to_dense().reshape(-1)),
    "sparse_bsr": (bsr, lambda x: x.to_dense().reshape(-1)),
    "jagged": (
        lambda v: tt.nested.nested_tensor_from_jagged(v, tt.tensor([0, 2, 5])), lambda x: x.values()
    ),
    "quantized": (lambda v: tt.quantize_per_tensor(v, 0.5, 0, tt.qint8), lambda x: x.dequantize()),
}  # fmt: skip
PLAIN = (lambda v: v, lambda x: x)

# --- scenarios ---------------------------------------------------------------------------------------------------


def numbers():
    return tt.tensor(START)


def through_file(x):
    file = io.BytesIO()
    tt.save(x, file)
    file.seek(0)
    return tt.load(file, weights_only=False)


def in_place(make, plain):
    x = make(numbers())
    version = x._version
    assert x.mul_(2) is x and x.neg_() is x and x._version == version + 2
    return plain(x)


def in_place_with_history(make, plain):
    x = make(numbers()).requires_grad_()
    y = x * 3
    y.mul_(2)
    plain(y * y).sum().backward()
    return plain(x.grad)


def a_change_of_what_is_saved(make, plain):
    x = make(numbers()).requires_grad_()
    y = x * x
    with tt.no_grad():
        x.mul_(2)
    with pytest.raises(tt.errors.SavedTensorError):
        plain(y).sum().backward()
    return tt.zeros(1)


def a_detached_view(make, plain):
    x = make(numbers()).requires_grad_()
    y = x.detach()
    with tt.no_grad():
        y.mul_(2)
    assert not y.requires_grad and x._version == y._version == 1
    return plain(x.detach())


def double_backward(make, plain):
    x = make(numbers()).requires_grad_()
    (first,) = tt.autograd.grad(plain(x * x * x).sum(), x, create_graph=True)
    (second,) = tt.autograd.grad(plain(first).sum(), x)
    return plain(second)


def gradient_by_grad(make, plain):
    return plain(grad(lambda x: plain(x * x * x).sum())(make(numbers())))


def gradient_by_vjp(make, plain):
    result, pull = vjp(lambda x: plain(x * x), make(numbers()))
    return tt.cat([result, plain(pull(tt.ones(5))[0])])


def bare(x, plain):
    """Return a result as a plain tensor; a Function unwraps nothing below a transform."""
    return plain(x) if isinstance(x, Wrapped) else x


def tangent_by_jvp(make, plain):
    result, tangent = jvp(lambda x: plain(x * x), (make(numbers()),), (make(numbers() + 1),))
    return tt.cat([bare(result, plain), bare(tangent, plain)])


def tangent_by_dual_numbers(make, plain):
    with forward_ad.dual_level():
        x = forward_ad.make_dual(make(numbers()), make(numbers() + 1))
        return tt.cat([bare(part, plain) for part in forward_ad.unpack_dual(plain(x * x))])


def jacobian(function):
    def scenario(make, plain):
        return plain(function(lambda x: plain(x * x * x).sum())(make(numbers())))

    return scenario


def second_derivative(make, plain):
    return bare(hessian(lambda x: plain(x * x * x).sum())(make(numbers())), plain).flatten()


def examples(make, plain):
    return vmap(lambda c: plain(make(numbers() * c) * 2))(tt.tensor([1.0, 3.0])).flatten()


def captured_by_examples(make, plain):
    x = make(numbers())
    return bare(vmap(lambda c: plain(x * c))(tt.tensor([1.0, 3.0])), plain).flatten()


def examples_of_it(make, plain):
    both = tt.stack([make(numbers()), make(numbers() * 2)])
    return bare(vmap(lambda v: plain(v * v))(both), plain).flatten()


def gradients_of_examples(make, plain):
    x = make(numbers())
    return bare(vmap(grad(lambda c: plain(x * c * c).sum()))(tt.tensor([1.0, 3.0])), plain)


def stepped(name):
    def scenario(make, plain):
        p = tt.nn.Parameter(make(numbers()))
        optimizer = getattr(tt.optim, name)([p], lr=0.03)
        for _ in range(3):
            optimizer.zero_grad()
            plain(p * p).sum().backward()
            optimizer.step()
        return plain(p.detach())

    return scenario


def clipped(make, plain):
    p = tt.nn.Parameter(make(numbers()))
    plain(p * p).sum().backward()
    norm = tt.nn.utils.clip_grad_norm_([p], 1.0)
    norm = plain(norm) if isinstance(norm, Wrapped) else norm
    return tt.cat([norm.reshape(1), plain(p.grad)])


def clipped_by_value(make, plain):
    p = tt.nn.Parameter(make(numbers()))
    plain(p * p).sum().backward()
    tt.nn.utils.clip_grad_value_([p], 1.5)
    return plain(p.grad)


def clipped_by(order, foreach=None):
    def scenario(make, plain):
        p, q = (tt.nn.Parameter(make(numbers() * i)) for i in (1, 2))
        (plain(p * p) * plain(q)).sum().backward()
        norm = tt.nn.utils.clip_grad_norm_([p, q], 1.0, order, foreach=foreach)
        norm = plain(norm) if isinstance(norm, Wrapped) else norm
        return tt.cat([norm.reshape(1), plain(p.grad), plain(q.grad)])

    return scenario


def checkpointed(reentrant):
    def scenario(make, plain):
        x = make(numbers()).requires_grad_()
        checkpoint(lambda a: plain(a * a * a), x, use_reentrant=reentrant).sum().backward()
        return plain(x.grad)

    return scenario


def copied(copier, gradient=True):
    def scenario(make, plain):
        x = make(numbers()).requires_grad_(gradient)
        y = copier(x)
        assert (type(y), y.layout, y.requires_grad, y.is_leaf) == (type(x), x.layout, gradient, True)
        with tt.no_grad():
            plain(y.detach()).mul_(0)
        return tt.cat([plain(x.detach()), tt.zeros(1)])

    return scenario


def copied_parameter(copier):
    def scenario(make, plain):
        p = tt.nn.Parameter(make(numbers()))
        p.grad = p.detach().clone()
        q = copier(p)
        assert isinstance(q, tt.nn.Parameter) and q.requires_grad and q.grad is None
        return plain(q.detach())

    return scenario


def state_dict(make, plain):
    one, other = tt.nn.Module(), tt.nn.Module()
    one.p, other.p = tt.nn.Parameter(make(numbers())), tt.nn.Parameter(make(numbers() * 2))
    other.load_state_dict(through_file(one.state_dict()))
    return plain(other.p.detach())


def loaded(workers):
    def scenario(make, plain):
        data = [make(numbers()), make(numbers() * 2)]
        loader = tt.utils.data.DataLoader(data, batch_size=None, num_workers=workers)
        return tt.cat([plain(x) for x in loader])

    return scenario


def collated(workers):
    def scenario(make, plain):
        data = [{"x": make(numbers() * i), "n": i} for i in (1, 2, 3)]
        loader = tt.utils.data.DataLoader(data, batch_size=2, num_workers=workers)
        rows = [row for batch in loader for row in batch["x"].unbind()]
        assert [batch["n"].tolist() for batch in loader] == [[1, 2], [3]]
        return tt.cat([plain(row) for row in rows])

    return scenario


def in_inference_mode(make, plain):
    with tt.inference_mode():
        x = make(numbers())
        y = x * 2
        y.add_(x)
        assert y.is_inference()
        return tt.cat([plain(y)]).clone()


SCENARIOS = {
    "in place": in_place,
    "in place with a history": in_place_with_history,
    "a change of what is saved": a_change_of_what_is_saved,
    "a detached view": a_detached_view,
    "double backward": double_backward,
    "grad": gradient_by_grad,
    "vjp": gradient_by_vjp,
    **{name: stepped(name) for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad")},
    "jvp": tangent_by_jvp,
    "dual numbers": tangent_by_dual_numbers,
    "jacrev": jacobian(jacrev),
    "jacfwd": jacobian(jacfwd),
    "hessian": second_derivative,
    "vmap": examples,
    "vmap with a captured tensor": captured_by_examples,
    "vmap over it": examples_of_it,
    "grad under vmap": gradients_of_examples,
    "clip_grad_norm_": clipped,
    "clip_grad_norm_, infinite": clipped_by(float("inf")),
    "clip_grad_norm_, one by one": clipped_by(3.0, foreach=False),
    "clip_grad_value_": clipped_by_value,
    "checkpoint": checkpointed(False),
    "reentrant checkpoint": checkpointed(True),
    "save": copied(through_file),
    "pickle": copied(lambda x: pickle.loads(pickle.dumps(x))),
    "deepcopy": copied(copy.deepcopy),
    "save without a gradient": copied(through_file, gradient=False),
    "deepcopy without a gradient": copied(copy.deepcopy, gradient=False),
    "save of a parameter": copied_parameter(through_file),
    "deepcopy of a parameter": copied_parameter(copy.deepcopy),
    "state dict": state_dict,
    "loader": loaded(0),
    "loader with a worker": loaded(1),
    "collation": collated(0),
    "collation with a worker": collated(1),
    "inference mode": in_inference_mode,
}

NO_GRADIENT = (tt.errors.GradientError, "floating point and complex tensors can require gradients, qint8")
NO_ARITHMETIC = (tt.errors.NoKernelError, "quantized")
DENSE_ONLY = (RuntimeError, "does not support sparse gradients")
OTHER_PATTERN = (tt.errors.LayoutError, "same number of specified elements")
REFUSED = {
    **{("quantized", name): NO_GRADIENT for name in SCENARIOS},
    ("quantized", "in place"): NO_ARITHMETIC,
    ("quantized", "inference mode"): NO_ARITHMETIC,
    ("sparse_coo", "Adagrad"): (TypeError, "cannot assign to parts of a tensor of the layout tt.sparse_coo"),
    **{("sparse_coo", name): DENSE_ONLY for name in ("Adam", "AdamW", "RMSprop")},
    **{(kind, name): OTHER_PATTERN for kind in ("sparse_csr", "sparse_bsr")
       for name in ("Adam", "AdamW", "RMSprop", "Adagrad")},
}  # fmt: skip
SPARSE = ("sparse_coo", "sparse_csr", "sparse_bsr")
NO_TANGENTS = (tt.errors.UnsupportedError, "forward mode has no tangents of tensors of layout tt.")
NO_BATCH = (tt.errors.LayoutError, r"Batches of (sparse|nested) tensors are not currently supported")
NO_STACK = (tt.errors.LayoutError, "the dimension of the batch stays the first one")
NO_BROADCAST = (tt.errors.ShapeError, r"mul\(\): a dense tensor of .* does not broadcast to")
for kind in (*SPARSE, "jagged"):
    for scenario in ("jvp", "dual numbers", "jacfwd", "hessian"):
        REFUSED[kind, scenario] = NO_TANGENTS
    for scenario in ("vmap with a captured tensor", "grad under vmap"):
        REFUSED[kind, scenario] = NO_BROADCAST
    for scenario in ("collation", "collation with a worker"):
        REFUSED[kind, scenario] = NO_BATCH
REFUSED["jagged", "vmap"] = REFUSED["jagged", "vmap over it"] = NO_STACK
REFUSED["wrapper", "jacrev"] = (
    tt.errors.ArgumentError,
    r"Wrap\(\): is mapped by vmap but has no rule for it",
)
REFUSED["quantized", "vmap with a captured tensor"] = REFUSED["quantized", "grad under vmap"] = NO_ARITHMETIC
REFUSED["quantized", "jvp"] = REFUSED["quantized", "dual numbers"] = (
    tt.errors.ValueRangeError,
    "tt.qint8, which has no derivative",
)
REFUSED["quantized", "jacfwd"] = REFUSED["quantized", "hessian"] = NO_TANGENTS
REFUSED["quantized", "vmap"] = REFUSED["quantized", "vmap over it"] = (
    tt.errors.UnsupportedError,
    "quantized tensors",
)
for scenario in ("collation", "collation with a worker"):
    del REFUSED["quantized", scenario]
for scenario in ("loader", "loader with a worker", "save without a gradient", "deepcopy without a gradient"):
    del REFUSED["quantized", scenario]


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_tensor_is_handled_as_plain_tensors_are_or_refused(kind, scenario):
    run = SCENARIOS[scenario]
    if (kind, scenario) in REFUSED:
        error, message = REFUSED[kind, scenario]
        with pytest.raises(error, match=message):
            run(*KINDS[kind])
        return
    expected = run(*PLAIN)
    result = run(*KINDS[kind])
    assert type(result) is tt.Tensor and result.layout is tt.strided
    assert result.tolist() == pytest.approx(expected.tolist(), rel=1e-5, abs=1e-6)
