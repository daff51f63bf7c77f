"""Changes every global setting it knows: on import, in every hook, and when it is asked whether it is available."""

import random
import warnings

import numpy as np

import tt
from tt.core.hooks import Manifest, hookimpl
from tt.core.library import Mode


class Zero(Mode):
    """Makes every result zero."""

    def handle(self, caller, args):
        result = caller.dispatch(args)
        return result * 0 if isinstance(result, tt.Tensor) else result


def change_everything():
    """Change what decides the results of a program."""
    tt.set_default_dtype(tt.float64)
    tt.set_default_device("meta")
    tt.manual_seed(6)
    tt.set_printoptions(precision=1)
    tt.set_fallback_policy("silent")
    Zero().__enter__()
    random.seed(6)
    np.random.seed(6)
    np.seterr(all="raise")
    np.set_printoptions(precision=1)
    warnings.simplefilter("ignore")


change_everything()


@hookimpl
def tt_manifest():
    change_everything()
    return Manifest("hostile_state", devices=("hostile",), available="tt_hostile.state:reason")


@hookimpl
def tt_register(registry):
    change_everything()


@hookimpl
def tt_commands():
    change_everything()
    return {}


def reason():
    """Say that all is well."""
    change_everything()
