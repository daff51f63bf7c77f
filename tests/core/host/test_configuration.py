"""Preferences in the environment and in a file, and mistakes in them."""

from __future__ import annotations

import pytest

from tt.core.errors import (
    ConfigurationError,
    TTError,
    UnknownNameError,
)
from tt.core.host.configuration import configuration_file, configured_rules, parse_preference


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


def test_the_file_is_the_one_that_is_named_else_that_of_the_user(tmp_path):
    assert configuration_file({"XDG_CONFIG_HOME": str(tmp_path), "APPDATA": str(tmp_path)}) is None
    (tmp_path / "tt").mkdir()
    user = tmp_path / "tt" / "config.toml"
    user.write_text("prefer = ['a']")
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "APPDATA": str(tmp_path)}
    assert configuration_file(environ) == str(user)
    assert configuration_file(environ | {"TT_CONFIG": ""}) is None
    named = tmp_path / "pyproject.toml"
    named.write_text("[tool.tt]\nprefer = 'b'\n[tool.other]\nx = 1")
    assert configuration_file(environ | {"TT_CONFIG": str(named)}) == str(named)
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
    with pytest.raises(ConfigurationError, match="the file 'no_such"):
        vendor.host({"TT_CONFIG": "no_such.toml"}).load()


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
