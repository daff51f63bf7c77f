"""What a library raises within a kernel or a backend names the operator, the kernel or method, and the arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tt
from tt import library
from tt.core.dispatch.registry import REGISTRY
from tt.core.errors import ArgumentError, KernelFailedError
from tt.library import custom_op


class LibraryError(Exception):
    """An exception of a library, with a constructor of its own."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


@pytest.fixture(autouse=True)
def scope() -> Iterator[None]:
    """Undo what a test registers."""
    with library.scoped():
        yield


def raising(error: Exception) -> Any:
    @custom_op("test::failing")
    def failing(x: tt.Tensor, by: float = 1.0) -> tt.Tensor:
        """Fails."""

    @failing.kernel("cpu")
    def on_cpu(x: Any, by: float) -> Any:
        raise error

    return failing


@pytest.mark.parametrize("error", [ValueError("bad"), LibraryError(3, "bad"), KeyError("bad")])
def test_an_error_in_a_kernel_names_the_call_and_stays_of_its_class(error: Exception) -> None:
    op = raising(error)
    with pytest.raises(type(error)) as caught:
        op(tt.ones(2, 3), by=2.0)
    assert isinstance(caught.value, KernelFailedError) and caught.value.__cause__ is error
    assert str(caught.value).startswith(f"{error}\n  while the kernel by (this program) {__name__}:") and str(
        caught.value
    ).endswith(" on cpu served test::failing(x=float32[2, 3], by=2.0)")
    assert (caught.value.op, caught.value.device, caught.value.method) == ("test::failing", "cpu", "")
    if isinstance(error, LibraryError):
        assert caught.value.code == 3


def test_an_error_of_tt_passes_as_it_is() -> None:
    error = ArgumentError("test::failing", "is wrong")
    with pytest.raises(ArgumentError) as caught:
        raising(error)(tt.ones(2))
    assert caught.value is error


def test_an_error_in_a_method_of_a_backend_names_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    @custom_op("test::cloned")
    def cloned(x: tt.Tensor) -> tt.Tensor:
        """Clones."""

    cloned.kernel("cpu", lambda x: REGISTRY.backend("cpu").clone(x))
    backend = REGISTRY.backend("cpu")

    def broken(self: Any, handle: Any) -> Any:
        return self.fill_in(handle)

    monkeypatch.setattr(type(backend), "clone", broken)
    with pytest.raises(AttributeError, match="`broken` of backend cpu served test::cloned"):
        cloned(tt.ones(2))


def test_reading_and_making_tensors_name_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    backend, x = REGISTRY.backend("cpu"), tt.ones(2, 3)

    def broken(*_: Any) -> Any:
        raise LibraryError(7, "the library broke")

    monkeypatch.setattr(type(backend), "from_numpy", broken)
    with pytest.raises(
        LibraryError, match=r"`from_numpy` of backend cpu served making a tensor\(ndarray int64\[2\]"
    ):
        tt.tensor([1, 2])
    monkeypatch.setattr(type(backend), "to_numpy", broken)
    with pytest.raises(
        LibraryError, match=r"`to_numpy` of backend cpu served reading a tensor\(ndarray float32\[2, 3\]"
    ):
        x.numpy()


def test_inplace_out_and_recorded_calls_name_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise LibraryError(7, "the library broke")

    table = library.KernelTable(device="cpu")
    table.kernel("special_entr", broken, takes=("self",), override=True, priority=1000)
    with REGISTRY.add(table):
        for call in (
            lambda: tt.special.entr(tt.ones(2)),
            lambda: tt.special.entr(tt.ones(2), out=tt.empty(2)),
            lambda: tt.special.entr(tt.ones(2, requires_grad=True)),
        ):
            with pytest.raises(LibraryError, match=r"served special_entr\(self=float32\[2\]"):
                call()
