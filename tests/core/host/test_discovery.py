"""Which plugins are found, and which of them the environment allows."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from tt.core.errors import (
    PluginError,
    UnknownNameError,
)
from tt.core.host.manifest import API_VERSION

from .conftest import states


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


@pytest.mark.parametrize(("group", "upgrade"), [("tt.plugins.v0", "tt-one"), ("tt.plugins.v2", "tt-tensor")])
def test_a_group_for_another_major_version_is_put_aside_without_importing_the_module(
    packages, group, upgrade
):
    packages.add_good("one", "devices=('onedev',)", group=group)
    host = packages.host()
    (found,) = host.plugins()
    assert found.state == "failed"
    assert found.reason == (
        f"PluginError: it was made for version {group[-1]} of the plugin interface and this tt offers version "
        f"{API_VERSION}\n  try: upgrade {upgrade}"
    )
    assert "host_test_one_one" not in sys.modules


def test_a_package_may_serve_several_major_versions(packages):
    packages.add_good("one", "devices=('onedev',)", group="tt.plugins.v1", distribution="acme")
    packages.add(
        "one", "raise OSError('for another tt')", group="tt.plugins.v2", distribution="acme", module="newer"
    )
    host = packages.host()
    assert states(host) == {"one": "loaded"}
    assert host.activate("device", "onedev")


@pytest.mark.parametrize("group", ["tt.plugins", "tt.plugins.v1"])
def test_the_group_of_this_version_serves_and_so_does_the_one_without(packages, group):
    packages.add_good("one", "devices=('onedev',)", group=group)
    host = packages.host()
    assert states(host) == {"one": "loaded"}
    assert host.activate("device", "onedev")


def test_packages_that_others_copy_name_the_version():
    root = Path(__file__).parents[3]
    files = [*root.glob("examples/*/pyproject.toml"), *root.glob("tests/thirdparty/*/pyproject.toml")]
    groups = [
        group
        for file in files
        for group in tomllib.loads(file.read_text(encoding="utf-8"))["project"].get("entry-points", {})
        if group.startswith("tt.plugins")
    ]
    assert groups.count("tt.plugins.v1") > 5 and "tt.plugins" not in groups


def test_other_groups_are_of_no_concern():
    from tt.core.host.discovery import installed

    groups = {entry.group for entry in installed()}
    assert groups <= {"tt.plugins", "tt.plugins.v1"} and "tt.plugins" in groups
