"""Scopes: registrations inside end with them."""

from __future__ import annotations

import pytest

import tt
from tests.core.custom_op.test_library import add, make
from tt import library
from tt.core.errors import (
    UnknownOpError,
)
from tt.core.library import Mode, Provider
from tt.library import CompositeTable, KernelTable, Layer, Library, scoped


class Quiet(Mode):
    """Counts calls."""

    def __init__(self):
        self.count = 0

    def handle(self, caller, args):
        self.count += 1
        return caller.dispatch(args)


class Nothing(Layer):
    """Does nothing."""

    name = "test_own"


def test_a_scope_undoes_everything_the_last_first():
    mode, before = Quiet(), set(library.REGISTRY.layers)
    with scoped() as scope:
        twice = make()
        twice.kernel("cpu", add(1))
        twice.shape("like")
        twice.backward(lambda ctx, g: g)
        table = KernelTable(device="cpu")
        table.kernel("exp", lambda self: self * 0, override=True)
        library.REGISTRY.add(table)
        library.REGISTRY.add_layer(Nothing())
        Library("test_scope", "DEF")
        assert len(scope.handles) == 7
        assert tt.exp(tt.ones(1)).item() == 0
        mode.__enter__()
        tt.ones(1)
    count = mode.count
    assert count == 1
    assert tt.exp(tt.zeros(1)).item() == 1
    assert mode.count == count
    assert set(library.REGISTRY.layers) - before == set()
    assert not hasattr(tt.ops, "test")
    make().kernel("cpu", add(1))
    Library("test_scope", "DEF")


def test_scopes_nest_and_end_with_an_exception():
    with scoped():
        outer = make("test::outer")
        outer.kernel("cpu", add(1))
        with pytest.raises(ZeroDivisionError), scoped():
            inner = make("test::inner")
            inner.kernel("cpu", add(1))
            outer.kernel("cpu", add(5), override=True)
            assert outer(tt.zeros(1)).item() == 5
            raise ZeroDivisionError
        assert outer(tt.zeros(1)).item() == 1
        with pytest.raises(UnknownOpError):
            inner(tt.zeros(1))
    with pytest.raises(UnknownOpError):
        outer(tt.zeros(1))


def test_a_scope_is_a_decorator():
    @scoped()
    def define():
        make()
        return hasattr(tt.ops.test, "twice")

    assert define() and define()
    assert not hasattr(tt.ops, "test")


def test_what_a_plugin_registers_in_a_scope_stays():
    table = CompositeTable()
    table.composite("test::lazy", lambda x: x)
    source = Provider("somebody", "1", "plugin")
    with scoped():
        handle = library.REGISTRY.for_plugin(source).add(table)
    assert handle.active
    handle.remove()
