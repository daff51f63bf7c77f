"""What programs ask of a compiler."""

from __future__ import annotations

import pytest

import tt
from tt.errors import UnsupportedError


def test_nothing_is_compiled_and_decorators_keep_functions():
    def function(x):
        return x

    assert not tt.compiler.is_compiling() and not tt.compiler.is_dynamo_compiling()
    assert not tt.compiler.is_exporting() and tt.compiler.list_backends() == []
    assert tt.compiler.disable(function) is function
    assert tt.compiler.disable(reason="why")(function) is function
    for keep in (tt.compiler.allow_in_graph, tt.compiler.assume_constant_result):
        assert keep(function) is function
    tt.compiler.reset()
    tt.compiler.cudagraph_mark_step_begin()


def test_compiling_is_refused():
    for refused in (tt.compile, tt.compiler.compile):
        with pytest.raises(UnsupportedError, match="not built yet"):
            refused(lambda x: x)


def test_what_disable_switches_off_is_returned_as_it_is():
    model = tt.nn.Linear(2, 3)
    assert tt.compile(model, disable=True) is model
    assert tt.compile(model, backend="inductor", fullgraph=True, disable=True) is model
    assert model.compile(disable=True) is None

    @tt.compile(disable=True)
    def function(x):
        return x

    assert function(3) == 3


def test_compiling_says_why_it_is_refused():
    model = tt.nn.Linear(2, 3)
    for refused in (lambda: tt.compile(model), lambda: tt.compile(mode="max-autotune"), model.compile):
        with pytest.raises(NotImplementedError, match=r"a compiler is not built yet.*disable=True"):
            refused()
    with pytest.raises(RuntimeError, match="either mode or options"):
        tt.compile(model, mode="default", options={})
    with pytest.raises(TypeError, match="not int"):
        tt.compile(3, disable=True)
