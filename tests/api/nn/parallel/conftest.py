"""The engines with which several ranks train."""

from tests.api.distributed.conftest import engine

__all__ = ["engine"]
