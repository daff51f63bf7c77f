"""The operators on lists do what PyTorch's do: results, dtypes, gradients, what is changed, what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tt
from tt.core.schema.grammar import parse
from tt.core.schema.snapshot import definitions

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

DTYPES = ("float32", "float64", "bfloat16", "int64", "bool", "complex64")
NAMES = sorted(name for name in dir(torch) if name.startswith("_foreach_"))
OVERLOADS = [
    (name, overload)
    for name in NAMES
    for overload in getattr(torch.ops.aten, name).overloads()
    if "out" not in overload and overload not in ("functional", "default_functional")
]
SHAPES = ((2, 3), (), (5,), (0, 2), (40, 3))
TOLERANCE = {"bfloat16": 0.02, "float32": 2e-6, "complex64": 1e-5, "float64": 1e-12}


def both(seed, dtype, shapes=SHAPES):
    """Return equal tensors of tt and PyTorch, between 0.25 and 3."""
    generator = np.random.default_rng(seed)
    lists = ([], [])
    for shape in shapes:
        values = generator.uniform(0.25, 3, shape)
        if dtype == "complex64":
            values = values + 1j * generator.uniform(0.25, 3, shape)
        if dtype == "bool":
            values = values > 1.5
        for lib, tensors in zip((tt, torch), lists, strict=True):
            tensors.append(lib.tensor(values.tolist(), dtype=lib.float64 if dtype != "complex64" else None))
            tensors[-1] = tensors[-1].reshape(shape).to(getattr(lib, dtype))
    return lists


def schema_of(name, overload):
    return getattr(getattr(torch.ops.aten, name), overload)._schema


def arguments(name, overload, dtype, number=2, shapes=SHAPES):
    """Return the arguments of a call, of tt and of PyTorch, by the types in PyTorch's schema."""
    ours, theirs = [], []
    for seed, argument in enumerate(schema_of(name, overload).arguments):
        kind = str(argument.type)
        if argument.kwarg_only or kind in ("Optional[int]", "bool"):
            continue
        if kind == "List[Tensor]":
            values = both(seed, dtype, shapes)
            if "mm" in name:
                values = tuple([t[:3, :3].contiguous() for t in tensors if t.ndim == 2] for tensors in values)
            if name == "_foreach_max":
                values = tuple([t for t in tensors if 0 not in t.shape] for tensors in values)
        elif kind == "Tensor":
            size = (len(shapes),) if argument.name == "scalars" else ()
            values = tuple(tensors[0] for tensors in both(seed, dtype, (size,)))
        elif kind == "number":
            values = (number, number)
        else:
            assert kind == "List[number]", kind
            values = ([number + n for n in range(len(shapes))],) * 2
        ours.append(values[0])
        theirs.append(values[1])
    return ours, theirs


def outcome(call):
    try:
        return call()
    except Exception as error:
        return error


def agree(ours, theirs):
    assert type(ours) is type(theirs) or not isinstance(theirs, list | tuple), (ours, theirs)
    assert len(ours) == len(theirs)
    for one, two in zip(ours, theirs, strict=True):
        name = str(two.dtype).removeprefix("torch.")
        assert str(one.dtype) == f"tt.{name}"
        assert tuple(one.shape) == tuple(two.shape)
        wide = two.to(torch.complex128 if two.is_complex() else torch.float64).numpy()
        np.testing.assert_allclose(
            one.detach().to(tt.complex128 if one.dtype.is_complex else tt.float64).numpy(), wide,
            rtol=TOLERANCE.get(name, 0), atol=TOLERANCE.get(name, 0),
        )  # fmt: skip


def same_outcome(name, ours, theirs, mine, reference):
    """Check that both give the same results and leave the same in the first list, or both refuse."""
    if isinstance(reference, Exception):
        assert isinstance(mine, type(reference)), (mine, reference)
        return
    assert not isinstance(mine, Exception), (mine, reference)
    if name.endswith("_"):
        agree(ours[0], theirs[0])
    else:
        agree(mine, reference)


def test_every_name_and_overload_of_pytorch_is_there():
    assert len(NAMES) == 91
    known = {name for name in definitions() if name.startswith("_foreach_")}
    assert known == {f"{name}.{overload}".removesuffix(".default") for name, overload in OVERLOADS}


@pytest.mark.parametrize(("name", "overload"), OVERLOADS, ids=lambda word: word)
def test_the_signature_is_that_of_pytorch(name, overload):
    text = str(schema_of(name, overload)).removeprefix("aten::").removeprefix("_")
    definition = definitions()[f"{name}.{overload}".removesuffix(".default")]
    assert str(parse(f"_{text}", any_spelling=True)) == str(definition.signature)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "overload"), OVERLOADS, ids=lambda word: word)
def test_results_are_those_of_pytorch(name, overload, dtype):
    for number in (2, 1.5):
        ours, theirs = arguments(name, overload, dtype, number)
        mine = outcome(lambda ours=ours: getattr(tt, name)(*ours))
        reference = outcome(lambda theirs=theirs: getattr(torch, name)(*theirs))
        same_outcome(name, ours, theirs, mine, reference)


@pytest.mark.parametrize(("name", "overload"), OVERLOADS, ids=lambda word: word)
def test_a_list_may_mix_dtypes_and_layouts(name, overload):
    ours, theirs = arguments(name, overload, "float32")
    for tensors in (*ours, *theirs):
        if isinstance(tensors, list) and not isinstance(tensors[0], int):
            tensors[0] = tensors[0].double()
            tensors[-1] = tensors[-1].t().contiguous().t()
    mine = outcome(lambda: getattr(tt, name)(*ours))
    reference = outcome(lambda: getattr(torch, name)(*theirs))
    same_outcome(name, ours, theirs, mine, reference)


@pytest.mark.parametrize(("name", "overload"), OVERLOADS, ids=lambda word: word)
def test_operands_of_another_dtype_promote_as_with_pytorch(name, overload):
    for first, second in (
        ("float32", "int64"),
        ("int64", "float32"),
        ("bfloat16", "float32"),
        ("float32", "float64"),
    ):
        ours, theirs = arguments(name, overload, first)
        others = arguments(name, overload, second)
        if len(ours) == 1:
            return
        ours, theirs = [ours[0], *others[0][1:]], [theirs[0], *others[1][1:]]
        mine = outcome(lambda ours=ours: getattr(tt, name)(*ours))
        reference = outcome(lambda theirs=theirs: getattr(torch, name)(*theirs))
        same_outcome(name, ours, theirs, mine, reference)


DIFFERENTIABLE = [
    (name, overload)
    for name, overload in OVERLOADS
    if name not in ("_foreach_zero_", "_foreach_powsum", "_foreach_mm")
]


@pytest.mark.parametrize(("name", "overload"), DIFFERENTIABLE, ids=lambda word: word)
def test_gradients_are_those_of_pytorch(name, overload):
    leaves = ([], [])
    results = []
    # PyTorch's own backward of lists with ScalarList fails at tensors that are shorter than the list.
    shapes = ((5,), (5, 3), (6, 2), (7,), (5, 1, 2)) if "addcdiv" in name else SHAPES
    for lib, args, mine in zip(
        (tt, torch), arguments(name, overload, "float64", shapes=shapes), leaves, strict=True
    ):
        inputs = []
        for argument in args:
            tensors = argument
            if isinstance(argument, list) and not isinstance(argument[0], int):
                for t in argument:
                    t.requires_grad_()
                mine += argument
                tensors = [t * 1 for t in argument]
            inputs.append(tensors)
        try:
            out = getattr(lib, name)(*inputs)
        except RuntimeError as error:
            assert lib is torch and "is not implemented" in str(error)  # PyTorch has no formula for it
            return
        out = [t for t in (inputs[0] if name.endswith("_") else out) if t.requires_grad]
        results.append(len(out))
        if out:
            total = sum((t * 0.5).sum() for t in out)
            try:
                total.backward()
            except RuntimeError as error:
                assert lib is torch and "is not implemented" in str(error)
                return
    assert results[0] == results[1]
    for one, two in zip(*leaves, strict=True):
        assert (one.grad is None) == (two.grad is None)
        if two.grad is not None:
            np.testing.assert_allclose(one.grad.numpy(), two.grad.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("name", "overload"), OVERLOADS, ids=lambda word: word)
def test_what_is_wrong_with_lists_is_refused_as_by_pytorch(name, overload):
    schema = schema_of(name, overload)
    ours, theirs = arguments(name, overload, "float32")
    listed = [i for i, a in enumerate(schema.arguments) if "List" in str(a.type)]
    wrong = [(at, cut) for at in listed for cut in (slice(0), slice(1, None))]
    if len(listed) == 1:
        wrong = [(listed[0], slice(0))]
    wrong += [(None, slice(0))]
    for position, cut in wrong:
        calls = []
        for args in (ours, theirs):
            changed = list(args)
            for i in listed if position is None else [position]:
                changed[i] = changed[i][cut]
            calls.append(changed)
        reference = outcome(lambda calls=calls: getattr(torch, name)(*calls[1]))
        mine = outcome(lambda calls=calls: getattr(tt, name)(*calls[0]))
        assert type(reference) in (RuntimeError, TypeError), reference
        assert isinstance(mine, type(reference)), (mine, reference)
        # Of one empty list among others PyTorch says now this, now that: it may be one of numbers, too.
        if type(reference) is RuntimeError and (position is None or cut != slice(0)):
            # The same words, perhaps after the name of the function and before numbers.
            words = str(reference).splitlines()[0].rstrip(".")
            assert words in str(mine), (mine, reference)


@pytest.mark.parametrize("name", ["_foreach_add", "_foreach_mul", "_foreach_div"])
def test_a_tensor_operand_has_no_dimensions(name):
    for lib in (torch, tt):
        with pytest.raises(RuntimeError, match="expected to be 0 dim but it has 1 dimensions and 1 elements"):
            getattr(lib, name)([lib.ones(2)], lib.ones(1))


@pytest.mark.parametrize("name", ["_foreach_addcmul", "_foreach_addcdiv_"])
def test_numbers_in_a_tensor_are_one_for_each_tensor(name):
    for lib in (torch, tt):
        x = [lib.ones(2), lib.ones(3)]
        with pytest.raises(RuntimeError, match=r"packed scalar Tensor to be of dimension 1\. Got 0 instead"):
            getattr(lib, name)(x, x, x, lib.tensor(1.0))
        with pytest.raises(
            RuntimeError, match="length of scalars to match input of length 2 but got 3 instead"
        ):
            getattr(lib, name)(x, x, x, lib.ones(3))


def test_a_list_of_tensors_is_not_taken_for_one_of_numbers():
    for lib in (torch, tt):
        x, scale = [lib.ones(2)], lib.tensor(3.0, requires_grad=True)
        assert lib._foreach_mul(x, [2.0])[0].tolist() == [2, 2]
        lib._foreach_mul(x, [scale])[0].sum().backward()
        assert scale.grad.item() == 2
        with pytest.raises(TypeError):
            lib._foreach_addcmul(x, x, x, [lib.tensor(1.0)])


@pytest.mark.filterwarnings("ignore:Casting complex values:UserWarning")  # PyTorch's, of the order 0
@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, -1, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["_foreach_norm", "_foreach_powsum"])
def test_norms_of_any_order_are_those_of_pytorch(name, order):
    for dtype in ("float32", "float64", "bfloat16", "complex64"):
        ours, theirs = both(3, dtype, ((2, 3), (), (200,)))
        agree(getattr(tt, name)(ours, order), getattr(torch, name)(theirs, order))
    if 0 < order < math.inf:
        ours, theirs = both(3, "float32")
        agree(
            getattr(tt, name)(ours, order, dtype=tt.float64),
            getattr(torch, name)(theirs, order, dtype=torch.float64),
        )


def test_a_tensor_that_occurs_twice_is_changed_twice():
    for lib in (torch, tt):
        x, y = lib.ones(3), lib.ones(2)
        lib._foreach_add_([x, y, x], 1)
        lib._foreach_mul_([x, y, x], [x, y, x])
        assert x.tolist() == [81] * 3 and y.tolist() == [4] * 2


def test_targets_that_share_memory_are_changed_in_order():
    for lib in (torch, tt):
        base = lib.arange(4, dtype=lib.float32)
        lib._foreach_mul_([base[:3], base[1:]], [2, 3])
        assert base.tolist() == [0, 6, 12, 9]
        lib._foreach_add_([base[:2], base[2:]], [base[2:], base[:2]])
        assert base.tolist() == [12, 15, 24, 24]


def test_versions_count_changes_in_place():
    x = [tt.ones(2), tt.ones(3)]
    before = [t._version for t in x]
    tt._foreach_sqrt_(x)
    assert [t._version - n for t, n in zip(x, before, strict=True)] == [1, 1]


def test_a_saved_tensor_that_a_list_changes_is_found():
    leaf = tt.ones(2, requires_grad=True)
    y = leaf * 2
    z = y * y
    tt._foreach_add_([y], 1)
    with pytest.raises(RuntimeError, match="changed"):
        z.sum().backward()


def test_a_leaf_that_requires_a_gradient_is_not_changed_in_place():
    for lib in (torch, tt):
        with pytest.raises(RuntimeError, match="leaf"):
            lib._foreach_add_([lib.ones(2, requires_grad=True)], 1)


def test_meta_tensors_have_the_results_without_data():
    x = [tt.ones(2, 3, device="meta"), tt.ones(4, device="meta", dtype=tt.int64)]
    assert [(t.shape, t.dtype, t.device.type) for t in tt._foreach_div(x, [2, 3])] == [
        ((2, 3), tt.float32, "meta"), ((4,), tt.float32, "meta"),
    ]  # fmt: skip
