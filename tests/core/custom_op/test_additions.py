"""What was added to a custom operator, and handles that undo it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tt
from tt.core.custom_op.registrations import together
from tt.core.dispatch.registry.registry import RegistrationHandle
from tt.core.errors import ArgumentError, UnknownOpError
from tt.library import CustomOp, custom_op


@pytest.fixture
def twice() -> Iterator[CustomOp]:
    @custom_op("additions::twice")
    def twice(x: tt.Tensor) -> tt.Tensor:
        return x * 2

    yield twice
    twice.remove()


def test_a_function_that_was_added_twice_is_undone_by_one_handle(twice: CustomOp) -> None:
    def wrong(x):  # type: ignore[no-untyped-def]
        return x + x + x

    twice.kernel("cpu")(wrong)
    twice.composite(wrong)
    assert twice(tt.ones(1)).item() == 3.0
    assert len(twice.handles) == 4
    twice.handle(wrong).remove()
    assert twice(tt.ones(1)).item() == 2.0
    assert len(twice.handles) == 2  # of the operator and of its body


def test_a_function_that_was_not_added_has_no_handle(twice: CustomOp) -> None:
    with pytest.raises(ArgumentError, match="other is not registered with this operator"):

        def other() -> None:
            pass

        twice.handle(other)


def test_nothing_is_added_to_an_operator_that_is_gone(twice: CustomOp) -> None:
    twice.remove()
    twice.remove()
    assert twice.handles == ()
    with pytest.raises(UnknownOpError, match="additions::twice"):
        twice.kernel("cpu")


def test_several_handles_are_removed_the_last_one_first() -> None:
    removed: list[str] = []
    handles = [RegistrationHandle(lambda name=name: removed.append(name), name) for name in "ab"]  # type: ignore[misc]
    both = together(handles)
    assert both.what == "a; b"
    both.remove()
    assert removed == ["b", "a"]
