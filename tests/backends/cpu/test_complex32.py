"""complex32 on the CPU: made, moved and viewed as float16 pairs, and computed in complex64."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.schema.classes import dtype_names
from tt.testing.checks.call import tensors_in
from tt.testing.samples import samples

VALUES = [1 + 2.5j, -3 + 0j, 0.1 - 65504j, complex(np.inf, -0.0)]


@pytest.fixture
def x():
    return tt.tensor(VALUES, dtype=tt.complex32)


def close_to(found, wanted, what):
    """Compare a result with that of complex64, rounded."""
    narrower = {tt.complex64: tt.complex32, tt.float32: tt.float16}
    assert found.dtype in (wanted.dtype, narrower.get(wanted.dtype)), (what, found.dtype, wanted.dtype)
    tt.testing.assert_close(
        found, wanted.to(found.dtype), rtol=1e-2, atol=1e-2, equal_nan=True, msg=lambda m: f"{what}: {m}"
    )


# --- making and moving ---------------------------------------------------------------------------------------------


def test_factories_make_what_complex64_rounds_to():
    options = {"dtype": tt.complex32}
    assert tt.zeros(2, **options).tolist() == [0, 0] and tt.empty(3, **options).shape == (3,)
    assert tt.ones(2, **options).tolist() == [1, 1] and tt.eye(2, **options).tolist() == [[1, 0], [0, 1]]
    assert tt.full((1,), 0.1 + 2j, **options).tolist() == [complex(np.float16(0.1), 2)]
    assert tt.scalar_tensor(2j, **options).item() == 2j
    assert tt.linspace(0, 1, 3, **options).tolist() == [0, 0.5, 1]
    for make in (tt.rand, tt.randn):
        tt.manual_seed(3)
        found = make(1000, **options)
        tt.manual_seed(3)
        assert (
            found.tolist() == make(1000, dtype=tt.complex64).chalf().tolist() and found.dtype is tt.complex32
        )
    with tt.default_dtype(tt.float16):
        assert tt.tensor(1j).dtype is tt.complex32


def test_numbers_beyond_the_range_become_infinite():
    for found in (tt.tensor([1e6], dtype=tt.complex32), tt.full((1,), 1e6, dtype=tt.complex32)):
        assert found.tolist() == [complex(np.inf)]
    assert tt.zeros(1, dtype=tt.complex32).fill_(-1e9j).tolist() == [complex(0, -np.inf)]


def test_parts_are_views_of_float16(x):
    assert x.real.tolist() == [v.real if v.real != 0.1 else float(np.float16(0.1)) for v in VALUES]
    assert x.imag.dtype is tt.float16 and x.imag.data_ptr() == x.data_ptr() + 2
    x[::2].imag.zero_()
    assert x[2].item().imag == 0 and x[1].item() == -3
    pairs = tt.view_as_real(x)
    assert pairs.shape == (4, 2) and tt.view_as_complex(pairs).data_ptr() == x.data_ptr()
    with pytest.raises(tt.errors.DtypeError, match="float16, float32 or float64"):
        tt.view_as_complex(tt.zeros(2, 2, dtype=tt.bfloat16))
    real, imag = tt.tensor([1.0, 2.0]).half(), tt.tensor([[3.0], [4.0]]).half()
    assert tt.complex(real, imag).tolist() == [[1 + 3j, 2 + 3j], [1 + 4j, 2 + 4j]]


def test_it_prints_its_numbers(x):
    assert repr(x[:2]) == "tensor([ 1.+2.5000j, -3.+0.0000j], dtype=tt.complex32)"
    assert x.type() == "tt.ComplexHalfTensor" and tt.dtype is type(tt.chalf) and tt.chalf is tt.complex32


def test_it_is_exchanged_with_numpy_dlpack_and_pickles(x):
    assert x.numpy().dtype == tt.complex32.numpy and tt.from_numpy(x.numpy()).data_ptr() == x.data_ptr()
    shared = tt.from_dlpack(x)
    assert shared.dtype is tt.complex32 and shared.data_ptr() == x.data_ptr()
    assert (
        tt.from_dlpack(x.cfloat()).dtype is tt.complex64
        and tt.from_dlpack(x.cdouble()).dtype is tt.complex128
    )
    back = pickle.loads(pickle.dumps(x))
    assert back.dtype is tt.complex32 and back.tolist() == x.tolist()


@pytest.mark.torch
def test_dlpack_reaches_torch(x):
    torch = pytest.importorskip("torch")
    theirs = torch.from_dlpack(x)
    assert theirs.dtype is torch.complex32 and theirs.tolist() == x.tolist()
    assert tt.from_dlpack(torch.ones(2, dtype=torch.chalf)).tolist() == [1, 1]


# --- computing -----------------------------------------------------------------------------------------------------


def test_float16_with_complex_numbers_gives_complex32():
    half = tt.tensor([1.0, 2.0]).half()
    for found in (half * 1j, half + tt.tensor(1j), half + tt.tensor(1j, dtype=tt.complex128)):
        assert found.dtype is tt.complex32
    assert (half * 1j).tolist() == [1j, 2j]
    assert (half.bfloat16() * 1j).dtype is tt.complex64


def test_sums_do_not_stop_growing():
    ones = tt.ones(5000, dtype=tt.complex32)
    assert ones.sum().item() == 5000
    found = tt.zeros(1, dtype=tt.complex32).index_put_(
        (tt.zeros(5000, dtype=tt.int64),), ones, accumulate=True
    )
    assert found.item() == 5000


def test_gradients_have_the_dtype(x):
    x = x[:2].requires_grad_()
    (x * x.conj()).real.sum().backward()
    assert x.grad.dtype is tt.complex32 and x.grad.tolist() == [2 + 5j, -6]


def test_calls_in_place_write_into_complex32(x):
    before = x.data_ptr()
    x[:2] += 1
    x[:2].mul_(2j).sub_(tt.ones(2))
    assert x[:2].tolist() == [-6 + 4j, -1 - 4j] and x.data_ptr() == before
    with pytest.raises(RuntimeError, match="float16 cannot hold"):
        tt.ones(2, dtype=tt.float16).mul_(x[:2])


@pytest.mark.torch
@pytest.mark.parametrize("op", ["add", "sub", "mul", "eq", "ne"])
def test_arithmetic_equals_torch(op):
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(0)
    one, two = ((random.normal(0, 5, 300) + 1j * random.normal(0, 5, 300)).astype(np.complex64) for _ in "ab")
    two[::3] = one[::3]
    theirs = getattr(torch, op)(torch.from_numpy(one).chalf(), torch.from_numpy(two).chalf())
    mine = getattr(tt, op)(tt.from_numpy(one).chalf(), tt.from_numpy(two).chalf())
    tt.testing.assert_close(tt.tensor(mine.tolist()), tt.tensor(theirs.tolist()), rtol=1e-3, atol=1e-5)


# --- every operator ------------------------------------------------------------------------------------------------

# Results that the values do not determine: memory, and factors that are free to turn.
SKIPPED = frozenset([
    "empty", "empty_like", "empty_permuted", "empty_strided", "geqrf", "istft", "lobpcg", "new_empty",
    "new_empty_strided", "stft", "view.dtype",
])  # fmt: skip
OPERATORS = sorted(
    d.name
    for d in REGISTRY.definitions()
    if "complex64" in dtype_names(d.dtypes)
    and d.samples
    and d.name not in SKIPPED
    and not {"random", "internal"} & {*d.tags}
    and not d.name.startswith(("linalg", "fft"))
)


def converted(value):
    """Return tensors of complex64 in complex32, also inside lists."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(converted, value))
    if isinstance(value, tt.Tensor) and value.dtype is tt.complex64:
        narrow = value.chalf()
        return narrow
    return tt.complex32 if value is tt.complex64 else value


def rounded(value):
    """Return what complex64 computes of the same numbers."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(rounded, value))
    return value.cfloat() if isinstance(value, tt.Tensor) and value.dtype is tt.complex32 else value


@pytest.mark.filterwarnings("ignore::UserWarning")  # operators may warn of their samples
@pytest.mark.sampled(8)
@pytest.mark.parametrize("op", OPERATORS)
def test_every_operator_of_complex64_takes_complex32(op):
    definition = REGISTRY.operator(op).definition
    call = getattr(tt.ops, op.partition(".")[0])
    call = getattr(call, op.partition(".")[2]) if "." in op else call
    compared = 0
    for sample in samples(definition, "cpu", tt.complex64):
        if sample.error is not None or compared == 12:
            continue
        args = converted(sample.args)
        kwargs = {name: converted(value) for name, value in sample.kwargs.items()}
        wide_args, wide_kwargs = rounded(args), {name: rounded(value) for name, value in kwargs.items()}
        wide_kwargs |= {"dtype": tt.complex64} if kwargs.get("dtype") is tt.complex32 else {}
        try:
            wanted = call(*copy.deepcopy(wide_args), **wide_kwargs)
        except (RuntimeError, NotImplementedError):
            continue  # rounded arguments need not fit
        found = call(*args, **kwargs)
        for one, two in zip(tensors_in(found), tensors_in(wanted), strict=True):
            close_to(one, two, sample.name)
        compared += 1
