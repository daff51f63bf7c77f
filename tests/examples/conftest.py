"""The packages of `examples` are built, installed and run as those of third parties are."""

from tests.thirdparty.conftest import installed, run

__all__ = ["installed", "run"]
