"""Fourier transforms."""

from __future__ import annotations

import pytest

import tt
from tests.api.array_api.comparing import check
from tt import array_api as xp

R = "a([[1.0, 2.0, 4.0, 3.0], [0.0, 1.0, 1.0, 5.0]])"
C = "a([[1.0 + 2j, 4.0, 3.0j], [0.0, 1.0, 1.0 - 5j]])"
CASES = [
    *(f"xp.fft.{name}({C}{options})" for name in ("fft", "ifft", "irfft", "hfft")
      for options in ("", ", n=5", ", n=2", ", axis=0", ", norm='ortho'", ", norm='forward'")),
    *(f"xp.fft.{name}({R}{options})" for name in ("rfft", "ihfft")
      for options in ("", ", n=5", ", n=3", ", axis=0", ", norm='ortho'", ", norm='forward'")),
    *(f"xp.fft.{name}({C}{options})" for name in ("fftn", "ifftn", "irfftn")
      for options in ("", ", s=(3, 4), axes=(0, 1)", ", axes=(0,)", ", norm='ortho'")),
    *(f"xp.fft.rfftn({R}{options})" for options in ("", ", s=(3, 4), axes=(0, 1)", ", axes=(0,)", ", norm='ortho'")),
    "xp.fft.fft(a([1.0, 2.0], 'complex64'))", "xp.fft.rfft(a([1.0, 2.0], 'float32'))",
    "xp.fft.irfft(a([1.0, 2.0], 'complex64'))", "xp.fft.fftfreq(5)", "xp.fft.fftfreq(4, d=0.5)", "xp.fft.rfftfreq(5)",
    "xp.fft.fftfreq(4, dtype=xp.float32)", "xp.fft.rfftfreq(4, d=2.0, dtype=xp.float32)",
    f"xp.fft.fftshift({R})", f"xp.fft.fftshift({R}, axes=1)", f"xp.fft.fftshift({R}, axes=(0,))",
    f"xp.fft.ifftshift({C})", f"xp.fft.ifftshift({C}, axes=-1)",
]  # fmt: skip


@pytest.mark.parametrize("call", CASES)
def test_equals_the_strict_library(call):
    check(call)


def test_gradients_go_through_transforms():
    x = tt.tensor([1.0, 2.0]).requires_grad_()
    xp.sum(xp.real(xp.fft.fft(x))).backward()
    assert x.grad.tolist() == [2.0, 0.0]
