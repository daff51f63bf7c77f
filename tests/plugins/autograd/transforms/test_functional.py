"""vmap and grad: against loops, and inside of each other."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt
from tt.func import grad, grad_and_value, vmap


def array(*shape: int, seed: int = 0) -> tt.Tensor:
    return tt.tensor(np.random.default_rng(seed).standard_normal(shape))


def loop(function: Callable[..., Any], *args: Any, in_dims: Any = 0) -> Any:
    dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
    count = next(a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None)
    rows = [
        function(*[a if d is None else a.select(d, i) for a, d in zip(args, dims, strict=True)])
        for i in range(count)
    ]
    return tt.stack(rows)


def same(found: Any, expected: Any) -> None:
    assert tuple(found.shape) == tuple(expected.shape)
    assert found.dtype is expected.dtype
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-12)


UNARY: dict[str, Callable[[Any], Any]] = {
    "pointwise": lambda x: (x * 2 + 1).exp() / (1 + x * x),
    "comparison": lambda x: tt.where(x > 0, x, x * x),
    "sum": lambda x: x.sum(),
    "sum along a dim": lambda x: x.sum(-1),
    "sum that keeps its dims": lambda x: x.sum((0, 1), keepdim=True),
    "mean and max": lambda x: x.mean(0) + x.amax(0) + x.max(0).values,
    "softmax": lambda x: x.softmax(-1) + x.log_softmax(0),
    "cumsum": lambda x: x.cumsum(1),
    "sort": lambda x: x.sort(0).values,
    "t": lambda x: x.t() @ x,
    "views": lambda x: x.transpose(0, 1).unsqueeze(-1).squeeze(-1).permute(1, 0).reshape(-1)[1:],
    "expand": lambda x: x[0].expand(2, 4) * x[1],
    "select and slice": lambda x: x[1, ::2] + x[0, 1:3],
    "split and cat": lambda x: tt.cat(x.split(2, 1)[::-1], 1) + tt.stack(x.unbind(0)),
    "flip": lambda x: x.flip((0,)),
    "linear": lambda x: tt.nn.functional.linear(x, array(5, 4, seed=3), array(5, seed=4)),
    "a vector in matmul": lambda x: x @ array(4, seed=5) + (array(3, seed=6) @ x).sum(),
    "an index": lambda x: x[tt.tensor([2, 0])],
    "gather": lambda x: x.gather(1, tt.tensor([[0, 1], [1, 2], [3, 3]])),
    "layer norm": lambda x: tt.nn.functional.layer_norm(x, (4,)),
    "nothing that is mapped": lambda x: tt.ones(2, dtype=tt.float64),
    "a change in place": lambda x: (x * 1).mul_(x).add_(1),
    "a change of a part": lambda x: _with_first_row(x),
}  # fmt: skip


def _with_first_row(x: Any) -> Any:
    y = x.clone()
    y[0].mul_(2)
    return y


@pytest.mark.parametrize("function", UNARY.values(), ids=UNARY)
@pytest.mark.parametrize("in_dim", [0, 1, -1])
def test_vmap_is_a_loop(function: Callable[[Any], Any], in_dim: int) -> None:
    x = _move(array(5, 3, 4), in_dim)
    same(vmap(function, in_dims=in_dim)(x), loop(function, x, in_dims=in_dim))


def _move(x: Any, dim: int) -> Any:
    order = [1, 2]
    order.insert(dim % 3, 0)
    return x.permute(order)


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "pointwise": lambda x, y: x * y + tt.maximum(x, y[:1]),
    "matmul": lambda x, y: x @ y.t(),
    "different dims": lambda x, y: x + y[0],
    "scalars": lambda x, y: x.sum() * y,
}


@pytest.mark.parametrize("function", BINARY.values(), ids=BINARY)
@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 0), (1, 0)])
def test_vmap_of_two_arguments(function: Callable[[Any, Any], Any], in_dims: Any) -> None:
    shape = [3, 4]
    args = []
    for seed, dim in enumerate(in_dims):
        full = list(shape)
        if dim is not None:
            full.insert(dim, 5)
        args.append(array(*full, seed=seed))
    same(vmap(function, in_dims=in_dims)(*args), loop(function, *args, in_dims=in_dims))


def test_zero_dimensional_examples() -> None:
    x = array(5)
    for function in (
        lambda a: a * 2,
        lambda a: a.sum(),
        lambda a: a.softmax(0),
        lambda a: a.sum(0, keepdim=True),
    ):
        same(vmap(function)(x), loop(function, x))


def test_promotion_sees_examples_without_dims() -> None:
    x, y = tt.ones(3, dtype=tt.float64), tt.ones(3, 2, dtype=tt.float32)
    found = vmap(lambda a, b: a * b)(x, y)
    assert found.dtype is (x[0] * y[0]).dtype


def test_out_dims_and_nested_structures() -> None:
    x = array(5, 3)
    assert tuple(vmap(lambda a: a * 2, out_dims=1)(x).shape) == (3, 5)
    result = vmap(lambda d: {"sum": d["a"].sum(), "pair": (d["a"], d["b"])}, in_dims=({"a": 0, "b": None},))(
        {"a": x, "b": x}
    )
    assert tuple(result["sum"].shape) == (5,)
    assert tuple(result["pair"][0].shape) == (5, 3) and tuple(result["pair"][1].shape) == (5, 5, 3)


def test_vmap_nests() -> None:
    x, y = array(4, 3), array(5, 3, seed=1)

    def distance(a: Any, b: Any) -> Any:
        return ((a - b) * (a - b)).sum()

    found = vmap(lambda a: vmap(lambda b: distance(a, b))(y))(x)
    expected = tt.stack([tt.stack([distance(a, b) for b in y]) for a in x])
    same(found, expected)
    same(vmap(vmap(lambda a: a.cumsum(0).exp()))(array(4, 3, 2)), array(4, 3, 2).cumsum(2).exp())
    inner = vmap(vmap(lambda a, b: a @ b, in_dims=(None, 0)), in_dims=(0, None))
    same(
        inner(array(4, 2, 3), array(5, 3, 2)),
        tt.stack([tt.stack([a @ b for b in array(5, 3, 2)]) for a in array(4, 2, 3)]),
    )


def test_an_operator_without_rule_runs_once_for_each_example_and_is_counted() -> None:
    from tt.core.library import REGISTRY

    layer: Any = REGISTRY.layer("transform")
    before = layer.fallbacks["masked_scatter"]
    x, y = array(5, 3), array(5, 3, seed=1)

    def chosen(a: Any, b: Any) -> Any:
        return a.masked_scatter(a > 0, b)

    same(vmap(chosen)(x, y), loop(chosen, x, y))
    assert layer.fallbacks["masked_scatter"] == before + 1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: vmap(lambda a: a, in_dims=None)(tt.ones(2)),
            ValueError,
            "at least one argument must be mapped",
        ),
        (
            lambda: vmap(lambda a: a, in_dims=2)(tt.ones(2)),
            ValueError,
            "in_dims has 2 for a tensor of 1 dimensions",
        ),
        (lambda: vmap(lambda a, b: a)(tt.ones(2), 3), ValueError, "not a tensor but int"),
        (
            lambda: vmap(lambda a, b: a)(tt.ones(2), tt.ones(3)),
            ValueError,
            "same size in the mapped dimension",
        ),
        (lambda: vmap(lambda a: 3)(tt.ones(2)), ValueError, "must return only Tensors, got int"),
        (lambda: vmap(lambda a: a, in_dims=(0, 0))(tt.ones(2)), ValueError, "structure"),
        (
            lambda: vmap(lambda a, b: b.add_(a), in_dims=(0, None))(tt.ones(2), tt.ones(())),
            RuntimeError,
            "vmap: add_",
        ),
        (lambda: vmap(lambda a: a, out_dims=None)(tt.ones(2)), ValueError, "out_dims is None"),
    ],
)
def test_wrong_calls_of_vmap(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# --- grad ------------------------------------------------------------------------------------------------------


def cube(x: Any) -> Any:
    return (x * x * x).sum()


def test_grad_of_a_function() -> None:
    x = array(3)
    same(grad(cube)(x), 3 * x * x)
    gradients, value = grad_and_value(cube)(x)
    same(value, cube(x))
    same(gradients, 3 * x * x)
    assert not gradients.requires_grad and not x.requires_grad
    a, b = grad(lambda u, v: (u * v).sum(), argnums=(0, 1))(x, x * 2)
    same(a, x * 2)
    same(b, x)
    gradient, aux = grad(lambda u: (cube(u), "aux"), has_aux=True)(x)
    same(gradient, 3 * x * x)
    assert aux == "aux"
    tree = grad(lambda p: (p["w"] * p["w"] + p["b"]).sum())({"w": x, "b": x})
    same(tree["w"], 2 * x)


def test_grad_nests() -> None:
    x = tt.tensor(2.0, dtype=tt.float64)
    assert grad(grad(grad(lambda a: a**4)))(x).item() == pytest.approx(48.0)
    # The classic trap: the inner variable must not be taken for the outer one.
    assert grad(lambda a: a * grad(lambda b: a + b)(tt.tensor(1.0, dtype=tt.float64)))(x).item() == 1.0
    assert grad(lambda a: grad(lambda b: a * b * b)(a))(x).item() == pytest.approx(8.0)


def test_per_example_gradients() -> None:
    w, xs = array(3, 2), array(5, 3, seed=1)

    def loss(w: Any, x: Any) -> Any:
        return (x @ w).tanh().sum()

    found = vmap(grad(loss), in_dims=(None, 0))(w, xs)
    same(found, tt.stack([grad(loss)(w, x) for x in xs]))
    same(
        vmap(grad(loss, argnums=1), in_dims=(None, 0))(w, xs),
        tt.stack([grad(loss, argnums=1)(w, x) for x in xs]),
    )


def test_grad_through_vmap() -> None:
    w, xs = array(3), array(5, 3, seed=1)

    def total(w: Any) -> Any:
        return vmap(lambda x: (x * w).exp().sum())(xs).sum()

    same(grad(total)(w), tt.stack([xs[i] * (xs[i] * w).exp() for i in range(5)]).sum(0))


def test_hessian() -> None:
    x = array(3)

    def f(x: Any) -> Any:
        return (x * x * x).sum() + x[0] * x[1]

    def column(v: Any) -> Any:
        return grad(lambda x: (grad(f)(x) * v).sum())(x)

    expected = np.diag(6 * x.numpy())
    expected[0, 1] += 1
    expected[1, 0] += 1
    np.testing.assert_allclose(vmap(column)(tt.eye(3, dtype=tt.float64)).numpy(), expected, atol=1e-12)


def test_vmap_of_vmap_of_grad() -> None:
    x = array(2, 3, 4)
    same(vmap(vmap(grad(cube)))(x), 3 * x * x)


def test_tensors_that_require_gradients_can_be_mapped() -> None:
    x = array(5, 3).requires_grad_()
    vmap(cube)(x).sum().backward()
    assert x.grad is not None
    same(x.grad, (3 * x * x).detach())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: grad(lambda x: x)(tt.ones(2)), RuntimeError, "must return a scalar"),
        (lambda: grad(lambda x: 3)(tt.ones(2)), RuntimeError, "must return a Tensor, got int"),
        (lambda: grad(cube)(3.0), TypeError, "with respect to tensors only, not float"),
    ],
)
def test_wrong_calls_of_grad(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# --- views and copies of parts ---------------------------------------------------------------------------------

PARTS = {
    "diagonal": lambda a: a.diagonal(1),
    "diagonal below": lambda a: a.diagonal(-1, 1, 0),
    "unfold": lambda a: a.unfold(1, 2, 1),
    "unfold of a number": lambda a: a[0, 0].unfold(0, 1, 1),
    "diag_embed": lambda a: a.diag_embed(1),
    "pad": lambda a: tt.nn.functional.pad(a, (1, 1)),
    "reflect": lambda a: tt.nn.functional.pad(a, (1, 1), "reflect"),
    "select_scatter": lambda a: tt.zeros(2, 3).select_scatter(a[0], 0, 1),
    "slice_scatter": lambda a: a.slice_scatter(tt.ones(2, 1), 1, 0, 1),
    "diagonal_scatter": lambda a: a.diagonal_scatter(a[0, :2] * 2),
    "repeat": lambda a: a.repeat(2, 1, 2),
    "roll": lambda a: a.roll((1, 2), (0, 1)),
    "rot90": lambda a: a.rot90(),
    "hstack": lambda a: tt.hstack((a, a)),
    "meshgrid": lambda a: tt.meshgrid(a[0], a[1], indexing="xy")[1],
    "unflatten": lambda a: a.unflatten(1, (3, 1)),
    "gradient": lambda a: tt.func.grad(lambda b: (b.unfold(1, 2, 1) ** 2).sum() + b.diagonal().prod())(a),
}


@pytest.mark.parametrize("masked", [False, True], ids=["kernels", "composites"])
@pytest.mark.parametrize("name", PARTS)
def test_vmap_of_parts_is_that_of_each_example(name: str, masked: bool) -> None:
    x = tt.arange(12.0).reshape(2, 2, 3) + 1
    with tt.mask_kernels("@non-core" if masked else "none of them"):
        found = tt.vmap(PARTS[name])(x)
        assert found.tolist() == [PARTS[name](a).tolist() for a in x]


# --- what opcheck found: these gave other results than a loop ----------------------------------------------------


def _as_a_loop(function, *batches):
    expected = tt.stack([function(*row) for row in zip(*batches, strict=True)])
    for dim in (0, -1):
        moved = [tt.movedim(batch, 0, dim) for batch in batches]
        tt.testing.assert_close(tt.func.vmap(function, in_dims=dim)(*moved), expected)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_place_of_the_extreme_among_all_elements_is_that_of_each_example(name, shape, keepdim):
    x = tt.tensor(np.random.default_rng(0).permutation(3 * int(np.prod(shape))).reshape(3, *shape))
    _as_a_loop(lambda row: getattr(tt, name)(row, None, keepdim), x)


def test_several_results_of_an_operator_on_elements_are_batched_together():
    mantissa, exponent = tt.func.vmap(tt.frexp)(tt.tensor([[1.0, 6.0], [0.5, -3.0]]))
    assert (mantissa.tolist(), exponent.tolist()) == ([[0.5, 0.75], [0.5, -0.75]], [[1, 3], [0, 2]])
    assert exponent.dtype is tt.int32


def test_memory_is_read_from_where_each_example_begins():
    x = tt.arange(24.0).reshape(4, 6)
    expected = tt.stack([row.clone().as_strided((2, 3), (3, 1)) for row in x])
    tt.testing.assert_close(tt.func.vmap(lambda row: row.as_strided((2, 3), (3, 1)))(x), expected)


def test_convolutions_and_windows_of_examples_are_those_of_a_loop():
    x, weight = tt.randn(3, 2, 4, 6, 5), tt.randn(3, 2, 4, 3, 2)
    _as_a_loop(lambda a, b: tt.nn.functional.conv2d(a, b, padding=1), x, weight)
    _as_a_loop(lambda a: tt.nn.functional.unfold(a, (2, 3)), x)


def test_a_shape_that_only_one_example_would_get_is_refused():
    with pytest.raises(NotImplementedError, match="changes the shape"):
        tt.func.vmap(lambda row: row.resize_(3))(tt.ones(2, 4))


def test_an_integer_of_each_example_is_an_index():
    x, at = tt.arange(6.0).reshape(2, 3), tt.tensor([0, 2])
    assert tt.func.vmap(lambda row, i: row[i])(x, at).tolist() == [0.0, 5.0]
    assert tt.func.vmap(lambda i: x[0][i])(at).tolist() == [0.0, 2.0]
    assert tt.func.vmap(lambda i: x[:, i])(at).tolist() == [[0.0, 3.0], [2.0, 5.0]]
    picked = tt.func.vmap(tt.func.grad(lambda row, i: tt.log_softmax(row, 0)[i]), (0, 0))(x, at)
    expected = tt.nn.functional.one_hot(at, 3) - tt.softmax(x, 1)
    tt.testing.assert_close(picked, expected)


def test_lists_of_results_are_tuples():
    kinds = []

    def look(row):
        parts = (row.chunk(2), row.split(2), row.unbind(), tt.meshgrid(row, row, indexing="ij"))
        kinds.extend(map(type, parts))
        return row.chunk(2)

    found = tt.func.vmap(look)(tt.ones(2, 4))
    assert set(kinds) == {tuple} and type(found) is tuple and found[0].shape == (2, 2)


def test_what_is_the_same_for_all_examples_need_not_be_a_tensor():
    x = tt.ones(2, 3)
    assert vmap(lambda a: "text", out_dims=None)(x) == "text"
    result, number = vmap(lambda a: (a.sum(), 5), out_dims=(0, None))(x)
    assert result.tolist() == [3.0, 3.0] and number == 5
    with pytest.raises(ValueError, match="must return only Tensors, got str"):
        vmap(lambda a: "text")(x)


def test_out_dims_are_dims_of_the_result():
    with pytest.raises(IndexError, match="out_dims has 3 for a result of 1 dimensions"):
        tt.func.vmap(lambda x: x, out_dims=3)(tt.ones(2))


def test_what_is_returned_besides_has_no_history_of_the_transform():
    x = tt.ones(2)
    for aux in (
        tt.func.grad(lambda x: (x.sum(), {"twice": x * 2}), has_aux=True)(x)[1]["twice"],
        tt.func.grad_and_value(lambda x: (x.sum(), x * 2), has_aux=True)(x)[1][1],
        tt.func.vjp(lambda x: (x.sum(), x * 2), x, has_aux=True)[2],
        tt.func.jacrev(lambda x: (x.sum(), x * 2), has_aux=True)(x)[1],
    ):
        assert not aux.requires_grad and aux.tolist() == [2.0, 2.0]
    inner = tt.func.grad(lambda x: tt.func.grad(lambda y: (y.sum(), (y**2).sum()), has_aux=True)(x)[1])
    assert inner(x).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "layer",
    [
        tt.nn.Dropout(0.5).eval(),
        tt.nn.Dropout(0.5, inplace=True).eval(),
        tt.nn.Dropout(0.0),
        tt.nn.AlphaDropout(0.5).eval(),
        tt.nn.RReLU().eval(),
        lambda x: tt.nn.functional.dropout(x, 0.5, training=False),
        lambda x: tt.nn.functional.dropout1d(x[None], 0.0)[0],
    ],
)
def test_dropout_that_drops_nothing_needs_no_randomness(layer):
    x = tt.ones(3, 2)
    assert vmap(layer)(x).tolist() == x.tolist()


def test_networks_in_evaluation_need_no_randomness():
    network = tt.nn.Sequential(tt.nn.Linear(2, 4), tt.nn.Dropout(0.5), tt.nn.Linear(4, 1)).eval()
    x = tt.randn(3, 2)
    tt.testing.assert_close(vmap(network)(x), network(x))
    parameters = dict(network.named_parameters())
    gradients = vmap(grad(lambda p, v: tt.func.functional_call(network, p, (v,)).sum()), (None, 0))(
        parameters, x
    )
    assert gradients["0.weight"].shape == (3, 4, 2)
    layer = tt.nn.LSTM(2, 3, 2, dropout=0.5).eval()
    assert vmap(layer)(tt.ones(2, 4, 1, 2))[0].shape == (2, 4, 1, 3)
    with pytest.raises(RuntimeError, match="called random operation dropout"):
        vmap(network.train())(x)


# --- what a transform leaves of its results --------------------------------------------------------------------

CUBE: Callable[[Any], Any] = lambda x: (x**3).sum()  # noqa: E731

INNER: dict[str, Callable[[Any], Any]] = {
    "gradient": lambda x: grad(CUBE)(x),
    "value": lambda x: grad_and_value(CUBE)(x)[1] * tt.ones_like(x),
    "aux": lambda x: grad(lambda v: (CUBE(v), v**3), has_aux=True)(x)[1],
    "jacobian": lambda x: tt.func.jacrev(lambda v: v**3)(x).sum(0),
    "hessian": lambda x: tt.func.hessian(CUBE)(x).sum(0),
    "value of vjp": lambda x: tt.func.vjp(lambda v: v**3, x)[0],
    "vjp": lambda x: tt.func.vjp(lambda v: v**3, x)[1](x)[0],
    "value of linearize": lambda x: tt.func.linearize(lambda v: v**3, x)[0],
    "linearize": lambda x: tt.func.linearize(lambda v: v**3, x)[1](x),
    "mapped": lambda x: vmap(grad(lambda v: v**3))(x),
    "tangent": lambda x: tt.func.jvp(lambda v: v**3, (x,), (x,))[1],
}


@pytest.mark.parametrize("name", INNER)
def test_a_transform_under_no_grad_is_a_constant(name: str) -> None:
    inner = INNER[name]

    def function(x: tt.Tensor) -> tt.Tensor:
        with tt.no_grad():
            factor = inner(x)
        return (factor * x).sum()

    x = tt.tensor([1.0, 2.0, 3.0], dtype=tt.float64)
    same(grad(function)(x), inner(x))
    same(tt.func.jacrev(function)(x), inner(x))
    same(tt.func.vjp(function, x)[1](tt.tensor(1.0, dtype=tt.float64))[0], inner(x))
    same(vmap(grad(function))(tt.stack([x, x + 1])), tt.stack([inner(x), inner(x + 1)]))
    leaf = x.clone().requires_grad_()
    function(leaf).backward()
    same(leaf.grad, inner(x))
    same(grad(lambda v: (inner(v) * v).sum())(x), tt.func.jacfwd(lambda v: (inner(v) * v).sum())(x))


@pytest.mark.parametrize("name", INNER)
def test_all_results_of_a_transform_have_tangents(name: str) -> None:
    x, step = tt.tensor([1.0, 2.0, 3.0], dtype=tt.float64), 1e-6
    columns = [
        (INNER[name](x + e) - INNER[name](x - e)) / (2 * step) for e in tt.eye(3, dtype=tt.float64) * step
    ]
    expected = tt.stack(columns, 1).numpy()
    for recorded in (True, False):
        with tt.set_grad_enabled(recorded):
            result = tt.func.jacfwd(INNER[name])(x)
        assert not result.requires_grad
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6, atol=1e-6)


Pair = namedtuple("Pair", "left right")
CONTAINERS = {
    "OrderedDict": lambda x: OrderedDict(b=x, a=x * 2),
    "defaultdict": lambda x: defaultdict(list, a=x),
    "deque": lambda x: deque([x, x * 2], maxlen=3),
    "named tuple": lambda x: Pair(x, [x]),
    "results of an operator": lambda x: tt.return_types.sort((x, x * 2)),
}


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize("transform", ["vmap", "grad", "vjp", "jvp"])
def test_containers_go_in_and_come_out_as_they_are(name: str, transform: str) -> None:
    make, x = CONTAINERS[name], array(3)
    kind, seen = type(make(x)), []

    def function(tree: Any) -> Any:
        seen.append(tree)
        first = next(iter(tree.values())) if isinstance(tree, dict) else tree[0]
        return (first * first).sum() if transform == "grad" else make(first * first)

    result: Any
    if transform == "vmap":
        result = vmap(function)(make(x))
    elif transform == "grad":
        result = grad(function)(make(x))
    elif transform == "vjp":
        result = tt.func.vjp(function, make(x))[1](make(x))[0]
    else:
        result = tt.func.jvp(function, (make(x),), (make(x),))[1]
    for tree in (*seen, result):
        assert type(tree) is kind
        assert getattr(tree, "default_factory", list) is list and getattr(tree, "maxlen", 3) == 3
    first = next(iter(result.values())) if isinstance(result, dict) else result[0]
    assert tuple(first.shape) == (3,)


@pytest.mark.parametrize(
    "tree", [Counter(a=1), type("Own", (dict,), {})(a=tt.ones(1))], ids=["Counter", "subclass"]
)
def test_other_containers_are_leaves_as_in_pytorch(tree: Any) -> None:
    seen: list[Any] = []
    vmap(lambda x, t: (seen.append(t), x)[1], in_dims=(0, None))(tt.ones(2), tree)
    assert seen[0] is tree
    kind = type(tree).__name__
    for call in (
        lambda: vmap(lambda t: tt.ones(1))(tree),
        lambda: grad(lambda t: tt.ones(()))(tree),
        lambda: vmap(lambda x: tree)(tt.ones(1)),
    ):
        with pytest.raises((TypeError, ValueError), match=kind):
            call()


def test_cotangents_have_the_keys_of_the_result_in_their_order() -> None:
    _, pull = tt.func.vjp(lambda x: {"a": x, "b": 2 * x}, tt.ones(()))
    assert pull({"a": tt.tensor(1.0), "b": tt.tensor(10.0)})[0].item() == 21
    with pytest.raises(RuntimeError, match="structure"):
        pull({"b": tt.tensor(10.0), "a": tt.tensor(1.0)})
