"""`tt plugins list`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tt.core.host import host
from tt.core.host.host import PluginState
from tt.core.host.manifest import Manifest

Run = Callable[..., Any]

ACME = Manifest("acme", devices=("toy",), extends=("cpu",))
STATES = (
    PluginState("acme", "tt-acme", "1.2", "active", "", 0.0125, "1.0", ACME),
    PluginState(
        "broken",
        "tt-broken",
        "0.1",
        "failed",
        "ValueError: no good\nat all",
        0.001,
        None,
        None,
        "Traceback:\n  x\n",
    ),
    PluginState(
        "cuda",
        "tt-tensor",
        "0.1.0",
        "unavailable",
        "no driver",
        0.0,
        "1.0",
        Manifest("cuda", devices=("cuda",)),
    ),
)


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make the host report `STATES`; returns its requests."""
    asked: list[str] = []
    monkeypatch.setattr(host, "plugins", lambda: STATES)
    monkeypatch.setattr(host, "activate_all", lambda: asked.append("activate_all"))
    return asked


def test_every_plugin_is_listed_with_state_reason_and_time(
    run: Run, states: list[str], text: Callable[[str], str]
) -> None:
    ran = run("plugins", "list")
    assert ran.out == text("""
        plugin  distribution  version  interface  state        load ms  brings                       reason
        acme    tt-acme       1.2      1.0        active        12.500  device toy, kernels for cpu
        broken  tt-broken     0.1                 failed         1.000                               ValueError: no good
        cuda    tt-tensor     0.1.0    1.0        unavailable    0.000  device cuda                  no driver

        plugin 'broken' failed
        Traceback:
          x
    """)
    assert ran.code == 0
    assert states == []


RIVAL = PluginState(
    "rival", "tt-rival", "2.0", "loaded", "", 0.0, "1.0", Manifest("rival", devices=("toy",), requires=("cpu",)),
    contested=("the device 'toy' is declared by plugin 'acme' (tt-acme 1.2), too; no plugin has it",),
    preferred=("cpu by TT_PREFER", "*:exp* by tt.prefer"),
    undone=("the default dtype", "how NumPy prints"),
)  # fmt: skip


def test_preferences_contested_names_and_what_was_put_back_are_told_below_the_table(
    run: Run, monkeypatch: pytest.MonkeyPatch, text: Callable[[str], str]
) -> None:
    monkeypatch.setattr(host, "plugins", lambda: (RIVAL,))
    assert run("plugins", "list").out == text("""
        plugin  distribution  version  interface  state   load ms  brings      reason
        rival   tt-rival      2.0      1.0        loaded    0.000  device toy

        preferences
        rival: cpu by TT_PREFER
        rival: *:exp* by tt.prefer

        names that several plugins declare
        rival: the device 'toy' is declared by plugin 'acme' (tt-acme 1.2), too; no plugin has it

        what plugins changed of the process while they were loaded; it was put back
        rival: the default dtype
        rival: how NumPy prints
    """)


def test_json_holds_everything(run: Run, states: list[str]) -> None:
    found = json.loads(run("plugins", "list", "--json").out)
    assert [plugin["name"] for plugin in found] == ["acme", "broken", "cuda"]
    assert found[0] == {
        "name": "acme",
        "distribution": "tt-acme",
        "version": "1.2",
        "state": "active",
        "reason": "",
        "load_time": 0.0125,
        "api_version": "1.0",
        "preferred": [],
        "contested": [],
        "undone": [],
        "manifest": ACME.as_dict(),
        "traceback": "",
    }
    assert found[1]["manifest"] is None
    assert found[1]["traceback"] == "Traceback:\n  x\n"


def test_plugins_are_activated_when_asked(run: Run, states: list[str]) -> None:
    run("plugins", "list", "--activate")
    assert states == ["activate_all"]


def test_the_plugins_of_tt_itself_are_there(run: Run) -> None:
    found = {plugin["name"]: plugin for plugin in json.loads(run("plugins", "list", "--json").out)}
    assert {"autograd", "cpu", "cuda", "sparse"} <= found.keys()
    for name in ("autograd", "cpu", "cuda", "sparse"):
        assert found[name]["distribution"] == "tt-tensor"
        assert found[name]["state"] in ("loaded", "active", "unavailable"), found[name]["reason"]
