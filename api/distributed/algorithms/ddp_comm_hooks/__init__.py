"""Communication hooks of DistributedDataParallel; see `DistributedDataParallel.register_comm_hook`."""
