"""`tt plugins show`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.plugins.test_list import RIVAL
from tt.core.host import host

Run = Callable[..., Any]


def test_a_plugin_is_shown_with_all_that_is_known(
    run: Run, monkeypatch: pytest.MonkeyPatch, text: Callable[[str], str]
) -> None:
    monkeypatch.setattr(host, "plugins", lambda: (RIVAL,))
    assert run("plugins", "show", "rival").out == text("""
        plugin        rival
        distribution  tt-rival 2.0
        state         loaded
        interface     1.0
        load time     0.000 ms
        devices       toy
        requires      cpu
        preferred     cpu by TT_PREFER
                      *:exp* by tt.prefer
        contested     the device 'toy' is declared by plugin 'acme' (tt-acme 1.2), too; no plugin has it
        put back      the default dtype, how NumPy prints
    """)


def test_what_a_plugin_has_registered_is_counted(run: Run, acme: None) -> None:
    found = json.loads(run("plugins", "show", "cpu", "--activate", "--json").out)
    assert found["registered"]["kernels for cpu"] > 300 and found["state"] == "active"


def test_a_plugin_that_is_not_there_is_a_wrong_call_with_the_nearest(run: Run) -> None:
    ran = run("plugins", "show", "autogard")
    assert ran.code == 2 and "unknown plugin 'autogard'; did you mean 'autograd'?" in ran.err
