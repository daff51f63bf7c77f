"""Preferences: what is said where, and mistakes in it."""

from __future__ import annotations

import pytest

from tt.core.dispatch.registry.preference import PreferenceRule
from tt.core.errors import (
    ArgumentError,
    ConfigurationError,
    PluginError,
    PluginFailedError,
    TTError,
    UnknownNameError,
)
from tt.core.host.choosing import prefer, set_preference
from tt.core.host.configuration import configuration_file, configured_rules, parse_preference

from .conftest import GOOD


@pytest.fixture
def vendor(packages):
    packages.add_good("vendor", "devices=('npu',)")
    packages.add(
        "broken", GOOD.format(name="broken", declares="extends=('npu',)") + "\n        raise OSError('no')"
    )
    return packages


# --- texts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", []),
        (" ; ", []),
        ("a", [("*", "*", ("a",))]),
        ("a, b ,*", [("*", "*", ("a", "b", "*"))]),
        ("a;cpu=b", [("cpu", "*", ("b",)), ("*", "*", ("a",))]),
        ("*:sin=d;cpu:exp*=c", [("cpu", "exp*", ("c",)), ("*", "sin", ("d",))]),
        ("cpu:acme::twice=a", [("cpu", "acme::twice", ("a",))]),
        (":exp=a", [("*", "exp", ("a",))]),
    ],
)  # fmt: skip
def test_the_variable_is_read(text, rules):
    assert [(r.device, r.ops, r.plugins) for r in parse_preference(text)] == rules
    assert all(rule.origin == "TT_PREFER" for rule in parse_preference(text))


@pytest.mark.parametrize("text", ["=a", "cpu=", "cpu=,", "cpu=a,a", " =a"])
def test_a_variable_that_cannot_be_understood_is_refused(text):
    with pytest.raises(ConfigurationError, match="TT_PREFER"):
        parse_preference(text)


def test_a_rule_covers_overloads_and_devices():
    rule = PreferenceRule(("a",), "cpu", "max*")
    assert rule.covers("max.dim", "cpu") and rule.covers("maximum", "cpu")
    assert not rule.covers("max", "cuda") and not rule.covers("amax", "cpu") and not rule.covers("max", None)
    assert PreferenceRule(("a",), ops="max").covers("max.dim", None)


# --- files -------------------------------------------------------------------------------------------------------


def test_the_file_is_the_one_that_is_named_else_that_of_the_user(tmp_path):
    assert configuration_file({"XDG_CONFIG_HOME": str(tmp_path), "APPDATA": str(tmp_path)}) is None
    (tmp_path / "tt").mkdir()
    user = tmp_path / "tt" / "config.toml"
    user.write_text("prefer = ['a']")
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "APPDATA": str(tmp_path)}
    assert configuration_file(environ) == user
    assert configuration_file(environ | {"TT_CONFIG": ""}) is None
    named = tmp_path / "pyproject.toml"
    named.write_text("[tool.tt]\nprefer = 'b'\n[tool.other]\nx = 1")
    assert configuration_file(environ | {"TT_CONFIG": str(named)}) == named
    (rule,) = configured_rules(environ | {"TT_CONFIG": str(named)})
    assert (rule.plugins, rule.origin) == (("b",), f"{named} [tool.tt]")
    named.write_text("[project]\nname = 'x'")
    assert configured_rules({"TT_CONFIG": str(named)}) == ()


def test_the_variable_goes_before_the_file_and_the_narrow_before_the_wide(tmp_path):
    file = tmp_path / "tt.toml"
    file.write_text('[prefer]\n"*" = "a"\ncpu = ["b", "*"]\n"cpu:exp*" = ["c"]\n')
    found = configured_rules({"TT_CONFIG": str(file), "TT_PREFER": "d"})
    assert [(rule.where, rule.plugins) for rule in found] == [
        ("*", ("d",)),
        ("cpu:exp*", ("c",)),
        ("cpu", ("b", "*")),
        ("*", ("a",)),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prefer = 1", "prefer: '*' is a list of plugins, not 1"),
        ("[prefer]\ncpu = []", "prefer: 'cpu' is a list of plugins, not []"),
        ("[prefer]\ncpu = ['a', 1]", "prefer: 'cpu' is a list of plugins, not ['a', 1]"),
        ("[perfer]\ncpu = 'a'", "unknown key 'perfer'; did you mean 'prefer'?"),
        ("prefer = [", "TOMLDecodeError"),
        ("prefer = ['vendro']", "unknown plugin 'vendro'; did you mean 'vendor'?"),
        ("[prefer]\nnpx = 'vendor'", "unknown device 'npx'; did you mean 'npu'?"),
    ],
)
def test_mistakes_in_a_file_are_refused_at_every_load_with_its_name(vendor, tmp_path, text, message):
    file = tmp_path / "tt.toml"
    file.write_text(text)
    host = vendor.host({"TT_CONFIG": str(file)})
    for _ in range(2):
        with pytest.raises(TTError) as caught:
            host.load()
        assert message in str(caught.value) and str(file) in str(caught.value)


def test_a_file_that_is_named_and_is_not_there_is_refused(vendor):
    with pytest.raises(ConfigurationError, match="there is no file 'no_such"):
        vendor.host({"TT_CONFIG": "no_such.toml"}).load()


# --- names -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "vendro",
            "unknown plugin 'vendro'; did you mean 'vendor'?\n  known: broken, vendor\n  it is preferred by TT_PREFER",
        ),
        ("npx=vendor", "unknown device 'npx'; did you mean 'npu'?"),
    ],
)
def test_unknown_names_in_the_environment_are_refused_at_every_load(vendor, value, message):
    host = vendor.host({"TT_PREFER": value})
    for _ in range(2):
        with pytest.raises(UnknownNameError) as caught:
            host.load()
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("plugins", "options", "error", "message"),
    [
        (("vendro",), {}, UnknownNameError, "unknown plugin 'vendro'; did you mean 'vendor'?"),
        (("vendor",), {"device": "npx"}, UnknownNameError, "unknown device 'npx'; did you mean 'npu'?"),
        ((), {}, ArgumentError, "takes names of plugins, not ()"),
        (("",), {}, ArgumentError, "takes names of plugins, not ('',)"),
        (("vendor", "vendor"), {}, ArgumentError, "takes each plugin once: vendor, vendor"),
    ],
)
def test_wrong_names_in_a_program_are_refused_and_nothing_is_preferred(
    vendor, plugins, options, error, message
):
    host = vendor.host()
    with pytest.raises(error) as caught, prefer(*plugins, **options, host=host):
        pass
    assert message in str(caught.value)
    if plugins:
        with pytest.raises(error):
            set_preference(*plugins, **options, host=host)
    assert host.preferences.rules == ()


def test_a_plugin_that_fails_or_is_blocked_cannot_be_preferred(vendor):
    host = vendor.host()
    for _ in range(2):  # it fails now, then it has failed
        with pytest.raises(PluginFailedError) as caught, prefer("broken", host=host):
            pass
        assert str(caught.value) == (
            "the plugin 'broken' (tt-broken 1.0) cannot be preferred: it failed to load\n"
            "  tried: OSError: no\n  see: tt plugins list"
        )
        assert host.preferences.rules == ()
    host = vendor.host({"TT_DISABLE_PLUGINS": "vendor"})
    with pytest.raises(PluginError, match="cannot be preferred: it is blocked: listed in TT_DISABLE_PLUGINS"):
        set_preference("vendor", host=host)


def test_a_block_takes_back_its_own_rule_only_even_if_an_equal_one_is_left_first(vendor):
    host = vendor.host()
    outer, inner = prefer("vendor", host=host), prefer("vendor", host=host)
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert len(host.preferences.rules) == 1
    inner.__exit__(None, None, None)
    assert host.preferences.rules == ()


def test_a_state_tells_which_preferences_name_the_plugin(vendor):
    host = vendor.host({"TT_PREFER": "vendor; npu:exp=vendor,*; broken"})
    with prefer("vendor", device="npu", host=host):
        found = {plugin.name: plugin.preferred for plugin in host.plugins()}
    assert found["vendor"] == ("npu by tt.prefer", "npu:exp by TT_PREFER", "* by TT_PREFER")
    assert found["broken"] == ("* by TT_PREFER",)
