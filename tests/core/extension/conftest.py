"""A folder of libraries for these tests alone, both callers, and extensions that do not outlive their test."""

from __future__ import annotations

import pytest

from tt.core.extension import build as building
from tt.core.extension import caller
from tt.core.extension.cache import VARIABLE
from tt.core.extension.compilers import compiler_problem
from tt.core.extension.module import LOADED


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    """Where the libraries of these tests are kept; the same source in several tests is compiled once."""
    return tmp_path_factory.mktemp("extensions")


@pytest.fixture(autouse=True)
def extensions_of_this_test(libraries, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(libraries))
    yield
    for extension in list(LOADED.values()):
        extension.remove()


@pytest.fixture
def compiler():
    """Skip where nothing can be compiled."""
    problem = compiler_problem("c") or compiler_problem("c++")
    if problem:
        pytest.skip(f"extensions need a compiler: {problem}")


@pytest.fixture(params=["native", "ctypes"])
def both_callers(request, compiler, monkeypatch):
    """Run a test with the caller in C and with that of ctypes."""
    if request.param == "ctypes":
        monkeypatch.setattr(caller, "load_native", lambda: (None, "the test leaves it out"))
    elif caller.load_native()[0] is None:
        pytest.skip(f"the caller in C cannot be compiled: {caller.load_native()[1]}")
    return request.param


@pytest.fixture
def commands(monkeypatch):
    """The commands that compilers are called with."""
    found = []
    run = building._run

    def noting(command, name, verbose):
        if name != "_tt_caller":
            found.append(command)
        return run(command, name, verbose)

    monkeypatch.setattr(building, "_run", noting)
    return found
