"""tt.distributed.constants: the timeouts of groups, where programs import them from."""

from __future__ import annotations

from tt.distributed.world import default_pg_timeout

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]

default_pg_nccl_timeout = default_pg_timeout
