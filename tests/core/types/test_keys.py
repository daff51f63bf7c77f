"""Key bits are allotted at first use, named, and run out with a clear error."""

from __future__ import annotations

import pytest

from tt.core.errors import KeyBitsExhaustedError, UnknownNameError
from tt.core.types.keys import KEY_BITS, KeySpace


def test_each_name_gets_one_bit_and_keeps_it() -> None:
    space = KeySpace()
    bits = [space.bit("device", "a"), space.bit("layer", "a"), space.bit("layout", "b")]
    assert bits == [1, 2, 4]
    assert space.bit("layer", "a") == 2


def test_masks_and_names_are_kept_by_kind() -> None:
    space = KeySpace()
    a, x, b = space.bit("device", "a"), space.bit("layer", "x"), space.bit("device", "b")
    assert space.mask("device") == a | b
    assert space.mask("layout") == 0
    assert space.names("device", b | x) == ["b"]
    assert space.describe(a | x) == "a x"


def test_running_out_of_bits_names_the_holders() -> None:
    space = KeySpace()
    for number in range(KEY_BITS):
        space.bit("device", f"d{number}")
    with pytest.raises(
        KeyBitsExhaustedError, match="no dispatch key bit is left for the layout 'one_more'"
    ) as caught:
        space.bit("layout", "one_more")
    assert len(caught.value.holders) == KEY_BITS
    assert "TT_DISABLE_PLUGINS" in str(caught.value)
    assert isinstance(caught.value, RuntimeError)
    # What has a bit goes on working.
    assert space.bit("device", "d61") == 1 << 61


def test_the_largest_key_is_positive_in_a_signed_64_bit_integer() -> None:
    assert (1 << KEY_BITS) - 1 < 1 << 63


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    space = KeySpace()
    space.bit("device", "cuda")
    with pytest.raises(UnknownNameError, match="did you mean 'cuda'"):
        space.find("device", "cud")
