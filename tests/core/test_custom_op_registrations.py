"""Registrations of custom operators: what each adds, and what its handle, a scope and a library undo."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt import library
from tt.core.errors import (
    ArgumentError,
    DuplicateRegistrationError,
    KernelContractError,
    NoKernelError,
    SchemaError,
    ShapeError,
    UnknownNameError,
    UnknownOpError,
    ValueRangeError,
)
from tt.library import CompositeTable, Handle, KernelTable, Layer, Library, Mode, custom_op, scoped


@pytest.fixture(autouse=True)
def scope():
    """Undo what a test registers."""
    with scoped() as scope:
        yield scope


def make(name="test::twice"):
    @custom_op(name)
    def twice(x: tt.Tensor) -> tt.Tensor:
        """Doubles x."""

    return twice


def add(n):
    return lambda x: x + np.asarray(n, x.dtype)


# --- the operator is its caller ----------------------------------------------------------------------------------


def test_the_operator_is_what_the_namespace_has():
    twice = make()
    assert tt.ops.test.twice is twice
    assert twice.name == "test::twice"
    assert str(twice.schema) == "test::twice(Tensor x) -> Tensor"
    assert repr(twice) == "<custom operator test::twice(Tensor x) -> Tensor>"
    assert twice.__doc__ is not None and "Doubles x." in twice.__doc__


def test_a_removed_operator_is_unknown_to_those_who_hold_it():
    twice = make()
    twice.kernel("cpu", add(1))
    x = tt.ones(1)
    assert [twice(x).item() for _ in range(3)] == [2.0] * 3
    held = tt.ops.test.twice
    twice.remove()
    for op in (twice, held):
        with pytest.raises(UnknownOpError, match="test::twice"):
            op(x)
    with pytest.raises(UnknownOpError, match="test::twice"):
        twice.kernel("cpu", add(1))


def test_a_name_can_be_used_again_with_another_signature():
    first = make()
    first.remove()

    @custom_op("test::twice")
    def second(x: tt.Tensor, y: tt.Tensor) -> tt.Tensor:
        return x + y

    assert tt.ops.test.twice(tt.ones(1), tt.ones(1)).item() == 2.0


def test_dtypes_of_several_tensors_do_not_mix_up():
    @custom_op("test::first")
    def first(x: tt.Tensor, y: tt.Tensor) -> tt.Tensor: ...

    seen = []

    @first.kernel("cpu")
    def on_cpu(x, y):
        seen.append((x.dtype.name, y.dtype.name, x.ndim, y.ndim))
        return x + 0

    f, i = tt.ones(2), tt.ones(2, dtype=tt.int64)
    zero_dim = tt.ones(())
    for _ in range(3):
        for x, y in ((f, f), (f, i), (i, f), (i, i), (zero_dim, f), (zero_dim, i)):
            made = first(x, y)
            assert (made.dtype, made.shape) == (x.dtype, x.shape)
            assert seen.pop() == (x.dtype.name, y.dtype.name, x.ndim, y.ndim)


def test_a_list_of_tensors_decides_the_dtype_where_nothing_stands_before_it():
    @custom_op("test::joined")
    def joined(
        mask: tt.Tensor | None, xs: list[tt.Tensor], ys: list[tt.Tensor] = ()
    ) -> tuple[tt.Tensor, tt.Tensor]: ...

    joined.kernel("cpu", lambda mask, xs, ys: (xs[0] + 0, xs[0] + 0))
    joined.fake(lambda mask, xs, ys: (tt.empty_like(xs[0]), tt.empty_like(xs[0])))
    for dtype in (tt.float64, tt.float32, tt.int16):
        for device in ("cpu", "meta"):
            x = tt.zeros(2, dtype=dtype, device=device)
            assert joined(None, [x, x])[1].dtype is dtype
        with tt.fake_mode():
            assert joined(None, [x])[1].dtype is dtype
    explained = tt.explain("test::joined", ["cpu:bool", "cpu:int16", "cpu:int8"])
    assert explained.resolution.results == (tt.bool, tt.bool)


# --- kernels ---------------------------------------------------------------------------------------------------


def test_kernels_serve_devices_dtypes_and_layouts():
    twice = make()
    twice.kernel(["cpu", "cuda"], add(1), dtypes="floating")
    twice.kernel("cpu", add(2), dtypes=("int64",))
    twice.kernel("cpu", lambda x: x, layout="sparse_coo")
    assert [h.what for h in twice.handles][1:] == [
        "kernel of test::twice for cpu; kernel of test::twice for cuda",
        "kernel of test::twice for cpu",
        "kernel of test::twice for cpu",
    ]
    assert twice(tt.ones(1)).item() == 2 and twice(tt.ones(1, dtype=tt.int64)).item() == 3
    with pytest.raises(NoKernelError, match="int32"):
        twice(tt.ones(1, dtype=tt.int32))


def test_a_second_kernel_of_a_place_is_an_error_unless_it_overrides():
    twice = make()
    twice.kernel("cpu", add(1))
    with pytest.raises(DuplicateRegistrationError, match="kernel of test::twice for cpu"):
        twice.kernel("cpu", add(2))
    other = add(2)
    twice.kernel("cpu", other, override=True)
    assert twice(tt.ones(1)).item() == 3
    twice.handle(other).remove()
    assert twice(tt.ones(1)).item() == 2


def test_no_device_is_an_error():
    with pytest.raises(ArgumentError, match="no device type is given"):
        make().kernel([], add(1))


def test_half_precision_reaches_the_kernel_as_it_is():
    twice = make()
    twice.kernel("cpu", lambda x: x + x)
    assert twice(tt.ones(2, dtype=tt.float16)).dtype is tt.float16


# --- handles ---------------------------------------------------------------------------------------------------


def test_decorators_return_the_function_and_its_handle_undoes_it():
    twice = make()

    @twice.composite
    def body(x):
        return x * 2

    @twice.kernel("cpu")
    def on_cpu(x):
        return x + np.float32(10)

    @twice.fake
    def fake(x):
        return tt.empty(7, device=x.device)

    assert callable(body) and callable(on_cpu) and callable(fake)
    x = tt.ones(3)
    assert (twice(x)[0].item(), twice(tt.ones(3, device="meta")).shape) == (11.0, (7,))
    twice.handle(on_cpu).remove()
    assert twice(x)[0].item() == 2.0
    twice.handle(fake).remove()
    assert twice(tt.ones(3, device="meta")).shape == (3,)
    assert [h.what for h in twice.handles] == ["operator test::twice", "composite of test::twice"]
    with pytest.raises(ArgumentError, match="on_cpu is not registered with this operator"):
        twice.handle(on_cpu)


def test_one_handle_for_all_that_a_function_was_registered_for():
    twice = make()

    @twice.kernel("cuda")
    @twice.kernel("cpu")
    def anywhere(x):
        return x + x

    handle = twice.handle(anywhere)
    assert handle.what == "kernel of test::twice for cpu; kernel of test::twice for cuda"
    handle.remove()
    with pytest.raises(NoKernelError):
        twice(tt.ones(1))


@pytest.mark.parametrize("part", ["composite", "fake", "shape"])
def test_what_was_shadowed_comes_back(part):
    twice = make()
    place = {"device": "cpu" if part == "composite" else "meta"}
    if part == "shape":
        first, second = (lambda x: (1,)), (lambda x: (2,))
    else:
        first, second = (lambda x: tt.zeros(1, **place)), (lambda x: tt.zeros(2, **place))
    x = tt.ones(3, **place)
    getattr(twice, part)(first)
    assert twice(x).shape == (1,)
    getattr(twice, part)(second)
    assert twice(x).shape == (2,)
    twice.handle(second).remove()
    assert twice(x).shape == (1,)
    getattr(twice, part)(second)
    twice.handle(first).remove()
    assert twice(x).shape == (2,)


def test_a_handle_says_what_it_undoes_and_whether_it_has():
    twice = make()
    kernel = twice.kernel("cpu", add(1))
    handle = twice.handle(kernel)
    assert (repr(handle), handle.active) == ("<handle of kernel of test::twice for cpu>", True)
    handle.remove()
    handle.remove()
    assert (repr(handle), handle.active) == ("<handle of kernel of test::twice for cpu, removed>", False)


# --- shapes ----------------------------------------------------------------------------------------------------


def test_a_named_shape_rule_serves_meta_fake_and_the_error_of_a_kernel():
    @custom_op("test::total")
    def total(x: tt.Tensor, y: tt.Tensor) -> tt.Tensor: ...

    total.kernel("cpu", lambda x, y: x + y)
    total.shape("broadcast")
    assert total(tt.ones(2, 1, device="meta"), tt.ones(3, device="meta")).shape == (2, 3)
    with tt.fake_mode():
        assert total(tt.ones(2, 1, device="cuda"), tt.ones(3, device="cuda")).shape == (2, 3)
    with pytest.raises(ShapeError, match="do not broadcast"):
        total(tt.ones(2), tt.ones(3))


def test_a_function_of_shapes_is_a_rule():
    @custom_op("test::split_at", result=("same", "int64"))
    def split_at(x: tt.Tensor, at: int) -> tuple[tt.Tensor, tt.Tensor]: ...

    @split_at.shape
    def shapes(x, at):
        return (at, *x.shape[1:]), (x.shape[0] - at, *x.shape[1:])

    first, second = split_at(tt.ones(5, 2, device="meta"), 2)
    assert (first.shape, second.shape, first.dtype, second.dtype) == ((2, 2), (3, 2), tt.float32, tt.int64)


def test_a_rule_that_does_not_fit_is_refused():
    twice = make()
    with pytest.raises(UnknownNameError, match="unknown shape rule 'brodcast'; did you mean 'broadcast'"):
        twice.shape("brodcast")
    with pytest.raises(
        ArgumentError, match="the shape rule 'wants' needs y, which the operator does not have"
    ):

        @twice.shape
        def wants(x, y):
            return x.shape


# --- vmap ------------------------------------------------------------------------------------------------------


def test_a_batching_rule_runs_once_for_all_examples():
    @custom_op("test::scaled")
    def scaled(x: tt.Tensor, by: tt.Tensor | None = None, *, plus: float = 0.0) -> tt.Tensor: ...

    calls = []

    @scaled.kernel("cpu")
    def on_cpu(x, by, plus):
        calls.append(x.shape)
        return x * (1 if by is None else by) + np.float32(plus)

    x = tt.arange(6.0).reshape(3, 2)
    expected = tt.func.vmap(lambda row: scaled(row, plus=1.0))(x)
    assert len(calls) == 3

    @scaled.vmap
    def rule(info, in_dims, x, by, *, plus):
        assert (info.batch_size, info.randomness, in_dims, plus) == (3, "error", (1, None), 1.0)
        return scaled(x, by, plus=plus), 1

    calls.clear()
    found = tt.func.vmap(lambda row: scaled(row, plus=1.0), in_dims=1)(x.t())
    assert found.tolist() == expected.tolist()
    assert calls == [(2, 3)]
    scaled.handle(rule).remove()
    calls.clear()
    tt.func.vmap(lambda row: scaled(row, plus=1.0))(x)
    assert len(calls) == 3


def test_a_batching_rule_may_have_several_results_lists_and_none_that_differ():
    @custom_op("test::stats")
    def stats(xs: list[tt.Tensor]) -> tuple[tt.Tensor, tt.Tensor]: ...

    stats.kernel("cpu", lambda xs: (xs[0] + 1, xs[1] + 0))

    @stats.vmap
    def rule(info, in_dims, xs):
        assert in_dims == ([0, None],)
        return (xs[0] + 1, xs[1]), (0, None)

    y = tt.ones(2)
    first, second = tt.func.vmap(lambda row: stats([row, y]))(tt.zeros(3, 2))
    assert first.tolist() == [[1.0, 1.0]] * 3
    assert second.tolist() == [[1.0, 1.0]] * 3


def test_a_rule_that_returns_no_dim_is_told():
    twice = make()
    twice.kernel("cpu", add(1))
    twice.register_vmap(lambda info, in_dims, x: x)
    with pytest.raises(ArgumentError, match="a batching rule returns"):
        tt.func.vmap(twice)(tt.ones(3))


# --- scopes ----------------------------------------------------------------------------------------------------


class Quiet(Mode):
    """Counts calls."""

    def __init__(self):
        self.count = 0

    def handle(self, caller, args):
        self.count += 1
        return caller.dispatch(args)


class Nothing(Layer):
    """Does nothing."""

    name = "test_nothing"


def test_a_scope_undoes_everything_the_last_first():
    mode, before = Quiet(), set(library.REGISTRY.layers)
    with scoped() as scope:
        twice = make()
        twice.kernel("cpu", add(1))
        twice.shape("like")
        twice.backward(lambda ctx, g: g)
        table = KernelTable(device="cpu")
        table.kernel("exp", lambda self: self * 0, override=True)
        library.REGISTRY.add(table)
        library.REGISTRY.add_layer(Nothing())
        Library("test_scope", "DEF")
        assert len(scope.handles) == 7
        assert tt.exp(tt.ones(1)).item() == 0
        mode.__enter__()
        tt.ones(1)
    count = mode.count
    assert count == 1
    assert tt.exp(tt.zeros(1)).item() == 1
    assert mode.count == count
    assert set(library.REGISTRY.layers) - before == set()
    assert not hasattr(tt.ops, "test")
    make().kernel("cpu", add(1))
    Library("test_scope", "DEF")


def test_scopes_nest_and_end_with_an_exception():
    with scoped():
        outer = make("test::outer")
        outer.kernel("cpu", add(1))
        with pytest.raises(ZeroDivisionError), scoped():
            inner = make("test::inner")
            inner.kernel("cpu", add(1))
            outer.kernel("cpu", add(5), override=True)
            assert outer(tt.zeros(1)).item() == 5
            raise ZeroDivisionError
        assert outer(tt.zeros(1)).item() == 1
        with pytest.raises(UnknownOpError):
            inner(tt.zeros(1))
    with pytest.raises(UnknownOpError):
        outer(tt.zeros(1))


def test_a_scope_is_a_decorator():
    @scoped()
    def define():
        make()
        return hasattr(tt.ops.test, "twice")

    assert define() and define()
    assert not hasattr(tt.ops, "test")


def test_what_a_plugin_registers_in_a_scope_stays():
    table = CompositeTable()
    table.composite("test::lazy", lambda x: x)
    source = library.Source("somebody", "1", "plugin")
    with scoped():
        handle = library.REGISTRY.for_plugin(source).add(table)
    assert handle.active
    handle.remove()


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
        (lambda lib: lib.define("f(Tensor x) -> (Tensor, Tensor[])"), ArgumentError, "the only result"),
        (lambda lib: lib.impl("nothing", add(1), "cpu"), UnknownOpError, "test::nothing"),
        (lambda lib: lib.impl("twice", add(1)), ArgumentError, "for which device"),
        (lambda lib: lib.impl("twice", add(1), "Autograd"), ArgumentError, "gradients: register_autograd"),
        (lambda lib: lib.impl(3, add(1), "cpu"), ArgumentError, "3 is no operator"),
        (lambda lib: Library("tt"), ArgumentError, "that of tt's own operators"),
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
    with Handle(lambda: done.append(1), "nothing"):
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
