"""Module: registration, attributes, traversal, conversion, hooks, state dicts, copies."""

from __future__ import annotations

import copy
import gc
import pickle
from collections import OrderedDict
from typing import NamedTuple

import pytest

import tt
from tests.processes import printed_by
from tt import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.scale = nn.Parameter(tt.ones(1))
        self.register_buffer("mean", tt.zeros(3))
        self.register_buffer("cache", tt.zeros(1), persistent=False)
        self.rest = nn.Sequential(nn.Identity(), nn.Linear(3, 1))

    def forward(self, x):
        return self.rest((self.first(x) - self.mean) * self.scale)


NAMES = ["scale", "first.weight", "first.bias", "rest.1.weight", "rest.1.bias"]


def test_importing_nn_loads_no_plugin():
    program = (
        "import sys, tt.nn\nprint(*[m for m in sys.modules if m.startswith(('tt.plugins', 'tt.backends'))])"
    )
    assert printed_by(program).split() == []


def test_assigned_tensors_and_modules_are_registered():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == NAMES
    assert [name for name, _ in net.named_buffers()] == ["mean", "cache"]
    assert [name for name, _ in net.named_children()] == ["first", "rest"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "rest", "rest.0", "rest.1"]
    assert net.scale is net._parameters["scale"]


def test_the_tables_are_the_only_truth():
    net = Net()
    other = nn.Parameter(tt.zeros(1))
    net._parameters["scale"] = other
    assert net.scale is other
    del net._buffers["mean"]
    with pytest.raises(AttributeError, match="mean"):
        _ = net.mean


def test_a_name_moves_between_the_tables():
    module = nn.Module()
    module.x = 1
    module.x = nn.Parameter(tt.ones(1))
    assert list(module._parameters) == ["x"] and "x" not in vars(module)
    with pytest.raises(TypeError, match="as parameter 'x'"):
        module.x = nn.Identity()
    module.x = None
    assert module.x is None and list(module._parameters) == ["x"]
    del module.x
    module.x = nn.Buffer(tt.ones(1), persistent=False)
    assert list(module._buffers) == ["x"] and module._non_persistent_buffers_set == {"x"}
    module.x = tt.zeros(2)
    assert module._buffers["x"].shape == (2,)
    with pytest.raises(TypeError, match="as buffer 'x'"):
        module.x = 3
    del module.x
    module.x = nn.Identity()
    with pytest.raises(TypeError, match="as child module 'x'"):
        module.x = 3


def test_errors_of_registration():
    module = nn.Module()
    with pytest.raises(KeyError, match="contain"):
        module.register_buffer("a.b", None)
    with pytest.raises(KeyError, match="empty"):
        module.register_parameter("", None)
    with pytest.raises(TypeError, match="string"):
        module.add_module(1, nn.Identity())
    with pytest.raises(KeyError, match="already exists"):
        module.register_parameter("forward", None)
    with pytest.raises(TypeError, match="not a Module"):
        module.add_module("x", 3)
    with pytest.raises(TypeError, match="to parameter 'x'"):
        module.register_parameter("x", tt.ones(1))
    with pytest.raises(ValueError, match="non-leaf"):
        module.register_parameter("x", computed())


def computed():
    param = nn.Parameter(tt.ones(1))
    found = param * 2
    found._is_param = True  # as of a tensor-like subclass
    return found


def test_what_is_assigned_before_init_is_refused():
    class Early(nn.Module):
        def __init__(self, value):
            self.x = value

    for value in (nn.Parameter(tt.ones(1)), nn.Identity(), nn.Buffer(tt.ones(1))):
        with pytest.raises(AttributeError, match="before Module"):
            Early(value)


def test_a_property_that_fails_says_its_own_error():
    class Broken(nn.Module):
        @property
        def value(self):
            return self.missing

    with pytest.raises(AttributeError, match="'missing'"):
        _ = Broken().value


def test_duplicates_are_yielded_once_or_with_every_name():
    net = Net()
    net.again = net.first
    assert [name for name, _ in net.named_parameters()] == NAMES
    names = [name for name, _ in net.named_parameters(remove_duplicate=False)]
    assert {"again.weight", "first.weight"} <= set(names)
    assert [n for n, _ in net.named_parameters(prefix="net", recurse=False)] == ["net.scale"]


def test_paths_lead_to_modules_parameters_and_buffers():
    net = Net()
    assert net.get_submodule("rest.1") is net.rest[1]
    assert net.get_submodule("") is net
    assert net.get_parameter("rest.1.weight") is net.rest[1].weight
    assert net.get_buffer("mean") is net.mean
    net.set_submodule("rest.0", nn.Linear(3, 3))
    assert type(net.rest[0]) is nn.Linear
    for path in ("rest.7", "scale", "nothing.at.all"):
        with pytest.raises(AttributeError):
            net.get_submodule(path)
    with pytest.raises(AttributeError, match="buffer"):
        net.get_buffer("scale")
    with pytest.raises(ValueError):
        net.set_submodule("", nn.Identity())
    with pytest.raises(AttributeError):
        net.set_submodule("rest.new", nn.Identity(), strict=True)


def test_modes_reach_all_modules():
    net = Net().eval()
    assert not any(module.training for module in net.modules())
    assert all(module.training for module in net.train().modules())
    with pytest.raises(ValueError, match="boolean"):
        net.train("yes")


def test_conversion_keeps_the_parameters_and_converts_gradients():
    net = Net()
    net(tt.ones(1, 2)).sum().backward()
    before = dict(net.named_parameters())
    net.to(tt.float64)
    assert all(param is before[name] for name, param in net.named_parameters())
    assert {p.dtype for p in net.parameters()} == {tt.float64} == {p.grad.dtype for p in net.parameters()}
    assert net.mean.dtype == tt.float64
    assert net.to(tt.ones(1)).scale.dtype == tt.float32
    assert net.half().scale.dtype == tt.float16
    with pytest.raises(TypeError, match="floating point"):
        net.to(tt.int64)
    with pytest.raises(TypeError):
        net.to("cpu", tt.float32, False, 3)


def test_integers_keep_their_dtype():
    module = nn.Module()
    module.register_buffer("count", tt.zeros(1, dtype=tt.int64))
    assert module.double().count.dtype == tt.int64


def test_meta_parameters_become_real_by_to_empty():
    layer = nn.Linear(2, 3, device="meta")
    assert layer.weight.is_meta
    layer.to_empty(device="cpu")
    assert (layer.weight.device.type, layer.weight.shape) == ("cpu", (3, 2))
    assert isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad


def test_gradients_are_reset():
    net = Net()
    net(tt.ones(1, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert all(not p.grad.any() for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_forward_hooks_run_in_order_and_change_inputs_and_outputs():
    layer, log = nn.Identity(), []
    layer.register_forward_pre_hook(lambda m, args: log.append("pre") or (args[0] + 1,))
    layer.register_forward_hook(lambda m, args, out: log.append("second"))
    handle = layer.register_forward_hook(lambda m, args, out: log.append("first") or out * 10, prepend=True)
    assert layer(tt.ones(1)).item() == 20
    assert log == ["pre", "first", "second"]
    handle.remove()
    handle.remove()
    assert layer(tt.ones(1)).item() == 2


def test_hooks_with_keywords():
    class Add(nn.Module):
        def forward(self, x, *, y):
            return x + y

    layer = Add()
    layer.register_forward_pre_hook(lambda m, args, kwargs: (args, {"y": kwargs["y"] * 2}), with_kwargs=True)
    layer.register_forward_hook(lambda m, args, kwargs, out: (out, kwargs["y"]), with_kwargs=True)
    out, seen = layer(tt.ones(1), y=tt.ones(1))
    assert (out.item(), seen.item()) == (3, 2)
    layer.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="new_args, new_kwargs"):
        layer(tt.ones(1), y=tt.ones(1))


def test_a_hook_that_is_always_called_runs_after_an_error():
    class Fails(nn.Module):
        def forward(self, x):
            raise KeyError("x")

    layer, log = Fails(), []
    layer.register_forward_hook(lambda m, args, out: log.append(out), always_call=True)
    layer.register_forward_hook(lambda m, args, out: log.append("never"))
    with pytest.raises(KeyError):
        layer(tt.ones(1))
    assert log == [None]


def test_global_hooks_see_every_module():
    from tt.nn.modules.hooks import register_module_forward_hook

    log = []
    with register_module_forward_hook(lambda m, args, out: log.append(type(m).__name__)):
        nn.Sequential(nn.Identity())(tt.ones(1))
    nn.Identity()(tt.ones(1))
    assert log == ["Identity", "Sequential"]


def test_hooks_are_forgotten_once_the_last_is_removed():
    layer = nn.Identity()
    handle = layer.register_forward_hook(lambda m, args, out: out + 1)
    assert layer(tt.zeros(1)).item() == 1
    handle.remove()
    assert layer(tt.zeros(1)).item() == 0
    assert not layer._may_have_hooks
    layer._forward_hooks[0] = lambda m, args, out: out + 5  # a table itself, as some programs use it
    assert layer(tt.zeros(1)).item() == 5


def test_full_backward_hooks_see_and_change_gradients():
    layer, log = nn.Linear(2, 2), []
    layer.register_full_backward_pre_hook(lambda m, grads: (grads[0] * 2,))
    layer.register_full_backward_hook(lambda m, gi, go: log.append((gi[0], go[0])) or (gi[0] * 0,))
    x = tt.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    (grad_input, grad_output) = log[0]
    assert grad_output.tolist() == [[2, 2]]
    assert tt.allclose(grad_input, 2 * layer.weight.sum(0, keepdim=True))
    assert x.grad.tolist() == [[0, 0]]


class Pair(NamedTuple):
    first: tt.Tensor
    second: tt.Tensor


class Paired(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, x):
        return self.make(x)


def test_named_tuples_stay_what_they_are_under_backward_hooks():
    seen = []
    for make in (lambda x: Pair(x * 2, x * 3), lambda x: tt.max(x * 2, 0)):
        module = Paired(make)
        module.register_full_backward_hook(lambda m, gi, go: seen.append(len(go)))
        x = tt.ones(2, requires_grad=True)
        out = module(x)
        assert type(out) is type(make(x)) and out._fields == make(x)._fields
        out[0].sum().backward()
        assert x.grad is not None
    assert seen == [2, 2]
    layer = nn.Linear(2, 2)
    layer.register_forward_pre_hook(lambda m, args: Arguments(args[0]))
    layer.register_full_backward_hook(lambda m, gi, go: Arguments(gi[0] * 0))
    layer.register_full_backward_pre_hook(lambda m, go: Arguments(go[0] * 2))
    layer(x).sum().backward()
    assert layer.bias.grad.tolist() == [2, 2]


class Arguments(NamedTuple):
    input: tt.Tensor


def test_kinds_of_backward_hooks_do_not_mix():
    layer = nn.Linear(1, 1)
    layer.register_full_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError):
        layer.register_backward_hook(lambda *args: None)


def test_a_state_dict_has_parameters_and_persistent_buffers():
    net = Net()
    state = net.state_dict()
    assert list(state) == ["scale", "mean", "first.weight", "first.bias", "rest.1.weight", "rest.1.bias"]
    assert isinstance(state, OrderedDict) and state._metadata["rest"] == {"version": 1}
    assert not state["scale"].requires_grad and state["scale"].data_ptr() == net.scale.data_ptr()
    assert net.state_dict(keep_vars=True, prefix="net.")["net.scale"] is net.scale


def test_loading_copies_or_assigns():
    source, net = Net(), Net()
    result = net.load_state_dict(source.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert tt.equal(net.first.weight, source.first.weight) and net.first.weight is not source.first.weight
    state = source.state_dict()
    net.load_state_dict(state, assign=True)
    assert net.mean is state["mean"] and net.scale.data_ptr() == source.scale.data_ptr()
    assert isinstance(net.scale, nn.Parameter)
    mean = net.mean
    net.load_state_dict(Net().state_dict() | {"mean": tt.ones(3)})
    assert net.mean is mean and net.mean.tolist() == [1, 1, 1]
    assert state._metadata[""] == {"version": 1}


def test_a_state_dict_that_does_not_fit_changes_nothing_and_lists_everything():
    net = Net()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    state = Net().state_dict()
    state["first.weight"] = tt.zeros(7, 7)
    state["surplus"] = state.pop("rest.1.bias")
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    text = str(caught.value)
    for part in ("Error(s) in loading state_dict for Net", "Missing key(s)", '"rest.1.bias"', "Unexpected key(s)",
                 '"surplus"', "size mismatch for first.weight", "[7, 7]", "[3, 2]"):  # fmt: skip
        assert part in text
    assert all(tt.equal(value, before[name]) for name, value in net.state_dict().items())


def test_loading_may_be_partial():
    net = Net()
    result = net.load_state_dict({"scale": tt.full((1,), 5.0), "more": tt.ones(1)}, strict=False)
    assert net.scale.item() == 5
    assert result.unexpected_keys == ["more"] and "mean" in result.missing_keys
    with pytest.raises(TypeError, match="dict-like"):
        net.load_state_dict([1])


def test_extra_state_is_saved_and_loaded():
    class Counts(nn.Module):
        count = 0

        def get_extra_state(self):
            return self.count

        def set_extra_state(self, state):
            self.count = state

    module, other = Counts(), Counts()
    module.count = 3
    other.load_state_dict(module.state_dict())
    assert other.count == 3
    with pytest.raises(RuntimeError, match="_extra_state"):
        other.load_state_dict({})


def test_hooks_of_state_dicts():
    net, log = Net(), []
    net.register_state_dict_pre_hook(lambda m, prefix, keep: log.append(prefix))
    net.register_state_dict_post_hook(lambda m, state, prefix, meta: state.pop("scale") and None)
    net.register_load_state_dict_pre_hook(
        lambda m, state, *rest: state.setdefault("scale", tt.full((1,), 2.0)) and None
    )
    net.register_load_state_dict_post_hook(lambda m, keys: log.append(list(keys.missing_keys)))
    state = net.state_dict()
    assert "scale" not in state
    net.load_state_dict(state)
    assert net.scale.item() == 2
    assert log == ["", "", []] or log == ["", []]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_independent(duplicate):
    net = nn.Sequential(nn.Linear(2, 2), nn.Identity())
    other = duplicate(net)
    assert repr(other) == repr(net)
    with tt.no_grad():
        other[0].weight.zero_()
    assert net[0].weight.any()
    assert all(p.requires_grad for p in other.parameters())


def test_repr_nests():
    assert repr(nn.Sequential(nn.Sequential(nn.Identity()))) == (
        "Sequential(\n  (0): Sequential(\n    (0): Identity()\n  )\n)"
    )


def test_apply_visits_children_first():
    seen = []
    Net().apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["Linear", "Identity", "Linear", "Sequential", "Net"]


def test_a_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Module()(1)
    with pytest.raises(NotImplementedError, match="compile"):
        nn.Module().compile()


def test_arguments_of_module_itself_are_refused():
    with pytest.raises(TypeError, match="'x'"):
        nn.Module(x=1)


def test_classes_may_read_attributes_in_their_own_way():
    class Wrapper(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.inner, name)

    wrapper = Wrapper(nn.Linear(1, 1))
    assert wrapper.weight is wrapper.inner.weight
    with pytest.raises(AttributeError, match="'none'"):
        _ = wrapper.none

    class Plain(nn.Linear):
        pass

    plain = Plain(1, 1)
    Plain.__getattr__ = lambda self, name: f"no {name}"
    try:
        assert plain.anything == "no anything"
    finally:
        del Plain.__getattr__
    assert plain.weight is plain._parameters["weight"]
    with pytest.raises(AttributeError, match="Plain"):
        _ = plain.anything


def test_attributes_of_the_class_come_first():
    class Fixed(nn.Module):
        size = 3

        @property
        def weight(self):
            return self.size * 2

    module = Fixed()
    module._parameters["weight"] = nn.Parameter(tt.ones(1))
    assert module.weight == 6
    with pytest.raises(KeyError, match="already exists"):
        module.register_buffer("size", None)


@pytest.fixture
def future():
    from tt import __future__ as settings

    yield settings
    settings.set_swap_module_params_on_conversion(False)
    settings.set_overwrite_module_params_on_conversion(False)


def test_parameters_may_be_swapped(future):
    future.set_swap_module_params_on_conversion(True)
    layer = nn.Linear(2, 1)
    weight = layer.weight
    layer(tt.ones(1, 2)).sum().backward()
    layer.double()
    assert layer.weight is weight and weight.dtype == weight.grad.dtype == tt.float64
    state = {"weight": tt.full((1, 2), 3.0), "bias": tt.ones(1)}
    layer.load_state_dict(state)
    assert weight.tolist() == [[3, 3]] and weight.dtype == tt.float64 and isinstance(weight, nn.Parameter)
    layer.load_state_dict(state, assign=True)
    assert layer.weight is weight and weight.dtype == tt.float32
    assert layer(tt.ones(1, 2)).item() == 7


def test_conversions_may_make_new_parameters(future):
    future.set_overwrite_module_params_on_conversion(True)
    layer = nn.Linear(2, 1)
    weight = layer.weight
    assert layer.double().weight is not weight and weight.dtype == tt.float32
    assert layer.weight.requires_grad


def test_tensors_change_places():
    a, b = nn.Parameter(tt.ones(2)), tt.zeros(3, dtype=tt.float64)
    a.grad, a.tag = tt.ones(2), "a"
    tt.utils.swap_tensors(a, b)
    assert isinstance(b, nn.Parameter) and type(a) is tt.Tensor and not a.requires_grad
    assert (b.tag, b.grad.tolist(), a.grad, a.shape, a.dtype) == ("a", [1, 1], None, (3,), tt.float64)
    shape = tt.empty(5, device="meta")
    tt.utils.swap_tensors(a, shape)
    assert a.is_meta and a.shape == (5,) and shape.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="swap_tensors"):
        tt.utils.swap_tensors(a, b * 2)


def test_slots_and_attributes_change_places():
    class Named(tt.Tensor):
        __slots__ = ("name",)

    class Sized(tt.Tensor):
        __slots__ = ("name", "size_hint")

    a, b = tt.ones(2).as_subclass(Named), tt.zeros(2).as_subclass(Named)
    a.name, a.other = "a", 1
    attributes = a.__dict__
    tt.utils.swap_tensors(a, b)
    assert b.name == "a" and not hasattr(a, "name") and b.__dict__ is attributes and not hasattr(a, "other")
    with pytest.raises(RuntimeError, match="Cannot swap t1 and t2 if they have different slots"):
        tt.utils.swap_tensors(a, tt.ones(2).as_subclass(Sized))


@pytest.mark.parametrize("make", [lambda: tt.ones(2, device="meta"), lambda: tt.eye(2).to_sparse()])
def test_tensors_of_other_devices_and_layouts_change_places(make):
    a, b = nn.Parameter(tt.ones(3)), make()
    device, layout = b.device, b.layout
    tt.utils.swap_tensors(a, b)
    assert (a.device, a.layout, b.tolist()) == (device, layout, [1, 1, 1]) and isinstance(b, nn.Parameter)
    (b * 2).sum().backward()
    assert b.grad.tolist() == [2, 2, 2]


def test_a_module_without_data_swaps_in_those_of_a_state_dict(future):
    future.set_swap_module_params_on_conversion(True)
    layer = nn.Linear(2, 1, device="meta")
    weight = layer.weight
    layer.load_state_dict({"weight": tt.ones(1, 2), "bias": tt.ones(1)}, assign=True)
    assert layer.weight is weight and isinstance(weight, nn.Parameter)
    layer(tt.ones(1, 2)).backward()
    assert weight.grad.tolist() == [[1, 1]]
    assert layer.to("meta").weight is weight and weight.is_meta


class Filtered(nn.Linear):
    """A module whose state dict is its own affair."""

    def state_dict(self, *args, **kwargs):
        raise AssertionError("loading asks for no state dict")


def test_loading_calls_no_hooks_of_the_state_dict():
    state = nn.Linear(1, 1).state_dict()
    assert str(Filtered(1, 1).load_state_dict(state)) == "<All keys matched successfully>"
    calls: list[int] = []
    plain = nn.Linear(1, 1)
    plain.register_state_dict_post_hook(lambda *args: calls.append(1))
    plain.register_state_dict_pre_hook(lambda *args: calls.append(1))
    plain.load_state_dict(state)
    assert calls == []


# --- ties and assignment ------------------------------------------------------------------------------------------


class Tied(nn.Module):
    def __init__(self, device=None):
        super().__init__()
        self.embedding = nn.Embedding(3, 2, device=device)
        self.head = nn.Linear(2, 3, bias=False, device=device)
        self.head.weight = self.embedding.weight
        self.register_buffer("mean", tt.zeros(2, device=device))
        self.head.register_buffer("mean", self.mean)

    def is_tied(self):
        return self.head.weight is self.embedding.weight and self.head.mean is self.mean


def through_a_file(state):
    return pickle.loads(pickle.dumps(state))


@pytest.mark.parametrize("device", [None, "meta"])
@pytest.mark.parametrize(
    "change",
    [
        lambda state: state,
        through_a_file,
        lambda state: OrderedDict((name, tensor.clone()) for name, tensor in state.items()),
        lambda state: OrderedDict((name, state[name]) for name in state if not name.startswith("head")),
        lambda state: OrderedDict((name, state[name]) for name in state if name.startswith("head")),
    ],
    ids=["views", "saved", "clones", "without the last", "without the first"],
)
def test_tied_tensors_stay_tied_when_tensors_are_assigned(device, change):
    source, net = Tied(), Tied(device)
    net.load_state_dict(change(source.state_dict()), strict=False, assign=True)
    assert net.is_tied() and len(list(net.parameters())) == 1
    assert isinstance(net.head.weight, nn.Parameter) and net.head.weight.requires_grad
    assert tt.equal(net.head.weight, source.head.weight)


def test_values_that_differ_untie_what_they_are_assigned_to():
    net, state = Tied(), Tied().state_dict()
    state["head.weight"] = state["head.weight"] + 1
    net.load_state_dict(state, assign=True)
    assert tt.equal(net.head.weight, state["head.weight"])
    assert tt.equal(net.embedding.weight, state["embedding.weight"])


def test_a_state_that_does_not_fit_leaves_tied_tensors_as_they_were():
    net, state = Tied(), Tied().state_dict()
    weight, before = net.head.weight, net.head.weight.detach().clone()
    state["more"] = tt.ones(1)
    with pytest.raises(RuntimeError, match="more"):
        net.load_state_dict(state, assign=True)
    assert net.is_tied() and net.head.weight is weight and tt.equal(weight, before)


def test_a_buffer_does_not_take_the_place_of_another_attribute():
    module = nn.Module()
    module.attr = 5
    with pytest.raises(KeyError, match="attribute 'attr' already exists"):
        module.attr = nn.Buffer(tt.ones(1))
    assert module.attr == 5
    module.other = nn.Buffer(tt.ones(1))
    module.other = nn.Buffer(tt.zeros(1))
    assert module.other.item() == 0


@pytest.mark.parametrize("assign", [False, True])
def test_loading_a_state_dict_leaves_no_reference_cycle(assign):
    module = tt.nn.Sequential(tt.nn.Linear(2, 2), tt.nn.BatchNorm1d(2))
    state = module.state_dict()
    module.load_state_dict(state, assign=assign)
    gc.collect()
    module.load_state_dict(state, assign=assign)
    assert gc.collect() == 0


def test_a_subclass_defines_register_buffer_without_persistent():
    class Bad(tt.nn.Module):
        def register_buffer(self, name, value):
            super().register_buffer(name, value, True)

    module = Bad()
    module.bar = tt.nn.Buffer(tt.ones(2))
    assert list(module.state_dict()) == ["bar"]
    with pytest.raises(TypeError):
        module.other = tt.nn.Buffer(tt.ones(2), persistent=False)
