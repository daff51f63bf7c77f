"""All exceptions: pickled, copied and unpickled they say the same; searches wait until they are shown."""

from __future__ import annotations

import copy
import pickle
from types import ModuleType
from typing import Any

import pytest

import tt
from tt.core import errors
from tt.core.errors import KernelFailedError, SchemaProblem, TTError, UnknownNameError, UnknownOpError
from tt.core.schema import snapshot

MADE: dict[str, tuple[Any, ...]] = {
    "AnomalyError": ("MulBackward0", 1),
    "ArgumentError": ("add", "is wrong"),
    "BroadcastError": ("add", [2, 3], [2, 4], 1),
    "CastError": ("add_", "float32", "int64"),
    "ChoiceError": ("mse_loss", "is wrong"),
    "CompileError": ("C", "broken"),
    "ConfigurationError": ("tt.toml", "is wrong"),
    "CorruptFileError": ("weights.pt", "it is cut off"),
    "DataDependentError": ("nonzero", "meta"),
    "DeviceMismatchError": ("add", [("self", "cpu"), ("other", "cuda")]),
    "DimensionError": ("sum", 3, 2),
    "DispatchError": ("add(Tensor self)", "has no kernel"),
    "DtypeNotServedError": ("add(Tensor self)", "has no kernel"),
    "DuplicateRegistrationError": ("kernel of add", "one", "two"),
    "HostMemoryError": ("zeros", 2**40, "no room"),
    "KernelFailedError": (ValueError("bad"), "add", "cpu", "one 1.0", "self=float32[2]", "reshape"),
    "KeyBitsExhaustedError": ("device", "new", ["cpu", "cuda"]),
    "MissingFakeError": ("add(Tensor self)", "has no kernel"),
    "NoCompilerError": ("C", ["cc"], "gcc"),
    "NoDataError": (),
    "NoKernelError": ("add(Tensor self)", "has no kernel"),
    "NoOverrideError": ("tt.add", "__tt_function__", ["Image"]),
    "NothingToCheckError": ("cpu", ["acme::*"]),
    "OpCheckError": ("acme::twice", [1], "the report"),
    "PluginConflictError": ("the device 'x'", ["one", "two"], ["one", "two"]),
    "PluginFailedError": ("add(Tensor self)", "failed to load"),
    "PluginMissingError": ("add(Tensor self)", "is not installed"),
    "PromotionError": ("float32", "quint8"),
    "ReadOnlyError": ("add_", "a bytes object"),
    "SavedTensorError": ("MulBackward0", [2], "float32", 0, 1),
    "SchemaError": ([SchemaProblem("ops.yaml", 1, 2, "is wrong", "func: add", "")],),
    "SharedMemoryError": (2**40, 28),
    "SizeLimitError": ("zeros", (2**61, 2), "float32"),
    "TargetDtypeError": ("add_", "float32", "int64"),
    "UnknownNameError": ("device", "cpuu", ["cpu", "cuda"]),
    "UnknownOpError": ("meshgird", ["meshgrid", "add"]),
    "UnsafeGlobalError": ("os.system", "weights.pt"),
    "WorkerExitError": (0, 4711, -9),
    "WorkerTimeoutError": (0.5,),
}
"""Arguments of those with constructors of their own."""


def made(name: str) -> BaseException:
    kind = getattr(errors, name)
    if name == "OutOfMemoryError":
        return errors.OutOfMemoryError("cuda:0", asked=8, allocated=1, reserved=2, free=3, total=4)
    error: BaseException = kind(*MADE.get(name, ("the fault",)))
    return error


EXCEPTIONS = [
    name
    for name in errors.__all__
    if isinstance(getattr(errors, name), type) and issubclass(getattr(errors, name), BaseException)
]


@pytest.mark.parametrize("name", EXCEPTIONS)
@pytest.mark.parametrize("how", ["pickle", "copy", "deepcopy"])
def test_every_error_travels_with_its_message_and_fields(name: str, how: str) -> None:
    error = made(name)
    error.add_note("a note")
    again = {"pickle": lambda e: pickle.loads(pickle.dumps(e)), "copy": copy.copy, "deepcopy": copy.deepcopy}[
        how
    ](error)
    assert type(again) is type(error)
    assert str(again) == str(error) and again.args == error.args
    assert again.__notes__ == ["a note"]
    for field in vars(error):
        if not field.startswith("_"):
            assert repr(getattr(again, field)) == repr(getattr(error, field)), field


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_every_error_is_named_by_the_place_to_import_it_from(name: str) -> None:
    assert getattr(errors, name).__module__ == "tt.core.errors"


def test_every_exception_of_the_modules_is_public() -> None:
    modules = [
        value
        for value in vars(errors).values()
        if isinstance(value, ModuleType) and value.__name__.startswith("tt.core.errors.")
    ]
    defined = {
        name
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    }
    assert len(modules) > 5 and defined == {*EXCEPTIONS}


@pytest.mark.parametrize(
    "cause",
    [
        ValueError("bad"),
        KeyError("absent"),
        AttributeError("none", name="n", obj=3),
        FileNotFoundError(2, "absent", "file"),
        UnicodeDecodeError("utf8", b"a", 0, 1, "reason"),
    ],
)
def test_the_failure_of_a_kernel_is_of_the_class_of_its_cause(cause: Exception) -> None:
    error = KernelFailedError.of(cause, "add", "cpu", "one 1.0", "self=float32[2]")
    assert isinstance(error, type(cause)) and isinstance(error, KernelFailedError)
    assert str(error) == f"{cause}\n  while the kernel by one 1.0 on cpu served add(self=float32[2])"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error)
    for field in ("name", "errno", "filename", "reason"):
        if hasattr(cause, field):
            assert getattr(error, field) == getattr(again, field) == getattr(cause, field)


def test_a_class_that_cannot_be_inherited_from_gets_a_note() -> None:
    group = ExceptionGroup("several", [ValueError("one")])
    assert KernelFailedError.of(group, "add", "cpu", "one 1.0", "x=1") is group
    assert group.__notes__ == ["  while the kernel by one 1.0 on cpu served add(x=1)"]


def test_names_like_an_unknown_operator_are_searched_for_when_they_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    monkeypatch.setattr(errors.names, "nearest", lambda word, names: asked.append(word) or ["add"])
    assert not hasattr(tt, "unknown") and not hasattr(tt.ops, "unknown")
    assert asked == []
    error = UnknownOpError("ad", ["add"])
    assert "did you mean 'add'?" in str(error) and asked == ["ad", "ad"]
    assert error.candidates == ("add",) and isinstance(error, TTError)


@pytest.mark.parametrize(
    ("said", "known", "meant"),
    [
        ("gpu", ["cpu", "cuda", "meta"], "cuda"),
        ("GPU", ["cpu", "cuda"], "cuda"),
        ("gpu", ["cpu"], "cpu"),  # nothing else is there
        ("fp16", ["float16", "float32"], "float16"),
        ("csr", ["sparse_coo", "sparse_csr"], "sparse_csr"),
    ],
)
def test_other_words_for_a_name_are_understood(said: str, known: list[str], meant: str) -> None:
    assert f"did you mean {meant!r}?" in str(UnknownNameError("device", said, known))


def test_a_guess_stands_in_the_place_of_hundreds_of_names() -> None:
    names = [f"name{number}" for number in range(200)]
    assert str(UnknownNameError("rule", "name_7", names)).endswith("known: 200 names")
    assert "name199" in str(UnknownNameError("rule", "qqqqqqqq", names))  # no guess
    assert "name9" in str(UnknownNameError("rule", "name_7", names[:20]))


ALIASES = {alias: name for alias, name in snapshot.originals().items() if alias.rpartition(".")[2] != name}


@pytest.mark.parametrize("alias", ALIASES)
def test_an_error_names_the_alias_by_which_the_operator_was_called(alias: str) -> None:
    called = f"tt.{alias}" if _public(f"tt.{alias}") else f"tt.Tensor.{alias}"
    with pytest.raises(errors.ArgumentError) as caught:
        eval(f"{called}(object(), no_such_argument=1)", {"tt": tt})
    assert str(caught.value).startswith(f"{alias.rpartition('.')[2]}(): ")
    assert caught.value.op == ALIASES[alias]  # the operator stays the operator


def _public(path: str) -> bool:
    try:
        eval(path, {"tt": tt})
    except AttributeError:
        return False
    return True


def test_an_alias_is_named_wherever_the_error_comes_from() -> None:
    x = tt.ones(2, 3)
    cases = {
        "swapaxes": lambda: x.swapaxes(0, 5),
        "swapdims": lambda: tt.empty(2, 3, device="meta").swapdims(0, 5),
        "divide": lambda: tt.divide(x, tt.ones(4)),
        "multiply": lambda: x.multiply("a"),
        "concat": lambda: tt.concat([x, tt.ones(2)]),
        "row_stack": lambda: tt.row_stack([x, tt.ones(4)]),
        "moveaxis": lambda: tt.func.vmap(lambda v: v.moveaxis(0, 7))(x),
        "arccos": lambda: tt.ones(2, requires_grad=True).arccos(3),
    }
    for alias, call in cases.items():
        with pytest.raises(TTError, match=rf"^{alias}\(\): "):
            call()


def test_an_operator_keeps_its_name_unless_the_caller_mentions_an_alias_alone() -> None:
    x = tt.ones(2, 3)
    with pytest.raises(errors.DimensionError, match=r"^transpose\(\): "):
        x.transpose(0, 5)
    with pytest.raises(errors.DimensionError, match=r"^transpose\(\): "):
        x.swapaxes(0, 1).transpose(0, 5)
    # movedim is made of other operators, and what these are called by is not the caller's affair.
    with pytest.raises(errors.DimensionError, match=r"^movedim\(\): "):
        x.swapaxes(0, 1).movedim(0, 5)
    assert str(errors.DimensionError("no_operator", 3, 2)).startswith("no_operator(): ")
    assert str(errors.DimensionError("transpose", 3, 2)).startswith("transpose(): ")


@pytest.mark.parametrize(
    "name", [name for name in EXCEPTIONS if name != "SchemaError"]
)  # of a file, not of a call
def test_a_library_can_make_an_error_anew_with_a_longer_text(name: str) -> None:
    error = made(name)
    again = type(error)(f"{error}\nin layer 3")
    assert type(again) is type(error)
    assert str(error).splitlines()[0] in str(again) and "in layer 3" in str(again)
