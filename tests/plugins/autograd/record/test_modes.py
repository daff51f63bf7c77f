"""Modes as decorators: functions, generators, coroutines; each step runs in the mode, what lies between does not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import tt


@pytest.mark.parametrize("decorator", [tt.no_grad, tt.no_grad()])
def test_functions_run_in_the_mode(decorator: Any) -> None:
    @decorator
    def look() -> bool:
        return bool(tt.is_grad_enabled())

    assert not look() and tt.is_grad_enabled()


def test_generators_run_in_the_mode_step_by_step() -> None:
    @tt.no_grad()
    def generate() -> Any:
        got = yield tt.is_grad_enabled()
        try:
            yield got, tt.is_grad_enabled()
        except KeyError:
            yield "caught", tt.is_grad_enabled()
        return "end"

    steps = generate()
    assert next(steps) is False and tt.is_grad_enabled()
    assert steps.send("sent") == ("sent", False) and tt.is_grad_enabled()
    assert steps.throw(KeyError()) == ("caught", False) and tt.is_grad_enabled()
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == "end"


def test_a_generator_is_closed_in_the_mode() -> None:
    seen: list[bool] = []

    @tt.no_grad()
    def generate() -> Any:
        try:
            yield 1
        finally:
            seen.append(tt.is_grad_enabled())

    steps = generate()
    next(steps)
    steps.close()
    assert seen == [False]


def test_coroutines_run_in_the_mode_step_by_step() -> None:
    seen: list[Any] = []

    @tt.no_grad()
    async def work() -> str:
        seen.append(("in", tt.is_grad_enabled()))
        await asyncio.sleep(0)
        seen.append(("in", tt.is_grad_enabled()))
        return "done"

    async def other() -> None:
        seen.append(("out", tt.is_grad_enabled()))
        await asyncio.sleep(0)
        seen.append(("out", tt.is_grad_enabled()))

    async def main() -> str:
        result, _ = await asyncio.gather(work(), other())
        return result

    assert asyncio.run(main()) == "done"
    assert seen == [("in", False), ("out", True), ("in", False), ("out", True)]


def test_an_error_in_a_coroutine_comes_through() -> None:
    @tt.no_grad()
    async def fail() -> None:
        await asyncio.sleep(0)
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        asyncio.run(fail())
    assert tt.is_grad_enabled()


def test_asynchronous_generators_run_in_the_mode_step_by_step() -> None:
    @tt.inference_mode()
    async def generate() -> Any:
        yield tt.is_grad_enabled()
        await asyncio.sleep(0)
        yield tt.ones(1).is_inference()

    async def main() -> list[Any]:
        found = []
        async for value in generate():
            found.append((value, tt.is_grad_enabled()))
        return found

    assert asyncio.run(main()) == [(False, True), (True, True)]
