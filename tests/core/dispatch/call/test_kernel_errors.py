"""An error of a library within a kernel or a backend names the operator, the kernel or method, and the arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tt
from tt import library
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import ArgumentError, KernelFailedError, NumberRangeError
from tt.library import custom_op


class LibraryError(Exception):
    """An exception of a library, with a constructor of its own."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


@pytest.fixture(autouse=True)
def scope() -> Iterator[None]:
    """Undo the registrations of a test."""
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


# --- methods of a backend outside of kernels -------------------------------------------------------------------


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let a method of the CPU backend raise."""

    def start(method: str, device: str = "cpu") -> None:
        def broken(self: Any, *_: Any, **__: Any) -> Any:
            raise LibraryError(7, "the library broke")

        broken.__code__ = broken.__code__.replace(co_name=method)
        monkeypatch.setattr(type(REGISTRY.backend(device)), method, broken)

    return start


def caught_in(call: Any) -> KernelFailedError:
    with pytest.raises(LibraryError, match="the library broke") as caught:
        call()
    assert isinstance(caught.value, KernelFailedError) and isinstance(caught.value.__cause__, LibraryError)
    assert caught.value.code == 7
    return caught.value


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x, i: tt.hypot(x, i.double()), "hypot(self=ndarray float32[2, 3] to float64)"),
        (lambda x, i: tt.where(x > 0, x, x.double()), "where(self=ndarray float32[2, 3] to float64)"),
        (lambda x, i: tt.cat([x, x.double()]), "cat(tensors=ndarray float32[2, 3] to float64)"),
        (lambda x, i: tt.special.entr(i), "special_entr(self=ndarray int64[2, 3] to float32)"),
        (
            lambda x, i: tt.hypot(x, x.double(), out=tt.empty(2, 3).double()),
            "hypot(self=ndarray float32[2, 3] to float64)",
        ),
        (lambda x, i: x.addcmul_(i, i), "addcmul(tensor1=ndarray int64[2, 3] to float32)"),
    ],
)
def test_a_cast_before_a_kernel_names_the_argument(breaking: Any, call: Any, words: str) -> None:
    x, i = tt.ones(2, 3), tt.ones(2, 3, dtype=tt.int64)
    call(x, i)
    breaking("cast")
    error = caught_in(lambda: call(x.clone(), i))
    assert (error.method, error.device) == ("cast", "cpu")
    assert str(error).endswith(f"while `cast` of backend cpu served {words}"), str(error)


def test_what_a_kernel_returns_is_named_where_it_cannot_be_taken(breaking: Any) -> None:
    table = library.KernelTable(device="cpu")
    table.kernel("special_entr", lambda x: x.sum(), takes=("self",), override=True, priority=1000)
    with REGISTRY.add(table):
        tt.special.entr(tt.ones(2).double())  # verified: further results are taken as they come
        breaking("normalise")
        error = caught_in(lambda: tt.special.entr(tt.ones(2).double()))
    assert error.method == "normalise" and error.op == "special_entr"


def test_a_cast_of_a_result_names_the_call(breaking: Any) -> None:
    table = library.KernelTable(device="cpu")
    table.kernel("special_entr", lambda x: x, takes=("self",), override=True, priority=1000)
    with REGISTRY.add(table):
        x = tt.ones(2, dtype=tt.float16)
        tt.special.entr(x)
        breaking("cast")
        assert caught_in(lambda: tt.special.entr(x)).method == "cast"


def test_writing_back_an_inplace_result_names_the_call(breaking: Any) -> None:
    x = tt.ones(2)
    breaking("copy_into")
    error = caught_in(lambda: x.cumsum_(0))
    assert (error.op, error.method) == ("cumsum", "copy_into")
    assert str(error).endswith("served cumsum(self=float32[2], dim=0)")


@pytest.mark.parametrize("method", ["take", "reshape", "concat"])
def test_methods_for_arrays_that_cannot_change_name_the_call(method: str) -> None:
    class Frozen(library.ArrayApiBackend):
        broken = False

    def failing(self: Any, *args: Any) -> Any:
        if Frozen.broken:
            raise LibraryError(7, "the library broke")
        return getattr(library.ArrayApiBackend, method)(self, *args)

    failing.__code__ = failing.__code__.replace(co_name=method)
    setattr(Frozen, method, failing)
    backend = Frozen(np, "frozen", mutable=False, has_views=False)
    with REGISTRY.add_backend(backend), REGISTRY.add(backend.kernels()):
        x = tt.ones(2, 3, device="frozen")
        y = x[1]
        Frozen.broken = True
        calls = {"take": lambda: x[:, 1], "reshape": lambda: x[:, 1], "concat": lambda: y.add_(1)}
        error = caught_in(calls[method])
    assert error.method == method and error.device == "frozen" and error.op
    assert "float32[" in str(error)


def bytes_(*values: int) -> tt.Tensor:
    return tt.tensor(values, dtype=tt.uint8)


def test_an_integer_operand_wraps_around_in_every_form():
    x, out = bytes_(1), bytes_(0)
    assert (x + 300).item() == tt.add(x, 300, out=out).item() == out.item() == 45
    assert x.clone().add_(300).item() == 45 and x.clone().mul_(-1).item() == 255
    assert (tt.tensor([1]) + 2**63).item() == 1 - 2**63


NOT_HELD = {
    "add": lambda: bytes_(1).add(bytes_(1), alpha=300),
    "sub_": lambda: bytes_(1).sub_(bytes_(1), alpha=300),
    "rsub": lambda: tt.rsub(bytes_(1), bytes_(1), alpha=300),
    "addr": lambda: tt.addr(bytes_(1).reshape(1, 1), bytes_(1), bytes_(1), alpha=300),
    "fill": lambda: tt.fill(bytes_(1), 300),
    "fill_": lambda: bytes_(1).fill_(300),
    "fill_, half": lambda: tt.tensor([1.0], dtype=tt.float16).fill_(1e6),
    "fill_, integer in half": lambda: tt.tensor([1.0], dtype=tt.float16).fill_(70000),
    "fill_, single": lambda: tt.tensor([1.0]).fill_(1e300),
    "fill_, complex": lambda: tt.tensor([1j]).fill_(1e300),
    "fill_, NaN": lambda: bytes_(1).fill_(float("nan")),
    "assignment": lambda: tt.tensor([1.0]).__setitem__(0, 1e300),
    "where": lambda: tt.where(tt.tensor([True]), bytes_(1), 300),
    "pad": lambda: tt.nn.functional.pad(bytes_(1), (1, 1), value=300),
    "linspace": lambda: tt.linspace(0, 1000, 3, dtype=tt.uint8),
    "+": lambda: tt.tensor([1]) + 2**64,
    "add_": lambda: tt.tensor([1]).add_(10**30),
    "out=": lambda: tt.mul(tt.tensor([1]), -(2**64), out=tt.tensor([0])),
    "&": lambda: tt.tensor([1]) & 2**64,
    "//": lambda: tt.tensor([5]) // 2**64,
}


@pytest.mark.parametrize("name", NOT_HELD)
def test_a_number_that_no_element_can_hold_is_refused(name):
    with pytest.raises(NumberRangeError):
        NOT_HELD[name]()


def test_what_rounding_and_wrapping_give_is_held():
    assert bytes_(1).fill_(-1).item() == 255 and bytes_(1).fill_(1.5).item() == 1
    assert tt.tensor([1.0], dtype=tt.float16).fill_(65519.0).item() == 65504
    assert tt.tensor([1.0]).fill_(float("inf")).item() == float("inf")
    assert tt.tensor([1.0]).fill_(3.4028235e38).isfinite().item()
    assert bytes_(1).add(bytes_(1), alpha=-1).item() == 0
    assert (tt.tensor([1.0]) + 2**64).item() == 2.0**64 and not (tt.tensor([1]) == 2**64).item()


WIDE = {
    "split_size": lambda x: x.split(2**63), "diagonal": lambda x: x.tril(2**63), "chunks": lambda x: x.chunk(2**63),
    "k": lambda x: x.rot90(2**63), "n": lambda x: x.diff(2**63),
    "indices_or_sections": lambda x: x.tensor_split((1, 2**63)),
    "n, power": lambda x: tt.linalg.matrix_power(x, 2**63), "n, derivative": lambda x: tt.polygamma(2**63, x),
    "ignore_index": lambda x: tt.nn.functional.nll_loss(x, tt.tensor([0, 1, 2]), ignore_index=2**63),
    "diagonal, below": lambda x: x.triu(-(2**63) - 1),
}  # fmt: skip


@pytest.mark.parametrize("name", WIDE)
def test_a_limit_beyond_64_bits_is_refused_where_python_would_count_with_it(name):
    with pytest.raises(NumberRangeError, match="is not a 64-bit integer"):
        WIDE[name](tt.ones(3, 3))


def no_grad(function: Any, *args: Any) -> Any:
    with tt.no_grad():
        return function(*args)


FORMS = [
    (lambda f, x, *y: f(x, *y), False),
    (lambda f, x, *y: f(x, *y), True),
    (lambda f, x, *y: no_grad(f, x, *y), True),
]


@pytest.mark.parametrize(("form", "recorded"), FORMS)
@pytest.mark.parametrize(
    ("name", "takes"),
    [("special_entr", ("self",)), ("hypot", ("self", "other")), ("lerp.Scalar", ("self", "end", "weight"))],
)
def test_a_kernel_that_fails_has_run_once(form: Any, recorded: bool, name: str, takes: Any) -> None:
    runs, failing = 0, False

    def counted(*args: Any) -> Any:
        nonlocal runs
        runs += 1
        if failing:
            raise LibraryError(3, "bad")
        return args[0] + 1

    packet = name.partition(".")[0].removeprefix("special_")
    function = getattr(tt.special if name.startswith("special") else tt, packet)
    extra = (0.5,) if name.startswith("lerp") else ()
    tensors = [tt.ones(3, requires_grad=recorded), tt.ones(3)][: 2 if len(takes) > 1 else 1]
    table = library.KernelTable(device="cpu")
    table.kernel(name, counted, takes=takes, override=True, priority=1000)
    with REGISTRY.add(table):
        for _ in range(3):  # later calls take shorter paths
            form(function, *tensors, *extra)
        runs, failing = 0, True
        with pytest.raises(LibraryError, match="bad"):
            form(function, *tensors, *extra)
        assert runs == 1
