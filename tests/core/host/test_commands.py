"""Commands that plugins bring: names that several bring, and hooks that fail."""

from __future__ import annotations

import pytest

from tt.core.errors import PluginConflictError

from .conftest import GOOD, states

COMMANDS = """

    @hookimpl
    def tt_commands():
        {body}
"""


@pytest.fixture
def bring(packages):
    def add(name, body):
        packages.add(name, GOOD.format(name=name, declares="") + COMMANDS.format(body=body))

    return add


def test_commands_are_named_with_their_targets(packages, bring):
    bring("one", "return {'train': 'one.cli:train'}")
    packages.add_good("silent")
    assert packages.host().commands()["train"] == "one.cli:train"


def test_a_name_of_two_plugins_belongs_to_the_preferred_one_or_to_none(packages, bring):
    bring("one", "return {'train': 'one.cli:train'}")
    bring("two", "return {'train': 'two.cli:train'}")
    assert isinstance(packages.host().commands()["train"], PluginConflictError)
    assert packages.host({"TT_PREFER": "two"}).commands()["train"] == "two.cli:train"


def test_a_plugin_whose_hook_fails_is_put_aside(packages, bring):
    bring("one", "raise OSError('no')")
    bring("two", "return {'train': 'two.cli:train'}")
    host = packages.host()
    assert host.commands()["train"] == "two.cli:train"
    assert states(host) == {"one": "failed", "two": "loaded"}
