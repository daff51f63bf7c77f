"""Names that several plugins declare: who has them, whatever the order."""

from __future__ import annotations

from itertools import permutations

import pytest

from tt.core.errors import PluginConflictError, PluginError
from tt.core.host.preferences import prefer, set_preference

from .conftest import states

CONFLICT = (
    "the device 'npu' is brought by 2 plugins, and nothing says which one is meant:\n"
    "  plugin 'one' (acme-npu 1.1)\n"
    "  plugin 'two' (other-npu 2.2)\n"
    "  try: TT_PREFER=one or TT_PREFER=two; in a program: with tt.prefer('one')\n"
    "  see: tt plugins list"
)


@pytest.fixture
def rivals(packages):
    """Two plugins of one device, each with something of its own, and a third that has nothing to do with it."""
    packages.add_good("one", "devices=('npu', 'onedev')", distribution="acme-npu", version="1.1")
    packages.add_good("two", "devices=('npu',), layouts=('tiled',)", distribution="other-npu", version="2.2")
    packages.add_good("three", "devices=('threedev',)")
    return packages


def every_order(packages, environ=None):
    """Yield a host for each order in which the entry points are found."""
    for order in permutations(packages.host()._find()):
        host = packages.host(environ)
        host._find = lambda order=order: list(order)
        yield host


def test_nobody_has_a_contested_name_and_all_else_works_in_every_order(rivals):
    for host in every_order(rivals):
        for use in (host.activate, host.require, host.activate):
            with pytest.raises(PluginConflictError) as caught:
                use("device", "npu")
            assert str(caught.value) == CONFLICT
        assert caught.value.plugins == ("one", "two")
        assert host.activate("layout", "tiled") and host.activate("device", "onedev")
        assert states(host) == {"one": "active", "two": "active", "three": "loaded"}


def test_both_plugins_are_listed_with_the_conflict_and_how_to_choose(rivals):
    for host in every_order(rivals):
        found = {plugin.name: plugin for plugin in host.plugins()}
        choose = "no plugin has it until one is chosen: " + CONFLICT.split("try: ")[1].split("\n")[0]
        assert found["one"].contested == (
            f"the device 'npu' is declared by plugin 'two' (other-npu 2.2), too; {choose}",
        )
        assert found["two"].contested == (
            f"the device 'npu' is declared by plugin 'one' (acme-npu 1.1), too; {choose}",
        )
        assert found["three"].contested == ()


@pytest.mark.parametrize(
    "environ",
    [
        {"TT_PREFER": "two"},
        {"TT_PREFER": "other-npu"},
        {"TT_PREFER": "two,*"},
        {"TT_PREFER": "npu=two; one"},
        {"TT_PREFER": "three,two,one"},
        {"TT_PREFER": "*,one"},
        {"TT_DISABLE_PLUGINS": "one"},
        {"TT_PLUGINS": "two,three"},
    ],
    ids=str,
)
def test_a_choice_in_the_environment_gives_the_name_to_one_of_them(rivals, environ):
    for host in every_order(rivals, environ):
        assert host.activate("device", "npu")
        found = states(host)
        assert found["two"] == "active" and found["one"] in ("loaded", "blocked")


def test_a_rule_for_operators_or_for_another_device_decides_nothing_about_a_name(rivals):
    host = rivals.host({"TT_PREFER": "npu:exp=two; threedev=two; three,*"})
    with pytest.raises(PluginConflictError):
        host.activate("device", "npu")


def test_a_block_decides_if_the_first_use_is_in_it_and_the_use_settles_it(rivals):
    for host in every_order(rivals):
        with prefer("two", host=host):
            assert host.activate("device", "npu")
        assert host.activate("device", "npu")
        assert states(host)["two"] == "active" and states(host)["one"] == "loaded"
        with pytest.raises(PluginError) as caught, prefer("one", host=host):
            pass
        assert str(caught.value) == (
            "the device 'npu' is in use already, and brought by the plugin 'two' (other-npu 2.2): the plugin 'one' "
            "(acme-npu 1.1) cannot take its place in this process\n"
            "  try: prefer 'one' before the first use, for instance by TT_PREFER=one"
        )
        assert host.preferences.rules == ()


def test_a_block_that_is_left_before_the_first_use_decides_nothing(rivals):
    host = rivals.host()
    with prefer("two", host=host):
        host.require("device", "npu")
    with pytest.raises(PluginConflictError):
        host.require("device", "npu")


def test_what_is_set_for_good_yields_to_a_block_and_goes_before_the_environment(rivals):
    host = rivals.host({"TT_PREFER": "three"})
    set_preference("one", host=host)
    with prefer("two", host=host):
        assert [rule.plugins[0] for rule in host.preferences.rules] == ["two", "one", "three"]
        set_preference("one", device="npu", host=host)
        assert [rule.plugins[0] for rule in host.preferences.rules] == ["two", "one", "one", "three"]
    set_preference(device="npu", host=host)
    set_preference("two", host=host)
    assert [rule.plugins[0] for rule in host.preferences.rules] == ["two", "three"]
    set_preference(host=host)
    assert [rule.plugins[0] for rule in host.preferences.rules] == ["three"]


def test_two_distributions_with_one_plugin_name_are_both_put_aside_until_one_is_preferred(packages):
    packages.add_good("one", distribution="acme-one")
    packages.add_good("one", distribution="other-one")
    for host in every_order(packages):
        assert [plugin.state for plugin in host.plugins()] == ["failed", "failed"]
        assert host.plugins()[0].reason == (
            "PluginConflictError: the name of plugins 'one' is brought by 2 plugins, and nothing says which one is "
            "meant:\n  plugin 'one' (acme-one 1.0)\n  plugin 'one' (other-one 1.0)\n"
            "  try: TT_PREFER=acme-one or TT_PREFER=other-one; in a program: with tt.prefer('acme-one')\n"
            "  see: tt plugins list"
        )
    for host in every_order(packages, {"TT_PREFER": "other-one"}):
        assert {p.distribution: p.state for p in host.plugins()} == {
            "acme-one": "failed",
            "other-one": "loaded",
        }


def test_what_waits_for_a_contested_name_is_registered_when_it_is_decided(packages):
    code = """
        from tt.core.hooks import Manifest, hookimpl

        @hookimpl
        def tt_manifest():
            return Manifest("{name}", layers=("shared", "{name}layer"))

        @hookimpl
        def tt_register(registry):
            from tt.library import Layer
            for name in ("shared", "{name}layer"):
                layer = Layer()
                layer.name, layer.brought_by = name, "{name}"
                registry.add_layer(layer)
        """
    packages.add("one", code.format(name="one"))
    packages.add("two", code.format(name="two"))
    for host in every_order(packages):
        host.activate("layer", "onelayer")
        host.activate("layer", "twolayer")
        assert sorted(host._registry.layers) == ["onelayer", "twolayer"]
        with prefer("two", host=host):
            host.activate("layer", "shared")
        assert host._registry.layers["shared"].brought_by == "two"
