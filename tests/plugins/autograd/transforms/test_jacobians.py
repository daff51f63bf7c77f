"""`tt.func`: Jacobians, Hessians and products with them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import tt
from tests.plugins.autograd.features.test_jacobians import close, mixing, scalar
from tt.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

# torch compiles something of its own the first time that it makes a dual number, and warns itself of that.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


POINT = np.array([0.3, -0.7, 1.2])


@pytest.mark.torch
def test_jacobians_are_those_of_torch(torch: Any) -> None:
    x, x_torch = tt.tensor(POINT), torch.tensor(POINT)
    expected = torch.func.jacrev(mixing(torch))(x_torch)
    close(jacrev(mixing(tt))(x), expected)
    close(jacfwd(mixing(tt))(x), expected)
    close(jacrev(mixing(tt), chunk_size=2)(x), expected)
    close(jacfwd(mixing(tt), chunk_size=1)(x), expected)
    close(hessian(scalar(tt))(x), torch.func.hessian(scalar(torch))(x_torch))


@pytest.mark.torch
@pytest.mark.parametrize("names", list(product(["jacrev", "jacfwd"], repeat=2)), ids="-".join)
def test_second_derivatives_in_every_order(torch: Any, names: tuple[str, str]) -> None:
    outer, inner = names
    found = getattr(tt.func, outer)(getattr(tt.func, inner)(mixing(tt)))(tt.tensor(POINT))
    close(found, torch.func.jacrev(torch.func.jacrev(mixing(torch)))(torch.tensor(POINT)))


@pytest.mark.parametrize("names", list(product(["jacrev", "jacfwd"], repeat=3)), ids="-".join)
def test_third_derivatives_in_every_order(names: tuple[str, str, str]) -> None:
    x = tt.tensor(POINT)
    found = scalar(tt)
    for name in names:
        found = getattr(tt.func, name)(found)
    # The third derivatives of a sum over independent functions of one number are known.
    cubes = lambda v: (v**4).sum()  # noqa: E731 - a formula
    known = cubes
    for name in names:
        known = getattr(tt.func, name)(known)
    expected = tt.zeros(3, 3, 3, dtype=tt.float64)
    for i in range(3):
        expected[i, i, i] = 24 * x[i]
    close(known(x), expected)
    close(found(x), jacrev(jacrev(jacrev(scalar(tt))))(x))


@pytest.mark.torch
def test_transforms_nest_with_vmap_in_any_order(torch: Any) -> None:
    batch = np.stack([POINT, 2 * POINT])
    x, x_torch = tt.tensor(batch), torch.tensor(batch)
    close(vmap(hessian(scalar(tt)))(x), torch.func.vmap(torch.func.hessian(scalar(torch)))(x_torch))
    close(vmap(jacfwd(mixing(tt)))(x), torch.func.vmap(torch.func.jacfwd(mixing(torch)))(x_torch))

    def nested(module: Any) -> Any:
        func = module.func
        return func.vmap(func.grad(lambda v: func.vmap(lambda s: (s * v).sin().sum())(v).sum()))

    close(nested(tt)(x), nested(torch)(x_torch))
    tangents = np.ones_like(batch)

    def through(module: Any, point: Any, moved: Any) -> Any:
        return module.func.jvp(module.func.vmap(module.func.grad(scalar(module))), (point,), (moved,))

    for found, expected in zip(
        through(tt, x, tt.tensor(tangents)), through(torch, x_torch, torch.tensor(tangents)), strict=True
    ):
        close(found, expected)


def test_trees_and_several_arguments() -> None:
    def function(a: Any, b: Any) -> Any:
        return {"sum": a + b["inner"], "product": a * b["inner"]}

    a, b = tt.tensor([1.0, 2.0]), {"inner": tt.tensor([3.0, 4.0])}
    for transform in (jacrev, jacfwd):
        by_a, by_b = transform(function, argnums=(0, 1))(a, b)["product"]
        assert by_a.tolist() == [[3.0, 0.0], [0.0, 4.0]]
        assert by_b["inner"].tolist() == [[1.0, 0.0], [0.0, 2.0]]
    value, multiply = vjp(function, a, b)
    found_a, found_b = multiply({"sum": tt.ones(2), "product": tt.ones(2)})
    assert value["sum"].tolist() == [4.0, 6.0]
    assert found_a.tolist() == [4.0, 5.0] and found_b["inner"].tolist() == [2.0, 3.0]


def test_aux_is_handed_on() -> None:
    def function(x: Any) -> Any:
        return x**2, x + 1

    x = tt.tensor([1.0, 2.0])
    for found in (
        jacrev(function, has_aux=True)(x)[1],
        jacfwd(function, has_aux=True)(x)[1],
        vjp(function, x, has_aux=True)[2],
        jvp(function, (x,), (x,), has_aux=True)[2],
    ):
        assert found.tolist() == [2.0, 3.0]


def test_jvp_and_linearize() -> None:
    x, t = tt.tensor(POINT), tt.tensor([1.0, 0.5, -2.0], dtype=tt.float64)
    value, tangent = jvp(mixing(tt), (x,), (t,))
    close(value, mixing(tt)(x))
    close(tangent, jacrev(mixing(tt))(x) @ t)
    _, derivative = linearize(mixing(tt), x)
    close(derivative(t), tangent)
    assert jvp(lambda x: tt.ones(2), (x,), (t,))[1].tolist() == [0.0, 0.0]


def test_linearize_runs_the_function_once_and_nests() -> None:
    x = tt.tensor(POINT)
    runs = []

    def two_results(v: Any) -> Any:
        runs.append(v)
        return {"mixed": mixing(tt)(v), "constant": tt.ones(2, dtype=tt.float64)}, v.exp().sum()

    (value, _), derivative = linearize(two_results, x)
    for direction in (tt.tensor([1.0, 0.5, -2.0], dtype=tt.float64), x):
        found = derivative(direction)
        expected = jvp(two_results, (x,), (direction,))[1]
        close(found[0]["mixed"], expected[0]["mixed"])
        close(found[0]["constant"], tt.zeros(2, dtype=tt.float64))
        close(found[1], expected[1])
    assert len(runs) == 3  # one for linearize, two for jvp
    close(value["mixed"], mixing(tt)(x))
    close(vmap(derivative)(tt.eye(3, dtype=tt.float64))[0]["mixed"].mT, jacrev(mixing(tt))(x))

    def along(v: Any) -> Any:
        return linearize(scalar(tt), v)[1](tt.ones(3, dtype=tt.float64))

    rows = tt.stack([x, x * 2])
    close(grad(along)(x), hessian(scalar(tt))(x).sum(0))
    close(vmap(along)(rows), tt.stack([grad(scalar(tt))(row).sum() for row in rows]))
    close(jvp(along, (x,), (x,))[1], hessian(scalar(tt))(x).sum(0) @ x)
    leaf = x.clone().requires_grad_()
    close(tt.autograd.grad(along(leaf), leaf)[0], hessian(scalar(tt))(x).sum(0))
    for wrong, message in [((x, x), "structure"), ((tt.ones(3),), "float32 of shape"), ((x[:2],), "shape")]:
        with pytest.raises(RuntimeError, match=message):
            derivative(*wrong)


def test_what_is_wrong_is_said() -> None:
    x = tt.ones(2)
    with pytest.raises(RuntimeError, match="tuples"):
        jvp(tt.sin, x, x)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="structure"):
        jvp(tt.sin, (x,), (x, x))
    with pytest.raises(RuntimeError, match="shape"):
        jvp(tt.sin, (x,), (tt.ones(3),))
    with pytest.raises(RuntimeError, match="strict"):
        jvp(lambda x: tt.ones(2), (x,), (x,), strict=True)
    with pytest.raises(RuntimeError, match="structure"):
        vjp(tt.sin, x)[1]((x, x))
    with pytest.raises(RuntimeError, match="shape"):
        vjp(tt.sin, x)[1](tt.ones(3))
    with pytest.raises(RuntimeError, match="must be tensors"):
        jacfwd(tt.sin)(1.0)
    with pytest.raises(RuntimeError, match="must return a Tensor"):
        grad(lambda x: 1.0)(x)


@pytest.mark.parametrize("function", [grad, jacrev, jacfwd])
@pytest.mark.parametrize(
    ("argnums", "message"),
    [
        (1, "got argnum=1, but only 1 positional inputs"),
        (-2, "got argnum=-2"),
        ((0, 1), "got argnum"),
        ((), "must be non-empty"),
        ((0, 0), "must be unique"),
        ((0, -1), "must be unique"),
        (0.0, r"must be int or Tuple\[int, ...\], got float"),
        ([0], "must be int or Tuple"),
    ],
)
def test_argnums_names_each_argument_once(function: Any, argnums: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        function(tt.sin, argnums=argnums)(tt.tensor(1.0))


@pytest.mark.parametrize("result", [None, (), [], "text", (1.0,)])
def test_what_is_differentiated_returns_tensors(result: Any) -> None:
    x = tt.ones(2)
    calls: list[Callable[[], Any]] = [
        lambda: vjp(lambda v: result, x),
        lambda: jvp(lambda v: result, (x,), (x,)),
        lambda: jacrev(lambda v: result)(x),
        lambda: jacfwd(lambda v: result)(x),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="the results of the function must be tensors"):
            call()


def test_has_aux_takes_a_pair() -> None:
    x = tt.ones(2)
    calls: list[Callable[[], Any]] = [
        lambda: vjp(lambda v: v, x, has_aux=True),
        lambda: jvp(lambda v: (v, v, v), (x,), (x,), has_aux=True),
        lambda: jacrev(lambda v: [v, v], has_aux=True)(x),
        lambda: jacfwd(lambda v: v, has_aux=True)(x),
        lambda: grad(lambda v: (v, v, v), has_aux=True)(tt.tensor(1.0)),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match=r"tuple \(output, aux\) if has_aux is True"):
            call()


@pytest.mark.parametrize("function", [jacrev, jacfwd])
def test_jacobians_are_of_real_tensors(function: Any) -> None:
    with pytest.raises(RuntimeError, match="Expected all inputs to be real"):
        function(lambda v: v * v)(tt.ones(2, dtype=tt.complex64))
    with pytest.raises(RuntimeError, match="Expected all outputs to be real"):
        function(lambda v: v * 1j)(tt.ones(2))


def test_chunks_may_be_preallocated() -> None:
    x = tt.tensor([1.0, 2.0])
    result = jacrev(lambda v: v * v, chunk_size=1, _preallocate_and_copy=True)(x)
    assert result.tolist() == [[2.0, 0.0], [0.0, 4.0]]


@pytest.mark.torch
def test_an_outer_derivative_sees_through(torch: Any) -> None:
    def outer(module: Any, x: Any) -> Any:
        return module.autograd.grad(module.func.grad(scalar(module))(x).sum(), x)[0]

    close(
        outer(tt, tt.tensor(POINT, requires_grad=True)),
        outer(torch, torch.tensor(POINT, requires_grad=True)),
    )


@pytest.mark.parametrize(
    "name",
    [
        "tanh",
        "sigmoid",
        "relu",
        "exp",
        "gelu",
        "silu",
        "softplus",
        "leaky_relu",
        "elu",
        "logsigmoid",
        "hardtanh",
    ],
)
def test_jacobians_of_what_requires_a_gradient_are_those_of_a_plain_tensor(name):
    function = getattr(tt.nn.functional, name, None) or getattr(tt, name)
    plain = tt.tensor([[0.5, -1.0], [2.0, -0.25]], dtype=tt.float64)
    for made in (jacrev(function), jacfwd(function), hessian(lambda x: function(x).sum())):
        tt.testing.assert_close(made(plain.clone().requires_grad_()).detach(), made(plain))
        tt.testing.assert_close(made(tt.nn.Parameter(plain.clone())).detach(), made(plain))


def test_the_jacobian_with_respect_to_the_parameters_of_a_network():
    network = tt.nn.Sequential(tt.nn.Linear(2, 3), tt.nn.GroupNorm(1, 3), tt.nn.Tanh(), tt.nn.Linear(3, 1))
    x = tt.ones(4, 2)
    parameters = dict(network.named_parameters())
    plain = {name: value.detach() for name, value in parameters.items()}
    made = tt.func.jacrev(lambda p: tt.func.functional_call(network, p, (x,)))
    found, expected = made(parameters), made(plain)
    assert found["0.weight"].shape == (4, 1, 3, 2)
    for name in plain:
        tt.testing.assert_close(found[name].detach(), expected[name])


@pytest.mark.parametrize(
    ("function", "order"),
    [
        (lambda x: x.swapaxes(-1, 0), 3),
        (lambda x: x.clone().max(-1)[0], 3),
        (lambda x: x.masked_fill(x > 0.2, -1.0) ** 2, 4),
        (lambda x: x**3, 4),
    ],
)
def test_tangents_of_tangents_of_gradients_that_are_partly_zero(function, order):
    x = tt.tensor([[0.5, -0.25], [0.125, 1.5]], dtype=tt.float64)
    forward, reverse = tt.func.grad(lambda x: function(x).sum()), tt.func.grad(lambda x: function(x).sum())
    for _ in range(order - 1):
        forward, reverse = tt.func.jacfwd(forward), tt.func.jacrev(reverse)
    tt.testing.assert_close(forward(x), reverse(x))


def differences(function, point, direction):
    step = 1e-6
    ahead, behind = (
        function(*(x + sign * step * t for x, t in zip(point, direction, strict=True))) for sign in (1, -1)
    )
    return (ahead - behind) / (2 * step)


@pytest.mark.parametrize("inner", [tt.func.jacfwd, tt.func.jacrev])
def test_a_tangent_of_an_outer_level_alone_is_not_taken_for_one_of_an_inner_level(inner):
    s, y = tt.tensor([0.7, -0.2], dtype=tt.float64), tt.tensor([0.3, 0.9], dtype=tt.float64)

    def slopes(s, y):
        # Inside, s moves; y, by which is differentiated, moves outside only.
        return inner(lambda s: tt.func.grad(lambda y: (y.cumsum(0) * s).sin().sum())(y))(s)

    point, direction = (s, y), (tt.tensor([0.4, 1.0]).double(), tt.tensor([0.2, -0.5]).double())
    for moved in (0, 1):
        others = [tt.zeros_like(d) if k != moved else d for k, d in enumerate(direction)]
        (_, tangent) = tt.func.jvp(slopes, point, tuple(others))
        tt.testing.assert_close(tangent, differences(slopes, point, others), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: tt.nn.functional.smooth_l1_loss(x, y),
        lambda x, y: tt.linalg.solve(tt.outer(y, y) + 2 * tt.eye(2, dtype=tt.float64), x).sum(),
        lambda x, y: tt.nn.functional.layer_norm(x, (2,), weight=y).prod(),
        lambda x, y: x.lerp(y, 0.3).cumprod(0).sum(),
    ],
)
def test_tangents_are_differentiated_by_what_does_not_move(function):
    x, y = tt.tensor([0.3, 0.9], dtype=tt.float64), tt.tensor([0.7, -0.2], dtype=tt.float64)

    def slope(y):
        return tt.func.jvp(lambda x: function(x, y), (x,), (y.cos(),))[1]

    direction = tt.tensor([1.0, -0.5], dtype=tt.float64)
    expected = differences(slope, (y,), (direction,))
    tt.testing.assert_close((tt.func.grad(slope)(y) * direction).sum(), expected, rtol=1e-6, atol=1e-8)


def test_a_saved_tensor_that_gets_memory_for_each_example_is_refused():
    x = tt.tensor([0.25, -0.75], dtype=tt.float64)

    def filled(y):
        z = x.clone()
        z.fill_((z * y).sum())
        return z

    for transform in (tt.func.jacrev, lambda f: tt.func.jacfwd(tt.func.jacrev(f))):
        with pytest.raises(tt.errors.SavedTensorError):
            transform(filled)(x)


@pytest.mark.parametrize("change", ["sub_", "copy_", "mul_"])
def test_a_tangent_that_was_saved_is_kept_when_its_value_is_written_over(change):
    def written(x):
        y = x.clone()
        z = y.sigmoid()  # has no need of y, and its tangent has one of the tangent of y
        getattr(y, change)(z)
        return y

    def plain(x):
        z = x.sigmoid()
        return {"sub_": x - z, "copy_": z, "mul_": x * z}[change]

    x = tt.tensor([0.25, -0.5, 2.0], dtype=tt.float64)
    nestings = {
        "sub_": lambda f: tt.func.hessian(lambda x: (f(x) ** 2).sum())(x),
        "copy_": lambda f: tt.func.jvp(tt.func.jacrev(f), (x,), (x.cos(),))[1],
        "mul_": lambda f: tt.func.jvp(f, (x,), (x.cos(),))[1],
    }
    tt.testing.assert_close(nestings[change](written), nestings[change](plain))
    if change != "mul_":
        slopes = [
            tt.func.grad(lambda x, f=f: tt.func.jvp(f, (x,), (x.cos(),))[1].sum())(x)
            for f in (written, plain)
        ]
        tt.testing.assert_close(*slopes)


@pytest.mark.parametrize(
    "view", [lambda x: x.view(-1), lambda x: x.as_strided((2, 2), (2, 1), 0), lambda x: x.view(1, 4)]
)
def test_views_by_memory_of_a_tangent_that_lies_in_another_order(view):
    x, direction = tt.tensor([[0.5, 1.0], [2.0, 3.0]]), tt.tensor([[1.0, 2.0], [3.0, 4.0]])

    def written(x):
        y = x.clone()
        row = y[0]
        seen = view(y)
        row.mul_(2)
        return seen

    expected = view(direction * tt.tensor([[2.0], [1.0]]))
    for lying in (direction, direction.t().contiguous().t()):
        assert tt.func.jvp(written, (x,), (lying,))[1].tolist() == expected.tolist()

    def turned(x):
        return (x * 1).as_strided((4,), (1,))

    assert tt.func.jvp(turned, (x.t(),), (direction.t().contiguous(),))[1].tolist() == [1.0, 2.0, 3.0, 4.0]


def write_around(x):
    seen = x.as_strided((4,), (1,), 0)
    seen[0] = x[2] * 3
    x[3] = x[0] * 5
    again = x.as_strided((6,), (1,), 1)
    again[0] = again[0] + x[1]
    return seen * 1


@pytest.mark.torch
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.as_strided((2,), (1,), 3),
        lambda x: x.as_strided((2,), (2,)),
        lambda x: x.as_strided((4,), (1,), 0),
        lambda x: x.as_strided((4,), (1,), 4),
        lambda x: x[1:].as_strided((3,), (1,), 2),
        lambda x: (x * 1)[1:].as_strided((3,), (1,), 0),
        lambda x: x.as_strided_scatter(x[:2] * 2, (2,), (1,), 3),
        lambda x: x.as_strided_scatter(x[:2] * 2, (2,), (1,)),
        write_around,
    ],
)
@pytest.mark.parametrize("start", [0, 1, 2])
def test_places_of_memory_are_those_of_the_value(function, start):
    import torch

    tangents = []
    for lib in (tt, torch):
        value = lib.arange(8.0, dtype=lib.float64)[2:6]
        for direction in (lib.arange(8.0, dtype=lib.float64)[start:][:4] * 10, (value * 3).flip(0)):
            tangents.append(lib.func.jvp(function, (value,), (direction,))[1])
    for found, expected in zip(tangents[:2], tangents[2:], strict=True):
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("choose", [lambda x: x.topk(1, 0)[0], lambda x: x.cummax(0)[0], lambda x: x.sum(0)])
def test_a_write_leaves_a_tangent_that_was_passed_on_as_it_was(choose):
    x, direction = tt.tensor(0.5, dtype=tt.float64), tt.tensor(2.0, dtype=tt.float64)

    def written(x):
        y = choose(x)
        y.mul_(10)
        return x * y

    _, tangent = tt.func.jvp(written, (x,), (direction,))
    assert (tangent.item(), direction.item()) == (20.0, 2.0)


def test_jacrev_by_sparse_and_jagged_tensors_has_rows_of_their_layout():
    x = tt.sparse_coo_tensor([[0, 2]], [3.0, 4.0], (3,))
    rows = jacrev(lambda v: (v * v).to_dense()[1:])(x)
    assert rows.layout is tt.sparse_coo and rows.to_dense().tolist() == [[0, 0, 0], [0, 0, 8]]
    blocks = jacrev(lambda v: tt.stack([(v * v).to_dense(), 3 * (v * v).to_dense()]))(x)
    assert blocks.shape == (2, 3, 3) and blocks.to_dense()[1].diagonal().tolist() == [18, 0, 24]
    csr = tt.tensor([[1.0, 0.0], [0.0, 2.0]]).to_sparse_csr()
    assert jacrev(lambda v: (v * v).to_dense().sum(0))(csr).to_dense().tolist() == [
        [[2, 0], [0, 0]],
        [[0, 0], [0, 4]],
    ]
    jagged = tt.nested.nested_tensor_from_jagged(tt.arange(5.0), tt.tensor([0, 2, 5]))
    assert jacrev(lambda v: (v * v).values().sum())(jagged).values().tolist() == [0, 2, 4, 6, 8]
    with pytest.raises(tt.errors.LayoutError, match="the dimension of the batch"):
        jacrev(lambda v: (v * v).values())(jagged)
    with pytest.raises(
        tt.errors.UnsupportedError, match=r"jacfwd\(\): .* tangents of tensors of layout tt.jagged"
    ):
        jacfwd(lambda v: (v * v).values().sum())(jagged)


def swirl(m: Any) -> Any:
    """Return a function whose custom gradient, (y^2, 3xy), is that of no function."""

    def field(x: Any) -> Any:
        return m.stack([x[1] ** 2, 3 * x[0] * x[1]])

    class Swirl(m.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return (x * x).sum()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return g * field(*ctx.saved_tensors)

        @staticmethod
        def jvp(ctx, tangent):
            return (field(*ctx.saved_tensors) * tangent).sum()

    return Swirl.apply


def rough_inverse(m: Any) -> Any:
    """Return a function of a matrix that drops a singular value, of which the gradient takes no notice."""
    weights = m.arange(1.0, 7.0, dtype=m.float64).reshape(2, 3)
    return lambda x: (m.linalg.pinv(x.reshape(3, 2), rtol=0.6) ** 2 * weights).sum()


@pytest.mark.torch
@pytest.mark.parametrize(
    ("function", "point"), [(swirl, [1.0, 2.0]), (rough_inverse, [2.0, 1.0, 1.0, 3.0, 0.0, 1.0])]
)
def test_forward_over_reverse_of_what_is_no_gradient_is_transposed(
    torch: Any, function: Callable[[Any], Any], point: list[float]
) -> None:
    x, x_torch = tt.tensor(point, dtype=tt.float64), torch.tensor(point, dtype=torch.float64)
    right = torch.func.jacrev(torch.func.jacrev(function(torch)))(x_torch)
    close(torch.func.jacfwd(torch.func.jacrev(function(torch)))(x_torch), right)
    close(jacrev(jacrev(function(tt)))(x), right)
    close(jacrev(jacfwd(function(tt)))(x), right)
    assert abs(right - right.T).max() > 0.01
    for transposed in (
        hessian(function(tt))(x),
        jacfwd(jacrev(function(tt)))(x),
        jacfwd(grad(function(tt)))(x),
    ):
        close(transposed, right.T)


COMPOSED_WITH_NORMS = {
    "norm": lambda m, x: m.linalg.norm(x),
    "square": lambda m, x: m.linalg.norm(x) ** 2,
    "Gaussian": lambda m, x: m.exp(-(x.norm() ** 2)),
    "distance": lambda m, x: m.exp(-(m.dist(x, m.zeros_like(x)) ** 2)),
    "of rows": lambda m, x: m.linalg.vector_norm(x[None], dim=1).sum(),
}


@pytest.mark.torch
@pytest.mark.parametrize("names", list(product(["jacrev", "jacfwd"], repeat=2)), ids="-".join)
@pytest.mark.parametrize("composed", COMPOSED_WITH_NORMS)
def test_second_derivatives_of_norms_at_zero_are_zero(
    torch: Any, composed: str, names: tuple[str, str]
) -> None:
    def second(m: Any) -> np.ndarray:
        outer, inner = (getattr(m.func, name) for name in names)
        found = outer(inner(lambda x: COMPOSED_WITH_NORMS[composed](m, x)))(m.zeros(3, dtype=m.float64))
        return found.detach().numpy()

    assert not second(tt).any()
    theirs = second(torch)
    assert np.isnan(theirs).any() if names[0] == "jacrev" else not theirs.any()
    true = hessian(lambda x: (x * x).sum())(tt.zeros(3, dtype=tt.float64))
    assert true.tolist() == (2 * np.eye(3)).tolist()


@pytest.mark.parametrize("what", ["primal", "tangent"])
@pytest.mark.parametrize("dtype", [tt.int64, tt.bool])
def test_only_floating_and_complex_tensors_have_tangents(what, dtype):
    x, other = tt.ones(2), tt.ones(2, dtype=dtype)
    pair = ((other,), (other,)) if what == "primal" else ((x,), (other,))
    with pytest.raises(ValueError, match=rf"^jvp\(\): a {what} has {dtype}"):
        tt.func.jvp(lambda x: x * 2, *pair)
    if what == "primal":
        with pytest.raises(ValueError, match="has no derivative"):
            tt.func.jacfwd(lambda x: x * 2.0)(other)
