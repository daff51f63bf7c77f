"""A plugin that breaks is put aside with its traceback, and the others go on."""

from __future__ import annotations

import pytest

from tt.core.errors import (
    PluginFailedError,
)

from .conftest import GOOD, states

IMPORTS = "from tt.core.hooks import Manifest, hookimpl\n"
BROKEN = {
    "import error": (
        "import no_such_module_anywhere",
        "ModuleNotFoundError: No module named 'no_such_module_anywhere'",
    ),
    "syntax error": ("def f(:", "SyntaxError"),
    "exit": ("raise SystemExit(3)", "SystemExit: 3"),
    "no hook": (
        "x = 1",
        "PluginError: host_test_broken_broken has no function tt_manifest marked with @hookimpl",
    ),
    "misspelt hook": (
        IMPORTS + "@hookimpl\ndef tt_manifesto(): return Manifest('broken')",
        "PluginValidationError: unknown hook 'tt_manifesto'",
    ),
    "wrong parameters": (
        IMPORTS + "@hookimpl\ndef tt_manifest(registry): return Manifest('broken')",
        "PluginValidationError",
    ),
    "hook that raises": (IMPORTS + "@hookimpl\ndef tt_manifest(): raise KeyError('x')", "KeyError: 'x'"),
    "error that cannot be shown": (
        IMPORTS
        + "class E(Exception):\n    def __str__(self): return 1 / 0\n@hookimpl\ndef tt_manifest(): raise E",
        "E, which cannot be shown: ZeroDivisionError",
    ),
    "no manifest": (
        IMPORTS + "@hookimpl\ndef tt_manifest(): return {'name': 'broken'}",
        "PluginError: tt_manifest() must return a tt.library.Manifest, not dict",
    ),
    "newer interface": (
        IMPORTS + "@hookimpl\ndef tt_manifest(): return Manifest('broken', api_version=99)",
        "PluginError: it was made for version 99 of the plugin interface and this tt offers version 1.0\n"
        "  try: upgrade tt-tensor",
    ),
    "older interface": (
        IMPORTS + "@hookimpl\ndef tt_manifest(): return Manifest('broken', api_version=0)",
        "PluginError: it was made for version 0 of the plugin interface and this tt offers version 1.0\n"
        "  try: upgrade tt-broken",
    ),
    "another name": (
        IMPORTS + "@hookimpl\ndef tt_manifest(): return Manifest('other')",
        "PluginError: its manifest is named 'other', its entry point 'broken'",
    ),
    "devices in a string": (
        IMPORTS + "@hookimpl\ndef tt_manifest(): return Manifest('broken', devices='npu')",
        "PluginError: manifest 'broken': devices is a tuple of names, not 'npu'",
    ),
    "registers on import": (
        IMPORTS
        + "@hookimpl\ndef tt_manifest(): return Manifest('broken')\nfrom tt.library import REGISTRY, KernelTable\n"
        "REGISTRY.add(KernelTable(device='cpu'))",
        "PluginError: the plugin 'broken' (tt-broken 1.0) registers when it is not asked to",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_plugin_is_put_aside_with_its_traceback_and_the_others_load(packages, case):
    code, reason = BROKEN[case]
    packages.add("broken", code)
    packages.add_good("one", "devices=('onedev',)")
    host = packages.host()
    assert host.activate("device", "onedev")
    assert states(host) == {"broken": "failed", "one": "active"}
    state = next(p for p in host.plugins() if p.name == "broken")
    assert state.reason.startswith(reason)
    assert "Traceback (most recent call last)" in state.traceback


FAILS_TO_REGISTER = """
    from tt.core.hooks import Manifest, hookimpl
    from tt.core.dispatch.registry.tables import CompositeTable

    @hookimpl
    def tt_manifest():
        return Manifest("broken", devices=("brokendev",), namespaces=("broken",))

    @hookimpl
    def tt_register(registry):
        table = CompositeTable()
        table.composite("exp", lambda self: self)
        registry.add(table)
        raise OSError("the library is too old")
"""


def test_a_plugin_that_fails_to_register_is_refused_at_every_use_with_its_reason_and_leaves_nothing(packages):
    packages.add("broken", FAILS_TO_REGISTER, version="0.3")
    host = packages.host()
    for kind, name in [("device", "brokendev"), ("device", "brokendev"), ("namespace", "broken")]:
        with pytest.raises(PluginFailedError) as caught:
            host.activate(kind, name)
        assert str(caught.value) == (
            f"the {kind} {name!r} is brought by the plugin 'broken' (tt-broken 0.3), which failed to load\n"
            "  tried: OSError: the library is too old\n"
            "  see: tt plugins list --activate"
        )
        assert "tt_register" in caught.value.__notes__[0]
    assert not any(host._registry.composites.values())
    assert states(host) == {"broken": "failed"}


@pytest.mark.parametrize("own_first", [True, False])
def test_nobody_takes_the_name_of_a_plugin_of_tt(packages, own_first):
    """tt's own is found by where its code is."""
    packages.add_good("cpu", distribution="evil")
    host = packages.host()
    from importlib.metadata import EntryPoint

    own = EntryPoint("cpu", "tt.backends.cpu.plugin", "tt.plugins")
    others = host._find()
    host._find = lambda: [own, *others] if own_first else [*others, own]
    first, second = host.plugins()
    assert (first.distribution, first.state) == ("tt", "loaded")
    assert (second.distribution, second.state) == ("evil", "failed")
    assert second.reason.startswith("PluginError: the plugin 'cpu' (tt) of tt itself has the same name")


@pytest.mark.parametrize(
    ("body", "state", "reason"),
    [
        ("return None", "loaded", ""),
        ("return 'no driver'", "unavailable", "no driver"),
        ("raise OSError('x')", "unavailable", "its availability check failed: OSError: x"),
    ],
)
def test_a_plugin_that_cannot_work_here_is_unavailable_with_its_reason(packages, body, state, reason):
    packages.add("one", GOOD.format(name="one", declares="available='host_test_one_one:check'")
                 + f"\n    def check():\n        {body}\n")  # fmt: skip
    (found,) = packages.host().plugins()
    assert (found.state, found.reason) == (state, reason)
