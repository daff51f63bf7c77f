"""The same seed gives the same numbers on every device."""

from __future__ import annotations

import numpy as np
import pytest

import tt

DRAWS = {
    "rand": lambda **o: tt.rand(1001, **o),
    "rand double": lambda **o: tt.rand(1001, dtype=tt.float64, **o),
    "rand complex": lambda **o: tt.rand(1001, dtype=tt.complex64, **o),
    "randint": lambda **o: tt.randint(-3, 7, (7, 11), **o),
    "randint, far": lambda **o: tt.randint(-(2**62), 2**62, (1001,), **o),
    "randint of bytes": lambda **o: tt.randint(0, 256, (1001,), dtype=tt.uint8, **o),
    "randperm": lambda **o: tt.randperm(1001, **o),
    "uniform_": lambda **o: tt.zeros(1001, **o).uniform_(-2, 3),
    "bernoulli_": lambda **o: tt.zeros(1001, **o).bernoulli_(0.25),
    "bernoulli": lambda **o: tt.bernoulli(tt.linspace(0, 1, 1001, **o)),
    "dropout": lambda **o: tt.nn.functional.dropout(tt.ones(1001, **o), 0.3),
    "nothing": lambda **o: tt.rand(0, **o),
}
ROUNDED = {
    "randn": lambda **o: tt.randn(1001, **o),
    "randn double": lambda **o: tt.randn(1001, dtype=tt.float64, **o),
    "randn complex": lambda **o: tt.randn(1001, dtype=tt.complex128, **o),
    "normal_": lambda **o: tt.zeros(1001, **o).normal_(2, 3),
}


def drawn(call, **options):
    tt.manual_seed(2**40 + 5)
    tt.rand(3, **options)
    return call(**options).cpu().numpy()


@pytest.mark.parametrize("name", DRAWS)
def test_the_numbers_are_the_same_bit_by_bit(device, name):
    np.testing.assert_array_equal(drawn(DRAWS[name], device=device), drawn(DRAWS[name]))


@pytest.mark.parametrize("name", ROUNDED)
def test_normal_numbers_are_the_same_up_to_rounding(device, name):
    np.testing.assert_allclose(
        drawn(ROUNDED[name], device=device), drawn(ROUNDED[name]), rtol=1e-5, atol=1e-6
    )


def test_each_device_has_a_generator_of_its_own(device):
    tt.manual_seed(1)
    first = tt.rand(3, device=device).tolist()
    assert tt.rand(3).tolist() == first
    with pytest.raises(RuntimeError, match="numbers for strict come from a generator of strict, not of cpu"):
        tt.rand(3, device=device, generator=tt.Generator())
    own = tt.Generator("strict").manual_seed(1)
    assert tt.rand(3, device=device, generator=own).tolist() == first
