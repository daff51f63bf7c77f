"""Finds C and C++ compilers, and identifies those that make different code."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from tt.core.errors import NoCompilerError

__all__ = ["Compiler", "Language", "compiler_problem", "find_compiler", "messages_in_english"]

Language = Literal["c", "c++"]

VARIABLES: Final[Mapping[Language, str]] = {"c": "CC", "c++": "CXX"}
COMMANDS: Final[Mapping[Language, tuple[str, ...]]] = {
    "c": ("cc", "gcc", "clang"),
    "c++": ("c++", "g++", "clang++"),
}
_INSTALL: Final[Mapping[str, str]] = {
    "Darwin": "xcode-select --install",
    "Linux": (
        "apt install build-essential (Debian, Ubuntu), dnf install gcc gcc-c++ (Fedora), "
        "apk add build-base (Alpine)"
    ),
}
_READ_BY_COMPILERS: Final = (
    "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "GCC_EXEC_PREFIX", "COMPILER_PATH", "SDKROOT",
    "MACOSX_DEPLOYMENT_TARGET",
)  # fmt: skip
"""Environment variables that change a compiler's result for the same source."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler that was found.

    Attributes
    ----------
    language : str
        c or c++.
    command : tuple of str
        How it is called.
    origin : str
        Where its name comes from: a variable, Python's own build, or the search path.
    version : str
        Its version text.
    """

    language: Language
    command: tuple[str, ...]
    origin: str
    version: str

    def identity(self) -> list[str]:
        """Return everything that determines its result, besides the source and the options."""
        settings = [f"{name}={os.environ[name]}" for name in _READ_BY_COMPILERS if name in os.environ]
        # Symbolic links such as `cc` may point to another compiler after an update.
        path = os.path.realpath(shutil.which(self.command[0]) or self.command[0])
        return [
            self.language,
            path,
            *self.command[1:],
            self.version,
            platform.machine(),
            platform.system(),
            *settings,
        ]


def messages_in_english() -> dict[str, str]:
    """Return the environment for a compiler whose messages are to be read."""
    return {**os.environ, "LC_ALL": "C"}


def find_compiler(language: Language, environ: Mapping[str, str] | None = None) -> Compiler:
    """Return the compiler for a language: $CC or $CXX, else Python's own, else the first on the search path.

    Raises
    ------
    NoCompilerError
        When there is none, with what was tried and what to install.
    """
    environ = os.environ if environ is None else environ
    variable = VARIABLES[language]
    path = environ.get("PATH", os.defpath)
    tried = []
    for origin, text in _candidates(language, environ.get(variable, "").strip()):
        command = tuple(shlex.split(text))
        if not command or shutil.which(command[0], path=path) is None:
            tried.append(f"{command[0] if command else text} ({origin}): not found")
            if origin == f"${variable}":
                break  # a compiler named by the user is not replaced by another
            continue
        version, problem = _ask(command, path)
        if not problem:
            return Compiler(language, command, origin, version)
        tried.append(f"{command[0]} ({origin}): {problem}")
    raise NoCompilerError(language, tried, _INSTALL.get(platform.system(), "install GCC or Clang"))


def _candidates(language: Language, named: str) -> list[tuple[str, str]]:
    if named:
        return [(f"${VARIABLES[language]}", named)]
    # The compiler that built Python fits its headers and libraries.
    own = sysconfig.get_config_var(VARIABLES[language])
    candidates = [("Python's own", str(own))] if own else []
    return candidates + [("search path", name) for name in COMMANDS[language]]


# Asking a compiler for its version takes as long as a small build.
@lru_cache(maxsize=16)
def _ask(command: tuple[str, ...], path: str) -> tuple[str, str]:
    """Return a compiler's version text, and the reason why it cannot be used, or ""."""
    try:
        done = subprocess.run(
            [*command, "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            env={**messages_in_english(), "PATH": path},
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    if done.returncode:
        return "", f"--version ended with {done.returncode}; GCC and Clang are supported"
    return done.stdout.strip(), ""


def compiler_problem(language: Language = "c++") -> str | None:
    """Return why no extension can be compiled here, or None if it can.

    Examples
    --------
    >>> from tt.core.extension.compilers import compiler_problem
    >>> problem = compiler_problem()
    >>> problem is None or "compiler" in problem
    True
    """
    try:
        find_compiler(language)
    except NoCompilerError as error:
        return str(error)
    return None
