"""A program that names no plugin, and prints its results: the same with and without other packages installed.

Arguments: the seed from which operators and samples are drawn; "activate", to let every plugin register in between.
"""

import hashlib
import random
import sys
import warnings

import numpy as np

SEED = int(sys.argv[1])
random.seed(SEED)
np.random.seed(SEED)
FILTERS = list(warnings.filters)

import tt  # noqa: E402


def digest(value):
    """Return a short text for a result: tensors by their bytes, dtype, strides and device."""
    if isinstance(value, tt.Tensor):
        if value.layout is not tt.strided:
            value = value.to_dense()
        content = value.detach()
        array = (content.float() if value.dtype is tt.bfloat16 else content).numpy()
        data = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]
        return (
            f"{value.dtype} {tuple(value.shape)} {value.stride()} {value.device} {value.requires_grad} {data}"
        )
    if isinstance(value, list | tuple):
        return [digest(item) for item in value]
    return repr(value)


def show(*values):
    """Print one line."""
    print(*values)


def report():
    """Print results of every kind."""
    show(
        "defaults", tt.get_default_dtype(), tt.get_default_device(), tt.zeros(2).device, tt.tensor(1.5).dtype
    )
    show("random", random.random(), np.random.rand(), np.geterr(), np.get_printoptions()["precision"])
    show("filters", list(warnings.filters) == FILTERS)
    generator = tt.manual_seed(SEED)
    show("tt random", generator.initial_seed(), digest([tt.rand(3), tt.randn(2, 2), tt.randperm(5)]))
    show("print", tt.rand(2, 3) * 1000, tt.tensor([1e-9, 1.0]), tt.arange(2000), tt.tensor([1 + 2j]))
    show("factories", digest([tt.ones(2), tt.full((2,), 7), tt.arange(3), tt.linspace(0, 1, 5), tt.eye(2)]))
    show(
        "factories", digest([tt.zeros_like(tt.ones(2, dtype=tt.int8)), tt.empty(0), tt.asarray(np.arange(3))])
    )
    dtypes = [tt.bool, tt.uint8, tt.int64, tt.float16, tt.bfloat16, tt.float32, tt.float64, tt.complex64]
    for a in dtypes:
        for b in dtypes:
            left, right = tt.ones(2, dtype=a), tt.ones((), dtype=b)
            show(
                "promotion",
                a,
                b,
                tt.promote_types(a, b),
                digest([left + right, right * left, left + 2, left * 1.5]),
            )
    x = tt.linspace(-2, 2, 6).reshape(2, 3).requires_grad_()
    y = (tt.softmax(x.exp() @ x.T, 0) * tt.nn.functional.softplus(x).sum() + tt.var(x)).sum()
    y.backward()
    show("gradients", digest([y, x.grad, *tt.autograd.grad((x**3).sum(), x)]))
    show("sparse", digest((tt.eye(3).to_sparse() * 2).to_dense()))
    show("vmap", digest(tt.vmap(lambda row: row.cumsum(0))(tt.ones(2, 3))))
    show("meta", (tt.ones(2, 3, device="meta") @ tt.ones(3, 4, device="meta")).shape)
    with tt.fake_mode():
        show("fake", (tt.ones(2, 3, device="cuda") + 1).device)
    try:
        tt.ones(2) + tt.ones(3)
    except tt.errors.BroadcastError as error:
        show("error", error)


EXPECTED = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, UserWarning)


def samples_report():
    """Print what samples of operators give that the seed draws."""
    from tt.core.dispatch.registry.registry import REGISTRY
    from tt.testing.samples import samples

    named = [d for d in REGISTRY.definitions() if d.samples and "::" not in d.name and "empty" not in d.name]
    for definition in random.Random(SEED).sample(named, 60):
        for dtype in (tt.float32, tt.int64, tt.complex64, tt.bool):
            try:
                found = list(samples(definition, "cpu", dtype, SEED))
            except (
                EXPECTED
            ) as error:  # of a dtype that the operator does not have, some samples cannot be made
                show(definition.name, dtype, type(error).__name__)
                continue
            for number, sample in enumerate(found):
                tt.manual_seed(number)
                try:
                    result = digest(REGISTRY.overload(definition.name)(*sample.args, **sample.kwargs))
                except EXPECTED as error:
                    result = type(error).__name__  # messages tell which backends are installed
                show(definition.name, dtype, number, result)


report()
if sys.argv[2:] == ["activate"]:
    from tt.core.host import host

    before = tt.get_rng_state()
    host.activate_all()
    assert (tt.get_rng_state() == before).all()
report()
samples_report()
report()
