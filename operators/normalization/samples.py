"""Samples of normalization."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.operators._samples.base import OPTION, FamilyTable, Inputs, Sample

family = FamilyTable()

IMAGES: tuple[tuple[int, ...], ...] = ((3, 4), (2, 4, 3), (2, 4, 3, 2), (2, 4, 2, 1, 2))


def parameters(make: Inputs, channels: int) -> tuple[object, object]:
    """Return a weight and a bias."""
    return make.tensor(channels), make.tensor(channels)


# --- over the last dimensions ----------------------------------------------------------------------------------


@family("layer_norm")
def layer_norm(make: Inputs) -> Iterator[Sample]:
    for shape, normalized in (((2, 3), (3,)), ((2, 3, 4), (3, 4)), ((2, 3, 4), (4,)), ((3,), (3,))):
        x = make.tensor(*shape)
        yield Sample((x, normalized), name=f"shape {shape}, over {normalized}")
        yield Sample(
            (x, normalized, make.tensor(*normalized), make.tensor(*normalized)),
            name=f"shape {shape}, over {normalized}, weight and bias",
        )
    yield Sample((make.tensor(2, 3), (3,), None, None, 0.1), name="eps")
    yield Sample((make.tensor(2, 3), (2,)), name="error: shape", error=RuntimeError)


@family("layer_norm_backward")
def layer_norm_backward(make: Inputs) -> Iterator[Sample]:
    for shape, normalized in (
        ((2, 3), (3,)),
        ((2, 3, 4), (3, 4)),
        ((2, 3, 4), (4,)),
        ((4,), (4,)),
        ((0, 3), (3,)),
    ):
        args = (make.tensor(*shape), make.tensor(*shape), normalized)
        yield Sample((*args, None, 0.1), name=f"shape {shape}, over {normalized}")
        weighted = (*args, make.tensor(*normalized), 0.1)
        yield Sample(weighted, name=f"shape {shape}, over {normalized}, weight")
    # Gradient and input in different orders in memory.
    crossed = (make.tensor(3, 2).t(), make.tensor(2, 3, layout="transposed"), (3,), None, 0.1)
    yield Sample(crossed, name="transposed")
    wrong = (make.tensor(3, 2), make.tensor(2, 3), (3,), None, 0.1)
    yield Sample(wrong, name="error: shapes", error=RuntimeError)


@family("rms_norm_backward")
def rms_norm_backward(make: Inputs) -> Iterator[Sample]:
    yield from layer_norm_backward(make)


@family("rms_norm")
def rms_norm(make: Inputs) -> Iterator[Sample]:
    for shape, normalized in (
        ((2, 3), (3,)),
        ((2, 3, 4), (3, 4)),
        ((2, 3, 4), (4,)),
        ((3,), (3,)),
        ((0, 3), (3,)),
    ):
        x = make.tensor(*shape)
        yield Sample((x, normalized), name=f"shape {shape}, over {normalized}")
        yield Sample(
            (x, normalized, make.tensor(*normalized)), name=f"shape {shape}, over {normalized}, weight"
        )
    yield Sample((make.tensor(2, 3), (3,), None, 0.1), name="eps")
    yield Sample((make.tensor(2, 3), (2,)), name="error: shape", error=RuntimeError)


# --- by channel ------------------------------------------------------------------------------------------------


@family("batch_norm")
def batch_norm(make: Inputs) -> Iterator[Sample]:
    for shape in IMAGES:
        x, (weight, bias) = make.tensor(*shape), parameters(make, 4)
        # A variance is positive, and its root is divided by.
        mean, var = make.tensor(4), make.tensor(4, low=0.5)
        yield Sample((x, mean, var), name=f"shape {shape}")
        yield Sample((x, mean, var, weight, bias), name=f"shape {shape}, weight and bias")
        yield Sample((x, None, None), {"training": True}, f"shape {shape}, training")
        yield Sample(
            (x, None, None, weight, bias, True, 0.1, 0.1), name=f"shape {shape}, training, weight and bias"
        )
    yield Sample((make.tensor(2, 4), None, None), name="error: no statistics", error=OPTION)
    # One value has no variance.
    yield Sample((make.tensor(1, 4), None, None), {"training": True}, "error: one value", OPTION)
    yield Sample(
        (make.tensor(2, 4), make.tensor(3), make.tensor(3)), name="error: channels", error=RuntimeError
    )


@family("batch_norm_statistics")
def batch_norm_statistics(make: Inputs) -> Iterator[Sample]:
    for shape in IMAGES:
        x, both = make.tensor(*shape), parameters(make, 4)
        running = (make.tensor(4), make.tensor(4, low=0.5))
        yield Sample((x, None, None, *running, False, 0.1), name=f"shape {shape}")
        yield Sample((x, *both, *running, False, 0.1), name=f"shape {shape}, weight and bias")
        yield Sample((x, None, None, None, None, True, 0.1), name=f"shape {shape}, training")
        yield Sample((x, *both, None, None, True, 0.1), name=f"shape {shape}, training, weight and bias")
    wrong = (make.tensor(2, 4), None, None, None, None, False, 0.1)
    yield Sample(wrong, name="error: no statistics", error=OPTION)


@family("batch_norm_backward")
def batch_norm_backward(make: Inputs) -> Iterator[Sample]:
    for shape in IMAGES:
        x, g, weight = make.tensor(*shape), make.tensor(*shape), make.tensor(4)
        running = (make.tensor(4), make.tensor(4, low=0.5))
        yield Sample((g, x, None, *running, False, 0.1), name=f"shape {shape}")
        yield Sample((g, x, weight, *running, False, 0.1), name=f"shape {shape}, weight")
        dims = tuple(d for d in range(x.ndim) if d != 1)
        var, mean = x.var(dims, correction=0), x.mean(dims)
        yield Sample((g, x, weight, mean, var, True, 0.1), name=f"shape {shape}, training, weight")


@family("instance_norm")
def instance_norm(make: Inputs) -> Iterator[Sample]:
    # Without a dimension of places each instance would be one value.
    for shape in IMAGES[1:]:
        x, (weight, bias) = make.tensor(*shape), parameters(make, 4)
        yield Sample((x,), name=f"shape {shape}")
        yield Sample((x, None, None, weight, bias), name=f"shape {shape}, weight and bias")
        statistics = (make.tensor(4), make.tensor(4, low=0.5))
        yield Sample((x, *statistics, weight, bias, False), name=f"shape {shape}, running statistics")
    yield Sample((make.tensor(*IMAGES[1]),), {"eps": 2.0}, "eps")
    yield Sample((make.tensor(2, 4, 1),), name="error: one value", error=OPTION)


@family("group_norm")
def group_norm(make: Inputs) -> Iterator[Sample]:
    for shape in IMAGES:
        for groups in (1, 2, 4):
            if groups == 4 and len(shape) == 2:
                continue  # one number a group
            x, (weight, bias) = make.tensor(*shape), parameters(make, 4)
            yield Sample((x, groups), name=f"shape {shape}, {groups} groups")
            yield Sample((x, groups, weight, bias), name=f"shape {shape}, {groups} groups, weight and bias")
    yield Sample((make.tensor(2, 4, 3), 2, None, None, 0.1), name="eps")
    yield Sample((make.tensor(2, 4, 3), 3), name="error: groups", error=RuntimeError)


@family("group_norm_backward")
def group_norm_backward(make: Inputs) -> Iterator[Sample]:
    for shape in (*IMAGES, (0, 4, 3)):
        for groups in (1, 2):
            args = (make.tensor(*shape), make.tensor(*shape), groups)
            yield Sample((*args, None, 0.1), name=f"shape {shape}, {groups} groups")
            yield Sample((*args, make.tensor(4), 0.1), name=f"shape {shape}, {groups} groups, weight")
    wrong = (make.tensor(2, 4, 3), make.tensor(2, 4, 3), 3, None, 0.1)
    yield Sample(wrong, name="error: groups", error=RuntimeError)


# --- vectors ---------------------------------------------------------------------------------------------------


@family("normalize")
def normalize(make: Inputs) -> Iterator[Sample]:
    for p in (2.0, 1.0, 4.0, float("inf")):
        yield Sample((make.tensor(2, 3), p), name=f"p={p}")
    for shape, dim in (((3,), 0), ((2, 3, 4), -1), ((2, 3, 4), 0)):
        yield Sample((make.tensor(*shape), 2.0, dim), name=f"shape {shape}, dim {dim}")
    # Vectors whose norm is below eps.
    yield Sample((make.tensor(2, 3, low=0, high=0.1),), {"eps": 1.0}, "eps")


# --- native forms, with mean and deviation ---------------------------------------------------------------------


@family("native_layer_norm")
def native_layer_norm(make: Inputs) -> Iterator[Sample]:
    for sample in layer_norm(make):
        args = (*sample.args, *(None, None, 1e-5)[len(sample.args) - 2 :])
        yield Sample(args, name=sample.name, error=sample.error)


@family("native_group_norm")
def native_group_norm(make: Inputs) -> Iterator[Sample]:
    for shape in IMAGES:
        size = 1
        for n in shape[2:]:
            size *= n
        for groups in (1, 2):
            x, (weight, bias) = make.tensor(*shape), parameters(make, 4)
            options = (shape[0], 4, size, groups, 0.1)
            yield Sample((x, None, None, *options), name=f"shape {shape}, {groups} groups")
            yield Sample((x, weight, bias, *options), name=f"shape {shape}, {groups} groups, weight and bias")
    yield Sample(
        (make.tensor(2, 4, 3), None, None, 2, 4, 3, 3, 0.1), name="error: groups", error=RuntimeError
    )
    yield Sample((make.tensor(2, 4, 3), None, None, 2, 4, 2, 2, 0.1), name="error: sizes", error=RuntimeError)


@family("native_batch_norm")
def native_batch_norm(make: Inputs) -> Iterator[Sample]:
    for shape in IMAGES:
        x, (weight, bias) = make.tensor(*shape), parameters(make, 4)
        mean, var = make.tensor(4), make.tensor(4, low=0.5)
        yield Sample((x, weight, bias, mean, var, False, 0.1, 0.1), name=f"shape {shape}")
        yield Sample((x, None, None, None, None, True, 0.1, 0.1), name=f"shape {shape}, training")
        yield Sample((x, weight, bias, None, None, True, 0.1, 0.1), name=f"shape {shape}, training, weight")
    wrong = (make.tensor(2, 4), None, None, None, None, False, 0.1, 0.1)
    yield Sample(wrong, name="error: no statistics", error=OPTION)


@family("local_response_norm")
def local_response_norm(make: Inputs) -> Iterator[Sample]:
    for shape in ((2, 4, 3), (2, 5, 2, 3), (1, 3, 2, 1, 2)):
        for size in (1, 2, 3):
            yield Sample((make.tensor(*shape), size), name=f"{list(shape)}, size {size}")
            more = {"alpha": 0.5, "beta": 0.5, "k": 2.0}
            yield Sample((make.tensor(*shape), size), more, f"{list(shape)}, size {size}, {more}")
    yield Sample((make.tensor(0, 4, 3), 2), name="empty batch")
    yield Sample((make.tensor(2, 4, 3, layout="transposed"), 3), name="transposed")
    yield Sample((make.tensor(2, 4), 2), name="error: dimensions", error=ValueError)
    yield Sample((make.tensor(2, 4, 3), 0), name="error: size", error=RuntimeError)


def _responses(make: Inputs) -> Iterator[tuple[Any, int, float, float, float]]:
    """Yield the arguments of a normalization by neighbouring channels."""
    for size in (1, 2, 3):
        yield make.tensor(2, 4, 3), size, 0.5, 0.75, 1.0
        yield make.tensor(1, 3, 2, 1, 2), size, 0.5, 0.5, 2.0
    yield make.tensor(2, 4, 3, layout="transposed"), 3, 0.5, 0.75, 1.0
    yield make.tensor(0, 4, 3), 2, 0.5, 0.75, 1.0


@family("local_response_norm_parts")
def local_response_norm_parts(make: Inputs) -> Iterator[Sample]:
    for number, args in enumerate(_responses(make)):
        yield Sample(args, name=f"{number}: {list(args[0].shape)}, size {args[1]}")
    yield Sample((make.tensor(2, 4), 2, 0.5, 0.75, 1.0), name="error: dimensions", error=ValueError)
    yield Sample((make.tensor(2, 4, 3), 0, 0.5, 0.75, 1.0), name="error: size", error=RuntimeError)


@family("local_response_norm_backward")
def local_response_norm_backward(make: Inputs) -> Iterator[Sample]:
    for number, args in enumerate(_responses(make)):
        grad = make.tensor(*args[0].shape)
        yield Sample((grad, *args), name=f"{number}: {list(args[0].shape)}, size {args[1]}")
    x = make.tensor(2, 4, 3)
    yield Sample((x[:1], x, 2, 0.5, 0.75, 1.0), name="error: grad", error=RuntimeError)


@family("cosine_similarity")
def cosine_similarity(make: Inputs) -> Iterator[Sample]:
    for shape, other, dim in (
        ((2, 3), (2, 3), 1),
        ((2, 3), (2, 3), 0),
        ((3,), (3,), 0),
        ((2, 3, 4), (1, 3, 4), -1),
    ):
        yield Sample((make.tensor(*shape), make.tensor(*other), dim), name=f"{shape}, {other}, dim {dim}")
    # Larger than the norms, so that it is what divides.
    yield Sample((make.tensor(2, 3), make.tensor(2, 3), 1, 100.0), name="eps")
    yield Sample((make.tensor(2, 3), make.tensor(2, 2)), name="error: shapes", error=RuntimeError)
