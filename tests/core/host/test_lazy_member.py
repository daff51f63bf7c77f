"""Members of tensors that plugins bring."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import tt
from tt.core.errors import (
    MemberError,
    PluginConflictError,
    PluginError,
    PluginFailedError,
)
from tt.core.host import host
from tt.core.host.plugin import KNOWN_PLUGINS
from tt.core.host.preferences import prefer

from .conftest import states

MEMBERS = """
    from tt.core.hooks import Manifest, hookimpl
    registered = []

    @hookimpl
    def tt_manifest():
        here = "host_test_one_one"
        return Manifest("one", members={
            "double": here + ":double", "half": here + ":half", "gone": here + ":nothing",
            "broken": "no_such_module:x"})

    @hookimpl
    def tt_register(registry):
        registered.append(1)

    def double(self, times=1):
        "Doubles."
        return 2 * times

    def get(self): return self.__dict__.get("_half", 0.5)
    def put(self, value): self.__dict__["_half"] = value
    def drop(self): del self.__dict__["_half"]
    half = property(get, put, drop)
"""


@pytest.fixture
def tensor_class(packages):
    kind = type("Tensor", (), {})
    packages.add("one", MEMBERS)
    packages.host(tensor_class=kind).load()
    return kind


def test_a_member_is_found_at_first_use_and_then_stands_in_its_own_place(packages, tensor_class):
    assert packages.module("one").registered == []
    assert tensor_class().double(3) == 6
    assert packages.module("one").registered == [1]
    assert tensor_class.__dict__["double"] is packages.module("one").double
    assert tensor_class().double(4) == 8


def test_a_member_may_be_a_property_that_is_set_and_deleted_first(tensor_class):
    first, second = tensor_class(), tensor_class()
    first.half = 3
    assert (first.half, second.half) == (3, 0.5)
    del first.half
    assert first.half == 0.5
    assert isinstance(tensor_class.__dict__["half"], property)


def test_deleting_works_as_the_first_use(tensor_class):
    made = tensor_class()
    made.__dict__["_half"] = 2
    del made.half
    assert made.half == 0.5


def test_a_member_is_reached_on_the_class_and_through_super(tensor_class):
    class Child(tensor_class):
        def double(self):
            return super().double() + 1

    assert Child().double() == 3
    assert tensor_class.double(None) == 2


def test_setting_a_method_first_sets_it_on_the_instance_only(tensor_class):
    made = tensor_class()
    made.double = 5
    assert made.double == 5
    assert tensor_class().double() == 2


def test_a_member_whose_target_is_not_there_says_where_it_was_looked_for(tensor_class):
    for name, target in [("gone", "host_test_one_one:nothing"), ("broken", "no_such_module:x")]:
        with pytest.raises(PluginError, match=f"member '{name}' of Tensor cannot be found at {target}"):
            getattr(tensor_class(), name)


def test_a_member_of_a_plugin_that_fails_raises_its_reason(packages):
    kind = type("Tensor", (), {})
    packages.add("one", MEMBERS.replace("registered.append(1)", "raise OSError('late')"))
    packages.host(tensor_class=kind).load()
    for _ in range(2):
        with pytest.raises(
            MemberError, match=r"the member 'double' is brought by .*\n  tried: OSError: late"
        ) as caught:
            kind().double()
        assert isinstance(caught.value.__cause__, PluginFailedError)
        assert "raise OSError" in caught.value.__notes__[0]
    assert not hasattr(kind(), "double")


def test_a_member_that_tensors_have_already_stays_theirs_and_the_others_work(packages):
    packages.add("one", MEMBERS)
    kind = type("Tensor", (), {"half": None})
    host = packages.host(tensor_class=kind)
    assert states(host) == {"one": "loaded"}
    assert host.plugins()[0].contested == ("the member 'half' is declared by tt itself, too; it is tt's own",)
    assert kind.half is None
    assert kind().double() == 2


def test_a_member_of_two_plugins_is_refused_until_one_is_preferred(packages):
    packages.add("one", MEMBERS)
    packages.add("two", MEMBERS.replace('"one"', '"two"').replace("_one_one", "_two_two"))
    kind = type("Tensor", (), {})
    host = packages.host(tensor_class=kind)
    host.load()
    with pytest.raises(PluginConflictError, match="the member 'double' is brought by 2 plugins"):
        kind().double()
    with prefer("two", host=host):
        assert kind().double() == 2
    assert packages.module("two").registered == [1] and packages.module("one").registered == []
    assert kind().double() == 2  # settled by its first use


# --- members of plugins that tt knows and cannot use ---------------------------------------------------------------


def test_the_members_that_tt_knows_are_those_of_the_plugin():
    from tt.core.host.plugin import KNOWN_PLUGINS
    from tt.plugins.autograd.plugin import tt_manifest

    known = {
        name
        for (kind, name), found in KNOWN_PLUGINS.items()
        if kind == "member" and found.plugin == "autograd"
    }
    assert known == set(tt_manifest().members)
    layers = {
        name
        for (kind, name), known in KNOWN_PLUGINS.items()
        if kind == "layer" and known.plugin == "autograd"
    }
    assert layers == set(tt_manifest().layers)


def test_a_known_member_of_no_usable_plugin_says_what_is_missing(packages):
    kind = type("Tensor", (), {})
    packages.host(tensor_class=kind).load()
    with pytest.raises(
        MemberError, match=r"the member 'backward' is brought by the plugin 'autograd', which is not inst"
    ):
        kind().backward()
    with pytest.raises(MemberError, match="the member 'grad'"):
        kind().grad = 1
    assert not hasattr(kind(), "backward")
    # What has one value without the plugin is read, and set to that.
    tensor = kind()
    assert tensor.grad is None and tensor.requires_grad is False and tensor.is_leaf is True
    tensor.grad, tensor.requires_grad = None, False
    del tensor.grad
    assert tensor.requires_grad_(False) is tensor is tensor.requires_grad_(requires_grad=False)
    assert tensor.is_inference() is False
    for use in (lambda: tensor.requires_grad_(), lambda: setattr(tensor, "requires_grad", True)):
        with pytest.raises(MemberError, match="the member 'requires_grad"):
            use()


def test_another_plugin_may_bring_a_known_member(packages):
    kind = type("Tensor", (), {})
    packages.host(tensor_class=kind).load()  # of a host that did not see the plugin
    packages.add("one", MEMBERS.replace('"half":', '"backward":').replace(":half", ":double"))
    host = packages.host(tensor_class=kind)
    assert states(host) == {"one": "loaded"}
    assert kind().backward() == 2
    assert host.plugins()[0].contested == ()


USES = {
    "x.requires_grad_()": "requires_grad_",
    "x.backward()": "backward",
    "x.requires_grad": "requires_grad",
    "setattr(x, 'grad', None)": "grad",
    "tt.tensor([1.0], requires_grad=True)": "requires_grad",
    "tt.ones(2, requires_grad=True)": "requires_grad_",
    "tt.nn.Parameter(x)": "requires_grad",
    "tt.testing.gradcheck(lambda x: x, (x,))": "requires_grad",
}
LAYERS = {
    "tt.no_grad": "autograd",
    "tt.enable_grad()": "autograd",
    "tt.autograd.grad": "autograd",
    "tt.vmap": "transform",
}
ANSWERED = (
    "x.requires_grad",
    "setattr(x, 'grad', None)",
    "tt.nn.Parameter(x)",
    "tt.no_grad",
    "tt.enable_grad()",
    "tt.testing.gradcheck(lambda x: x, (x,))",  # by an error of its own: x requires no gradient
)
"""What needs no plugin that is left out, but complains about one that is broken: then something went wrong."""
PROGRAM = """
import sys, tt
{before}
x = tt.ones(2)
assert (x + x).tolist() == [2.0, 2.0] and x.detach().tolist() == [1.0, 1.0]
assert not hasattr(x, "backward")
with tt.fake_mode():
    assert (tt.ones(2) + 1).shape == (2,)
tt.testing.assert_close(x.clone(), x)
for use in {uses}:
    try:
        eval(use)
    except (tt.errors.PluginError, tt.errors.PluginFailedError) as error:
        print(use, "|", str(error).splitlines()[0])
    else:
        sys.exit("no error: " + use)
"""


def test_every_member_of_a_plugin_of_tt_is_known_without_it():
    for plugin in host.plugins():
        if plugin.distribution == "tt-tensor" and plugin.manifest is not None:
            known = {
                name
                for (kind, name), by in KNOWN_PLUGINS.items()
                if (kind, by.plugin) == ("member", plugin.name)
            }
            assert known == {*plugin.manifest.members}, plugin.name


@pytest.mark.parametrize(
    ("plugin", "use"),
    [
        ("sparse", "tt.ones(2, 2).to_sparse()"),
        ("sparse", "tt.ones(2, 2).to_dense()"),
        ("quantized", "tt.ones(2).q_scale()"),
        ("nested", "tt.ones(2).to_padded_tensor(0)"),
    ],
)
def test_a_member_of_a_disabled_plugin_says_so(plugin, use, tmp_path):
    program = f"import tt\nassert not hasattr(tt.ones(2), {use.split('.')[-1].split('(')[0]!r})\n{use}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TT_DISABLE_PLUGINS": plugin}, capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    last = [line for line in done.stderr.splitlines() if "Error" in line][-1]
    assert "MemberError: the member " in last and f"is brought by the plugin '{plugin}'" in last, done.stderr
    assert last.endswith("which is blocked: listed in TT_DISABLE_PLUGINS"), last


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", ["blocked", "failed manifest", "failed registration"])
def test_without_autograd_whatever_needs_it_says_why(how, tmp_path):
    before, end = "", "which failed to load"
    environ = {**os.environ}
    if how == "blocked":
        environ["TT_DISABLE_PLUGINS"] = "autograd"
        end = "which is blocked: listed in TT_DISABLE_PLUGINS"
    else:
        hook = "tt_manifest" if how == "failed manifest" else "tt_register"
        before = (
            "import pluggy\nfrom tt.core.hooks import hookimpl\nimport tt.plugins.autograd.plugin as broken\n"
            f"def {hook}({'registry' if hook == 'tt_register' else ''}): raise OSError('half installed')\n"
            f"broken.{hook} = hookimpl({hook})"
        )
    answered = ANSWERED if how == "blocked" else ()
    uses = [use for use in (*USES, *LAYERS) if use not in answered]
    program = PROGRAM.format(before=before, uses=uses)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    wanted = [f"{use} | the member {name!r} is" for use, name in USES.items() if use in uses]
    wanted += [f"{use} | the layer {name!r} is" for use, name in LAYERS.items() if use in uses]
    lines = done.stdout.splitlines()
    assert [line.startswith(start) for line, start in zip(lines, wanted, strict=True)] == [True] * len(
        wanted
    ), lines
    assert all(line.endswith(end) and "the plugin 'autograd'" in line for line in lines), lines


INFERENCE = """
import copy, io, pickle, tt
assert tt.is_grad_enabled() in (True, False) and not tt.is_inference_mode_enabled()
model = tt.nn.Sequential(tt.nn.Linear(2, 4), tt.nn.BatchNorm1d(4), tt.nn.ReLU(), tt.nn.Linear(4, 1))
model.requires_grad_(False).eval()
for mode in (tt.no_grad(), tt.enable_grad(), tt.inference_mode(), tt.set_grad_enabled(False)):
    with mode:
        y = model(tt.ones(3, 2))
        y.add_(1)
    y.add_(1)
assert not y.requires_grad and not y.is_inference() and y.grad_fn is None
assert tt.no_grad(lambda: 3)() == 3

file = io.BytesIO()
tt.save({"model": model.state_dict(), "parameter": tt.nn.Parameter(tt.ones(2)), "y": y}, file)
file.seek(0)
loaded = tt.load(file)
assert loaded["y"].tolist() == y.tolist() and type(loaded["parameter"]) is tt.nn.Parameter
other = copy.deepcopy(model)
other.load_state_dict(loaded["model"])
assert other(tt.ones(3, 2)).tolist() == model(tt.ones(3, 2)).tolist()
assert pickle.loads(pickle.dumps(y)).tolist() == copy.copy(y).tolist() == y.tolist()
assert tt.load({trained!r})["weight"].tolist() == [1.0, 2.0]

data = tt.utils.data.TensorDataset(tt.arange(4.0))
assert [batch.tolist() for batch, in tt.utils.data.DataLoader(data, batch_size=2)] == [[0, 1], [2, 3]]
assert [batch.tolist() for batch, in tt.utils.data.DataLoader(data, batch_size=4, num_workers=1)] == [[0, 1, 2, 3]]
tt.func.functional_call(model, model.state_dict(), (tt.ones(3, 2),))
tt.distributions.Normal(0.0, 1.0).sample((2,))
tt.optim.SGD(model.parameters(), 0.1).zero_grad()
"""


def test_models_run_where_autograd_is_disabled(tmp_path):
    trained = tmp_path / "trained.pt"
    tt.save({"weight": tt.nn.Parameter(tt.tensor([1.0, 2.0]))}, trained)
    done = subprocess.run(
        [sys.executable, "-c", INFERENCE.replace("{trained!r}", repr(str(trained)))],
        env={**os.environ, "TT_DISABLE_PLUGINS": "autograd"}, capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
