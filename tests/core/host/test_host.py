"""The two stages: manifests, then the implementation of the used ones."""

from __future__ import annotations

import threading

import pytest

from tests.threads import in_threads
from tt.core.dispatch.registry.registry import Provider
from tt.core.errors import (
    PluginFailedError,
    UnknownNameError,
)
from tt.core.host import host as host_module
from tt.core.host.manifest import API_VERSION, Manifest

from .conftest import GOOD, states


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
    assert packages.module("one").calls == ["manifest", ("register", Provider("tt-one", "2.5", "one"))]
    assert states(host) == {"one": "active", "two": "loaded"}


def test_activating_a_name_that_nobody_declares_says_so(packages):
    assert packages.host().activate("namespace", "unknown") is False


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


def test_a_plugin_that_extends_a_device_is_activated_with_it_only_where_it_is_preferred(packages):
    packages.add_good("base", "devices=('onedev',)")
    packages.add_good("extra", "extends=('onedev',)")
    packages.add_good("any", "extends=('*',)")
    host = packages.host()
    assert host.activate("device", "onedev")
    assert states(host) == {"base": "active", "extra": "loaded", "any": "loaded"}
    host = packages.host({"TT_PREFER": "extra; onedev=any"})
    assert host.activate("device", "onedev")
    assert states(host) == {"base": "active", "extra": "active", "any": "active"}


def test_a_preferred_plugin_that_fails_is_told_of_and_the_device_works_without_it(packages):
    packages.add_good("base", "devices=('onedev',)")
    packages.add(
        "broken", GOOD.format(name="broken", declares="extends=('onedev',)") + "\n        raise OSError('no')"
    )
    host = packages.host({"TT_PREFER": "broken"})
    with pytest.warns(UserWarning, match="is preferred for onedev and failed to load: OSError: no"):
        assert host.activate("device", "onedev")
    assert states(host) == {"base": "active", "broken": "failed"}


def test_activate_all_registers_every_plugin_and_raises_nothing(packages):
    packages.add_good("one")
    packages.add("broken", GOOD.format(name="broken", declares="") + "\n        raise OSError('no')")
    host = packages.host()
    host.activate_all()
    assert states(host) == {"one": "active", "broken": "failed"}


DEFINING = (
    GOOD
    + """
    from tt.core.schema.load import loads

    @hookimpl
    def tt_define(registry):
        calls.append("define")
        ops = "- func: one::f(Tensor x) -> Tensor\\n  kind: other\\n"
        registry.add_definitions(loads("schema_version: 1\\nops:\\n" + ops))
"""
)


def test_operators_are_defined_without_registering_the_plugin(packages):
    packages.add("one", DEFINING.format(name="one", declares="namespaces=('one',)"))
    packages.add_good("two", "namespaces=('two',)")
    host = packages.host()
    host.activate_definitions()
    host.activate_definitions()
    assert states(host) == {"one": "loaded", "two": "active"}
    assert packages.module("one").calls == ["manifest", "define"]
    assert host._registry.definition("one::f") is not None
    assert host.activate("namespace", "one")
    assert packages.module("one").calls == [
        "manifest",
        "define",
        ("register", Provider("tt-one", "1.0", "one")),
    ]
    assert states(host) == {"one": "active", "two": "active"}


def test_operators_are_defined_before_the_plugin_registers(packages):
    packages.add("one", DEFINING.format(name="one", declares="namespaces=('one',)"))
    host = packages.host()
    host.activate("namespace", "one")
    assert packages.module("one").calls == [
        "manifest",
        "define",
        ("register", Provider("tt-one", "1.0", "one")),
    ]


@pytest.mark.parametrize("failing", ["tt_define", "tt_register"])
def test_a_plugin_that_fails_in_one_of_its_hooks_defines_no_operator(packages, failing):
    code = DEFINING.format(name="one", declares="namespaces=('one',)")
    hook = f"def {failing}(registry):"
    packages.add("one", code.replace(hook, f"{hook}\n        registry.no_such_method()", 1))
    host = packages.host()
    if failing == "tt_register":
        host.activate_definitions()
        assert host._registry.definition("one::f") is not None
        with pytest.raises(PluginFailedError, match="no_such_method"):
            host.activate("namespace", "one")
    host.activate_definitions()
    assert states(host) == {"one": "failed"}
    assert host._registry.definition("one::f") is None


def test_a_plugin_that_lacks_another_one_defines_no_operator(packages):
    packages.add("one", DEFINING.format(name="one", declares="namespaces=('one',), requires=('absent',)"))
    host = packages.host()
    host.activate_definitions()
    assert states(host) == {"one": "failed"}
    assert host._registry.definition("one::f") is None


def test_definitions_for_a_contested_name_wait_until_it_is_decided(packages):
    declares = "namespaces=('one',)"
    packages.add("one", DEFINING.format(name="one", declares=declares))
    packages.add("other", GOOD.format(name="other", declares=declares))
    host = packages.host()
    host.activate_definitions()
    assert host._registry.definition("one::f") is None


def test_threads_that_load_and_activate_together_do_it_once(packages):
    packages.add_good("one", "devices=('onedev',)")
    host = packages.host()
    barrier, results = threading.Barrier(8), []

    def use() -> None:
        barrier.wait()
        results.append(host.activate("device", "onedev"))

    in_threads(*[use] * 8)
    assert results == [True] * 8
    assert len(packages.module("one").calls) == 2


def test_a_manifest_names_the_layer_that_takes_a_part_of_operators(packages):
    packages.add_good("one", "layers=('tangent',), parts={'tangent rule': 'tangent'}")
    host = packages.host()
    assert host.layer_of("tangent rule") == "tangent"
    with pytest.raises(
        UnknownNameError, match="unknown part of operators 'tangent rul'; did you mean 'tangent rule'"
    ):
        host.layer_of("tangent rul")


def test_the_layer_for_gradients_has_a_name_where_its_plugin_is_not_installed(packages):
    assert packages.host().layer_of("gradient") == "autograd"


def test_tt_s_own_plugins_are_found_like_any_other():
    found = {plugin.name: plugin for plugin in host_module.plugins()}
    for name in ("cpu", "cuda", "sparse", "autograd"):
        assert found[name].distribution == "tt-tensor"
        assert found[name].state in ("loaded", "active", "unavailable")
