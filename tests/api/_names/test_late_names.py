"""Packages whose names are imported when first used look as if everything had been imported."""

import importlib
import subprocess
import sys

import pytest

from tt._names.late_names import late_names

PACKAGES = ("tt.nn", "tt.nn.modules", "tt.optim")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there_and_listed(package):
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert {*module.__all__} <= {*dir(module)}


def test_a_name_is_the_object_of_its_module():
    import tt

    assert tt.nn.Linear is tt.nn.modules.Linear is tt.nn.modules.linear.Linear
    assert tt.optim.SGD is importlib.import_module("tt.optim.sgd").SGD
    assert "Linear" in vars(tt.nn) and "Linear" in vars(tt.nn.modules)  # found once, kept


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_that_is_not_there_is_an_attribute_error(package):
    module = importlib.import_module(package)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Linaer'"):
        module.Linaer  # noqa: B018
    with pytest.raises(ImportError, match="Linaer"):
        exec(f"from {package} import Linaer")
    assert not hasattr(module, "__wrapped__")


def test_stars_and_submodules_work_in_a_fresh_process():
    program = (
        "import tt, tt.nn, tt.optim\n"
        "assert tt.nn.modules.conv.Conv2d and tt.nn.utils.clip_grad_norm_ and tt.nn.init.zeros_\n"
        "assert tt.optim.lr_scheduler.StepLR and tt.optim.adam.Adam and tt.nn.parallel.replicate\n"
        "from tt.nn import *\n"
        "from tt.optim import *\n"
        "assert Linear is tt.nn.Linear and Adam is tt.optim.Adam and Parameter is tt.nn.Parameter\n"
        "assert functional is tt.nn.functional"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_home_without_a_dot_is_a_module_elsewhere():
    find, names = late_names("tt.optim", {"math": "pi", ".sgd": "SGD"})
    assert {"SGD", "pi", "sgd"} <= {*names()}
    assert find("sgd").SGD is find("SGD")
    with pytest.raises(AttributeError):
        find("math")
