"""Scopes, libraries of operators and PyTorch's functions for them: their additions, and undoing them."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.core.custom_op.made import add, make
from tt import library
from tt.core.errors import (
    ArgumentError,
    DuplicateRegistrationError,
    KernelContractError,
    NoKernelError,
    SchemaError,
    UnknownOpError,
    ValueRangeError,
)
from tt.core.library import RegistrationHandle
from tt.core.schema.model import Signature
from tt.library import KernelTable, Library, custom_op

# --- libraries -------------------------------------------------------------------------------------------------


def test_a_library_defines_implements_and_takes_back():
    lib = Library("test")
    assert lib.define("shift(Tensor x, int by=1) -> Tensor", doc="Adds a number.") == "shift"

    @lib.impl("shift", dispatch_key="CPU")
    def on_cpu(x, by):
        return x + np.asarray(by, x.dtype)

    lib.impl("test::shift", lambda x, by: tt.empty_like(x), "Meta")
    lib.impl(tt.ops.test.shift, lambda x, by: x + by, "CompositeImplicitAutograd")
    assert tt.ops.test.shift(tt.ones(1), by=4).item() == 5
    assert tt.ops.test.shift(tt.ones(1, device="meta")).shape == (1,)
    x = tt.ones(1, requires_grad=True)
    tt.ops.test.shift(x).sum().backward()
    assert x.grad.item() == 1
    assert [h.what for h in lib.handles] == [
        "operator test::shift",
        "kernel of test::shift for cpu",
        "fake of test::shift",
        "composite of test::shift",
    ]
    lib.destroy()
    lib.destroy()
    assert not hasattr(tt.ops, "test")


def test_a_library_ends_with_its_block():
    with Library("test") as lib:

        @lib.custom_op("same", mutates=())
        def same(x: tt.Tensor) -> tt.Tensor:
            return x.clone()

        @lib.kernel("same", ["cpu"], dtypes="floating")
        def on_cpu(x):
            return x + np.float32(1)

        assert same(tt.ones(1)).item() == 2 and same(tt.ones(1, dtype=tt.int64)).item() == 1
    with pytest.raises(UnknownOpError):
        same(tt.ones(1))


def test_the_kinds_are_those_of_pytorch():
    only = Library("test", "DEF")
    with pytest.raises(
        DuplicateRegistrationError, match=r'the library that defines test .*\n.*\n.*\n.*"FRAGMENT"'
    ):
        Library("test", "DEF")
    Library("test", "FRAGMENT").define("f(Tensor x) -> Tensor")
    impl = Library("test", "IMPL", "cpu")
    impl.impl("f", lambda x: x + x)
    assert tt.ops.test.f(tt.ones(1)).item() == 2
    with pytest.raises(ArgumentError, match='of the kind "IMPL"'):
        impl.define("g(Tensor x) -> Tensor")
    with pytest.raises(ValueRangeError, match=r"unknown kind 'FRAGMNT'.*did you mean 'FRAGMENT'"):
        Library("test", "FRAGMNT")  # type: ignore[arg-type]
    only.destroy()
    Library("test", "DEF").destroy()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda lib: lib.define("other::f(Tensor x) -> Tensor"),
            ArgumentError,
            "is not in the namespace 'test'",
        ),
        (lambda lib: lib.define("f(Tensr x) -> Tensor"), SchemaError, "did you mean 'Tensor'"),
        (lambda lib: lib.define("f(Tensor(a) x) -> Tensor(a)"), ArgumentError, "returns no views"),
        (lambda lib: lib.define("f(Tensor x) -> Tensor", "SIDEWAYS"), ValueRangeError, "alias_analysis"),
        (
            lambda lib: lib.define("f(Tensor x) -> Tensor", tags="randm"),
            ArgumentError,
            "did you mean 'random'",
        ),
        (lambda lib: lib.define("f(Tensor x) -> Tensor", result="sam"), ArgumentError, "did you mean 'same'"),
        (
            lambda lib: lib.define("f(Tensor x) -> Tensor", result=("same", "bool")),
            ArgumentError,
            "has 2 rules",
        ),
        (lambda lib: lib.impl("nothing", add(1), "cpu"), UnknownOpError, "test::nothing"),
        (lambda lib: lib.impl("twice", add(1)), ArgumentError, "for which device"),
        (lambda lib: lib.impl("twice", add(1), "Autograd"), ArgumentError, "gradients: register_autograd"),
        (lambda lib: lib.impl(3, add(1), "cpu"), ArgumentError, "3 is not an operator"),
        (lambda lib: Library("tt"), ArgumentError, "belongs to tt's own operators"),
    ],
)
def test_mistakes_are_told(call, error, message):
    make()
    with pytest.raises(error, match=message):
        call(Library("test"))


def test_whole_files_are_loaded(tmp_path):
    file = tmp_path / "ops.yaml"
    file.write_text(
        "schema_version: 1\nnamespace: test\nops:\n"
        "- func: half(Tensor x) -> Tensor\n  kind: pointwise\n  meta: like\n  promote: [x]\n  doc: Halves.\n"
        "- func: pick(str{'a', 'b'} which) -> Tensor\n  kind: other\n"
    )
    lib = Library("test")
    assert lib.load(file) == ["half", "pick"]
    table = KernelTable(device="cpu")
    table.kernel("test::half", lambda x: x / 2, dtypes="floating")
    lib.add(table)
    assert tt.ops.test.half(tt.ones(1)).item() == 0.5
    assert tt.ops.test.half(tt.ones(1, device="meta")).shape == (1,)
    with pytest.raises(ArgumentError, match="is not in the namespace 'other'"):
        Library("other").load(file)
    lib.destroy()
    assert not hasattr(tt.ops, "test")


def test_overloads_are_named():
    lib = Library("test")
    lib.define("f(Tensor x) -> Tensor")
    lib.define("f.two(Tensor x, Tensor y) -> Tensor")
    with pytest.raises(ArgumentError, match=r"there are several overloads: test::f, test::f\.two"):
        lib.impl(tt.ops.test.f, add(1), "cpu")
    lib.impl("f", add(1), "cpu")
    lib.impl("f.two", lambda x, y: x + y, "cpu")
    assert [tt.ops.test.f(tt.ones(1)).item(), tt.ops.test.f(tt.ones(1), tt.ones(1)).item()] == [2, 2]


# --- PyTorch's functions -----------------------------------------------------------------------------------------


def test_the_functions_of_torch_library():
    lib = Library("test")
    library.define("test::cube", "(Tensor x) -> Tensor", lib=lib)
    library.impl("test::cube", "cpu", lambda x: x**3, lib=lib)

    @library.register_fake("test::cube", lib=lib)
    def fake(x):
        return tt.empty_like(x)

    library.register_autograd(
        "test::cube",
        lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
        lib=lib,
    )
    library.register_vmap("test::cube", lambda info, in_dims, x: (tt.ops.test.cube(x), in_dims[0]), lib=lib)
    library.register_kernel("test::cube", "cuda", lambda x: x, lib=lib, dtypes="floating")
    library.register_kernel("test::cube", None, lambda x: x * x * x, lib=lib)
    x = tt.tensor([2.0], dtype=tt.float64, requires_grad=True)
    assert tt.autograd.gradcheck(tt.ops.test.cube, (x,))
    assert tt.func.vmap(tt.ops.test.cube)(tt.tensor([1.0, 2.0])).tolist() == [1.0, 8.0]
    assert tt.ops.test.cube(tt.ones(2, device="meta")).shape == (2,)
    assert len(lib.handles) == 7
    lib.destroy()
    assert not hasattr(tt.ops, "test")


def test_impl_is_a_decorator_for_several_devices_and_all():
    library.define("test::f", "(Tensor x) -> Tensor")

    @library.impl("test::f", ("cpu", "cuda"))
    def kernel(x):
        return x + x

    library.impl("test::f", "default", lambda x: x * 3)
    assert tt.ops.test.f(tt.ones(1)).item() == 2
    assert tt.ops.test.f(tt.ones(1, device="meta")).shape == (1,)


def test_what_functions_add_to_a_custom_operator_goes_with_it():
    twice = make()

    @library.register_kernel(twice, "cpu")
    def on_cpu(x):
        return x + x

    library.register_fake(twice, lambda x: tt.empty_like(x))
    assert [h.what for h in twice.handles][1:] == ["kernel of test::twice for cpu", "fake of test::twice"]
    twice.handle(on_cpu).remove()
    with pytest.raises(NoKernelError):
        twice(tt.ones(1))


def test_the_methods_have_the_names_of_pytorch_too():
    twice = make()
    twice.register_kernel("cpu", add(1))
    twice.register_kernel(None, lambda x: x + 3)
    twice.register_fake(lambda x: tt.empty_like(x))
    twice.register_vmap(lambda info, in_dims, x: (x + 7, in_dims[0]))
    twice.register_autograd(lambda ctx, g: 5 * g)
    assert twice(tt.ones(1)).item() == 2 and twice(tt.ones(1, dtype=tt.int64)).item() == 2
    assert tt.func.vmap(twice)(tt.zeros(2)).tolist() == [7.0, 7.0]
    x = tt.ones(1, requires_grad=True)
    twice(x).backward(tt.ones(1))
    assert x.grad.item() == 5


# --- everywhere ------------------------------------------------------------------------------------------------


def test_a_handle_that_is_made_by_hand_is_a_handle():
    done = []
    with RegistrationHandle(lambda: done.append(1), "nothing"):
        assert done == []
    assert done == [1]


def test_a_kernel_of_the_wrong_form_is_told():
    @custom_op("test::change", mutates="x")
    def change(x: tt.Tensor) -> None: ...

    change.kernel("cpu", lambda x: None, form="out")
    with pytest.raises(
        KernelContractError, match="has the form 'out', and the operator changes its arguments"
    ):
        change(tt.ones(1))


def test_the_tag_pointwise_declares_the_kind():
    with Library("test", "FRAGMENT") as lib:
        lib.define("tagged(Tensor x) -> Tensor", tags=("pointwise", "nondifferentiable"))
        definition = tt.ops.test.tagged.operator.definition
        assert (definition.kind, definition.tags) == ("pointwise", ("nondifferentiable",))
        with pytest.raises(tt.errors.ArgumentError, match="takes a tensor"):
            lib.define("without(float x) -> Tensor", tags="pointwise")


# --- PyTorch's spellings ------------------------------------------------------------------------------------------


def test_impl_of_a_library_and_a_dispatch_key_is_a_decorator():
    lib = library.Library("test", "FRAGMENT")
    lib.define("scaled(Tensor x, float k=2) -> Tensor")

    @library.impl(lib, "scaled", "CPU")
    def scaled(x, k):
        return x * np.float32(k)

    assert tt.ops.test.scaled(tt.ones(2)).tolist() == [2.0, 2.0]
    library.impl(lib, "scaled", "Meta")(lambda x, k: tt.empty_like(x))
    assert tt.ops.test.scaled(tt.ones(2, device="meta")).shape == (2,)
    lib.destroy()
    assert not hasattr(tt.ops, "test")


SPELLINGS = {
    "(Tensor x, float k=2) -> Tensor": "(Tensor x, float k=2.0) -> Tensor",
    "(Tensor x, float k=-2, float e=1e-3) -> Tensor": "(Tensor x, float k=-2.0, float e=0.001) -> Tensor",
    "(Tensor x, float k=.5) -> Tensor": "(Tensor x, float k=0.5) -> Tensor",
    "(Tensor x, float k=5.)->Tensor": "(Tensor x, float k=5.0) -> Tensor",
    "(Tensor x,float[] k=[1,2])  ->  (Tensor)": "(Tensor x, float[] k=[1.0, 2.0]) -> Tensor",
    '(Tensor x, str s="a") -> Tensor': "(Tensor x, str s='a') -> Tensor",
    "(Tensor x, SymInt n, SymInt[2] m=1) -> Tensor": "(Tensor x, int n, int[2] m=1) -> Tensor",
    "(Tensor x, ScalarType? d=None) -> Tensor": "(Tensor x, dtype? d=None) -> Tensor",
}


@pytest.mark.parametrize("written", SPELLINGS)
def test_a_schema_may_be_spelled_as_programs_spell_it(written):
    library.define("test::spelled", written)
    assert str(tt.ops.test.spelled.schema) == f"test::spelled{SPELLINGS[written]}"
    with pytest.raises(SchemaError):  # files have one spelling
        Signature.parse(f"test::spelled{written}")
