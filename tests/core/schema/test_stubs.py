import ast
import importlib
import os

import pytest

import tt
from tt.core.schema import stubs
from tt.core.schema.load import loads
from tt.core.schema.snapshot import definitions
from tt.core.schema.stub_render import render_callable, render_member, render_operator
from tt.core.tensor.tensor import Tensor


@pytest.fixture(scope="module")
def texts():
    return stubs.stubs()


def test_the_same_package_gives_the_same_stubs(texts):
    assert stubs.stubs() == texts


def test_every_stub_is_python(texts):
    for path, text in texts.items():
        compile(text, path, "exec", dont_inherit=True)


def test_they_cover_the_tensor_tt_and_its_namespaces(texts):
    paths = {path.replace(os.sep, "/") for path in texts}
    assert {
        "core/tensor/tensor_methods.pyi",
        "api/__init__.pyi",
        "api/nn/functional.pyi",
        "api/linalg/__init__.pyi",
    } <= paths


def functions(body):
    return {node.name for node in body if isinstance(node, ast.FunctionDef)}


def test_the_class_has_every_method_and_in_place_form(texts):
    tree = ast.parse(texts[os.path.join("core", "tensor", "tensor_methods.pyi")])
    (tensor,) = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "TensorMethods"]
    found = functions(tensor.body)
    for definition in definitions().values():
        if definition.has_method:
            assert definition.signature.name in found
        # A function of a namespace alone has its in-place form there.
        if definition.has_inplace and (definition.has_method or not definition.module):
            assert f"{definition.signature.name}_" in found
    assert {
        "__add__",
        "__rsub__",
        "__imul__",
        "__getitem__",
        "__neg__",
        "__hash__",
        "requires_grad_",
        "to",
    } <= found


def test_the_class_promises_nothing_that_a_tensor_lacks(texts):
    tree = ast.parse(texts[os.path.join("core", "tensor", "tensor_methods.pyi")])
    (tensor,) = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "TensorMethods"]
    tt.zeros  # noqa: B018 - installs the members
    absent = [
        name for name in functions(tensor.body) if not hasattr(Tensor, name) and name not in vars(Tensor)
    ]
    assert absent == []


def test_tt_has_every_function(texts):
    tree = ast.parse(texts[os.path.join("api", "__init__.pyi")])
    declared = functions(tree.body) | {
        t.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for t in node.targets
        if isinstance(t, ast.Name)
    }
    expected = {
        name for d in definitions().values() for name in d.public_names if "." not in name
    }  # fmt: skip
    assert expected - declared == set()


@pytest.mark.parametrize("module", ["", "nn.functional", "linalg"])
def test_every_public_name_is_there_when_it_is_used(module):
    for definition in definitions().values():
        for public in definition.public_names:
            parent, _, name = public.rpartition(".")
            if parent == module:
                found = importlib.import_module(f"tt.{module}") if module else tt
                assert callable(getattr(found, name)), public


def test_everything_is_documented(texts):
    tree = ast.parse(texts[os.path.join("api", "nn", "functional.pyi")])
    assert all(ast.get_docstring(node) for node in tree.body if isinstance(node, ast.FunctionDef))


def rendered(func, form="function", name="f", **keys):
    lines = "".join(f"  {key}: {value}\n" for key, value in ({"kind": "other"} | keys).items())
    found = loads(f"schema_version: 1\nops:\n- func: {func}\n{lines}")
    return [line for line in render_operator(name, found.values(), form) if line.startswith(("def", "@"))]


@pytest.mark.parametrize(
    ("func", "expected"),
    [
        ("f(Tensor self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor",
         "def f(input: Tensor, other: Tensor | _Scalar, *, alpha: _Scalar = 1) -> Tensor:"),
        ("f(Tensor self, int[1]? dim=None) -> Tensor[]",
         "def f(input: Tensor, dim: _int | Sequence[_int] | None = None) -> tuple[Tensor, ...]:"),
        ("f(Tensor x, dtype? dtype=None, dtype d=int64) -> (Tensor, Tensor)",
         "def f(x: Tensor, dtype: _DtypeLike | None = None, d: _DtypeLike = ...) -> tuple[Tensor, Tensor]:"),
        ("f(Tensor x, str y='a') -> Tensor", "def f(x: Tensor, y: str = 'a') -> Tensor:"),
        ("f(Tensor x, float y=inf) -> bool", "def f(x: Tensor, y: _float = ...) -> _bool:"),
        ("f(Tensor?[] xs) -> ()", "def f(xs: Sequence[Tensor | None]) -> None:"),
        ("f(Tensor x) -> (Tensor values, Tensor indices)", "def f(x: Tensor) -> _FResult:"),
    ],
)  # fmt: skip
def test_functions(func, expected):
    assert rendered(func) == [expected]


def test_sizes_may_be_listed_or_given_one_by_one():
    func = "f(int[] size, *, dtype? dtype=None, device? device=None) -> Tensor"
    assert rendered(func, kind="factory") == [
        "@overload",
        "def f(size: Sequence[_int], *, dtype: _DtypeLike | None = None, device: _DeviceLike | None = None, "
        "requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:",
        "@overload",
        "def f(*size: _int, dtype: _DtypeLike | None = None, device: _DeviceLike | None = None, "
        "requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:",
    ]


def test_methods_in_place_forms_and_out():
    func = "f(Tensor self, int n) -> Tensor"
    assert rendered("f(Tensor(a) self, int[] size) -> Tensor(a)", "method") == [
        "@overload",
        "def f(self, size: Sequence[_int]) -> Tensor:",
        "@overload",
        "def f(self, *size: _int) -> Tensor:",
    ]
    assert rendered(func, "method") == ["def f(self, n: _int) -> Tensor:"]
    assert rendered(func, "inplace") == ["def f(self, n: _int) -> Tensor:"]
    assert rendered(func, variants="[function, out]") == [
        "def f(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:"
    ]


def test_functions_and_properties_of_python():
    def size(self: Tensor, dim: "int | None" = None, *, other: "Unknown" = 1) -> "Tensor":  # noqa: F821
        """Say."""

    assert render_member("size", size, "") == [
        "def size(self, dim: _int | None = ..., *, other: Any = ...) -> Tensor:", '    """Say."""', "    ...",
    ]  # fmt: skip
    assert (
        render_callable("size", size)[0]
        == "def size(self: Tensor, dim: _int | None = ..., *, other: Any = ...) -> Tensor:"
    )

    def get(self) -> "bool":
        """Whether."""

    assert render_member("p", property(get, lambda self, value: None), "") == [
        "@property", "def p(self) -> _bool:", '    """Whether."""', "    ...",
        "@p.setter", "def p(self, value: Any) -> None: ...",
    ]  # fmt: skip


def test_the_command_writes_what_is_not_as_it_shall_be(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(stubs, "stubs", lambda: {"tensor.pyi": "new"})
    monkeypatch.setattr(stubs, "root", lambda: str(tmp_path))
    (tmp_path / "tensor.pyi").write_text("old")
    assert stubs.main([]) == 0
    assert (tmp_path / "tensor.pyi").read_text() == "new"
    assert stubs.main(["-x"]) == 2
    assert capsys.readouterr().err == "usage: python -m tt.core.schema.stubs\n"
