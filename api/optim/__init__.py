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

from __future__ import annotations

from typing import TYPE_CHECKING

from tt._names.late_names import late_names

if TYPE_CHECKING:
    from tt.optim import lr_scheduler, swa_utils
    from tt.optim._adafactor import Adafactor
    from tt.optim._muon import Muon
    from tt.optim.adadelta import Adadelta
    from tt.optim.adagrad import Adagrad
    from tt.optim.adam import Adam
    from tt.optim.adamax import Adamax
    from tt.optim.adamw import AdamW
    from tt.optim.asgd import ASGD
    from tt.optim.lbfgs import LBFGS
    from tt.optim.nadam import NAdam
    from tt.optim.optimizer import Optimizer
    from tt.optim.radam import RAdam
    from tt.optim.rmsprop import RMSprop
    from tt.optim.rprop import Rprop
    from tt.optim.sgd import SGD
    from tt.optim.sparse_adam import SparseAdam
    from tt.optim.swapping import swap_in_optimizer_params_and_state
else:
    __getattr__, __dir__ = late_names(
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
            ".lr_scheduler": "",
            ".swa_utils": "",
        },
    )

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]
