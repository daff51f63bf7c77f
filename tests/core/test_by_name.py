import pytest

from tt.core.by_name import module_named, object_named
from tt.core.types.size import Size


def test_a_module_and_what_it_holds_are_found_by_name():
    assert module_named("tt.core.types.size").Size is Size
    assert object_named("tt.core.types.size:Size") is Size
    assert object_named("tt.core.types.size:Size.numel") is Size.numel


@pytest.mark.parametrize(
    ("reference", "error"),
    [("tt.core.no_such_module:Size", ImportError), ("tt.core.types.size:Length", AttributeError)],
)
def test_what_does_not_exist_raises_as_an_import_does(reference, error):
    with pytest.raises(error):
        object_named(reference)
