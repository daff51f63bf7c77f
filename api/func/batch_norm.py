"""Batch normalisation that keeps nothing, as transforms need it: a public name of `tt.func`."""

from __future__ import annotations

import tt

__all__ = ["replace_all_batch_norm_modules_"]


def replace_all_batch_norm_modules_(root: tt.nn.Module) -> tt.nn.Module:
    """Make the batch norms of a module normalise by the batch alone, in place: running statistics are removed.

    Parameters
    ----------
    root : Module
        The module.

    Returns
    -------
    Module
        The same module.

    Examples
    --------
    >>> import tt
    >>> model = tt.func.replace_all_batch_norm_modules_(tt.nn.Sequential(tt.nn.BatchNorm1d(2)))
    >>> model[0].running_mean is None, list(model.state_dict())
    (True, ['0.weight', '0.bias'])
    """
    for module in root.modules():
        if isinstance(module, (tt.nn.BatchNorm1d, tt.nn.BatchNorm2d, tt.nn.BatchNorm3d, tt.nn.SyncBatchNorm)):
            # Transforms cannot change running statistics in place.
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
