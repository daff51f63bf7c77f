import pytest

from tt.core.errors import SchemaError
from tt.core.schema import MISSING, Alias, OpDefinition, Signature, Type
from tt.core.schema.snapshot import definitions


@pytest.mark.parametrize("name", list(definitions()))
def test_every_operator_prints_back_what_was_parsed(name):
    text = str(definitions()[name].signature)
    assert str(Signature.parse(text)) == text
    assert Signature.parse(text) == definitions()[name].signature


@pytest.mark.parametrize("name", list(definitions()))
def test_derived_forms_are_signatures_of_the_grammar(name):
    definition = definitions()[name]
    for has, form in (
        (definition.has_inplace, definition.signature.inplace),
        (definition.has_out, definition.signature.out),
    ):
        if has:
            assert str(Signature.parse(str(form()))) == str(form())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("add(Tensor self, Tensor other) -> Tensor", "add_(Tensor(a!) self, Tensor other) -> Tensor(a!)"),
        ("t(Tensor(a) self) -> Tensor(a)", "t_(Tensor(a!) self) -> Tensor(a!)"),
        ("max.other(Tensor self, Tensor o) -> Tensor", "max_.other(Tensor(a!) self, Tensor o) -> Tensor(a!)"),
        ("f(Tensor self, Tensor(a) o) -> Tensor", "f_(Tensor(b!) self, Tensor(a) o) -> Tensor(b!)"),
        ("acme::f(Tensor x) -> Tensor", "acme::f_(Tensor(a!) x) -> Tensor(a!)"),
    ],
)
def test_the_in_place_form_changes_and_returns_the_first_argument(text, expected):
    assert str(Signature.parse(text).inplace()) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exp(Tensor self) -> Tensor", "exp.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"),
        ("sum.dim(Tensor self, *, dtype? dtype=None) -> Tensor",
         "sum.dim_out(Tensor self, *, dtype? dtype=None, Tensor(a!) out) -> Tensor(a!)"),
        ("max.dim(Tensor self, int dim) -> (Tensor values, Tensor indices)",
         "max.dim_out(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices) -> "
         "(Tensor(a!) values, Tensor(b!) indices)"),
        ("f(Tensor x) -> (Tensor, Tensor)",
         "f.out(Tensor x, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))"),
    ],
)  # fmt: skip
def test_the_out_form_takes_one_tensor_for_each_return(text, expected):
    assert str(Signature.parse(text).out()) == expected


@pytest.mark.parametrize("text", [
    "f(int n) -> Tensor", "f(Tensor x) -> bool", "f(Tensor x) -> (Tensor, Tensor)", "f() -> Tensor",
    "f(Tensor[] x) -> Tensor",
])  # fmt: skip
def test_an_in_place_form_needs_a_tensor_first_and_one_tensor_back(text):
    with pytest.raises(
        ValueError, match="has no in-place form: it must take a tensor first and return one tensor"
    ):
        Signature.parse(text).inplace()


@pytest.mark.parametrize(
    "text", ["f(Tensor x) -> bool", "f(Tensor x) -> ()", "f(Tensor(a) x) -> Tensor(a)[]"]
)
def test_an_out_form_needs_tensors_back(text):
    with pytest.raises(ValueError, match="has no out= form: it must return tensors"):
        Signature.parse(text).out()


def test_arguments_are_found_by_kind_and_name():
    signature = definitions()["clamp"].signature
    assert [a.name for a in signature.tensor_arguments] == ["self", "min", "max"]
    add = definitions()["add"].signature
    assert [a.name for a in add.positional] == ["self", "other"]
    assert [a.name for a in add.keyword_only] == ["alpha"]
    assert add.argument("alpha").default == 1
    assert add.argument("self").default is MISSING
    assert add.argument("beta") is None


def test_qualified_names_leave_out_the_namespace_tt():
    assert Signature.parse("tt::f.x(Tensor a) -> Tensor".removeprefix("tt::")).qualified == "f.x"
    assert Signature.parse("acme::f.x(Tensor a) -> Tensor").qualified == "acme::f.x"
    assert Signature.parse("acme::f(Tensor a) -> Tensor").qualified == "acme::f"


def test_a_definition_knows_its_public_names():
    found = definitions()
    assert found["mul"].public_names == ("mul", "multiply")
    assert found["linalg_svd"].public_names == ("linalg.svd",)
    assert found["relu"].public_names == ("relu", "nn.functional.relu")
    assert found["index"].public_names == ()
    assert found["view"].public_names == ()


def test_a_definition_knows_its_forms():
    add = definitions()["add"]
    assert (add.has_function, add.has_method, add.has_inplace, add.has_out) == (True, True, True, True)
    assert add.inplace_name == "add_"
    custom = OpDefinition(Signature.parse("acme::twice(Tensor x) -> Tensor"), "other")
    assert (custom.name, custom.inplace_name) == ("acme::twice", "acme::twice_")
    assert (custom.has_function, custom.has_method, custom.has_inplace, custom.has_out) == (
        True,
        False,
        False,
        False,
    )


def test_the_model_is_frozen():
    signature = definitions()["add"].signature
    for thing, field in (
        (signature, "name"),
        (signature.arguments[0], "name"),
        (signature.arguments[0].type, "base"),
        (definitions()["add"], "kind"),
    ):
        with pytest.raises(AttributeError):
            setattr(thing, field, "other")


def test_types_and_aliases_print_as_they_are_written():
    assert str(Type("Tensor", element_optional=True, list=True)) == "Tensor?[]"
    assert str(Type("int", list=True, size=1, optional=True)) == "int[1]?"
    assert str(Type("Tensor", or_scalar=True, optional=True)) == "Tensor|Scalar?"
    assert str(Alias(("a", "b"), write=True)) == "(a|b!)"
    assert str(Alias(("a",), contained=True)) == "(a -> *)"


def test_a_schema_error_is_a_value_error():
    with pytest.raises(ValueError, match="1 problem in the operator schema") as caught:
        Signature.parse("f")
    assert isinstance(caught.value, SchemaError)
