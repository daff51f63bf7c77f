import keyword
import math
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt.core.errors import SchemaError
from tt.core.schema import MISSING, Alias, Argument, Return, Signature, Type
from tt.core.schema.classes import DTYPE_NAMES
from tt.core.schema.model import BASES, Entries


def argument(text):
    return Signature.parse(f"f({text}) -> Tensor").arguments[-1]


# --- reading ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tensor x", Type("Tensor")),
        ("Tensor? x", Type("Tensor", optional=True)),
        ("Tensor[] x", Type("Tensor", list=True)),
        ("Tensor?[] x", Type("Tensor", list=True, element_optional=True)),
        ("Tensor?[]? x", Type("Tensor", optional=True, list=True, element_optional=True)),
        ("Tensor|Scalar x", Type("Tensor", or_scalar=True)),
        ("Tensor|Scalar? x", Type("Tensor", optional=True, or_scalar=True)),
        ("int[1]? x", Type("int", optional=True, list=True, size=1)),
        ("int[]? x", Type("int", optional=True, list=True)),
        ("bool[3] x", Type("bool", list=True, size=3)),
        ("any x", Type("any")),
        ("str{'a', 'b'} x", Type("str", choices=("a", "b"))),
        ("int{1, 2}[]? x", Type("int", True, True, choices=(1, 2))),
        ("tuple(int, float?) x", Type("tuple", items=(Type("int"), Type("float", optional=True)))),
        ("dict(str, float) x", Type("dict", items=(Type("str"), Type("float")))),
    ],
)
def test_types(text, expected):
    assert argument(text).type == expected
    assert argument(text).alias is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tensor(a) x", Alias(("a",))),
        ("Tensor(a!) x", Alias(("a",), write=True)),
        ("Tensor(a|b) x", Alias(("a", "b"))),
        ("Tensor(a -> *) x", Alias(("a",), contained=True)),
        ("Tensor(a! -> *) x", Alias(("a",), write=True, contained=True)),
        ("Tensor(a)[] x", Alias(("a",))),
        ("Tensor(a!)[] x", Alias(("a",), write=True)),
        ("Tensor(a!)? x", Alias(("a",), write=True)),
        ("Tensor(a)?[] x", Alias(("a",))),
    ],
)
def test_alias_annotations(text, expected):
    assert argument(text).alias == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int? x=None", None),
        ("bool x=True", True),
        ("int x=-1", -1),
        ("float x=1e-05", 1e-05),
        ("float x=inf", math.inf),
        ("Scalar x=1", 1),
        ("Scalar x=1.5", 1.5),
        ("Scalar x=False", False),
        ("Tensor|Scalar x=2", 2),
        ("int[] x=[]", ()),
        ("int[] x=[0, 1]", (0, 1)),
        ("int[2] x=1", (1, 1)),
        ("int[1] x=[]", ()),
        ("int[]? x=None", None),
        ("str x='none'", "none"),
        ("str x=''", ""),
        ("dtype x=float32", "float32"),
        ("layout x=strided", "strided"),
        ("device x='cpu'", "cpu"),
        ("memory_format x=contiguous_format", "contiguous_format"),
        ("int x", MISSING),
        (r"""str x='it\'s "a" \\ \n'""", 'it\'s "a" \\ \n'),
        ("str{'a', 'b'} x='b'", "b"),
        ("Scalar x=1j", 1j),
        ("Scalar x=(1-2.5j)", 1 - 2.5j),
        ("tuple(int, float) x=[1, 2.0]", (1, 2.0)),
        ("tuple(int, int)[] x=[[1, 2], [3, 4]]", ((1, 2), (3, 4))),
        ("tuple(int)[1] x=[[0]]", ((0,),)),
        ("tuple(int, int)[2] x=[[1, 2], [1, 2]]", ((1, 2), (1, 2))),
        ("dict(str, float) x={'a': 1.0}", Entries(a=1.0)),
        ("dict(int, bool)? x={}", Entries()),
    ],
)
def test_defaults_are_python_values(text, expected):
    found = argument(text).default
    assert found == expected and type(found) is type(expected)


def test_not_a_number_is_a_default():
    assert math.isnan(argument("float x=nan").default)


@pytest.mark.parametrize("text", ["f() -> ()", "f() -> Tensor[]", "f(Tensor x) -> (Tensor y)", "f(*, int x) -> ()",
                                  "a::b.c(Tensor(a -> *) x) -> Tensor(a)[]", "_f(Tensor x) -> any"])  # fmt: skip
def test_unusual_signatures_print_back(text):
    assert str(Signature.parse(text)) == text


# --- Hypothesis ------------------------------------------------------------------------------------------------

names = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True).filter(lambda n: not keyword.iskeyword(n))
alias_sets = st.sampled_from("abc")


@st.composite
def types(draw):
    base = draw(st.sampled_from(list(BASES)))
    is_list = draw(st.booleans())
    plain = st.sampled_from([Type("int"), Type("str", optional=True), Type("float", list=True)])
    items = ()
    if base == "tuple":
        items = tuple(draw(st.lists(plain, min_size=1, max_size=3)))
    elif base == "dict":
        items = (draw(st.sampled_from([Type("str"), Type("int")])), draw(plain))
    values = {"str": st.text(max_size=5), "int": st.integers(), "float": st.floats(allow_nan=False)}
    choices = ()
    if base in values and draw(st.booleans()):
        choices = tuple(draw(st.lists(values[base], min_size=1, max_size=3, unique=True)))
    return Type(
        base,
        optional=draw(st.booleans()),
        list=is_list,
        size=draw(st.none() | st.integers(1, 4)) if is_list else None,
        element_optional=is_list and draw(st.booleans()),
        or_scalar=base == "Tensor" and draw(st.booleans()),
        choices=choices,
        items=items,
    )


def elements(type_):
    number = st.integers(-9, 9) | st.floats(allow_nan=False)
    known = {
        "Scalar": number | st.booleans(), "int": st.integers(), "float": st.floats(allow_nan=False),
        "bool": st.booleans(),
        "str": st.text(), "dtype": st.sampled_from(DTYPE_NAMES),
    }  # fmt: skip
    if type_.choices:
        return st.sampled_from(type_.choices)
    if type_.items:
        return containers(type_)
    return known.get(type_.base, number if type_.or_scalar else None)


def containers(type_):
    """Values of a tuple or a dict."""

    def of(item):
        found = elements(item)
        return (
            st.lists(found, max_size=2).map(tuple)
            if item.list
            else found | st.none()
            if item.optional
            else found
        )

    if type_.base == "tuple":
        return st.tuples(*map(of, type_.items))
    return st.dictionaries(of(type_.items[0]), of(type_.items[1]), max_size=2).map(Entries)


@st.composite
def arguments(draw, name, keyword_only, may_default):
    type_ = draw(types())
    default = MISSING
    if may_default:
        element = elements(type_)
        choices = [element] if element is not None else []
        if type_.list and element is None:
            choices = [st.just(())]
        elif type_.list:
            uniform = element.map(lambda e: (e,) * type_.size) if type_.size else st.nothing()
            choices = [st.just(()), st.lists(element, max_size=3).map(tuple), uniform]
        default = draw(st.one_of(st.just(None) if type_.optional else st.just(MISSING), *choices))
    alias = None
    if type_.base == "Tensor" and draw(st.booleans()):
        sets = draw(st.lists(alias_sets, min_size=1, max_size=2, unique=True))
        alias = Alias(tuple(sets), draw(st.booleans()), draw(st.booleans()))
    return Argument(name, type_, default, keyword_only, alias)


@st.composite
def signatures(draw):
    unique = draw(st.lists(names, max_size=6, unique=True))
    star = draw(st.integers(0, len(unique)))
    found, defaulted = [], False
    for index, name in enumerate(unique):
        found.append(draw(arguments(name, index >= star, True)))
        if index < star and found[-1].default is MISSING and defaulted:
            found[-1] = Argument(name, Type("int", optional=True), None)
        defaulted = defaulted or found[-1].default is not MISSING
    sets = sorted({s for a in found if a.alias for s in a.alias.sets})
    returns = []
    for name in draw(st.lists(names, max_size=3, unique=True)):
        type_ = draw(types())
        alias = (
            Alias((draw(st.sampled_from(sets)),))
            if sets and type_.base == "Tensor" and draw(st.booleans())
            else None
        )
        returns.append(Return(name if draw(st.booleans()) else None, type_, alias))
    return Signature(
        draw(st.sampled_from(["tt", "acme"])),
        draw(names),
        draw(st.just("") | names),
        tuple(found),
        tuple(returns),
    )


@given(signatures())
def test_any_signature_is_parsed_from_what_it_prints(signature):
    parsed = Signature.parse(str(signature))
    assert parsed == signature
    assert str(parsed) == str(signature)


@given(st.text(alphabet="abT()[]*,=->?!|:.'1 ", max_size=40))
def test_any_other_text_is_refused_with_a_column_inside_of_it(text):
    try:
        assert str(Signature.parse(text)) == text
    except SchemaError as error:
        for problem in error.problems:
            assert 1 <= problem.column <= len(text) + 1
            assert problem.message


# --- mistakes --------------------------------------------------------------------------------------------------

MISTAKES = {
    "": ["1: expected the name of an operator, found the end"],
    "f": ["2: expected '(' before the arguments, found the end"],
    "f(": ["3: expected a type, found the end"],
    "f(Tensor x": ["11: expected ',' or ')' after an argument, found the end"],
    "f(Tensor x)": ["12: expected '->' before the returns, found the end"],
    "f(Tensor x) -> ": ["16: expected a type, found the end"],
    "f(Tensor x) -> Tensor y": ["23: expected the end, found 'y'"],
    "f(Tensor x y) -> Tensor": ["12: expected ',' or ')' after an argument, found 'y'"],
    "f(, Tensor x) -> Tensor": ["3: expected an argument, found ','"],
    "f(Tensor) -> Tensor": ["9: expected the name of an argument, found ')'"],
    "f.(Tensor x) -> Tensor": ["3: expected the name of an overload, found '('"],
    "a::(Tensor x) -> Tensor": ["4: expected the name of an operator, found '('"],
    "f(tensor x) -> Tensor": ["3: unknown type 'tensor'\ndid you mean 'Tensor'?"],
    "f(SymInt[] x) -> Tensor": ["3: unknown type 'SymInt'\nwrite 'int'"],
    "f(Qzx x) -> Tensor": [
        "3: unknown type 'Qzx'\nthere are: Tensor, Scalar, int, float, bool, str, dtype, device, layout, "
        "memory_format, Generator, tuple, dict, any"
    ],
    "f(Tensor|int x) -> Tensor": ["10: the only union of types is Tensor|Scalar"],
    "f(int|Scalar x) -> Tensor": ["7: the only union of types is Tensor|Scalar"],
    "f(int(a) x) -> Tensor": ["6: only tensors alias, not int"],
    "f(Tensor(A) x) -> Tensor": ["10: expected an alias set such as a, found 'A'"],
    "f(Tensor(a -> b) x) -> Tensor": ["15: expected '*' after '->' in an alias annotation, found 'b'"],
    "f(Tensor(a x) -> Tensor": ["12: expected ')' after alias sets, found 'x'"],
    "f(Tensor x) -> Tensor(b)": ["22: no argument is in the alias set 'b' of the return"],
    "f(int[0] x) -> Tensor": ["7: the size of a list must be at least 1, not 0"],
    "f(int[n] x) -> Tensor": ["7: expected ']' after the size of a list, found 'n'"],
    "f(str{} x) -> Tensor": ["6: str{} has no value\nwrite str, or list the values"],
    "f(int{1, 1} x) -> Tensor": ["10: the value 1 occurs twice"],
    "f(str{'a'} x='b') -> Tensor": ["14: 'b' is none of the values of str\nthey are: 'a'"],
    "f(dtype{float32} x) -> Tensor": ["8: only str, int, float and bool have chosen values, not dtype"],
    "f(tuple x) -> Tensor": ["9: expected '(' before the types of the items of a tuple, found 'x'"],
    "f(tuple() x) -> Tensor": ["3: an empty tuple holds nothing\nleave the argument out"],
    "f(tuple(Tensor) x) -> Tensor": ["9: a tuple holds no tensors\ngive them an argument of their own"],
    "f(tuple(int, int) x=[1]) -> Tensor": ["21: (1,) is not of type tuple(int, int)\nwrite a list of 2"],
    "f(dict(float, int) x) -> Tensor": [
        "3: a dict has keys of str or int, and values\nwrite dict(str, float)"
    ],
    "f(dict(str, int) x=1) -> Tensor": ["20: 1 is not of type dict(str, int)\nwrite {'key': value}"],
    "f(dict(str, int) x={'a' 1}) -> Tensor": ["25: expected ':' after a key, found '1'"],
    "f(Tensor x, int x) -> Tensor": ["13: two arguments are called 'x'"],
    "f(Tensor x) -> (Tensor y, Tensor y)": ["27: two returns are called 'y'"],
    "f(float from=0.0) -> Tensor": ["9: 'from' is a word of Python and cannot name an argument\nwrite from_"],
    "f(int x=1, int y) -> Tensor": ["12: 'y' has no default, but 'x' before it has one"],
    "f(Tensor x, *, *, int y) -> Tensor": ["16: a second '*'\nall arguments after the first one are keyword-only"],
    "f(Tensor x, *) -> Tensor": ["13: no argument follows the '*'"],
    "f(int x=None) -> Tensor": ["9: None is not of type int\nwrite int? to allow it"],
    "f(int x=1.5) -> Tensor": ["9: 1.5 is not of type int"],
    "f(int x=True) -> Tensor": ["9: True is not of type int"],
    "f(bool x=1) -> Tensor": ["10: 1 is not of type bool"],
    "f(int x='1') -> Tensor": ["9: '1' is not of type int"],
    "f(str x=mean) -> Tensor": ["9: 'mean' is not of type str"],
    "f(dtype x=float3) -> Tensor": ["11: 'float3' is not a dtype\ndid you mean 'float32'?"],
    "f(int[] x=1) -> Tensor": ["11: the default of int[] must be a list\nwrite [1]"],
    "f(int x=) -> Tensor": ["9: expected a default, found ')'"],
    "f(int[] x=[1 2]) -> Tensor": ["14: expected ',' or ']' in a list, found '2'"],
    "f(Tensor x,int y) -> Tensor": [
        "12: there is another spelling for this\nwrite: f(Tensor x, int y) -> Tensor"
    ],
    "f(float x=0.) -> Tensor": ["13: there is another spelling for this\nwrite: f(float x=0.0) -> Tensor"],
    "f(float x=1) -> Tensor": ["12: there is another spelling for this\nwrite: f(float x=1.0) -> Tensor"],
    'f(str x="a") -> Tensor': ["9: there is another spelling for this\nwrite: f(str x='a') -> Tensor"],
    "f(Tensor x) -> (Tensor)": ["16: there is another spelling for this\nwrite: f(Tensor x) -> Tensor"],
    "f(int[2] x=[1, 1]) -> Tensor": ["12: there is another spelling for this\nwrite: f(int[2] x=1) -> Tensor"],
    "f(tensor x, int y=None, float(a) z) -> Tensor(q)": [
        "3: unknown type 'tensor'\ndid you mean 'Tensor'?",
        "19: None is not of type int\nwrite int? to allow it",
        "30: only tensors alias, not float",
        "46: no argument is in the alias set 'q' of the return",
    ],
}  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_found_with_column_and_hint(text):
    with pytest.raises(SchemaError) as caught:
        Signature.parse(text)
    found = [f"{p.column}: {p.message}" + (f"\n{p.hint}" if p.hint else "") for p in caught.value.problems]
    assert found == MISTAKES[text]


def test_a_mistake_prints_the_line_a_caret_and_the_nearest_word():
    with pytest.raises(SchemaError) as caught:
        Signature.parse("add(Tensor self, tensor other, *, Scalar alpha=1) -> Tensor")
    assert str(caught.value) == textwrap.dedent("""\
        1 problem in the operator schema
        <signature>:1:18: unknown type 'tensor'
            add(Tensor self, tensor other, *, Scalar alpha=1) -> Tensor
                             ^
            did you mean 'Tensor'?""")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"f(int x={'9' * 5000}) -> Tensor", "a number has at most 300 digits, and this one 5000"),
        (f"f(int[] x=[{'9' * 5000}]) -> Tensor", "a number has at most 300 digits"),
        (f"f(float x={'9' * 309}) -> Tensor", "a number has at most 300 digits"),
        (f"f(int[{'9' * 5000}] x) -> Tensor", "the size of a list must be at most 64"),
        ("f(int[2147483648] x=0) -> Tensor", "the size of a list must be at most 64"),
        (f"f(int[] x={'[' * 3000}{']' * 3000}) -> Tensor", "a default is nested more than 20 times"),
        (f"f(int[] x={'{' * 3000}) -> Tensor", "a default is nested more than 20 times"),
        (f"f({'tuple(' * 3000}int{')' * 3000} x) -> Tensor", "a type is nested more than 20 times"),
        ("f(dict(str, int) x={{}: 1}) -> Tensor", "a dict cannot be a key"),
    ],
    ids=lambda text: text[:24],
)
def test_what_is_too_large_is_a_mistake(text, message):
    with pytest.raises(SchemaError, match=message):
        Signature.parse(text)
