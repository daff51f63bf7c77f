"""tt.distributed: PyTorch's distributed package on existing engines."""

from __future__ import annotations

from tt.distributed.backend import Backend
from tt.distributed.breakpoints import breakpoint
from tt.distributed.collectives import (
    _coalescing_manager,
    all_reduce,
    all_reduce_coalesced,
    barrier,
    broadcast,
    monitored_barrier,
    reduce,
)
from tt.distributed.debug_level import DebugLevel, get_debug_level, set_debug_level, set_debug_level_from_env
from tt.distributed.device_mesh import DeviceMesh, init_device_mesh
from tt.distributed.engines.names import BackendConfig
from tt.distributed.engines.threads import run_threads
from tt.distributed.errors import (
    CollectiveMismatchError,
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    DistTimeoutError,
    QueueEmptyError,
    RankReport,
)
from tt.distributed.exchanging import (
    all_to_all,
    all_to_all_single,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
)
from tt.distributed.gathering import (
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_single,
    gather,
    scatter,
)
from tt.distributed.metrics import gather_for_metrics
from tt.distributed.new_groups import new_group, new_subgroups, new_subgroups_by_enumeration, split_group
from tt.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from tt.distributed.point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
from tt.distributed.process_group import ProcessGroup
from tt.distributed.ranks import (
    get_backend,
    get_backend_config,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
)
from tt.distributed.recorder import FlightRecord, record_comm
from tt.distributed.reduce_op import ReduceOp
from tt.distributed.reducer import BuiltinCommHookType, GradBucket
from tt.distributed.reductions import supports_complex
from tt.distributed.rendezvous import register_rendezvous_handler, rendezvous
from tt.distributed.stores import FileStore, HashStore, PrefixStore, Store, TCPStore
from tt.distributed.work import Work
from tt.distributed.world import (
    GroupMember,
    default_pg_timeout,
    destroy_process_group,
    flight_recorder,
    group,
    init_process_group,
    is_initialized,
)

__all__ = [
    "Backend", "BackendConfig", "BuiltinCommHookType", "CollectiveMismatchError", "DebugLevel", "DeviceMesh",
    "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "DistTimeoutError", "FileStore",
    "FlightRecord", "GradBucket", "GroupMember", "HashStore", "P2POp", "PrefixStore", "ProcessGroup",
    "QueueEmptyError", "RankReport", "ReduceOp", "Store", "TCPStore", "Work", "all_gather", "all_gather_coalesced",
    "all_gather_into_tensor", "all_gather_object", "all_gather_single", "all_reduce", "all_reduce_coalesced",
    "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "breakpoint", "broadcast",
    "broadcast_object_list", "default_pg_timeout", "destroy_process_group", "flight_recorder", "gather",
    "gather_for_metrics", "gather_object", "get_backend", "get_backend_config", "get_debug_level",
    "get_default_backend_for_device", "get_global_rank", "get_group_rank", "get_node_local_rank", "get_pg_count",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_device_mesh", "init_process_group",
    "irecv", "is_available", "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available",
    "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available", "isend",
    "monitored_barrier", "new_group", "new_subgroups", "new_subgroups_by_enumeration", "record_comm", "recv",
    "recv_object_list", "reduce", "reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor",
    "register_rendezvous_handler", "rendezvous", "run_threads", "scatter", "scatter_object_list", "send",
    "send_object_list", "set_debug_level", "set_debug_level_from_env", "split_group", "supports_complex",
]  # fmt: skip

# Programs read these modules as attributes, without importing them.
from tt.distributed import constants as constants
from tt.distributed import distributed_c10d as distributed_c10d
