"""The host: discovery, quarantine, lists in the environment, the two stages, and members."""

from __future__ import annotations

import re
import sys
import threading
from importlib.metadata import distributions
from pathlib import Path
from textwrap import dedent

import pytest

from tt.core import host as host_module
from tt.core.dispatch.registry import Registry, Source
from tt.core.errors import (
    DuplicateRegistrationError,
    PluginError,
    PluginFailedError,
    PluginMissingError,
    UnknownNameError,
)
from tt.core.host import Host
from tt.core.manifest import API_VERSION, Manifest

GOOD = """
    from tt.core.hooks import Manifest, hookimpl
    calls = []

    @hookimpl
    def tt_manifest():
        calls.append("manifest")
        return Manifest("{name}", {declares})

    @hookimpl
    def tt_register(registry):
        calls.append(("register", registry.source))
"""


class Packages:
    """Writes installable packages into a folder and makes hosts that see only these."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(
        self, name: str, code: str, *, distribution: str | None = None, version: str = "1.0", entry: str = ""
    ) -> None:
        module = f"host_test_{(distribution or name).replace('-', '_')}_{name}"
        (self.folder / f"{module}.py").write_text(dedent(code))
        info = self.folder / f"{distribution or 'tt-' + name}-{version}.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution or 'tt-' + name}\nVersion: {version}\n"
        )
        with (info / "entry_points.txt").open("a") as file:
            if not file.tell():
                file.write("[tt.plugins]\n")
            file.write(f"{entry or name} = {module}\n")

    def add_good(self, name: str, declares: str = "", **options: str) -> None:
        self.add(name, GOOD.format(name=name, declares=declares), **options)

    def module(self, name: str):
        return sys.modules[f"host_test_{name}_{name}"]

    def host(self, environ: dict[str, str] | None = None, tensor_class: type | None = None) -> Host:
        def find():
            return [
                e
                for d in distributions(path=[str(self.folder)])
                for e in d.entry_points
                if e.group == "tt.plugins"
            ]

        return Host(find, environ or {}, tensor_class or type("Tensor", (), {}), Registry())


@pytest.fixture
def packages(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    yield Packages(tmp_path)
    for module in [m for m in sys.modules if m.startswith("host_test_")]:
        del sys.modules[module]


def states(host: Host) -> dict[str, str]:
    return {plugin.name: plugin.state for plugin in host.plugins()}


# --- the two stages -----------------------------------------------------------------------------------------


def test_loading_reads_manifests_and_registers_nothing(packages):
    packages.add_good("one", "devices=('onedev',)")
    host = packages.host()
    host.load()
    host.load()
    assert packages.module("one").calls == ["manifest"]
    assert states(host) == {"one": "loaded"}
    assert host.names("device") == ("onedev",)
    assert host.declares("device", "onedev") and not host.declares("device", "twodev")


def test_the_first_use_of_a_declared_name_registers_once_and_names_the_source(packages):
    packages.add_good("one", "devices=('onedev',), namespaces=('one',)", version="2.5")
    packages.add_good("two", "devices=('twodev',)")
    host = packages.host()
    assert host.activate("device", "onedev")
    assert host.activate("device", "onedev")
    assert host.activate("namespace", "one")
    assert packages.module("one").calls == ["manifest", ("register", Source("tt-one", "2.5", "one"))]
    assert states(host) == {"one": "active", "two": "loaded"}


def test_activating_a_name_that_nobody_declares_says_so(packages):
    assert packages.host().activate("namespace", "nobody") is False


def test_a_state_tells_who_brought_the_plugin_and_what(packages):
    packages.add_good("one", "layouts=('onelay',)", version="2.5")
    (state,) = packages.host().plugins()
    assert (state.name, state.distribution, state.version, state.api_version) == (
        "one",
        "tt-one",
        "2.5",
        API_VERSION,
    )
    assert state.manifest == Manifest("one", layouts=("onelay",))
    assert 0 < state.load_time < 10


def test_what_a_plugin_requires_is_active_before_it(packages):
    packages.add_good("one", "devices=('onedev',), requires=('two',)")
    packages.add_good("two", "devices=('twodev',)")
    host = packages.host()
    host.activate("device", "onedev")
    assert states(host) == {"one": "active", "two": "active"}


def test_plugins_that_require_each_other_are_both_activated(packages):
    packages.add_good("one", "devices=('onedev',), requires=('two',)")
    packages.add_good("two", "requires=('one',)")
    host = packages.host()
    host.activate("device", "onedev")
    assert states(host) == {"one": "active", "two": "active"}


def test_a_required_plugin_that_is_not_there_fails_the_one_that_requires_it(packages):
    packages.add_good("one", "devices=('onedev',), requires=('gone',)")
    host = packages.host()
    with pytest.raises(PluginFailedError, match="requires the plugin 'gone', which is not installed"):
        host.activate("device", "onedev")


def test_a_plugin_that_extends_a_device_is_activated_with_it_and_may_fail_alone(packages):
    packages.add_good("base", "devices=('onedev',)")
    packages.add_good("extra", "extends=('onedev',)")
    packages.add(
        "broken", GOOD.format(name="broken", declares="extends=('onedev',)") + "\n        raise OSError('no')"
    )
    host = packages.host()
    assert host.activate("device", "onedev")
    assert states(host) == {"base": "active", "extra": "active", "broken": "failed"}


def test_activate_all_registers_every_plugin_and_raises_nothing(packages):
    packages.add_good("one")
    packages.add("broken", GOOD.format(name="broken", declares="") + "\n        raise OSError('no')")
    host = packages.host()
    host.activate_all()
    assert states(host) == {"one": "active", "broken": "failed"}


def test_threads_that_load_and_activate_together_do_it_once(packages):
    packages.add_good("one", "devices=('onedev',)")
    host = packages.host()
    barrier, results = threading.Barrier(8), []

    def use() -> None:
        barrier.wait()
        results.append(host.activate("device", "onedev"))

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 8
    assert len(packages.module("one").calls) == 2


# --- quarantine ---------------------------------------------------------------------------------------------

IMPORTS = "from tt.core.hooks import Manifest, hookimpl\n"
BROKEN = {
    "import error": (
        "import no_such_module_anywhere",
        "ModuleNotFoundError: No module named 'no_such_module_anywhere'",
    ),
    "syntax error": ("def f(:", "SyntaxError"),
    "exit": ("raise SystemExit(3)", "SystemExit: 3"),
    "no hook": (
        "x = 1",
        "PluginError: host_test_broken_broken has no function tt_manifest marked with @hookimpl",
    ),
    "misspelt hook": (
        IMPORTS + "@hookimpl\ndef tt_manifesto(): return Manifest('broken')",
        "PluginValidationError: unknown hook 'tt_manifesto'",
    ),
    "wrong parameters": (
        IMPORTS + "@hookimpl\ndef tt_manifest(registry): return Manifest('broken')",
        "PluginValidationError",
    ),
    "hook that raises": (IMPORTS + "@hookimpl\ndef tt_manifest(): raise KeyError('x')", "KeyError: 'x'"),
    "no manifest": (
        IMPORTS + "@hookimpl\ndef tt_manifest(): return {'name': 'broken'}",
        "PluginError: tt_manifest() must return a tt.library.Manifest, not dict",
    ),
    "newer interface": (
        IMPORTS + "@hookimpl\ndef tt_manifest(): return Manifest('broken', api_version=99)",
        "PluginError: it was made for version 99 of the plugin interface and this tt offers version 1\n"
        "  try: upgrade tt-tensor",
    ),
    "older interface": (
        IMPORTS + "@hookimpl\ndef tt_manifest(): return Manifest('broken', api_version=0)",
        "PluginError: it was made for version 0 of the plugin interface and this tt offers version 1\n"
        "  try: upgrade tt-broken",
    ),
    "another name": (
        IMPORTS + "@hookimpl\ndef tt_manifest(): return Manifest('other')",
        "PluginError: its manifest is named 'other', its entry point 'broken'",
    ),
    "devices in a string": (
        IMPORTS + "@hookimpl\ndef tt_manifest(): return Manifest('broken', devices='npu')",
        "PluginError: manifest 'broken': devices is a tuple of names, not 'npu'",
    ),
    "core's device": (
        IMPORTS + "@hookimpl\ndef tt_manifest(): return Manifest('broken', devices=('meta',))",
        "DuplicateRegistrationError: device 'meta' is registered twice:\n  first by tt itself",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_plugin_is_put_aside_with_its_traceback_and_the_others_load(packages, case):
    code, reason = BROKEN[case]
    packages.add("broken", code)
    packages.add_good("one", "devices=('onedev',)")
    host = packages.host()
    assert host.activate("device", "onedev")
    assert states(host) == {"broken": "failed", "one": "active"}
    state = next(p for p in host.plugins() if p.name == "broken")
    assert state.reason.startswith(reason)
    assert "Traceback (most recent call last)" in state.traceback


FAILS_TO_REGISTER = """
    from tt.core.hooks import Manifest, hookimpl
    from tt.core.dispatch.tables import CompositeTable

    @hookimpl
    def tt_manifest():
        return Manifest("broken", devices=("brokendev",), namespaces=("broken",))

    @hookimpl
    def tt_register(registry):
        table = CompositeTable()
        table.composite("exp", lambda self: self)
        registry.add(table)
        raise OSError("the library is too old")
"""


def test_a_plugin_that_fails_to_register_is_refused_at_every_use_with_its_reason_and_leaves_nothing(packages):
    packages.add("broken", FAILS_TO_REGISTER, version="0.3")
    host = packages.host()
    for kind, name in [("device", "brokendev"), ("device", "brokendev"), ("namespace", "broken")]:
        with pytest.raises(PluginFailedError) as caught:
            host.activate(kind, name)
        assert str(caught.value) == (
            f"the {kind} {name!r} is brought by the plugin 'broken' (tt-broken 0.3), which failed to load\n"
            "  tried: OSError: the library is too old\n"
            "  see: tt plugins list"
        )
        assert "tt_register" in caught.value.__notes__[0]
    assert not any(host._registry.composites.values())
    assert states(host) == {"broken": "failed"}


def test_of_two_plugins_that_declare_a_name_the_second_fails_and_both_distributions_are_named(packages):
    packages.add_good("one", "devices=('npu',)", distribution="acme-npu", version="1.1")
    packages.add_good("two", "devices=('npu',), layouts=('tiled',)", distribution="other-npu", version="2.2")
    host = packages.host()
    first, second = host.plugins()
    assert (first.state, second.state) == ("loaded", "failed")
    assert second.reason == (
        "DuplicateRegistrationError: device 'npu' is registered twice:\n"
        "  first by plugin 'one' (acme-npu 1.1)\n  again by plugin 'two' (other-npu 2.2)\n"
        "  try: uninstall one of the two, or list it in TT_DISABLE_PLUGINS"
    )
    assert not host.declares("layout", "tiled")


def test_two_distributions_with_one_plugin_name_conflict(packages):
    packages.add_good("one", distribution="acme-one")
    packages.add_good("one", distribution="other-one")
    assert sorted(plugin.state for plugin in packages.host().plugins()) == ["failed", "loaded"]


# --- names that cannot be used ------------------------------------------------------------------------------


def test_an_unknown_name_gets_the_nearest_and_the_plugins_that_could_not_be_asked(packages):
    packages.add_good("one", "devices=('onedev',)")
    packages.add("broken", "import no_such_module_anywhere")
    with pytest.raises(UnknownNameError) as caught:
        packages.host().require("device", "onedve")
    assert str(caught.value) == (
        "unknown device 'onedve'; did you mean 'onedev'?\n  known: meta, onedev\n"
        "  plugins that could not be asked: broken (failed: ModuleNotFoundError: No module named "
        "'no_such_module_anywhere'); see: tt plugins list"
    )


@pytest.mark.parametrize("use", ["require", "activate"])
def test_a_known_plugin_that_is_not_installed_names_its_package(packages, use):
    with pytest.raises(PluginMissingError) as caught:
        getattr(packages.host(), use)("device", "cuda")
    assert str(caught.value) == (
        "the device 'cuda' is brought by the plugin 'cuda', which is not installed\n"
        "  try: pip install 'tt-tensor[cuda12]' (or cuda13, by the CUDA version of the driver)\n"
        "  see: tt plugins list"
    )


def test_a_known_plugin_that_is_broken_gives_its_reason(packages):
    packages.add("cuda", "raise OSError('half installed')")
    with pytest.raises(PluginFailedError, match="which failed to load\n  tried: OSError: half installed"):
        packages.host().require("device", "cuda")


# --- TT_PLUGINS and TT_DISABLE_PLUGINS ----------------------------------------------------------------------


def test_the_allow_list_blocks_all_others_without_importing_them(packages):
    packages.add_good("one", "devices=('onedev',)")
    packages.add_good("two", "devices=('twodev',)")
    host = packages.host({"TT_PLUGINS": " one ,"})
    assert states(host) == {"one": "loaded", "two": "blocked"}
    assert host.plugins()[1].reason == "not listed in TT_PLUGINS"
    assert "host_test_two_two" not in sys.modules
    assert not host.declares("device", "twodev")


def test_the_deny_list_blocks_what_it_names(packages):
    packages.add_good("one")
    packages.add_good("cuda", "devices=('cuda',)")
    host = packages.host({"TT_DISABLE_PLUGINS": "cuda"})
    assert states(host) == {"cuda": "blocked", "one": "loaded"}
    with pytest.raises(
        PluginError, match=re.escape("(tt-cuda 1.0), which is blocked: listed in TT_DISABLE_PLUGINS")
    ):
        host.require("device", "cuda")


def test_an_empty_list_blocks_nothing(packages):
    packages.add_good("one")
    assert states(packages.host({"TT_PLUGINS": "", "TT_DISABLE_PLUGINS": " "})) == {"one": "loaded"}


@pytest.mark.parametrize("variable", ["TT_PLUGINS", "TT_DISABLE_PLUGINS"])
def test_a_listed_name_that_matches_nothing_is_an_error_every_time(packages, variable):
    packages.add_good("autograd")
    host = packages.host({variable: "autograd,autogard"})
    for _ in range(2):
        with pytest.raises(UnknownNameError) as caught:
            host.load()
        assert str(caught.value) == (
            "unknown plugin 'autogard'; did you mean 'autograd'?\n  known: autograd\n"
            f"  it is listed in the environment variable {variable}"
        )


# --- availability -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "state", "reason"),
    [
        ("return None", "loaded", ""),
        ("return 'no driver'", "unavailable", "no driver"),
        ("raise OSError('x')", "unavailable", "its availability check failed: OSError: x"),
    ],
)
def test_a_plugin_that_cannot_work_here_is_unavailable_with_its_reason(packages, body, state, reason):
    packages.add("one", GOOD.format(name="one", declares="available='host_test_one_one:check'")
                 + f"\n    def check():\n        {body}\n")  # fmt: skip
    (found,) = packages.host().plugins()
    assert (found.state, found.reason) == (state, reason)


# --- members ------------------------------------------------------------------------------------------------

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
    with pytest.raises(
        PluginFailedError, match=r"the member 'double' is brought by .*\n  tried: OSError: late"
    ):
        kind().double()


def test_a_member_that_tensors_have_already_is_refused(packages):
    packages.add("one", MEMBERS)
    kind = type("Tensor", (), {"half": None})
    host = packages.host(tensor_class=kind)
    assert states(host) == {"one": "failed"}
    assert "tensor member 'half' is registered twice:\n  first by tt itself" in host.plugins()[0].reason
    assert kind.half is None and not hasattr(kind, "double")


# --- this process -------------------------------------------------------------------------------------------


def test_tt_s_own_plugins_are_found_like_any_other():
    found = {plugin.name: plugin for plugin in host_module.plugins()}
    for name in ("cpu", "cuda", "sparse", "autograd"):
        assert found[name].distribution == "tt-tensor"
        assert found[name].state in ("loaded", "active", "unavailable")


# --- manifests ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "the name of a manifest is a word"),
        ({"api_version": "1"}, "api_version is an int"),
        ({"devices": ("a b",)}, "devices: 'a b' is not a name"),
        ({"layers": ("x", "x")}, "layers names something twice"),
        ({"requires": "cpu"}, "requires is a tuple of names"),
        ({"members": ["x"]}, "members maps names to 'module:attribute'"),
        ({"members": {"x y": "a:b"}}, "members: 'x y' is not an attribute name"),
        ({"members": {"x": "a.b"}}, "members: 'x' is 'module:attribute', not 'a.b'"),
        ({"available": "nothing"}, "available is 'module:attribute', not 'nothing'"),
    ],
)
def test_a_malformed_manifest_is_refused(fields, message):
    with pytest.raises(PluginError, match=re.escape(message)):
        Manifest(**{"name": "one", **fields})


def test_a_manifest_lists_what_it_declares():
    manifest = Manifest("one", devices=["a"], layouts=("b",), members={"c": "m:c"}, namespaces=("d",))
    assert manifest.all_declared() == (("device", "a"), ("layout", "b"), ("namespace", "d"), ("member", "c"))
    assert manifest.as_dict()["members"] == {"c": "m:c"}


def test_a_duplicate_is_a_value_error_too():
    assert issubclass(DuplicateRegistrationError, ValueError)
