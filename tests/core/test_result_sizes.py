"""Results that no tensor can be, and memory that there is not."""

from __future__ import annotations

import pytest

import tt


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_shape_that_no_tensor_has_is_refused_with_the_name_of_the_operator(device):
    with pytest.raises(tt.errors.SizeLimitError, match=r"zeros\(\): .*2\*\*63") as caught:
        tt.zeros(2**40, 2**40, device=device)
    assert (caught.value.op, caught.value.shape) == ("zeros", (2**40, 2**40))
    with pytest.raises(tt.errors.SizeLimitError, match=r"expand\(\)"):
        tt.ones(1, device=device).expand(2**32, 2**32)
    assert issubclass(tt.errors.SizeLimitError, RuntimeError)


def test_meta_tensors_have_empty_shapes_with_large_sizes():
    assert tt.zeros(0, 2**62, device="meta").shape == (0, 2**62)
    with pytest.raises(tt.errors.NumberRangeError):
        tt.zeros(0, 2**63, device="meta")


def test_memory_that_there_is_not_is_an_error_with_the_bytes_that_were_asked_for():
    with pytest.raises(tt.errors.HostMemoryError, match=r"zeros\(\)") as caught:
        tt.zeros(2**50)
    assert caught.value.asked == 2**52
    assert isinstance(caught.value, MemoryError)
    assert isinstance(caught.value, RuntimeError)


@pytest.mark.parametrize("count", [2**62, 2**63, 2**64])
def test_ranges_that_are_too_long_are_refused(count):
    for call in (lambda: tt.arange(count), lambda: tt.linspace(0, 1, count), lambda: tt.eye(count)):
        with pytest.raises((tt.errors.ShapeError, tt.errors.ValueRangeError)):
            call()


def test_a_step_that_is_no_number_is_refused():
    with pytest.raises(tt.errors.ShapeError, match="unsupported range: 0 -> 1 in steps of nan"):
        tt.arange(0, 1, float("nan"))


def test_more_pieces_or_columns_than_there_can_be_are_refused_at_once():
    with pytest.raises(tt.errors.ShapeError, match="pieces"):
        tt.tensor_split(tt.ones(4), 2**62)
    with pytest.raises((tt.errors.SizeLimitError, tt.errors.HostMemoryError)):
        tt.vander(tt.ones(4), 2**62)
    with pytest.raises((tt.errors.SizeLimitError, tt.errors.HostMemoryError)):
        tt.vander(tt.ones(4), 2**50)
