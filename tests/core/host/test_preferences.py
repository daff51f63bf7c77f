"""Preferences of a program: wrong names, plugins that fail, blocks, and the host's reports."""

from __future__ import annotations

import pytest

from tt.core.errors import (
    ArgumentError,
    PluginError,
    PluginFailedError,
    UnknownNameError,
)
from tt.core.host.preferences import prefer, set_preference


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
            "  tried: OSError: no\n  see: tt plugins list --activate"
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
