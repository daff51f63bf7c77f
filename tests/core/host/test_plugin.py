"""One plugin: which versions of the interface it may be made for."""

from __future__ import annotations

import pytest

from .conftest import GOOD


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
