"""Signatures from annotations: every type, every default, and what cannot be expressed."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping, Sequence
from enum import Enum, Flag, IntEnum
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tt
from tt.core.custom_op.infer_schema import infer_signature
from tt.core.errors import ArgumentError, ValueRangeError
from tt.core.schema import Signature
from tt.library import custom_op, infer_schema, scoped


class Mode(Enum):
    NEAREST = "nearest"
    LINEAR = "linear"


class Order(IntEnum):
    ZERO = 0
    ONE = 1


class Bits(Flag):
    A = 1
    B = 2


class Mixed(Enum):
    A = "a"
    B = 1


class Extremes(NamedTuple):
    low: tt.Tensor
    high: tt.Tensor


Meters = NewType("Meters", float)


def argument_of(annotation, default=inspect.Parameter.empty):
    """Return how a signature writes an argument with an annotation."""

    def function(x): ...

    function.__annotations__ = {"x": annotation, "return": tt.Tensor}
    function.__signature__ = inspect.Signature(
        [inspect.Parameter("x", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)]
    )
    return infer_schema(function).removeprefix("(").removesuffix(") -> Tensor")


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (tt.Tensor, "Tensor x"),
        (tt.nn.Parameter, "Tensor x"),
        (Optional[tt.Tensor], "Tensor? x"),  # noqa: UP045 - both spellings are understood
        (tt.Tensor | None, "Tensor? x"),
        (list[tt.Tensor], "Tensor[] x"),
        (typing.List[tt.Tensor], "Tensor[] x"),  # noqa: UP006 - both spellings are understood
        (Sequence[tt.Tensor | None], "Tensor?[] x"),
        (list[tt.Tensor] | None, "Tensor[]? x"),
        (tuple[tt.Tensor, ...], "Tensor[] x"),
        (tuple[tt.Tensor, tt.Tensor], "Tensor[2] x"),
        (tt.Tensor | float, "Tensor|Scalar x"),
        (Union[tt.Tensor, int, None], "Tensor|Scalar? x"),  # noqa: UP007 - both spellings are understood
        (int, "int x"),
        (float, "float x"),
        (bool, "bool x"),
        (str, "str x"),
        (complex, "Scalar x"),
        (int | float, "Scalar x"),
        (bool | int | float | complex | None, "Scalar? x"),
        (tt.dtype, "dtype x"),
        (tt.device, "device x"),
        (tt.layout, "layout x"),
        (tt.memory_format, "memory_format x"),
        (tt.Generator | None, "Generator? x"),
        (tt.Size, "int[] x"),
        (list[int], "int[] x"),
        (list[int | None], "int?[] x"),
        (tuple[int, float], "tuple(int, float) x"),
        (tuple[int, int] | None, "tuple(int, int)? x"),
        (tuple[int, str | None, list[float]], "tuple(int, str?, float[]) x"),
        (list[tuple[int, int]], "tuple(int, int)[] x"),
        (dict[str, float], "dict(str, float) x"),
        (Mapping[int, bool] | None, "dict(int, bool)? x"),
        (Literal["mean", "sum"], "str{'mean', 'sum'} x"),
        (Literal[1, 2], "int{1, 2} x"),
        (Literal["a", None], "str{'a'}? x"),
        (Literal["a"] | Literal["b"] | None, "str{'a', 'b'}? x"),
        (list[Literal["a", "b"]], "str{'a', 'b'}[] x"),
        (Mode, "str{'nearest', 'linear'} x"),
        (Mode | None, "str{'nearest', 'linear'}? x"),
        (Literal[Mode.LINEAR], "str{'linear'} x"),
        (Order, "int{0, 1} x"),
        (dict[str, Order], "dict(str, int{0, 1}) x"),
        (Annotated[int, "how many"], "int x"),
        (Annotated[tt.Tensor, "image"] | None, "Tensor? x"),
        (Meters, "float x"),
    ],
)
def test_a_type_has_one_spelling_that_parses_and_prints_back(annotation, expected):
    assert argument_of(annotation) == expected
    assert str(Signature.parse(f"f({expected}) -> Tensor")) == f"f({expected}) -> Tensor"


@pytest.mark.parametrize(
    ("annotation", "default", "expected"),
    [
        (float, 1, "float x=1.0"),
        (float, float("inf"), "float x=inf"),
        (int, True + 1, "int x=2"),
        (complex, 1j, "Scalar x=1j"),
        (str, "it's", r"str x='it\'s'"),
        (str, 'a "b"\n', "str x='a \"b\"\\n'"),
        (tt.Tensor | None, None, "Tensor? x=None"),
        (tt.Tensor | float, 1.5, "Tensor|Scalar x=1.5"),
        (list[tt.Tensor], (), "Tensor[] x=[]"),
        (Sequence[int], (1, 2), "int[] x=[1, 2]"),
        (tuple[int, float], (1, 2), "tuple(int, float) x=[1, 2.0]"),
        (dict[str, float], {"a": 1}, "dict(str, float) x={'a': 1.0}"),
        (Mode, Mode.LINEAR, "str{'nearest', 'linear'} x='linear'"),
        (Mode, "nearest", "str{'nearest', 'linear'} x='nearest'"),
        (Order | None, None, "int{0, 1}? x=None"),
        (Literal["a", "b"], "b", "str{'a', 'b'} x='b'"),
        (tt.dtype, tt.float32, "dtype x=float32"),
        (tt.device, tt.device("cpu"), "device x='cpu'"),
        (tt.layout, tt.strided, "layout x=strided"),
        (tt.memory_format, tt.contiguous_format, "memory_format x=contiguous_format"),
    ],
)
def test_a_default_is_that_of_its_type(annotation, default, expected):
    assert argument_of(annotation, default) == expected
    assert str(Signature.parse(f"f({expected}) -> Tensor")) == f"f({expected}) -> Tensor"


@pytest.mark.exhaustive
@given(st.text(), st.floats(allow_nan=False), st.dictionaries(st.text(max_size=5), st.integers(), max_size=3))
def test_any_default_parses_back(text, number, table):
    def function(x: tt.Tensor, a: str = text, b: float = number, c: dict[str, int] = table) -> tt.Tensor: ...

    signature = infer_signature(function, name="a::b")
    assert Signature.parse(str(signature)) == signature
    assert [a.default for a in signature.arguments[1:]] == [text, number, table]


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (set, "set, which a signature cannot express"),
        (Any, "which a signature cannot express"),
        (list, "without an element type: write list[int]"),
        (dict, "without an element type: write dict[int]"),
        (list[list[int]], "a list of lists"),
        (dict[str, tt.Tensor], "a dict of tensors"),
        (dict[float, int], "a dict whose keys are neither str nor int"),
        (tuple[tt.Tensor, int], "a tuple of tensors and other values"),
        (tuple[tt.Tensor, tt.Tensor | None], "some are optional"),
        (int | str, "a union of types of which only numbers, Tensor and None go together"),
        (Literal["a", 1], "must be all str, all int, all float or all bool, and are: int, str"),
        (Mixed, "must be all str, all int, all float or all bool, and are: int, str"),
        (Literal[Mode.LINEAR, "x"], "which mixes members of an enumeration with other values"),
        (Bits, "whose members combine: annotate it with int"),
    ],
)
def test_a_type_that_no_signature_has_is_refused_with_the_reason(annotation, reason):
    with pytest.raises(ArgumentError) as caught:
        argument_of(annotation)
    assert reason in str(caught.value)
    assert "or give the signature" in str(caught.value)


@pytest.mark.parametrize(
    ("annotation", "default"),
    [(int, 1.5), (int, "1"), (bool, 1), (tt.Tensor, 1), (tt.Tensor | None, 2.0), (str, 1), (tuple[int, int], (1,)),
     (Mode, "cubic"), (Literal["a"], "b"), (dict[str, int], {"a": "b"}), (list[int], 1)],
)  # fmt: skip
def test_a_default_of_another_type_is_refused(annotation, default):
    with pytest.raises(ArgumentError, match="the default of parameter 'x' must be"):
        argument_of(annotation, default)


# --- results ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (None, "()"),
        (tt.Tensor, "Tensor"),
        (list[tt.Tensor], "Tensor[]"),
        (tuple[tt.Tensor, ...], "Tensor[]"),
        (tuple[tt.Tensor, tt.Tensor], "(Tensor, Tensor)"),
        (tuple[tt.Tensor, int], "(Tensor, int)"),
        (Extremes, "(Tensor low, Tensor high)"),
        (float, "float"),
        (bool, "bool"),
    ],
)
def test_results(annotation, expected):
    def function(x: tt.Tensor): ...

    function.__annotations__["return"] = annotation
    assert infer_schema(function) == f"(Tensor x) -> {expected}"


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (tt.Tensor | None, "a result cannot be missing"),
        (dict[str, int], "which is neither a tensor, a list of tensors, a number nor a string"),
        (set, "which a signature cannot express"),
        (tt.Tensor | float, "which is neither a tensor"),
    ],
)
def test_a_result_that_no_operator_has_is_refused(annotation, reason):
    def function(x: tt.Tensor): ...

    function.__annotations__["return"] = annotation
    with pytest.raises(ArgumentError, match=reason):
        infer_schema(function)


# --- annotations that are strings --------------------------------------------------------------------------------


def test_what_is_local_to_the_function_around_is_found():
    class Local(Enum):
        ON = "on"
        OFF = "off"

    def function(x: tt.Tensor, state: Local = Local.ON) -> tt.Tensor: ...

    assert isinstance(
        function.__annotations__["state"], str
    )  # as `from __future__ import annotations` makes it
    assert infer_schema(function) == "(Tensor x, str{'on', 'off'} state='on') -> Tensor"


def test_a_name_that_is_not_there_is_told():
    def function(x: Tensr) -> tt.Tensor: ...  # noqa: F821 - that is the point

    with pytest.raises(ArgumentError, match="an annotation names 'Tensr', which is not defined"):
        infer_schema(function)


# --- calls are checked -------------------------------------------------------------------------------------------


@pytest.fixture
def resample():
    with scoped():

        @custom_op("test::resample")
        def resample(
            x: tt.Tensor,
            mode: Mode = Mode.NEAREST,
            how: Literal["up", "down"] = "up",
            size: tuple[int, float] = (1, 2.0),
            weights: dict[str, float] = {},  # noqa: B006 - the default cannot change
            names: list[Literal["a", "b"]] = [],  # noqa: B006 - the default cannot change
        ) -> tt.Tensor:
            seen.append((mode, how, size, weights, names))
            return x.clone()

        seen: list[Any] = []
        yield resample, seen


def test_an_enumeration_accepts_members_and_values_and_gives_members(resample):
    op, seen = resample
    x = tt.ones(1)
    for given_ in (Mode.LINEAR, "linear"):
        op(x, given_)
        assert seen.pop()[0] is Mode.LINEAR
    op(x)
    assert seen.pop() == (Mode.NEAREST, "up", (1, 2.0), {}, ())


def test_containers_are_converted_and_checked(resample):
    op, seen = resample
    op(tt.ones(1), size=[3, 4], weights={"a": 1}, names=["a", "b"])
    assert seen.pop()[2:] == ((3, 4.0), {"a": 1.0}, ("a", "b"))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"mode": "cubic"},
            ValueRangeError,
            "argument 'mode' must be one of 'nearest', 'linear', not 'cubic'",
        ),
        ({"mode": "linaer"}, ValueRangeError, "did you mean 'linear'"),
        ({"mode": Order.ONE}, ArgumentError, "must be one of 'nearest', 'linear', not Order"),
        ({"how": "sideways"}, ValueRangeError, "must be one of 'up', 'down', not 'sideways'"),
        ({"how": 1}, ArgumentError, "must be one of 'up', 'down', not int"),
        ({"size": (1, 2, 3)}, ArgumentError, r"must be tuple\(int, float\), 2 long and not 3 as this"),
        ({"size": (1, "a")}, ArgumentError, r"must be tuple\(int, float\), with str at position 1"),
        ({"size": 1}, ArgumentError, r"must be tuple\(int, float\), not int"),
        ({"weights": {"a": "b"}}, ArgumentError, r"must be dict\(str, float\), with str under 'a'"),
        ({"weights": {1: 1.0}}, ArgumentError, r"must be dict\(str, float\)"),
        ({"weights": [1.0]}, ArgumentError, r"must be dict\(str, float\), not list"),
        ({"names": ["c"]}, ValueRangeError, "must be one of 'a', 'b', not 'c'"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_with_the_allowed_ones(resample, options, error, message):
    with pytest.raises(error, match=message) as caught:
        resample[0](tt.ones(1), **options)
    assert "signature: test::resample(" in str(caught.value)


def test_a_default_dict_cannot_be_changed_by_a_kernel(resample):
    op, seen = resample
    op(tt.ones(1))
    with pytest.raises(TypeError, match="does not change"):
        seen.pop()[3]["a"] = 1.0


def test_a_tuple_of_tensors_has_its_length():
    with scoped():

        @custom_op("test::pair")
        def pair(xs: tuple[tt.Tensor, tt.Tensor]) -> tt.Tensor:
            return xs[0] + xs[1]

        x = tt.ones(1)
        assert pair((x, x)).item() == 2
        for wrong in ([x], [x, x, x], x):
            with pytest.raises(ArgumentError, match="test::pair"):
                pair(wrong)


# --- as PyTorch has it -------------------------------------------------------------------------------------------


@pytest.mark.torch
def test_schemas_are_those_of_pytorch_where_it_has_them():
    torch = pytest.importorskip("torch")
    theirs_of = torch.library.infer_schema

    def make(tensor):
        def function(x, y, zs, name="a", by=1.0, *, flag=False): ...

        function.__annotations__ = {
            "x": tensor, "y": tensor | None, "zs": list[tensor], "name": str, "by": float, "flag": bool,
            "return": tuple[tensor, tensor],
        }  # fmt: skip
        return function

    for mutates in ((), ("x",), ("y", "zs"), "unknown"):
        ours = infer_schema(make(tt.Tensor), mutates_args=mutates)
        theirs = theirs_of(make(torch.Tensor), mutates_args=mutates)
        assert ours == theirs.replace('"', "'")
