"""tt.optim: optimizers, schedules of their learning rates, and averages of models.

Examples
--------
>>> import tt
>>> p = tt.tensor([1.0], requires_grad=True)
>>> optimizer = tt.optim.SGD([p], lr=0.25)
>>> scheduler = tt.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
>>> for _ in range(2):
...     optimizer.zero_grad()
...     (p * p).sum().backward()
...     optimizer.step()
...     scheduler.step()
>>> p
tensor([0.3750], requires_grad=True)
"""

from tt.core.lazy import attach

__all__ = attach(
    __name__,
    {
        "._adafactor": "Adafactor",
        "._muon": "Muon",
        ".adadelta": "Adadelta",
        ".adagrad": "Adagrad",
        ".adam": "Adam",
        ".adamax": "Adamax",
        ".adamw": "AdamW",
        ".asgd": "ASGD",
        ".lbfgs": "LBFGS",
        ".nadam": "NAdam",
        ".optimizer": "Optimizer",
        ".radam": "RAdam",
        ".rmsprop": "RMSprop",
        ".rprop": "Rprop",
        ".sgd": "SGD",
        ".sparse_adam": "SparseAdam",
        ".swapping": "swap_in_optimizer_params_and_state",
    },
    modules="lr_scheduler swa_utils",
    whole=True,
)
