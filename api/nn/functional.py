"""tt.nn.functional: the operators of neural networks as functions.

Examples
--------
>>> import tt
>>> import tt.nn.functional as F
>>> F.relu(tt.tensor([-1.0, 2.0]))
tensor([0., 2.])
"""

from __future__ import annotations

from tt.core.methods.namespaces import namespace

__getattr__, __dir__ = namespace("nn.functional", also=("log_softmax", "relu", "sigmoid", "softmax", "tanh"))
