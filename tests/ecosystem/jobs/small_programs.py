"""small_programs: what libraries do with PyTorch, a few lines each, with and without the facade."""

from __future__ import annotations

import inspect
import io
import pickle
import typing
import warnings

import torch
import torch.nn.functional as F
from torch import nn

REQUIRES = ("numpy",)


def _x(*shape):
    count = 1
    for size in shape:
        count *= size
    return torch.linspace(-1, 2, count).reshape(shape)


def activation_of_a_class():
    class Net(nn.Module):
        act = torch.tanh

        def forward(self, x):
            return self.act(x)

    return Net()(_x(4))


def functions_of_a_class():
    class Net(nn.Module):
        gelu, convolve = F.gelu, torch.conv2d

        def forward(self, x):
            return self.gelu(self.convolve(x, _x(2, 1, 3, 3)))

    return Net()(_x(1, 1, 4, 4))


def numbers_first():
    t = _x(3) + 3
    return [
        torch.div(1, t), torch.add(1, t), torch.sub(1, t), torch.mul(2, t), torch.true_divide(3, t),
        torch.floor_divide(7, t), torch.div(7, t, rounding_mode="trunc"), torch.sub(1, t, alpha=2),
    ]  # fmt: skip


def numbers_alone():
    return torch.add(True, True), torch.mul(2, 3), torch.add(1, 2.5)


def arrays_without_gradients():
    x = _x(3).requires_grad_()
    with torch.no_grad():
        return x.numpy(), (x * 2).numpy()


def wrapped_optimizer():
    class Wrapper(torch.optim.Optimizer):
        def __init__(self, optimizer):
            self.optimizer = optimizer

        @property
        def param_groups(self):
            return self.optimizer.param_groups

        def step(self, closure=None):
            return self.optimizer.step(closure)

    weight = nn.Parameter(_x(3))
    wrapper = Wrapper(torch.optim.SGD([weight], lr=0.1))
    (weight**2).sum().backward()
    wrapper.step()
    return weight, isinstance(wrapper, torch.optim.Optimizer)


def distribution_that_is_a_module():
    class Learned(torch.distributions.Normal, nn.Module):
        def __init__(self, loc):
            nn.Module.__init__(self)
            super().__init__(loc, torch.ones(3))
            self.offset = nn.Parameter(torch.zeros(1))

    return Learned(_x(3)).log_prob(torch.zeros(3))


def transform_that_is_a_module():
    class Scale(torch.distributions.Transform, nn.Module):
        domain = codomain = torch.distributions.constraints.real
        bijective = True

        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(2.0))

        def _call(self, x):
            return self.scale * x

        def _inverse(self, y):
            return y / self.scale

        def log_abs_det_jacobian(self, x, y):
            return self.scale.abs().log().expand(x.shape)

    scale = Scale()
    flow = torch.distributions.TransformedDistribution(torch.distributions.Normal(0.0, 1.0), [scale])
    flow.log_prob(_x(3)).sum().backward()
    return flow.log_prob(_x(3)), scale.scale.grad


def divergence_of_new_classes():
    class Point(torch.distributions.Distribution):
        def __init__(self, value):
            self.value = value
            super().__init__(validate_args=False)

    @torch.distributions.register_kl(Point, torch.distributions.Normal)
    def _of_point(p, q):
        return -q.log_prob(p.value)

    return torch.distributions.kl_divergence(Point(_x(3)), torch.distributions.Normal(0.0, 1.0))


def factor_that_is_overridden():
    class Diagonal(torch.distributions.MultivariateNormal):
        @property
        def _unbroadcasted_scale_tril(self):
            return torch.diag(torch.tensor([1.0, 2.0]))

        @_unbroadcasted_scale_tril.setter
        def _unbroadcasted_scale_tril(self, value):
            pass

    diagonal = Diagonal(torch.zeros(2), scale_tril=torch.eye(2))
    return diagonal.variance, diagonal.log_prob(_x(2)), diagonal.entropy()


def devices_by_name():
    names = ("cpu", "cuda:1", "mps", "xpu", "hpu", "meta")
    devices = [torch.device(name) for name in names]
    return [(d.type, d.index, d == torch.device("mps")) for d in devices], torch.device("xpu", 1) in set(
        devices
    )


def trees():
    from torch.utils import _pytree as pytree

    tree = {"a": [1, 2], "b": (3, None)}
    leaves, spec = pytree.tree_flatten(tree)
    return [
        leaves, spec.num_leaves, spec.num_nodes, pytree.tree_unflatten([n and n * 2 for n in leaves], spec) == {
            "a": [2, 4], "b": (6, None)
        }, pytree.tree_map(lambda one, other: [one, other], 1, [5]), len(spec.children_specs),
    ]  # fmt: skip


def trees_of_new_classes():
    from torch.utils import _pytree as pytree

    class Pair:
        def __init__(self, one, other):
            self.one, self.other = one, other

    pytree.register_pytree_node(Pair, lambda p: ([p.one, p.other], None), lambda children, _: Pair(*children))
    doubled = pytree.tree_map(lambda x: x * 2, {"p": Pair(_x(2), _x(3))})
    return doubled["p"].one, doubled["p"].other


def lists_of_tensors():
    xs = [_x(2), _x(3) + 1]
    torch._foreach_add_(xs, 1.0)
    torch._foreach_mul_(xs, [2.0, 3.0])
    return [
        xs, torch._foreach_add(xs, xs, alpha=2), torch._foreach_norm(xs), torch._foreach_sqrt(torch._foreach_abs(xs)),
        torch._foreach_addcdiv(xs, xs, torch._foreach_add(torch._foreach_abs(xs), 1.0), value=0.5),
        torch._foreach_lerp(xs, torch._foreach_neg(xs), 0.25), torch._foreach_maximum(xs, 0.5),
    ]  # fmt: skip


def gradients_of_lists():
    xs = [_x(2).requires_grad_(), _x(3).requires_grad_()]
    norms = torch._foreach_norm(torch._foreach_mul(xs, 2.0))
    torch.stack(norms).sum().backward()
    return [x.grad for x in xs]


def hints_and_signatures():
    hints = typing.get_type_hints(nn.Linear.forward)
    return [
        sorted(hints), hints["return"] is torch.Tensor, list(inspect.signature(nn.Linear).parameters)[:3],
        list(inspect.signature(F.dropout).parameters), list(inspect.signature(torch.optim.SGD).parameters)[:3],
    ]  # fmt: skip


def names():
    return [
        torch.relu.__name__, F.gelu.__name__, nn.Linear.__qualname__, torch.Tensor.add.__name__,
        all(name in vars(torch.optim) for name in ("Adam", "SGD", "LBFGS")),
    ]  # fmt: skip


def nodes():
    x = _x(3).requires_grad_()
    y = x * 2
    (grad, *_) = [g for g in y.grad_fn(torch.ones(3)) if g is not None]
    kinds = [type(t.grad_fn).__name__ for t in (y, y + 1, y.sum(), y.exp(), y.reshape(3, 1))]
    return (
        kinds,
        grad,
        y.grad_fn.name(),
        [type(f).__name__ for f, _ in y.grad_fn.next_functions if f is not None],
    )


def operators_of_a_library():
    library = torch.library.Library("small_programs_of_a_library", "DEF")
    library.define("scaled(Tensor x, float factor=2.0, *, ScalarType? dtype=None) -> Tensor")
    library.impl("scaled", lambda x, factor=2.0, *, dtype=None: (x * factor).to(dtype or x.dtype), "CPU")
    scaled = torch.ops.small_programs_of_a_library.scaled
    return scaled(_x(3)), scaled.default(_x(3), 3.0), scaled(_x(3), dtype=torch.float64)


def operators_of_aten():
    aten = torch.ops.aten
    return [
        aten.add.Tensor(_x(3), _x(3), alpha=2), aten.mm.default(_x(2, 3), _x(3, 2)), aten.relu(_x(3)),
        aten.sum.dim_IntList(_x(2, 3), [1]), aten.native_layer_norm(_x(2, 3), [3], None, None, 1e-5)[0],
    ]  # fmt: skip


def custom_operator():
    @torch.library.custom_op("small_programs::cube", mutates_args=())
    def cube(x: torch.Tensor) -> torch.Tensor:
        """Return the third power of x."""
        return x**3

    @cube.register_fake
    def _(x):
        return torch.empty_like(x)

    cube.register_autograd(
        lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    x = _x(3).requires_grad_()
    cube(x).sum().backward()
    return cube(x), x.grad, list(cube(torch.empty(2, 3, device="meta")).shape)


def scripted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        @torch.jit.script
        def double(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        class Net(nn.Module):
            @torch.jit.export
            def more(self, x: torch.Tensor) -> torch.Tensor:
                return x + 1

            @torch.jit.ignore
            def other(self, x: torch.Tensor) -> torch.Tensor:
                return x

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return double(x)

        return torch.jit.script(Net())(_x(3)), torch.jit.trace(Net(), _x(3))(_x(4)), torch.jit.is_scripting()


def recorded():
    @torch.autograd.profiler.record_function("outer")
    def twice(x):
        with torch.profiler.record_function("inner"):
            return x * 2

    return twice(_x(3))


def hooks_of_all_modules():
    from torch.nn.modules import module as internals

    seen = []
    handle = internals.register_module_forward_hook(lambda m, inputs, output: seen.append(type(m).__name__))
    registered = len(internals._global_forward_hooks)
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    net._call_impl(_x(1, 3))
    handle.remove()
    net(_x(1, 3))
    return seen, registered, len(internals._global_forward_hooks)


def own_iterator_of_a_loader():
    from torch.utils.data import DataLoader, dataloader

    class Doubled(dataloader._SingleProcessDataLoaderIter):
        def _next_data(self):
            return super()._next_data() * 2

    class Loader(DataLoader):
        def __iter__(self):
            return Doubled(self)

    batches = list(Loader(list(range(6)), batch_size=4))
    return batches, isinstance(iter(DataLoader([1])), dataloader._BaseDataLoaderIter)


def callback_after_backward():
    from torch.autograd import Variable

    order = []
    x = _x(3).requires_grad_()

    def queue(grad):
        order.append("hook")
        Variable._execution_engine.queue_callback(lambda: order.append("callback"))

    y = x * 2
    y.register_hook(queue)
    y.sum().backward()
    return order, x.grad


def mapped_over_objects():
    def f(pair):
        return pair["a"] * pair["b"].sum()

    pairs = {"a": _x(4), "b": _x(4, 3)}
    return torch.vmap(f)(pairs), torch.func.vmap(torch.func.grad(lambda a: (a**3).sum()))(_x(4, 2))


def functions_on_objects():
    class Unit:
        def __init__(self, value):
            self.value = value

        @classmethod
        def __torch_function__(cls, function, types, arguments=(), options=None):
            values = [a.value if isinstance(a, Unit) else a for a in arguments]
            return Unit(function(*values, **(options or {})))

    class Tagged(torch.Tensor):
        pass

    tagged = _x(3).as_subclass(Tagged)
    return torch.add(Unit(_x(3)), 1).value, F.relu(Unit(_x(3))).value, type(tagged + 1).__name__, tagged.sum()


def modes():
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    calls = []

    class Functions(TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), options=None):
            calls.append("function")
            return function(*arguments, **(options or {}))

    class Dispatch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), options=None):
            calls.append("mul" in str(function))
            return function(*arguments, **(options or {}))

    with Functions():
        first = torch.add(_x(2), 1)
    before = len(calls) > 0
    calls.clear()
    with Dispatch():
        second = torch.mul(first, first)
    return before, calls, second


def files():

    buffer = io.BytesIO()
    torch.save({"x": _x(3), "nested": [torch.tensor(1, dtype=torch.int8)]}, buffer)
    buffer.seek(0)
    loaded = torch.load(buffer)
    again = pickle.loads(pickle.dumps(_x(2)))
    refused = io.BytesIO()
    torch.save({"x": complex}, refused)
    refused.seek(0)
    try:
        torch.load(refused)
    except pickle.UnpicklingError:
        return loaded, again, "refused"
    return loaded, again, "loaded"
