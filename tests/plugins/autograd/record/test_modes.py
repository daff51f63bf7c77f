"""Modes as decorators: functions, generators, coroutines; each step runs in the mode, what lies between does not."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import tt
from tests.plugins.autograd.backward.test_functional import x
from tests.threads import in_threads


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


def test_exceptions_thrown_into_an_asynchronous_generator_reach_it() -> None:
    seen: list[Any] = []

    @tt.no_grad()
    async def generate() -> Any:
        try:
            try:
                yield "first"
            except KeyError as error:
                seen.append((type(error), tt.is_grad_enabled()))
                await asyncio.sleep(0)
                sent = yield "caught"
                seen.append(sent)
                yield "last"
        finally:
            seen.append(("closed", tt.is_grad_enabled()))

    async def main() -> None:
        generator = generate()
        assert await generator.__anext__() == "first"
        assert await generator.athrow(KeyError()) == "caught"
        assert await generator.asend("sent") == "last"
        with pytest.raises(ValueError, match="not caught"):
            await generator.athrow(ValueError("not caught"))
        with pytest.raises(StopAsyncIteration):
            await generator.__anext__()
        other = generate()
        await other.__anext__()
        await other.aclose()
        assert tt.is_grad_enabled()

    asyncio.run(main())
    assert seen == [(KeyError, False), "sent", ("closed", False), ("closed", False)]


def test_recording_is_switched_for_blocks_and_functions() -> None:
    a = x()
    with tt.no_grad():
        assert not (a * 2).requires_grad
        with tt.enable_grad():
            assert (a * 2).requires_grad
        assert not tt.is_grad_enabled()
    assert tt.is_grad_enabled()

    @tt.no_grad
    def bare(a: Any) -> Any:
        return a * 2

    @tt.no_grad()
    def called(a: Any) -> Any:
        return a * 2

    @tt.no_grad()
    def generator(a: Any) -> Any:
        yield a * 2
        assert not tt.is_grad_enabled()
        yield a * 3

    assert not bare(a).requires_grad and not called(a).requires_grad
    for made in generator(a):
        assert not made.requires_grad and tt.is_grad_enabled()
    tt.set_grad_enabled(False)
    assert not (a * 2).requires_grad
    tt.set_grad_enabled(True)
    with tt.set_grad_enabled(False):
        assert not tt.is_grad_enabled()
    assert tt.is_grad_enabled()


def test_an_exception_switches_recording_back() -> None:
    with pytest.raises(KeyError), tt.no_grad():
        raise KeyError
    assert tt.is_grad_enabled()


def test_recording_is_switched_for_one_thread_only() -> None:
    a, inside = x(), []
    with tt.no_grad():
        thread = threading.Thread(target=lambda: inside.append((tt.is_grad_enabled(), (a * 2).requires_grad)))
        thread.start()
        thread.join()
    assert inside == [(True, True)]


def test_threads_can_share_a_leaf() -> None:
    a = tt.ones(3, requires_grad=True)

    def work() -> None:
        for _ in range(20):
            tt.autograd.grad((a * a).sum(), a)

    in_threads(*[work] * 4)
    assert a.grad is None
