"""Fails when it is imported."""

import a_library_that_nobody_has  # noqa: F401 - that is the point
