"""Names that cannot be used, and the lists of plugins in the environment."""

from __future__ import annotations

import re
import sys

import pytest

from tt.core.errors import (
    PluginError,
    PluginFailedError,
    PluginMissingError,
    UnknownNameError,
)

from .conftest import states


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
