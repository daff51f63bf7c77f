"""Making tensors, against PyTorch."""

from __future__ import annotations

import math

import pytest

import tt

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

RANGES = [
    (5,), (0,), (2.5,), (1, 4), (4, 1, -1), (0, 1, 0.1), (0, 1, 0.3), (-1, 1, 0.25), (5, 0, -2), (1, 1), (0.0, 3),
    (0, 5, 5), (3, 1), (0, 5, 0), (0, math.inf), (0, math.nan), (1, 2, -0.1), (10**12, 10**12 + 3), (0, -3, -1.5),
]  # fmt: skip


@pytest.mark.parametrize("arguments", RANGES, ids=str)
@pytest.mark.parametrize("dtype", [None, "int64", "int32", "uint8", "float64", "float16", "bfloat16"])
def test_arange(same, arguments, dtype):
    if dtype in ("float16", "bfloat16", "int32", "uint8") and max(arguments) > 2**31:
        return  # beyond the dtype, or 2**12 apart in bfloat16
    if dtype == "uint8" and min(arguments) < 0:
        return  # what does not fit is anything
    same(lambda m: m.arange(*arguments, dtype=dtype and getattr(m, dtype)))


@pytest.mark.parametrize(
    "arguments", [(0, 1, 5), (1, -1, 4), (0, 1, 1), (3, 7, 0), (0.5, 2, 7), (0, 10, 11), (0, 1, -1),
                  (-4.9, 4.9, 3), (9.7, -3.2, 8), (2.9, 5, 1), (0, 4, 50)], ids=str
)  # fmt: skip
@pytest.mark.parametrize("dtype", [None, "float64", "float16", "bfloat16", "complex64", "int64", "int8"])
@pytest.mark.parametrize("name", ["linspace", "logspace"])
def test_linspace_and_logspace(same, name, arguments, dtype):
    if name == "logspace" and dtype == "int8" and max(arguments[:2]) > 2:
        return  # what does not fit is anything
    if name == "logspace" and dtype in ("float16", "bfloat16") and max(arguments[:2]) > 4:
        return  # PyTorch rounds the exponents to three digits
    tolerance = 1e-5 if name == "logspace" and dtype is None else None
    same(lambda m: getattr(m, name)(*arguments, dtype=dtype and getattr(m, dtype)), tolerance=tolerance)


def test_logspace_of_other_bases(same):
    for base in (2, 2.5, 0.5, 1, 0, -2):
        same(lambda m, base=base: m.logspace(0, 3, 4, base=base), tolerance=1e-6)
    same(lambda m: m.logspace(-3, 5, 9, 2, dtype=m.int64))
    same(lambda m: m.logspace(0, 1j, 3), tolerance=1e-5)


def test_bounds_may_be_tensors(same):
    for name in ("linspace", "logspace"):
        same(
            lambda m, x, y, name=name: getattr(m, name)(x, y, 4),
            torch.tensor(1, dtype=torch.float64),
            torch.tensor(3),
        )
        same(lambda m, x, name=name: getattr(m, name)(x, 2, steps=3, dtype=m.int32), torch.tensor(0.5))
        same(lambda m, x, name=name: getattr(m, name)(0, x, steps=3), torch.tensor([2.0]))
    assert tt.linspace(tt.empty((), device="cpu").fill_(2), 3, 2).tolist() == [2, 3]


def test_complex_bounds_give_complex_numbers(same):
    same(lambda m: m.linspace(0, 1 + 2j, 4))
    same(lambda m: m.linspace(0, 1j, 4, dtype=m.float32))


@pytest.mark.parametrize("dtype", [None, "float64", "int64", "float32"])
def test_a_factory_takes_the_dtype_of_out_and_no_other(same, dtype):
    for call in (
        lambda m, **o: m.zeros(3, **o), lambda m, **o: m.arange(3, **o), lambda m, **o: m.full((3,), 2, **o),
        lambda m, **o: m.linspace(0, 4.5, 3, **o), lambda m, **o: m.eye(3, **o), lambda m, **o: m.zeros(3, 2, **o),
    ):  # fmt: skip
        same(
            lambda m, call=call: call(
                m, out=m.ones(3, dtype=m.float64), **({"dtype": getattr(m, dtype)} if dtype else {})
            )
        )


# --- matrices --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_triangles(same, name):
    for row, col in ((3, 3), (2, 5), (5, 2), (0, 3), (3, 0), (1, 1)):
        for offset in (-9, -2, -1, 0, 1, 3, 9):
            same(lambda m, a=(row, col, offset): getattr(m, name)(*a))
    same(lambda m: getattr(m, name)(3, 4, 1, dtype=m.int32), strides=True)
    for wrong in ((-1, 3), (3, -1)):
        same(lambda m, wrong=wrong: getattr(m, name)(*wrong))
    same(lambda m: getattr(m, name)(3, 4, dtype=m.float32))


def test_block_diag(same):
    blocks = [torch.ones(2, 3), torch.arange(3), torch.tensor(5.0), torch.zeros(0, 2), torch.tensor([[1j]])]
    for count in range(1, 6):
        same(lambda m, *x: m.block_diag(*x), *blocks[:count])
    same(lambda m: m.block_diag())
    same(lambda m, x: m.block_diag(x), torch.ones(2, 2, 2))


def test_many_blocks_are_written_into_zeros(same):
    sizes = [(n % 3, n * n % 4) for n in range(90)]
    blocks = [torch.arange(1, n * m + 1).reshape(n, m) for n, m in sizes]
    same(lambda m, *x: m.block_diag(*x), *blocks, torch.tensor(2.5), torch.ones(3))
    leaves = [tt.full((1, 2), float(n), requires_grad=True) for n in range(100)]
    found = tt.block_diag(*leaves)
    (found * found).sum().backward()
    assert found.shape == (100, 200) and leaves[7].grad.tolist() == [[14.0, 14.0]]
    assert tt.block_diag(*[tt.ones(1, 2, device="meta")] * 100).shape == (100, 200)


# --- complex numbers -------------------------------------------------------------------------------------------

EDGES = [0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bfloat16"])
def test_complex_numbers_of_their_parts(same, dtype):
    same_signs(same)
    x, y = (torch.arange(n).reshape(shape).to(getattr(torch, dtype)) for n, shape in ((3, (3, 1)), (4, (4,))))
    same(lambda m, x, y: m.complex(x, y), x, y)
    same(lambda m, x, y: m.polar(x, y), x, y)
    same(lambda m, x, y: m.complex(x, y.to(m.float16)), x, y)


def same_signs(same):
    """Compare numbers that are NaN or infinite in one part alone."""
    real, imag = torch.meshgrid(torch.tensor(EDGES), torch.tensor(EDGES), indexing="ij")
    for part in ("real", "imag"):
        same(lambda m, x, y, part=part: getattr(m.complex(x, y), part), real, imag)


# --- memory formats --------------------------------------------------------------------------------------------

FORMATS = {
    "empty": lambda m, x, f: m.empty(x.shape, memory_format=f).shape,
    "empty_like": lambda m, x, f: m.empty_like(x, memory_format=f).shape,
    "zeros_like": lambda m, x, f: m.zeros_like(x, memory_format=f),
    "ones_like": lambda m, x, f: m.ones_like(x, memory_format=f),
    "full_like": lambda m, x, f: m.full_like(x, 3, memory_format=f),
    "clone": lambda m, x, f: x.clone(memory_format=f),
    "contiguous": lambda m, x, f: x.contiguous(memory_format=f),
    "to": lambda m, x, f: x.to(m.float64, memory_format=f),
    "to itself": lambda m, x, f: x.to(m.float32, memory_format=f),
    "double": lambda m, x, f: x.double(memory_format=f),
}


@pytest.mark.parametrize(
    ("name", "memory_format"),
    [
        (name, memory_format)
        for name in FORMATS
        for memory_format in ("contiguous_format", "channels_last", "channels_last_3d", "preserve_format")
        if (name, memory_format) != ("contiguous", "preserve_format")  # which no tensor could be
    ],
)
def test_memory_formats(same, name, memory_format):
    strided = getattr(same, "strided", True)
    for shape in ((2, 3, 4, 5), (2, 3, 2, 2, 3), (2, 3)):
        for x in (torch.ones(shape), torch.ones(shape[::-1]).permute(*reversed(range(len(shape))))):
            if strided or x.ndim == 2:
                same(lambda m, x: FORMATS[name](m, x, getattr(m, memory_format)), x, strides=strided)


def test_random_numbers_take_memory_formats_too():
    x = tt.zeros(2, 3, 4, 5)
    for call in (tt.rand_like, tt.randn_like, lambda x, **o: tt.randint_like(x, 5, **o)):
        assert call(x, memory_format=tt.channels_last).stride() == (60, 1, 15, 3)
        assert call(x.permute(0, 2, 3, 1)).stride() == x.permute(0, 2, 3, 1).stride()
        assert call(x.permute(0, 2, 3, 1), memory_format=tt.contiguous_format).is_contiguous()


# --- values ----------------------------------------------------------------------------------------------------

FILLS = {
    "zeros": lambda m, **o: m.zeros(2, 3, **o),
    "zeros of a tuple": lambda m, **o: m.zeros((2, 0, 3), **o),
    "ones": lambda m, **o: m.ones(2, 3, **o),
    "full": lambda m, **o: m.full((2, 3), 7, **o),
    "full of a float": lambda m, **o: m.full((2,), 2.5, **o),
    "full of a bool": lambda m, **o: m.full((2,), True, **o),
    "eye": lambda m, **o: m.eye(3, **o),
    "eye that is not square": lambda m, **o: (m.eye(2, 4, **o), m.eye(3, 0, **o)),
    "a number": lambda m, **o: m.scalar_tensor(3, **o),
    "a negative size": lambda m, **o: m.zeros(-1, **o),
    "a negative eye": lambda m, **o: m.eye(-1, **o),
    "strided": lambda m, **o: m.empty_strided((2, 3), (1, 2), **o).fill_(1),
    "overlapping": lambda m, **o: m.empty_strided((2, 3), (0, 1), **o).shape == (2, 3),
    "strides of another length": lambda m, **o: m.empty_strided((2, 3), (1,), **o),
}


@pytest.mark.parametrize(
    "dtype", [None, "bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"]
)
@pytest.mark.parametrize("name", FILLS)
def test_filled(same, name, dtype):
    same(lambda m: FILLS[name](m, **({"dtype": getattr(m, dtype)} if dtype else {})), strides=True)


def test_a_complex_number_does_not_fill_real_ones(same):
    same(lambda m: m.full((2,), 1j, dtype=m.float32))
    same(lambda m: m.full((2,), 1j))


def test_the_default_dtype_counts():
    before = tt.get_default_dtype()
    tt.set_default_dtype(tt.float64)
    try:
        assert tt.zeros(1).dtype is tt.float64 and tt.full((1,), 0.5).dtype is tt.float64
        assert tt.arange(0.5).dtype is tt.float64 and tt.rand(1).dtype is tt.float64
    finally:
        tt.set_default_dtype(before)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "float32", "complex64"])
def test_numbers_without_dimensions(same, dtype):
    for number in (3, -1, True):
        same(lambda m, n=number: m.scalar_tensor(n, dtype=getattr(m, dtype)))
        same(lambda m, n=number: m.full((2,), n, dtype=getattr(m, dtype)))


PARTS = [complex(0, math.nan), complex(math.nan, 0), complex(0, math.inf), complex(math.inf, 1), 1 + 1j]


@pytest.mark.parametrize("steps", range(6))
@pytest.mark.parametrize("bound", PARTS, ids=str)
def test_a_part_of_complex_bounds_does_not_reach_the_other(bound, steps):
    for bounds in ((bound, 1), (1, bound)):
        expected = torch.linspace(*bounds, steps)
        found = tt.view_as_real(tt.linspace(*bounds, steps))
        # PyTorch takes the steps in single precision.
        tt.testing.assert_close(found, tt.from_numpy(torch.view_as_real(expected).numpy()), equal_nan=True)
