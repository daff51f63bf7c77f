"""Context managers that decorate functions and generators."""

from __future__ import annotations

import pytest

from tt.utils._contextlib import (
    _DecoratorContextManager,
    _NoParamDecoratorContextManager,
    context_decorator,
)


class Noted(_DecoratorContextManager):
    """Notes when its block begins and ends."""

    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("in")

    def __exit__(self, *exc_info):
        self.log.append("out")

    def clone(self):
        return Noted(self.log)


def test_each_call_runs_within_a_context_of_its_own():
    log = []

    @Noted(log)
    def double(x):
        log.append(x)
        return 2 * x

    assert (double(1), double(2)) == (2, 4)
    assert log == ["in", 1, "out", "in", 2, "out"]
    assert double.__name__ == "double"


def test_a_generator_is_within_the_context_only_while_it_runs():
    log = []

    @Noted(log)
    def echo():
        got = yield 1
        log.append(got)
        try:
            yield 2
        except KeyError:
            log.append("caught")
        yield 3
        return 4

    steps = echo()
    assert next(steps) == 1
    assert log == ["in", "out"]
    assert steps.send("sent") == 2
    assert steps.throw(KeyError()) == 3
    with pytest.raises(StopIteration) as stop:
        next(steps)
    assert stop.value.value == 4
    assert log == ["in", "out", "in", "sent", "out", "in", "caught", "out", "in", "out"]


def test_a_generator_that_is_closed_ends_within_the_context():
    log = []

    def forever():
        try:
            while True:
                yield 0
        finally:
            log.append("end")

    steps = context_decorator(Noted(log), forever)()
    next(steps)
    steps.close()
    assert log == ["in", "out", "in", "end", "out"]


def test_one_without_arguments_decorates_without_brackets():
    class Quiet(_NoParamDecoratorContextManager):
        on = False

        def __enter__(self):
            Quiet.on = True

        def __exit__(self, *exc_info):
            Quiet.on = False

    @Quiet
    def look():
        return Quiet.on

    @Quiet()
    def look_too():
        return Quiet.on

    assert look()
    assert look_too()
    assert not Quiet.on
