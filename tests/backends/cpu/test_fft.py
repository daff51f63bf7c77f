"""Fourier transforms, against PyTorch, and what must hold between them."""

from __future__ import annotations

import numpy as np
import pytest

import tt

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = (
    "fft2",
    "ifft2",
    "rfft2",
    "irfft2",
    "hfft2",
    "ihfft2",
    "fftn",
    "ifftn",
    "rfftn",
    "irfftn",
    "hfftn",
    "ihfftn",
)
REAL = ("rfft", "ihfft")


def sample(name: str, *shape: int, dtype: str = "float64") -> torch.Tensor:
    numbers = torch.from_numpy(np.random.default_rng(len(shape)).standard_normal(shape))
    if name.startswith(REAL) or dtype != "complex128":
        return (3 * numbers).to(getattr(torch, dtype.replace("complex128", "float64")))
    return torch.complex(numbers, 1 - numbers.flip(-1))


def call(m, name, x, **kwargs):
    return getattr(m.fft, name)(x, **kwargs)


LINES = [
    {}, {"n": 3}, {"n": 9}, {"n": 1}, {"n": 0}, {"n": -1}, {"dim": 0}, {"dim": -2}, {"dim": 2}, {"norm": "ortho"},
    {"norm": "forward"}, {"norm": "backward"}, {"norm": "other"}, {"n": 6, "dim": 0, "norm": "ortho"},
]  # fmt: skip


@pytest.mark.parametrize("kwargs", LINES, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128", "int64"])
@pytest.mark.parametrize("name", ONE)
def test_one_dimension(same, name, dtype, kwargs):
    same(lambda m, x: call(m, name, x, **kwargs), sample(name, 4, 5, dtype=dtype))


PLANES = [
    {}, {"s": (2, 6)}, {"s": (-1, 3)}, {"s": (3, -1)}, {"dim": (0, 1)}, {"dim": (-1, 0)}, {"dim": (1, 1)},
    {"s": (2, 2), "dim": (2, 0), "norm": "ortho"}, {"s": (2,), "dim": (0, 1)}, {"s": (0, 1)}, {"norm": "forward"},
    {"dim": (2,)}, {"norm": "?"}, {"dim": (0, 3)},
]  # fmt: skip


@pytest.mark.parametrize("kwargs", PLANES, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", SEVERAL)
def test_several_dimensions(same, name, dtype, kwargs):
    same(lambda m, x: call(m, name, x, **kwargs), sample(name, 3, 4, 5, dtype=dtype))


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize("kwargs", [{"s": (2,)}, {"s": (2, 2, 2, 2)}, {"dim": ()}, {"s": (3, 3, 3)}], ids=str)
def test_any_number_of_dimensions(same, name, kwargs):
    same(lambda m, x: call(m, name, x, **kwargs), sample(name, 3, 4, 5))


@pytest.mark.parametrize("name", (*ONE, *SEVERAL))
@pytest.mark.parametrize("shape", [(), (0,), (1,), (4, 0), (1, 1)], ids=str)
def test_small_and_empty(same, name, shape):
    same(lambda m, x: call(m, name, x), sample(name, *shape))


@pytest.mark.parametrize("name", (*ONE, *SEVERAL))
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "bfloat16", "float32", "complex64"])
def test_dtypes(same, name, dtype):
    values = torch.arange(12).reshape(3, 4).to(getattr(torch, dtype))
    same(lambda m, x: call(m, name, x), values, tolerance=2e-5)


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(same, name):
    for shape in ((5,), (4,), (3, 4), (2, 0), ()):
        same(lambda m, x: call(m, name, x), sample("fft", *shape))
        same(lambda m, x: call(m, name, x, dim=0), sample("fft", *(shape or (3,))))
    same(lambda m, x: call(m, name, x, dim=(0, -1)), sample("fft", 3, 4, 5))
    same(lambda m, x: call(m, name, x, dim=(3,)), sample("fft", 3, 4, 5))


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
@pytest.mark.parametrize("arguments", [(5,), (4, 0.5), (1, 2.0), (8, 0.1), (0,), (-4,)], ids=str)
def test_frequencies(same, name, arguments):
    same(lambda m: getattr(m.fft, name)(*arguments))
    same(lambda m: getattr(m.fft, name)(*arguments, dtype=m.float64))


@pytest.mark.parametrize("n", [1, 2, 7, 8, 1009])
def test_a_transform_and_its_inverse(n):
    x = tt.tensor(np.random.default_rng(n).standard_normal((3, n)))
    assert tt.allclose(tt.fft.irfft(tt.fft.rfft(x), n), x)
    assert tt.allclose(tt.fft.ifft(tt.fft.fft(x)).real, x)
    assert tt.allclose(tt.fft.hfft(tt.fft.ihfft(x), n), x)
    # Parseval: with norm="ortho" a transform keeps the length.
    assert tt.allclose(tt.fft.fft(x, norm="ortho").abs().square().sum(), x.square().sum())


def test_transforms_of_no_lines_are_empty():
    for name, size in (("fft", 4), ("rfft", 3), ("irfft", 6), ("ihfft", 3)):
        assert getattr(tt.fft, name)(tt.zeros(0, 4)).shape == (0, size)
    assert tt.fft.rfft2(tt.zeros(0, 3, 4)).shape == (0, 3, 3)


def test_large_transforms_are_exact_in_their_precision():
    x = np.random.default_rng(0).standard_normal((4, 2**15)).astype(np.float32)
    found, exact = tt.fft.fft(tt.from_numpy(x)), np.fft.fft(x.astype(np.float64))
    assert found.dtype is tt.complex64
    assert np.abs(found.numpy() - exact).max() < 1e-6 * np.abs(exact).max()


def test_out_takes_the_result_or_refuses(same):
    def into(m, x, kind):
        out = m.empty(
            (2, 3) if kind == "right" else (0,), dtype=m.float64 if kind == "real" else m.complex128
        )
        return m.fft.fft(x, out=out)

    for kind in ("right", "empty", "real"):
        same(lambda m, x, kind=kind: into(m, x, kind), sample("fft", 2, 3, dtype="complex128"))


def test_what_symmetry_fixes_is_ignored_and_has_no_gradient():
    half = tt.tensor([1 + 5j, 2 + 1j, 3 - 7j], dtype=tt.complex128, requires_grad=True)
    line = tt.fft.irfft(
        half
    )  # of an even number: the parts of i of the first and the last number do not count
    assert tt.allclose(line, tt.fft.irfft(tt.tensor([1, 2 + 1j, 3], dtype=tt.complex128)))
    (gradient,) = tt.autograd.grad((line * tt.arange(4.0)).sum(), half)
    assert gradient.imag.tolist()[0] == 0 and abs(gradient.imag.tolist()[2]) < 1e-15
