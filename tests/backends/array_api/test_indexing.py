"""The programs of the CPU's tests on arrays of the standard."""

import pytest

from tests.backends.cpu.test_indexing import *  # noqa: F403 - its tests, with the fixture `same` of this folder

pytestmark = [pytest.mark.torch, pytest.mark.sampled(3)]  # all of them run on the CPU
