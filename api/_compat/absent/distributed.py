"""What tt.distributed lacks: sharded tensors, remote calls, pipelines."""

from __future__ import annotations

from typing import Final

from tt._compat.absent.rows import table

__all__ = ["ABSENT"]

_PLACEMENTS: Final = " ".join(
    f"{name}@tt._compat.placements" for name in ("Partial", "Placement", "Replicate", "Shard")
)

ABSENT: Final = [
    *table(
        "tt has no sharded tensors (DTensor) yet",
        {
            "torch.distributed._functional_collectives": (
                "AsyncCollectiveTensor all_gather_into_tensor_coalesced all_gather_tensor all_gather_tensor_autograd "
                "all_reduce all_reduce_coalesced all_to_all_single all_to_all_single_autograd broadcast "
                "reduce_scatter_tensor reduce_scatter_tensor_autograd reduce_scatter_tensor_coalesced wait_tensor"
            ),
            "torch.distributed._shard": "load_with_process_group shard_module shard_parameter",
            "torch.distributed._shard.api": "load_with_process_group",
            "torch.distributed._shard.sharded_tensor": (
                "Shard ShardedTensor ShardedTensorMetadata TensorProperties init_from_local_shards"
            ),
            "torch.distributed._shard.sharded_tensor.metadata": "ShardedTensorMetadata TensorProperties",
            "torch.distributed._shard.sharding_spec": "ChunkShardingSpec ShardMetadata ShardingSpec",
            "torch.distributed._shard.metadata": "ShardMetadata",
            "torch.distributed._state_dict_utils": (
                "_broadcast_state_dict _create_cpu_state_dict _gather_state_dict _offload_state_dict_to_cpu"
            ),
            "torch.distributed._tensor": (
                f"DTensor DeviceMesh {_PLACEMENTS} distribute_module distribute_tensor"
            ),
            "torch.distributed._tensor.api": "DTensor",
            "torch.distributed._tensor.device_mesh": "DeviceMesh",
            "torch.distributed._tensor.experimental": "implicit_replication local_map",
            "torch.distributed._tensor.placement_types": f"DTensorSpec {_PLACEMENTS} TensorMeta",
            "torch.distributed.tensor": (
                f"DTensor {_PLACEMENTS} distribute_module distribute_tensor empty full ones rand "
                "randn zeros"
            ),
            "torch.distributed.tensor._dtensor_spec": "DTensorSpec TensorMeta",
            "torch.distributed.tensor._utils": (
                "compute_global_tensor_info compute_local_shape_and_global_offset"
            ),
            "torch.distributed.tensor.debug": "CommDebugMode visualize_sharding",
            "torch.distributed.tensor.device_mesh": "DeviceMesh",
            "torch.distributed.tensor.experimental": (
                "context_parallel implicit_replication local_map register_sharding"
            ),
            "torch.distributed.tensor.experimental._attention": (
                "context_parallel context_parallel_unshard set_rotate_method"
            ),
            "torch.distributed.tensor.parallel": (
                "ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleInputOutput PrepareModuleOutput "
                "RowwiseParallel SequenceParallel loss_parallel parallelize_module"
            ),
            "torch.distributed.tensor.parallel.style": (
                "ColwiseParallel ParallelStyle PrepareModuleInput PrepareModuleOutput RowwiseParallel SequenceParallel"
            ),
            "torch.distributed.tensor.parallel.fsdp": "DTensorExtensions",
            "torch.distributed.tensor.placement_types": (
                f"{_PLACEMENTS} _MaskPartial _StridedShard"
            ),
        },
    ),
    *table(
        "tt has no remote procedure calls",
        {
            "torch.distributed.autograd": "is_available:false backward context get_gradients",
            "torch.distributed.nn": "RemoteModule",
            "torch.distributed.nn.api.remote_module": "RemoteModule",
            "torch.distributed.optim": "DistributedOptimizer",
            "torch.distributed.rpc": (
                "PyRRef RRef RemoteProfilerManager RpcAgent RpcBackendOptions TensorPipeAgent "
                "TensorPipeRpcBackendOptions WorkerInfo get_worker_info init_rpc "
                "is_available:false remote rpc_async rpc_sync shutdown"
            ),
            "torch.distributed.rpc.api": "_all_gather _require_initialized:same _wait_all",
        },
    ),
    *table(
        "tt.distributed.fsdp writes state dicts of its own form: tt.distributed.checkpoint",
        {
            "torch.distributed.fsdp": (
                "FullOptimStateDictConfig@tt._compat.fsdp_options FullStateDictConfig@tt._compat.fsdp_options "
                "LocalOptimStateDictConfig@tt._compat.fsdp_options LocalStateDictConfig@tt._compat.fsdp_options "
                "OptimStateDictConfig@tt._compat.fsdp_options OptimStateKeyType@tt._compat.fsdp_options "
                "ShardedOptimStateDictConfig@tt._compat.fsdp_options ShardedStateDictConfig@tt._compat.fsdp_options "
                "StateDictConfig@tt._compat.fsdp_options StateDictType@tt._compat.fsdp_options "
                "StateDictSettings@tt._compat.fsdp_options"
            ),
            "torch.distributed.fsdp.wrap": "_or_policy enable_wrap lambda_auto_wrap_policy wrap",
        },
    ),
    *table(
        "tt.distributed has one implementation of groups, and no such part of PyTorch's",
        {
            "torch._C._distributed_c10d": "FakeProcessGroup ProcessGroupGloo Reducer _SymmetricMemory",
            "torch._C._distributed_rpc": "PyRRef _is_current_rpc_agent_set:false",
            "torch.distributed": "ProcessGroupGloo",
            "torch.distributed.distributed_c10d": "_new_process_group_helper _world",
            "torch.distributed.launcher": "LaunchConfig elastic_launch launch_agent",
            "torch.distributed.launcher.api": "LaunchConfig elastic_launch launch_agent",
            "torch.distributed._symmetric_memory": "empty enable_symm_mem_for_group rendezvous",
            "torch.distributed.utils": "_sync_module_states",
            "torch.distributed.algorithms._checkpoint.checkpoint_wrapper": (
                "CheckpointImpl CheckpointWrapper apply_activation_checkpointing checkpoint_wrapper offload_wrapper"
            ),
        },
    ),
    *table(
        "tt has no pipelines of modules yet",
        {
            "torch.distributed.pipelining": (
                "Pipe PipelineStage Schedule1F1B ScheduleGPipe ScheduleInterleaved1F1B SplitPoint build_stage "
                "pipe_split pipeline"
            ),
            "torch.distributed.pipelining.schedules": (
                "PipelineScheduleMulti PipelineScheduleSingle Schedule1F1B ScheduleGPipe"
            ),
            "torch.distributed.pipelining.stage": "PipelineStage",
        },
    ),
    *table(
        "tt.distributed.checkpoint has its own form of storage",
        {
            "torch.distributed.checkpoint": "FileSystemReader FileSystemWriter load_state_dict save_state_dict",
            "torch.distributed.checkpoint.default_planner": (
                "DefaultLoadPlanner DefaultSavePlanner _EmptyStateDictLoadPlanner"
            ),
            "torch.distributed.checkpoint.filesystem": "FileSystemReader FileSystemWriter",
            "torch.distributed.checkpoint.format_utils": (
                "_EmptyStateDictLoadPlanner _load_state_dict dcp_to_torch_save torch_save_to_dcp"
            ),
            "torch.distributed.checkpoint.metadata": "Metadata TensorStorageMetadata",
            "torch.distributed.checkpoint.optimizer": "load_sharded_optimizer_state_dict",
            "torch.distributed.checkpoint.planner": "LoadPlanner SavePlanner",
            "torch.distributed.checkpoint.state_dict_loader": "_load_state_dict load load_state_dict",
            "torch.distributed.checkpoint.state_dict_saver": "save save_state_dict",
            "torch.distributed.checkpoint.stateful": "Stateful",
            "torch.distributed.checkpoint.storage": "StorageReader StorageWriter",
            "torch.distributed.checkpoint._consolidate_hf_safetensors": "consolidate_safetensors_files",
            "torch.distributed.checkpoint.hf_storage": "HuggingFaceStorageReader HuggingFaceStorageWriter",
        },
    ),
]  # fmt: skip
