"""The programs of the CPU's tests on arrays of the standard."""

from tests.backends.cpu.test_statistics import *  # noqa: F403 - its tests, with the fixture `same` of this folder
