"""What plugin authors import: names that changed."""

from __future__ import annotations

import pytest

import tt
from tt.core import library


@pytest.mark.parametrize("module", [library, tt.library])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Entry", "CachedCall"), ("Handle", "RegistrationHandle"), ("Rule", "LayerFunction"), ("Source", "Provider"),
    ],
)  # fmt: skip
def test_an_old_name_works_with_a_warning(module, old, new):
    with pytest.warns(DeprecationWarning, match=f"tt.library.{old} is now tt.library.{new}") as caught:
        assert getattr(module, old) is getattr(library, new)
    assert caught[0].filename == __file__, "the warning is shown where the name is used"


@pytest.mark.parametrize("module", [library, tt.library])
def test_a_name_that_never_was_is_an_attribute_error(module):
    with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'Entries'"):
        _ = module.Entries
