"""Functions as operators: signature, registration, meta, gradients, replacing and removing."""

from __future__ import annotations

import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY
from tt.utils.cpp_extension import Extension, load_inline

SQUARES = "template <typename T> T squares(T x, T y) { return x * x + y * y; }"


@pytest.fixture
def squares(compiler):
    return load_inline("shapes", SQUARES).squares


def test_a_function_is_an_operator_in_the_namespace_of_the_extension(squares):
    assert str(squares.schema) == "shapes::squares(Tensor x, Tensor|Scalar y) -> Tensor"
    assert tt.ops.shapes.squares(tt.tensor([3.0]), 4.0).tolist() == [25.0]
    assert squares.name == "shapes::squares"
    assert tt.explain("shapes::squares", ["cpu:float32", "cpu:float64"]).served


def test_the_operator_can_have_another_name_and_documentation(compiler):
    module = load_inline(
        "shapes", SQUARES, functions={"squares": "Adds two squares."}, register="acme_shapes::norm2"
    )
    assert module.squares.name == "acme_shapes::norm2"
    assert tt.ops.acme_shapes.norm2(tt.tensor([3.0]), 4.0).tolist() == [25.0]
    assert module.squares.definition.doc == "Adds two squares."
    module = load_inline(
        "shapes", SQUARES + "float more(float x) { return x; }", register={"more": "acme_shapes::more"}
    )
    assert (module.more.name, module.squares.name) == ("acme_shapes::more", "shapes::squares")


def test_operands_promote_as_those_of_built_in_operators(squares):
    for left, right in [
        (tt.ones(2), tt.ones(2, dtype=tt.float64)),
        (tt.ones(2), tt.tensor(1.0, dtype=tt.float64)),
        (tt.ones(2, dtype=tt.float16), 2.0),
        (tt.ones(2, dtype=tt.bfloat16), tt.ones(2, dtype=tt.float16)),
        (tt.ones(2, dtype=tt.int64), 2.5),
    ]:
        found, expected = squares(left, right), left * left + right * right
        assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())


def test_meta_and_fake_tensors_need_no_further_rule(squares):
    found = squares(tt.empty(2, 1, device="meta"), tt.empty(3, device="meta", dtype=tt.float64))
    assert (found.shape, found.dtype, found.device.type) == ((2, 3), tt.float64, "meta")
    with pytest.raises(tt.errors.BroadcastError):
        squares(tt.empty(2, device="meta"), tt.empty(3, device="meta"))


def test_out_is_derived(squares):
    out = tt.empty(2)
    assert squares(tt.ones(2), 1.0, out=out) is out
    assert out.tolist() == [2.0, 2.0]


def test_a_gradient_can_be_added(squares):
    x = tt.tensor([[1.0], [2.0]], dtype=tt.float64, requires_grad=True)
    y = tt.tensor([3.0, 4.0, 5.0], dtype=tt.float64, requires_grad=True)
    with pytest.raises(tt.errors.TTError):
        squares(x, y).sum().backward()

    squares.backward(x=lambda g, x: 2 * x * g, y=lambda g, y: 2 * y * g)
    assert tt.testing.gradcheck(squares, (x, y))
    assert tt.testing.gradgradcheck(squares, (x, y))


def test_a_gradient_in_c_itself(compiler):
    source = """
    double cube(double x) { return x * x * x; }
    double cube_gradient(double g, double x) { return 3 * x * x * g; }
    """
    module = load_inline("cubes", c_sources=source)

    @module.cube.setup_context
    def save(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @module.cube.backward
    def gradient(ctx, g):
        return module.cube_gradient(g, *ctx.saved_tensors)

    assert tt.testing.gradcheck(module.cube, (tt.tensor([1.0, -2.0], dtype=tt.float64, requires_grad=True),))


def test_a_function_over_tensors_gets_a_rule_for_tensors_without_data(compiler):
    source = """
    tt_tensor *flipped(const tt_tensor *x) {
        tt_tensor *out = tt_empty(x->dtype, 1, x->shape);
        for (int64_t i = 0; i < x->shape[0]; i++)
            ((float *)out->data)[i] = ((const float *)x->data)[(x->shape[0] - 1 - i) * x->strides[0]];
        return out;
    }
    """
    op = load_inline("flips", c_sources=source, dtypes=["float32"]).flipped
    assert op(tt.arange(3, dtype=tt.float32)).tolist() == [2.0, 1.0, 0.0]
    with pytest.raises(tt.errors.DtypeNotServedError):
        op(tt.arange(3))
    with pytest.raises(tt.errors.DispatchError):
        op(tt.empty(3, device="meta"))

    @op.fake
    def without_data(x):
        return tt.empty_like(x)

    assert op(tt.empty(3, device="meta")).shape == (3,)


def test_a_schema_gives_names_defaults_and_numbers(compiler):
    module = load_inline(
        "scales",
        "float scale(float x, float by) { return x * by; }",
        schema="(Tensor self, float factor=2.0) -> Tensor",
    )
    assert module.scale(tt.ones(2)).tolist() == [2.0, 2.0]
    assert module.scale(tt.ones(2), factor=3.0).tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("(Tensor x) -> Tensor", "the schema has 1 arguments"),
        ("(Tensor x, str y) -> Tensor", "'str y' of the schema cannot be passed as float"),
        ("(Tensor x, Tensor[] y) -> Tensor", "cannot be passed as float"),
        ("(Tensor x, float y) -> (Tensor, Tensor)", "the schema returns 2 values"),
    ],
)
def test_a_schema_that_does_not_fit_the_function(schema, problem):
    with pytest.raises(tt.errors.ArgumentError, match=problem):
        load_inline("scales", "float scale(float x, float by) { return x * by; }", schema=schema)


def test_a_schema_and_const_must_agree():
    with pytest.raises(tt.errors.ArgumentError, match=r"may be changed: write 'Tensor\(a!\)', or const"):
        load_inline("fills", "void fill(tt_tensor *x) {}", schema="(Tensor x) -> ()")
    with pytest.raises(tt.errors.ArgumentError, match="cannot be changed, although the schema declares it"):
        load_inline("fills", "void fill(const tt_tensor *x) {}", schema="(Tensor(a!) x) -> ()")
    with pytest.raises(tt.errors.SchemaError):
        load_inline("fills", "void fill(const tt_tensor *x) {}", schema="(Tesnor x) -> ()")


def test_functions_that_do_not_fit_together():
    with pytest.raises(tt.errors.ArgumentError, match="takes no numbers"):
        load_inline("none", "float f() { return 1; }")
    with pytest.raises(tt.errors.ArgumentError, match="differ in more than their dtypes"):
        load_inline("none", "float f(float x) { return 1; } float f(float x, float y) { return 1; }")
    with pytest.raises(tt.errors.ArgumentError, match="does not follow from the arguments' dtypes"):
        load_inline("none", "double f(float x) { return 1; } float f(double x) { return 1; }")
    with pytest.raises(tt.errors.ArgumentError, match="the name of an extension is an identifier"):
        load_inline("not a name", "float f(float x) { return 1; }")
    with pytest.raises(tt.errors.ArgumentError, match="schema has one value for several functions"):
        load_inline(
            "none",
            "float f(float x) { return x; } float g(float x) { return x; }",
            schema="(Tensor x) -> Tensor",
        )
    with pytest.raises(
        tt.errors.ArgumentError, match="the name of an extension is an identifier, not 'class'"
    ):
        load_inline("class", "float f(float x) { return 1; }")
    with pytest.raises(
        tt.errors.ArgumentError, match="cpp_sources is source as a str or a list of them, not 5"
    ):
        load_inline("none", 5)
    with pytest.raises(tt.errors.UnknownNameError, match="dtype of results 'flot32'; did you mean 'float32'"):
        load_inline("none", "float f(float x) { return 1; }", result="flot32")
    with pytest.raises(tt.errors.UnknownNameError, match="dtype of results 'flot32'"):
        load_inline("none", "tt_tensor *f(const tt_tensor *x) { return 0; }", result=("flot32",))
    with pytest.raises(tt.errors.ArgumentError, match=r"result has 2 rules, and .* returns 1 values"):
        load_inline("none", "tt_tensor *f(const tt_tensor *x) { return 0; }", result=("same", "int64"))
    with pytest.raises(tt.errors.UnknownNameError, match="unknown dtype 'flot32'"):
        load_inline("none", "float f(float x) { return 1; }", dtypes=["flot32"])
    with pytest.raises(tt.errors.UnknownNameError, match="unknown function 'ff'"):
        load_inline("none", "float f(float x) { return x; }", register={"ff": "acme::f"})


# --- replacing and removing ----------------------------------------------------------------------------------------


def test_loading_again_replaces_the_operators_of_the_same_extension(compiler):
    first = load_inline("again", "float f(float x) { return x + 1; }")
    second = load_inline("again", "float f(float x) { return x + 2; } float g(float x) { return x; }")
    assert tt.ops.again.f(tt.ones(1)).tolist() == [3.0]
    assert second.g(tt.ones(1)).tolist() == [1.0]
    first.remove()  # of an operator that is gone already
    assert second.f(tt.ones(1)).tolist() == [3.0]


def test_another_module_does_not_replace_an_extension(compiler):
    first = load_inline("again", "float f(float x) { return x + 1; }")
    elsewhere = {"__name__": "elsewhere", "load_inline": load_inline}
    with pytest.raises(tt.errors.DuplicateRegistrationError):
        exec('load_inline("again", "float f(float x) { return x + 2; }")', elsewhere)
    assert first.f(tt.ones(1)).tolist() == [2.0]


def test_a_name_that_is_taken_leaves_nothing_registered(compiler):
    load_inline("again", "float f(float x) { return x + 1; }")
    with pytest.raises(tt.errors.DuplicateRegistrationError):
        load_inline(
            "later",
            "float g(float x) { return x; } float f(float x) { return x; }",
            register={"f": "again::f"},
        )
    assert not [name for name in REGISTRY.names() if name.startswith("later::")]


def test_removing_undoes_everything(compiler):
    module = load_inline("again", "float f(float x) { return x + 1; }")
    assert isinstance(module, Extension)
    module.remove()
    module.remove()
    assert "again::f" not in REGISTRY.names()
    assert not REGISTRY.kernels.get("again::f")


def test_an_extension_names_its_functions(compiler):
    module = load_inline(
        "again", "float half(float x) { return x / 2; } static float g(float x) { return x; }"
    )
    assert repr(module) == "<extension 'again': half>"
    assert "half" in dir(module) and module.library.suffix == ".so"
    with pytest.raises(AttributeError, match="has no function 'hallf'; did you mean 'half'"):
        _ = module.hallf


def test_names_that_python_has_for_other_things(compiler):
    source = """
    float f(float in, float lambda) { return in + lambda; }
    float remove(float x) { return x; }
    float library(float x) { return x + 1; }
    """
    module = load_inline("names", source)
    assert str(module.f.schema) == "names::f(Tensor in_, Tensor|Scalar lambda_) -> Tensor"
    assert module.f(tt.ones(1), lambda_=2.0).tolist() == [3.0]
    assert module.functions["library"](tt.ones(1)).tolist() == [2.0]
    assert module.functions["remove"](tt.ones(1)).tolist() == [1.0]
    assert module.library.suffix == ".so"
    module.remove()
    assert "names::f" not in REGISTRY.names()


def test_functions_that_are_named_may_be_static(compiler):
    module = load_inline("again", "static float g(float x) { return x; }", functions="g")
    assert module.g(tt.ones(1)).tolist() == [1.0]


# --- opcheck -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_opcheck_finds_nothing_wrong_with_functions_over_numbers(squares, dtype):
    squares.backward(x=lambda g, x: 2 * x * g, y=lambda g, y: 2 * y * g)
    double = dtype == "float64"
    x = tt.randn(3, 4, dtype=tt.float64, requires_grad=double)
    for first, second in [(x, 2.0), (x, tt.randn(4, dtype=tt.float64)), (x.detach().T, x.detach()[:1].T)]:
        cast = [v.to(getattr(tt, dtype)) if isinstance(v, tt.Tensor) else v for v in (first, second)]
        assert tt.testing.opcheck(squares, (first, second) if double else cast).ok


def test_opcheck_finds_nothing_wrong_with_functions_over_tensors(compiler):
    source = """
    tt_tensor *row_sum(const tt_tensor *x) {
        tt_tensor *out = tt_empty(x->dtype, 1, x->shape);
        for (int64_t i = 0; i < x->shape[0]; i++) {
            double sum = 0;
            for (int64_t j = 0; j < x->shape[1]; j++)
                sum += ((const double *)x->data)[i * x->strides[0] + j * x->strides[1]];
            ((double *)out->data)[i] = sum;
        }
        return out;
    }
    void axpy(const tt_tensor *x, tt_tensor *y, double by) {
        for (int64_t i = 0; i < tt_numel(x); i++)
            ((double *)y->data)[tt_offset(y, i)] += by * ((const double *)x->data)[tt_offset(x, i)];
    }
    """
    module = load_inline("checked", c_sources=source, dtypes=["float64"])
    module.row_sum.fake(lambda x: tt.empty(x.shape[0], dtype=x.dtype, device=x.device))
    module.row_sum.backward(x=lambda g, x: g[:, None].expand(x.shape))
    x = tt.randn(3, 4, dtype=tt.float64, requires_grad=True)
    assert tt.testing.opcheck(module.row_sum, (x,)).ok
    assert tt.testing.opcheck(module.row_sum, (x.detach().T,)).ok
    module.axpy.fake(lambda x, y, by: None)
    assert tt.testing.opcheck(module.axpy, (x.detach(), tt.randn(4, 3, dtype=tt.float64).T, 2.0)).ok


def test_vmap_runs_functions_over_numbers(squares):
    x, y = tt.randn(5, 3), tt.randn(5, 3)
    tt.testing.assert_close(tt.func.vmap(squares)(x, y), squares(x, y))
