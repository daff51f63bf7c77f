"""Batching rules: every operator mapped over examples gives the same as for each of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tt
from tests.plugins.autograd.calls import DEFINITIONS, serves
from tt.core.library import REGISTRY, OpDefinition
from tt.func import vmap
from tt.testing.samples import samples

# Their results hold whatever the memory held.
UNDEFINED = {"empty_like", "new_empty", "empty_permuted", "empty_strided", "new_empty_strided"}
# They say how one example lies in memory, which is not promised of examples side by side.
OF_MEMORY = {"as_strided", "as_strided_scatter"}
# They give a Python value, which would be another one for each example.
OF_VALUES = {"equal", "allclose", "item", "is_same_size"}
# One of their results is a list.
OF_VALUES |= {"histogramdd", "histogramdd.int_bins", "histogramdd.TensorList_bins"}
# They take something sorted, which in another order it is not.
SORTED = {"searchsorted", "_searchsorted", "bucketize"}
# They look at values, so that results of two examples may differ in shape; or they have no rule.
LOOPED = {
    "_bincount", "_embedding_bag", "_unique2", "bincount", "cov", "ctc_loss", "histc", "histogram.bin_ct", "istft",
    "linalg_ldl_factor", "linalg_ldl_factor_ex", "linalg_ldl_solve", "segment_reduce",
    "embedding_bag", "gaussian_nll_loss", "linalg_lstsq", "linspace.tensors",
    "logspace.tensors", "masked_scatter", "narrow.tensor", "nonzero", "repeat_interleave.Tensor",
    "tensor_split.tensor_indices_or_sections", "unique_dim",
}  # fmt: skip
# These have rules that leave some calls to the loop: masks that differ by example, numbers without dims, a `q`, a
# number of classes or batch sizes that depend on the example, labels that are checked, the old arguments of losses,
# errors that are looked for.
SOMETIMES_LOOPED = {
    "_conv_weight", "_ctc_alpha_backward", "_ctc_loss", "_ctc_loss_backward", "_pack_padded_sequence",
    "_pad_packed_sequence", "_rnn_layer", "_rnn_layer_backward",
    "as_strided_scatter", "binary_cross_entropy", "ctc_loss.IntList", "index", "index_put", "linalg_lu_factor_ex",
    "linalg_solve",
    "nanquantile", "one_hot", "quantile", "topk",
}  # fmt: skip

MAPPED = [
    d
    for d in DEFINITIONS
    if d.samples
    and not {"random", "inplace_only"} & set(d.tags)
    and d.name not in UNDEFINED | OF_MEMORY | OF_VALUES
    and any(a.type.is_tensor for a in d.signature.arguments)
    and not REGISTRY.operator(d.name).mutates
]


def tensors_in(value: Any) -> list[Any]:
    return [t for t in (value if isinstance(value, list | tuple) else [value]) if isinstance(t, tt.Tensor)]


class Mapped:
    """A call of an operator as a function of all of its tensors."""

    def __init__(self, definition: OpDefinition, args: tuple[Any, ...]) -> None:
        self.caller, self.args = REGISTRY.operator(definition.name).overload(), args
        self.tensors = [t for value in args for t in tensors_in(value)]

    def __call__(self, *tensors: Any) -> Any:
        remaining = iter(tensors)
        args = [
            type(value)([next(remaining) if isinstance(t, tt.Tensor) else t for t in value])
            if isinstance(value, list | tuple) and tensors_in(value)
            else next(remaining)
            if isinstance(value, tt.Tensor)
            else value
            for value in self.args
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the old arguments of losses, and lost imaginary parts
            found = self.caller.dispatch(tuple(args))
        return found if isinstance(found, tt.Tensor) else tuple(tensors_in(found))


def mapped_calls(definition: OpDefinition, most: int, dtypes: int) -> Iterator[tuple[str, Mapped]]:
    operator = REGISTRY.operator(definition.name)
    caller = operator.overload()
    binder = caller.binder or operator.binder(caller)
    served = 0
    for dtype in (tt.float64, tt.int64, tt.complex128, tt.bool):
        if not serves(definition, dtype):
            continue
        found = 0
        for sample in samples(definition, "cpu", dtype):
            if sample.error is not None or found == most:
                continue
            call = Mapped(definition, binder(sample.args, sample.kwargs))
            if not call.tensors or any(t.layout is not tt.strided for t in call.tensors):
                continue
            if runs(call, call.tensors):
                found += 1
                yield f"{sample.name}, {dtype}", call
        served += found > 0
        if served == dtypes:
            return


def runs(call: Mapped, tensors: list[Any]) -> bool:
    """Return whether a call is possible without `vmap`: not all dtypes are served by all parts of a composite."""
    try:
        call(*tensors)
    except (RuntimeError, TypeError, ValueError, IndexError):
        return False
    return True


def turned(tensor: Any) -> Any:
    """Return other values for a second example: the same in another order, so that indices stay indices."""
    return tensor.detach().reshape((-1,)).flip((0,)).reshape(tuple(tensor.shape))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("definition", MAPPED, ids=[d.name for d in MAPPED])
def test_vmap_of_an_operator_is_a_loop(definition: OpDefinition) -> None:
    check_operator(definition, most=8, dtypes=1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("definition", MAPPED, ids=[d.name for d in MAPPED])
def test_vmap_of_an_operator_is_a_loop_on_all_samples(definition: OpDefinition) -> None:
    check_operator(definition, most=1000, dtypes=4)


def check_operator(definition: OpDefinition, most: int, dtypes: int) -> None:
    """Map all tensors of each sample, the first, and all but the first."""
    layer: Any = REGISTRY.layer("transform")
    before = layer.fallbacks.copy()
    for name, call in mapped_calls(definition, most, dtypes):
        plain = [t.detach() for t in call.tensors]
        others = [turned(t) for t in plain]
        count = len(plain)
        for chosen in {
            (True,) * count,
            tuple(i == 0 for i in range(count)),
            tuple(i > 0 for i in range(count)),
        }:
            if not any(chosen):
                continue
            second = [o if c else p for p, o, c in zip(plain, others, chosen, strict=True)]
            if definition.name in SORTED or not runs(call, second):
                second = plain
            expected = [call(*plain), call(*second)]
            if any(
                [t.shape for t in tensors_in(e)] != [t.shape for t in tensors_in(expected[0])]
                for e in expected
            ):
                continue  # the shape depends on the values
            stacked = [tt.stack([p, s]) if c else p for p, s, c in zip(plain, second, chosen, strict=True)]
            in_dims = tuple(0 if c else None for c in chosen)
            found = tensors_in(vmap(call, in_dims=in_dims)(*stacked))
            for place, one in enumerate(expected):
                for mine, theirs in zip(found, tensors_in(one), strict=True):
                    check_same(mine[place], theirs, f"{name}, mapped {chosen}, example {place}")
    used = layer.fallbacks - before
    allowed = LOOPED | SOMETIMES_LOOPED
    assert not set(used) - allowed, f"ran once for each example: {used}"


def check_same(found: Any, expected: Any, what: str) -> None:
    assert tuple(found.shape) == tuple(expected.shape), what
    assert found.dtype is expected.dtype, what
    # Batches are multiplied in another order than one matrix.
    ours, theirs = (
        x.cfloat() if x.dtype is tt.complex32 else x for x in (found, expected)
    )  # NumPy adds no 1e-8 to it
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-8, err_msg=what)


def test_most_operators_run_all_examples_at_once() -> None:
    # What may loop is named above; everything else is checked not to.
    assert len(LOOPED | SOMETIMES_LOOPED) < len(MAPPED) / 15


# --- what samples do not show ----------------------------------------------------------------------------------


def normal(*shape: int, seed: int = 0) -> Any:
    return tt.tensor(np.random.default_rng(seed).standard_normal(shape))


def check_loop(function: Any, *args: Any, in_dims: Any = 0) -> None:
    dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
    size = next(a.shape[d] for a, d in zip(args, dims, strict=True) if d is not None)
    expected = [
        function(*[a if d is None else a.select(d, i) for a, d in zip(args, dims, strict=True)])
        for i in range(size)
    ]
    check_same(vmap(function, in_dims=in_dims)(*args), tt.stack(expected), "")


@pytest.mark.parametrize(
    "in_dims", [(0, 0, 0), (0, None, None), (None, 0, None), (None, None, 0), (0, 0, None)]
)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions_whose_filters_differ_by_example(in_dims: Any, groups: int, transposed: bool) -> None:
    shapes = [(2, 4, 7, 6), (4, 6 // groups, 3, 2) if transposed else (6, 4 // groups, 3, 2), (6,)]
    args = [
        normal(*((3, *shape) if dim == 0 else shape), seed=seed)
        for seed, (shape, dim) in enumerate(zip(shapes, in_dims, strict=True))
    ]
    functional = tt.nn.functional
    convolve = functional.conv_transpose2d if transposed else functional.conv2d
    check_loop(lambda x, w, b: convolve(x, w, b, stride=2, padding=1, groups=groups), *args, in_dims=in_dims)


def test_gradients_of_each_example() -> None:
    """What `vmap(grad(...))` is for: the gradients of shared filters, example by example."""
    filters, images = normal(4, 2, 3, 3), normal(5, 2, 6, 6, seed=1)

    def loss(w: Any, x: Any) -> Any:
        y = tt.nn.functional.conv2d(x[None], w, padding=1).relu()
        return tt.nn.functional.max_pool2d(y, 2).pow(2).sum()

    layer: Any = REGISTRY.layer("transform")
    before = layer.fallbacks.copy()
    found = vmap(tt.func.grad(loss), in_dims=(None, 0))(filters, images)
    assert layer.fallbacks == before
    check_same(found, tt.stack([tt.func.grad(loss)(filters, x) for x in images]), "")


INDEXED = {
    "a list in front": lambda x, i: x[i],
    "a list behind": lambda x, i: x[:, i],
    "two lists": lambda x, i: x[i, :, i],
    "two lists side by side": lambda x, i: x[:, i, i],
    "a matrix of indices": lambda x, i: x[:, i[None]],
    "a mask": lambda x, i: x[tt.tensor([True, False, True])],
    "a mask and a list": lambda x, i: x[:, tt.tensor([True, True, False]), i],
}


@pytest.mark.parametrize("function", INDEXED.values(), ids=INDEXED)
@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 0), (1, 0)])
def test_reading_by_indices(function: Any, in_dims: Any) -> None:
    x = (
        normal(3, 3, 3)
        if in_dims[0] is None
        else normal(4, 4, 3, 3)
        if in_dims[0] == 1
        else normal(4, 3, 3, 3)
    )
    if in_dims[0] == 1:
        x = normal(3, 4, 3, 3)
    i = tt.tensor([[0, 2], [1, 1], [2, 0], [0, 1]]) if in_dims[1] == 0 else tt.tensor([2, 1])
    check_loop(function, x, i, in_dims=in_dims)


def _written(index: Any, accumulate: bool) -> Any:
    def write(x: Any, i: Any, v: Any) -> Any:
        indices = tuple(i if k == "i" else None for k in index)
        return x.index_put(indices, v, accumulate=accumulate)

    return write


@pytest.mark.parametrize("index", ["i", "-i", "i-i", "-ii"])
@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("in_dims", [(0, 0, 0), (0, None, 0), (0, 0, None), (None, 0, None), (None, None, 0)])
def test_writing_by_indices(index: str, accumulate: bool, in_dims: Any) -> None:
    chosen = {"i": (2, 3, 3), "-i": (3, 2, 3), "i-i": (2, 3), "-ii": (3, 2)}[index]
    x = normal(*((4, 3, 3, 3) if in_dims[0] == 0 else (3, 3, 3)))
    i = tt.tensor([[0, 2], [1, 2], [2, 0], [0, 1]]) if in_dims[1] == 0 else tt.tensor([2, 1])
    for shape in (chosen, chosen[1:], ()):
        v = normal(*((4, *shape) if in_dims[2] == 0 else shape), seed=1)
        check_loop(_written(index, accumulate), x, i, v, in_dims=in_dims)


def test_a_mask_that_differs_by_example_writes_one_number() -> None:
    x = normal(4, 3)

    def clipped(row: Any) -> Any:
        y = row.clone()
        y[row < 0] = 0.0
        return y

    check_loop(clipped, x)


def test_changes_in_place_go_through_the_rules() -> None:
    layer: Any = REGISTRY.layer("transform")
    before = layer.fallbacks.copy()
    index = tt.tensor([[0, 1], [2, 2], [1, 0]])

    def change(x: Any, i: Any) -> Any:
        y = x.clone()
        y.index_put_((i,), x[:2] * 2)
        y.scatter_add_(0, i, x[:2])
        return y.cumsum_(0)

    check_loop(change, normal(3, 4), index)
    assert layer.fallbacks == before


def test_an_example_that_needs_another_shape_is_refused() -> None:
    with pytest.raises(RuntimeError, match="results of other shapes for other examples"):
        vmap(tt.nonzero)(tt.tensor([[1, 0], [1, 1]]))


def test_dims_that_are_not_there_are_refused_in_the_words_of_the_operator() -> None:
    for call in (
        lambda x: x.sum(1),
        lambda x: x.softmax(-2),
        lambda x: x.select(1, 0),
        lambda x: tt.cat([x, x], 1),
    ):
        with pytest.raises(IndexError, match=r"[dD]im"):
            vmap(call)(tt.ones(3, 2))


# --- randomness ------------------------------------------------------------------------------------------------

GENERATOR: Any = tt.Generator()
DRAWS = {
    "a factory": lambda x: tt.rand(3),
    "like an example": tt.rand_like,
    "of probabilities": lambda x: tt.bernoulli(x * 0.5),
    "dropout": tt.nn.functional.dropout,
    "in place": lambda x: x.clone().normal_(),
    "of a generator": lambda x: tt.rand(3, generator=GENERATOR),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_random_numbers_are_refused_the_same_or_different(draw: Any) -> None:
    x = tt.ones(20, 3)
    with pytest.raises(RuntimeError, match="called random operation"):
        vmap(draw)(x)
    tt.manual_seed(0)
    GENERATOR.manual_seed(0)
    first = draw(x[0])
    tt.manual_seed(0)
    GENERATOR.manual_seed(0)
    same = vmap(draw, randomness="same")(x)
    assert (same == first).all()
    different = vmap(draw, randomness="different")(x)
    assert len({tuple(row) for row in different.tolist()}) > 1


def test_randomness_is_passed_on_by_jacfwd() -> None:
    def noisy(x: Any) -> Any:
        return x * tt.rand(3)

    with pytest.raises(RuntimeError, match="called random operation"):
        tt.func.jacfwd(noisy)(tt.ones(3))
    tt.manual_seed(0)
    expected = tt.rand(3)
    tt.manual_seed(0)
    assert (tt.func.jacfwd(noisy, randomness="same")(tt.ones(3)) == tt.diag(expected)).all()
    for transform in (vmap, tt.func.jacfwd):
        with pytest.raises(RuntimeError, match="Only allowed values for randomness"):
            transform(noisy, randomness="some")


def test_chunks_give_the_same_as_all_at_once() -> None:
    x, y = normal(7, 3), normal(2, 7)

    def both(a: Any, b: Any) -> Any:
        return {"product": a.sum() * b, "sum": a + b.sum()}

    expected = vmap(both, in_dims=(0, 1))(x, y)
    for size in (1, 2, 3, 7, 100):
        found = vmap(both, in_dims=(0, 1), chunk_size=size)(x, y)
        for key in expected:
            check_same(found[key], expected[key], f"{key}, chunks of {size}")
    tt.manual_seed(0)
    rows = vmap(lambda a: a * 0 + tt.rand(3), chunk_size=2, randomness="same")(x)
    assert len({tuple(row) for row in rows.tolist()}) == 1
    with pytest.raises(ValueError, match="chunk_size should be None or greater than 0"):
        vmap(both, chunk_size=0)


@pytest.mark.filterwarnings("ignore:searchsorted")  # columns are not contiguous
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize(
    ("sequence", "values", "in_dims"),
    [
        ((3, 7), (3, 5), (0, 0)), ((3, 7), (3,), (0, 0)), ((3, 7), (4, 5), (0, None)), ((7,), (3, 4, 5), (None, 0)),
        ((3, 2, 7), (3, 2, 5), (0, 0)), ((2, 7), (2, 3, 5), (None, 1)), ((2, 3, 7), (2, 5), (1, None)),
    ],
)  # fmt: skip
def test_sequences_are_searched_for_all_examples_at_once(
    sequence: Any, values: Any, in_dims: Any, right: bool
) -> None:
    layer: Any = REGISTRY.layer("transform")
    before = layer.fallbacks.copy()
    rows, wanted = tt.sort(normal(*sequence))[0], normal(*values, seed=1)
    check_loop(lambda s, v: tt.searchsorted(s, v, right=right), rows, wanted, in_dims=in_dims)
    sorter = tt.argsort(normal(*sequence))
    check_loop(
        lambda s, v, o: tt.searchsorted(s, v, sorter=o, right=right),
        normal(*sequence), wanted, sorter, in_dims=(*in_dims, in_dims[0]),
    )  # fmt: skip
    assert layer.fallbacks == before


@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 0)])
def test_parts_of_memory_are_replaced_in_the_memory_of_each_example(in_dims: Any) -> None:
    x, src = (
        normal(*((6,) if in_dims[0] is None else (3, 6))),
        normal(*((2,) if in_dims[1] is None else (3, 2))),
    )
    expected = []
    for i in range(3):
        one, part = (t if dim is None else t[i].clone() for t, dim in zip((x, src), in_dims, strict=True))
        expected.append(tt.as_strided_scatter(one, part, (2,), (3,), 1))
    found = vmap(lambda a, b: tt.as_strided_scatter(a, b, (2,), (3,), 1), in_dims=in_dims)(x, src)
    check_same(found, tt.stack(expected), "")


@pytest.mark.parametrize(
    ("size", "stride", "offset"), [((2,), (3,), 3), ((2, 2), (4, 2), 0), ((2,), (1,), 6)]
)
def test_parts_outside_of_an_example_are_not_replaced(size: Any, stride: Any, offset: int) -> None:
    x, src = normal(3, 6), normal(3, *size)
    with pytest.raises((tt.errors.UnsupportedError, tt.errors.ShapeError)):
        vmap(lambda a, b: tt.as_strided_scatter(a, b, size, stride, offset))(x, src)
    with pytest.raises(tt.errors.UnsupportedError, match="row-major"):
        vmap(lambda a: tt.as_strided_scatter(a.t(), tt.zeros(2, dtype=tt.float64), (2,), (3,), 1))(
            normal(2, 3, 4)
        )


@pytest.mark.parametrize(
    "view", [lambda x: x.transpose(0, -1), lambda x: x.squeeze(0), lambda x: x.swapaxes(0, 0), lambda x: x.mT]
)
@pytest.mark.filterwarnings("ignore:.mT is for matrices")
def test_views_of_numbers_are_views_under_vmap(view: Any) -> None:
    def changed(x: Any) -> Any:
        y = x * 1
        seen = view(y)
        y.mul_(3)
        return seen

    assert vmap(changed)(tt.tensor([1.0, 2.0])).tolist() == [3.0, 6.0]
    with pytest.raises(IndexError):
        vmap(lambda x: x.transpose(0, 1))(tt.tensor([1.0, 2.0]))


# --- what is refused for one example is refused for all ---------------------------------------------------------


@pytest.mark.parametrize("size", [2, 0])
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (tt.mm, [(2,), (2,)]),
        (tt.mm, [(3, 2, 2), (2, 2)]),
        (tt.bmm, [(2, 2), (2, 2)]),
        (tt.bmm, [(1, 2, 3), (5, 3, 2)]),
        (tt.t, [(3, 4, 5)]),
        (lambda v: v.view(0, -1), [(0,)]),
        (lambda v: v.view(-1, -1), [(4,)]),
        (lambda v: v.view(3, -1), [(4,)]),
    ],
)
def test_the_checks_of_an_operator_are_made_for_its_examples(
    function: Any, shapes: list[tuple[int, ...]], size: int
) -> None:
    with pytest.raises(RuntimeError):
        function(*[tt.ones(shape) for shape in shapes])
    with pytest.raises(RuntimeError):
        vmap(function)(*[tt.ones(size, *shape) for shape in shapes])


def test_as_strided_stays_in_the_memory_of_an_example() -> None:
    x = tt.arange(8.0).reshape(2, 4)
    assert vmap(lambda v: v.as_strided((2,), (1,), 2))(x).tolist() == [[2, 3], [6, 7]]
    for size, stride, offset in (((2,), (1,), 3), ((5,), (1,), None), ((2, 2), (3, 1), 0)):
        with pytest.raises(RuntimeError, match="memory of an example"):
            vmap(lambda v, g=(size, stride, offset): v.as_strided(*g))(x)
    with pytest.raises(RuntimeError, match="memory of an example"):
        vmap(lambda v: v.as_strided((2,), (1,), 0))(x[:, 1:])


def test_as_strided_has_the_gradient_of_each_example() -> None:
    def f(v: Any) -> Any:
        return (v.as_strided((2, 2), (1, 1)) ** 2).sum()

    x = tt.arange(6.0).reshape(2, 3)
    expected = tt.stack([tt.func.grad(f)(row) for row in x])
    assert tt.equal(vmap(tt.func.grad(f))(x), expected)
    assert tt.equal(tt.func.grad(lambda t: vmap(f)(t).sum())(x), expected)
    same = x[1].expand(2, 3)
    assert tt.equal(vmap(tt.func.grad(f))(same), expected[1].expand(2, 3))
    assert tt.equal(tt.func.hessian(f)(x[0]), tt.diag(tt.tensor([2.0, 4.0, 2.0])))


@pytest.mark.torch
@pytest.mark.parametrize(
    ("size", "stride", "in_dim"), [((3,), (1,), 1), ((2,), (4,), 1), ((2,), (2,), 0), ((2, 2), (4, 1), 1)]
)
def test_as_strided_of_examples_between_each_other_is_that_of_torch(
    size: Any, stride: Any, in_dim: int
) -> None:
    import torch

    found, expected = (
        lib.vmap(lambda v: v.as_strided(size, stride), in_dims=in_dim)(lib.arange(12.0).reshape(3, 4))
        for lib in (tt, torch)
    )
    assert found.tolist() == expected.tolist()


def test_as_strided_reads_no_derivative_of_other_examples() -> None:
    def f(v: Any) -> Any:
        return v.as_strided((3,), (1,)) ** 2

    x = normal(3, 4)
    for function in (tt.func.grad(lambda v: f(v).sum()), lambda v: tt.func.vjp(f, v)[1](tt.ones_like(v))):
        with pytest.raises(tt.errors.UnsupportedError, match="between each other"):
            vmap(function, in_dims=1)(x)
    with pytest.raises(tt.errors.UnsupportedError, match="between each other"):
        vmap(tt.func.grad(lambda v: v.as_strided((2,), (1,), 1).sum()))(normal(6).unfold(0, 3, 1))

    def g(v: Any) -> Any:
        return v.as_strided((2,), (4,)) ** 2

    rows = x.t()
    assert tt.equal(
        vmap(tt.func.grad(lambda v: g(v).sum()), in_dims=1)(x),
        tt.stack([tt.func.grad(lambda v: (v[:2] ** 2).sum())(row) for row in rows]),
    )

    def moved(v: Any) -> Any:
        return tt.func.jvp(f, (v,), (tt.ones_like(v),))[1]

    assert tt.equal(vmap(moved, in_dims=1)(x), tt.stack([moved(row) for row in rows]))


def test_as_strided_reads_between_the_elements_of_expanded_examples() -> None:
    same = tt.arange(6.0)[::2].expand(2, 3)
    assert vmap(lambda v: v.as_strided((3,), (1,)))(same).tolist() == [[0.0, 1.0, 2.0]] * 2
    slopes = vmap(tt.func.grad(lambda v: (v.as_strided((3,), (1,)) ** 2).sum()))(same)
    assert slopes.tolist() == [[0.0, 4.0, 0.0]] * 2


def test_the_places_of_as_strided_scatter_are_counted_from_the_first_example() -> None:
    x, part = normal(3, 4)[1:], tt.zeros(2, dtype=tt.float64)
    first = x[0].as_strided_scatter(part, (2,), (1,), 5)
    assert tt.equal(vmap(lambda v: v.as_strided_scatter(part, (2,), (1,), 5))(x)[0], first)
    with pytest.raises(tt.errors.UnsupportedError, match="memory of an example"):
        vmap(lambda v: v.as_strided_scatter(part, (2,), (1,), 2))(x)
    with pytest.raises(tt.errors.UnsupportedError, match="row-major"):
        vmap(lambda p: x.t().as_strided_scatter(p, (2,), (1,)))(normal(3, 2))


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_numbers_that_differ_by_example_are_not_drawn_into_a_tensor_that_does_not(randomness: str) -> None:
    p = tt.tensor([0.0, 1.0])
    with pytest.raises(RuntimeError, match="the same for all examples"):
        vmap(lambda q: tt.ones(3).bernoulli_(q), randomness=randomness)(p)
    drawn = vmap(lambda q: (q * tt.ones(3)).bernoulli_(q), randomness=randomness)(p)
    assert drawn.tolist() == [[0, 0, 0], [1, 1, 1]]
