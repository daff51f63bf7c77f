"""Completion in the shells themselves: what is shown or installed for bash, zsh and fish works there."""

from __future__ import annotations

import math
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.exhaustive

Shell = Callable[[str, str], str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, with this `tt` on the path."""
    program = tmp_path / "tt"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tt "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ZDOTDIR", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


@pytest.fixture
def shell(home: Path) -> Shell:
    """Run a script in a shell; a shell that is not installed skips the test."""

    def call(name: str, script: str) -> str:
        require(name)
        # Something follows the command: a shell runs a script's last command in place of itself, and tt looks for the
        # shell that called it.
        done = subprocess.run(
            [name, "-c", f"{script}; true"], capture_output=True, text=True, check=True, timeout=120
        )
        return done.stdout

    return call


def require(name: str) -> None:
    """Skip where a shell is missing."""
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")


CASES = {
    "ops show softsi": "softsign",
    "plugins show spa": "sparse",
    "ops list --backend cpu/j": "cpu/jagged",
    "ops list --kind red": "reduction",
}


@pytest.mark.parametrize("typed", CASES)
def test_bash_completes_with_what_is_shown(shell: Shell, typed: str) -> None:
    words = typed.split()
    script = (
        f"source <(tt --show-completion); COMP_WORDS=(tt {typed}) COMP_CWORD={len(words)}; _tt_completion tt"
    )
    assert shell("bash", f'{script}; echo "${{COMPREPLY[@]}}"').split() == [CASES[typed]]


def test_bash_completes_with_what_is_installed_in_a_new_shell(shell: Shell) -> None:
    assert "bash completion installed" in shell("bash", "tt --install-completion")
    script = "source ~/.bashrc; COMP_WORDS=(tt ops show softsi) COMP_CWORD=3; _tt_completion tt"
    assert shell("bash", f'{script}; echo "${{COMPREPLY[@]}}"').split() == ["softsign"]


@pytest.mark.parametrize("typed", CASES)
def test_fish_completes_with_what_is_shown(shell: Shell, typed: str) -> None:
    found = shell("fish", f'tt --show-completion | source; complete -C "tt {typed}"')
    assert [line.split("\t")[0] for line in found.splitlines()] == [CASES[typed]]


def test_fish_completes_with_what_is_installed_in_a_new_shell(shell: Shell) -> None:
    assert "fish completion installed" in shell("fish", "tt --install-completion")
    assert shell("fish", 'complete -C "tt ops show softsi"').split() == ["softsign"]


def test_zsh_completes_with_what_is_installed_when_the_tabulator_is_pressed(shell: Shell) -> None:
    assert "zsh completion installed" in shell("zsh", "tt --install-completion")
    process, terminal = pty.fork()
    if not process:
        os.environ["TERM"] = "dumb"
        os.execvp("zsh", ["zsh", "-i"])
    try:
        read_until(terminal, "echo up-$((1+1))\n", "up-2")
        os.write(terminal, b"tt \t")  # the first one in a shell only loads what was installed
        for typed, whole in CASES.items():
            read_until(terminal, f"\x15tt {typed}\t", whole)  # Ctrl-U clears the line first
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def read_until(terminal: int, typed: str, wanted: str) -> None:
    """Type something, again after a while, until something is shown; fail after two minutes."""
    shown, begin, typed_at = b"", time.monotonic(), -math.inf
    while wanted.encode() not in shown:
        now = time.monotonic()
        assert now < begin + 120, f"{wanted} was not completed: {shown!r}"
        if now > typed_at + 20:  # a shell that was still loading has given up
            os.write(terminal, typed.encode())
            typed_at = now
        if select.select([terminal], [], [], 0.5)[0]:
            shown += os.read(terminal, 4096)
