"""Declarations found in sources: functions with types that can be passed, and nothing else."""

from __future__ import annotations

import pytest

from tt.core.extension.declarations import find_functions
from tt.core.extension.types import DTYPE_OF, read_type


def names(source: str) -> list[str]:
    return [f.name for f in find_functions(source)]


def only(source: str):
    (found,) = find_functions(source, "file.cpp")
    return found


def test_a_definition_gives_names_types_and_place():
    found = only(
        "#include <math.h>\n\nstatic inline\n  double  scale(const double x, int64_t n) { return x * n; }"
    )
    assert str(found) == "double scale(const double x, int64_t n)"
    assert (found.file, found.line, found.column) == ("file.cpp", 4, 11)
    assert (found.defined, found.static, found.elementwise, found.template) == (True, True, True, "")
    assert [(p.name, p.type.dtype) for p in found.parameters] == [("x", "float64"), ("n", "int64")]


@pytest.mark.parametrize(
    "source",
    [
        "float f(float x);",
        "float f(float);",
        'extern "C" float f(float x) { return x; }',
        'extern "C" { float f(float x) { return x; } }',
        "[[nodiscard]] float f(float x) noexcept { return x; }",
        "__attribute__((noinline)) float f(float x) { return x; }",
        "/* float g(float); */ float f(float x /* y */) // float h(float);\n{ return x; }",
        "#define G(x) \\\n float g(float x) { return x; }\nfloat f(float x) { return x; }",
        'const char *text = "float g(float x) {"; float f(float x) { return x; }',
        "struct pair { float g(float x) { return x; } }; float f(float x) { return x; }",
        "namespace inner { float g(float x) { return x; } } float f(float x) { return x; }",
        "static float table[] = {1, 2}; float f(float x) { if (x) { return 1; } return x; }",
        "typedef float (*g)(float); float f(float x) { return x; }",
        "float value = 3; float f(float x = 2.0f) { return x; }",
        'auto raw = R"(float g(float x) { )"; float f(float x) { return x; }',
        "float f(float x) { char c = '{'; return c; }",
    ],
)
def test_one_function_is_found(source):
    assert names(source) == ["f"]


@pytest.mark.parametrize(
    "source",
    [
        "",
        "int main",
        "std::vector<float> f(float x) { return {}; }",
        "float f(std::string s) { return 0; }",
        "float f(float **x) { return 0; }",
        "float f(float &x) { return x; }",
        "float f(tt_tensor x) { return 0; }",
        "template <typename T, int N> T f(T x) { return x; }",
        "float *f(float x) { return 0; }",
        "const char *f(float x) { return 0; }",
        "float operator+(float x) { return 0; }",
        "struct other *f(float x);",
    ],
)
def test_what_cannot_be_passed_is_no_function(source):
    assert names(source) == []


def test_a_template_of_one_type_is_a_function_for_several_dtypes():
    found = only("template <class T>\nT f(const T x, const T *y) { return x; }")
    assert (found.template, found.result.dtype, found.elementwise) == ("T", "T", False)
    assert [(p.type.kind, p.type.dtype, p.type.const) for p in found.parameters] == [
        ("number", "T", True),
        ("pointer", "T", True),
    ]


def test_tensors_pointers_results_and_texts_are_told_apart():
    found = only(
        "struct tt_tensor *f(const tt_tensor *x, tt_tensor *y, float z[], const char *s, tt_tensor **r);"
    )
    assert [(p.type.kind, p.type.const) for p in found.parameters] == [
        ("tensor", True), ("tensor", False), ("pointer", False), ("text", True), ("results", False)
    ]  # fmt: skip
    assert found.result.kind == "tensor"
    reference = only("void f(const tt_tensor &x) {}").parameters[0].type
    assert (reference.kind, reference.reference, reference.const) == ("tensor", True, True)


def test_parameters_without_a_name_get_one():
    assert [p.name for p in only("float f(float, unsigned int);").parameters] == ["arg0", "arg1"]


@pytest.mark.parametrize(("spelling", "dtype"), DTYPE_OF.items())
def test_every_spelling_of_a_number_is_read(spelling, dtype):
    tokens = spelling.replace("<", " < ").replace(">", " > ").split()
    assert read_type(tokens).dtype == dtype
    assert read_type(["const", *tokens, "*"]).kind == "pointer"
    assert only(f"void f({spelling} x);").parameters[0].type.dtype == dtype
