"""Versions of the plugin interface: in the manifest, and in the group of the entry point."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from tt.core.host.manifest import API_VERSION

from .conftest import GOOD, states


@pytest.mark.parametrize("version", ["1", "'1'", "'1.0'", "'1.7'"])
def test_a_plugin_for_the_same_major_version_loads(packages, version):
    packages.add_good("one", f"devices=('onedev',), api_version={version}")
    host = packages.host()
    assert host.activate("device", "onedev")
    assert host.plugins()[0].api_version == version.strip("'")


def test_a_plugin_for_a_newer_minor_version_that_fails_names_both_versions(packages):
    packages.add(
        "one",
        GOOD.format(name="one", declares="devices=('onedev',), api_version='1.7'")
        + "\n        registry.add_what_is_not_there_yet()",
    )
    host = packages.host()
    host.activate_all()
    (found,) = host.plugins()
    assert found.state == "failed"
    assert found.reason.endswith(
        "\n  it was made for version 1.7 of the plugin interface and this tt offers version 1.0"
        "\n  try: upgrade tt-tensor"
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
