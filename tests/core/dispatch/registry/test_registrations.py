"""Lazy tables: when their kernels are made, in which order they count, and what goes wrong while they are."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from tests.processes import printed_by
from tt.core.dispatch.registry.registry import Registry
from tt.core.dispatch.registry.sources import Provider
from tt.core.dispatch.registry.tables import Kernel, KernelTable, LazyKernelTable
from tt.core.errors import ArgumentError, DuplicateRegistrationError, PluginFailedError, UnknownNameError

SOURCE = Provider("tt-acme", "1.0", "acme")


def table_of(*kernels: Kernel) -> KernelTable:
    return KernelTable(device="acme", kernels=list(kernels))


class Source:
    """Makes one kernel of each operator, and notes for which it was asked."""

    def __init__(self, *ops: str, error: Exception | None = None) -> None:
        self.asked: list[str] = []
        self.error = error
        self.table = LazyKernelTable("acme", ops, self.make)

    def make(self, op: str) -> list[Kernel]:
        self.asked.append(op)
        if self.error is not None:
            raise self.error
        return [Kernel(op, np.exp, dtypes=("float64",)), Kernel("of another operator", np.exp)]


@pytest.fixture
def registry() -> Registry:
    return Registry()


def functions(registry: Registry, op: str) -> list[Any]:
    return [r.kernel.function for r in registry.kernels.get(op, ())]


def test_kernels_are_made_once_when_their_operator_is_asked_for(registry: Registry) -> None:
    source = Source("exp", "log")
    registry.add(source.table, SOURCE)
    assert source.asked == []
    assert functions(registry, "exp") == functions(registry, "exp") == [np.exp]
    assert source.asked == ["exp"]
    assert functions(registry, "of another operator") == []


def test_whoever_asks_for_all_finds_all(registry: Registry) -> None:
    registry.add(Source("exp", "log").table, SOURCE)
    assert len(registry.kernels) == 2
    assert {op: len(found) for op, found in registry.kernels.items()} == {"exp": 1, "log": 1}
    assert sorted(registry.kernels) == ["exp", "log"]


def test_an_operator_that_is_named_twice_has_its_kernels_once(registry: Registry) -> None:
    handle = registry.add(LazyKernelTable("acme", ["exp", "exp"], lambda op: [Kernel(op, np.exp)]), SOURCE)
    assert functions(registry, "exp") == [np.exp]
    handle.remove()
    assert functions(registry, "exp") == []


@pytest.mark.parametrize(("ops", "make"), [("exp", lambda op: []), (("exp",), None), (("exp",), [])])
def test_what_makes_no_table_is_refused(ops: Any, make: Any) -> None:
    with pytest.raises(ArgumentError, match="takes the names of operators, and a function"):
        LazyKernelTable("acme", ops, make)


@pytest.mark.parametrize("made", [None, [np.exp], np.exp])
def test_what_is_no_kernel_is_refused_when_it_is_made(registry: Registry, made: Any) -> None:
    registry.add(LazyKernelTable("acme", ("exp",), lambda op: made), SOURCE)
    with pytest.raises(
        PluginFailedError, match=r"failed to make its kernels of exp for acme\n  tried: \w+Error: "
    ):
        registry.kernels["exp"]


def test_an_operator_without_kernels_has_none(registry: Registry) -> None:
    registry.add(LazyKernelTable("acme", ("exp",), lambda op: []), SOURCE)
    assert functions(registry, "exp") == []
    with pytest.raises(KeyError):
        registry.kernels["log"]


@pytest.mark.parametrize("asked", [False, True])
def test_what_is_registered_later_counts_first_and_what_was_there_before_last(
    registry: Registry, asked: bool
) -> None:
    registry.add(table_of(Kernel("exp", np.sin, dtypes=("float32",))), Provider("first"))
    registry.add(Source("exp").table, SOURCE)
    if asked:
        assert functions(registry, "exp")[0] is np.exp
    registry.add(table_of(Kernel("exp", np.cos, override=True)), Provider("last"))
    assert functions(registry, "exp") == [np.cos, np.exp, np.sin]


def test_kernels_of_a_lazy_table_count_in_the_order_of_an_eager_one(registry: Registry) -> None:
    kernels = [Kernel("exp", np.exp, dtypes=("float32",)), Kernel("exp", np.sin, dtypes=("float64",))]
    registry.add(LazyKernelTable("acme", ("exp",), lambda op: kernels), SOURCE)
    eager = Registry()
    eager.add(table_of(*kernels), SOURCE)
    assert functions(registry, "exp") == functions(eager, "exp") == [np.sin, np.exp]


@pytest.mark.parametrize("asked", [False, True])
def test_a_removed_table_leaves_the_others(registry: Registry, asked: bool) -> None:
    registry.add(LazyKernelTable("acme", ("exp",), lambda op: [Kernel(op, np.sin, ("float32",))]), SOURCE)
    handle = registry.add(Source("exp", "log").table, SOURCE)
    if asked:
        assert functions(registry, "exp") == [np.exp, np.sin]
    handle.remove()
    assert functions(registry, "exp") == [np.sin] and functions(registry, "log") == []


def test_a_table_that_cannot_be_made_names_who_brought_it_and_is_made_later(registry: Registry) -> None:
    source = Source("exp", error=ImportError("no module named acme_kernels\nnor more"))
    registry.add(source.table, SOURCE)
    for _ in range(2):
        with pytest.raises(PluginFailedError) as caught:
            registry.kernels["exp"]
        assert str(caught.value) == (
            "tt-acme 1.0 (acme) failed to make its kernels of exp for acme\n"
            "  tried: ImportError: no module named acme_kernels"
        )
    source.error = None
    assert functions(registry, "exp") == [np.exp]


def test_an_error_of_tt_is_raised_as_it_is(registry: Registry) -> None:
    error = UnknownNameError("family", "exq", ["exp"])
    registry.add(Source("exp", error=error).table, SOURCE)
    with pytest.raises(UnknownNameError, match="unknown family 'exq'"):
        registry.kernels["exp"]


def test_a_lazy_table_may_not_repeat_kernels_of_its_party(registry: Registry) -> None:
    twice = [Kernel("exp", np.exp), Kernel("exp", np.exp)]
    registry.add(LazyKernelTable("acme", ("exp",), lambda op: twice), SOURCE)
    with pytest.raises(DuplicateRegistrationError, match="kernel of exp for acme"):
        registry.kernels["exp"]


def test_threads_that_ask_at_once_find_the_same_kernels(registry: Registry) -> None:
    meeting = threading.Barrier(4)

    def make(op: str) -> list[Kernel]:
        meeting.wait(10)
        return [Kernel(op, np.exp)]

    registry.add(LazyKernelTable("acme", ("exp",), make), SOURCE)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(registry.kernels["exp"])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(kernels) for kernels in found] == [1] * 4
    assert all(kernels is found[0] for kernels in found)


PROGRAM = """
import numpy as np
import tt
from tt.library import REGISTRY, KernelTable, LazyKernelTable

def make(op):
    print("made", op)
    return [k for k in table.kernels if k.op == op]

table = KernelTable("cpu")
table.kernel("exp", lambda self: self * 0, override=True)
table.kernel("exq", np.exp)
lazy = LazyKernelTable("cpu", ("exp", "log"), make)
with REGISTRY.add(lazy):
    print(tt.sin(tt.zeros(1)).item(), tt.exp(tt.ones(1)).item(), tt.log(tt.ones(1)).item())
print(tt.exp(tt.zeros(1)).item())
"""


def test_a_program_adds_a_lazy_table_and_takes_it_out_again() -> None:
    assert printed_by(PROGRAM).splitlines() == ["made exp", "made log", "0.0 0.0 0.0", "1.0"]
