import pytest

from tt.core.errors import UnknownNameError
from tt.core.schema.classes import DTYPE_CLASSES, DTYPE_NAMES, dtype_names, dtype_set


def test_the_classes_partition_the_dtypes_by_kind():
    assert DTYPE_CLASSES["any"] | DTYPE_CLASSES["quantized"] == set(DTYPE_NAMES)
    assert not DTYPE_CLASSES["any"] & DTYPE_CLASSES["quantized"]
    assert DTYPE_CLASSES["any"] - DTYPE_CLASSES["float8"] - {"complex32"} == DTYPE_CLASSES["all"]
    assert DTYPE_CLASSES["number"] | {"bool"} == DTYPE_CLASSES["all"]
    assert DTYPE_CLASSES["integral"] | {"bool"} == DTYPE_CLASSES["integral_bool"]
    assert DTYPE_CLASSES["floating"] | DTYPE_CLASSES["complex"] == DTYPE_CLASSES["floating_complex"]
    assert DTYPE_CLASSES["real"] | DTYPE_CLASSES["complex"] == DTYPE_CLASSES["all"]
    assert DTYPE_CLASSES["real_number"] == DTYPE_CLASSES["real"] - {"bool"}


def test_names_come_in_the_order_of_the_dtypes():
    assert dtype_names(("float64", "bool", "float32")) == ("bool", "float32", "float64")
    assert dtype_names(("any", "quantized")) == DTYPE_NAMES


def test_a_word_that_is_neither_class_nor_dtype_is_refused():
    with pytest.raises(
        UnknownNameError, match="unknown dtype or class of dtypes 'floting'; did you mean 'floating'"
    ):
        dtype_names(("bool", "floting"))


@pytest.mark.parametrize("dtypes", ["floating", "int64", ("floating", "bool"), ["linalg"], *DTYPE_CLASSES])
def test_a_set_has_the_names(dtypes):
    assert dtype_set(dtypes) == set(dtype_names(dtypes)) and isinstance(dtype_set(dtypes), frozenset)
