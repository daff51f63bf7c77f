"""Tests mirror the tree: `core/dispatch/resolve/fallback.py` has `tests/core/dispatch/resolve/test_fallback.py`.

A test of several modules is a `test_*.py` of the folder that holds them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
LIBRARIES: Final = (
    "array_api", "distributed", "distributions", "futures", "masked", "multiprocessing", "nn", "optim",
    "serialization", "signal", "utils/data",
)  # fmt: skip
PRODUCT: Final = (
    "core",
    "operators",
    "testing",
    "backends",
    "plugins",
    "cli",
    *(f"api/{name}" for name in LIBRARIES),
)
"""Folders of modules that are tested; the rest of `api/` re-exports what these hold."""

TESTED_ELSEWHERE: Final = {
    "api/distributed/{algorithms/ddp_comm_hooks/*,algorithms/model_averaging/*,backend,call,carried,"
    "checks,constants,"
    "derived,engines/gloo/*,engines/meeting,engines/mpi_world,engines/nccl_libraries,engines/pmi,errors,"
    "fsdp/averages,fsdp/passes,fsdp/policies,fsdp/sharded_parameter,fsdp/wrap,"
    "optim/post_localSGD_optimizer,process_group,reductions,target,work}.py": "training, faults: tests/api/distributed",
    "api/distributions/*": "every distribution: test_against_torch.py and test_densities.py there",
    "api/nn/modules/*": "test_module.py, and every class against PyTorch's: test_module_db.py there",
    "api/optim/{_steps/*,ad*,asgd,lbfgs,lr_scheduler/*,nadam,radam,rmsprop,rprop,sgd,sparse_adam}.py": (
        "every optimizer and schedule: test_optimizers.py and lr_scheduler/test_schedules.py of tests/api/optim"
    ),
    "api/nn/{parameter,uninitialized}.py": "tests/api/nn/modules/test_lazy.py",
    "backends/{cudnn,cusparselt,kleidiai,mha,mkl*,mps,nnpack,openmp,opt_einsum}.py": "tests/backends/test_flags.py",
    "api/serialization/{allow_list,archive_writer,legacy,locations,options,pickling,rebuilding,storages,tar,"
    "unsafe_globals}.py": "tests/api/serialization, by what files hold",
    "api/masked/*": "tests/api/masked/test_masked.py",
    "api/multiprocessing/{connections,pool,queues}.py": "tests/api/multiprocessing/test_contexts.py",
    "backends/array_api/*": "tests/backends/cpu, whose fixture `same` also runs its programs on this backend",
    "backends/cpu/{backend,copies,plugin,selection}.py": "the programs of tests/backends/cpu",
    "backends/cpu/{optimizer,threads}.py": "tests/backends/cpu/native, with the C kernels",
    "backends/cpu/native/*": "tests/backends/cpu/native: these register C kernels and check their arguments",
    "backends/cuda/{activation/elementwise,backend,combining,selecting,shaping/views,windows}.py": (
        "the families in tests/backends/cuda"
    ),
    "backends/cuda/launch/*": "the kernels that they launch, in tests/backends/cuda",
    "backends/cuda/libraries/plans.py": "tests/backends/cuda/libraries/test_cudnn.py",
    "backends/cuda/memory/memory.py": "tests/backends/cuda/memory/test_allocator.py",
    "backends/cuda/runtime/{device_asserts,graph_random}.py": "tests/backends/cuda/emulated, test_indexing.py",
    "backends/cuda/runtime/{graphed_callables,profiling,settings}.py": "tests/backends/cuda: runtime, test_products.py",
    "plugins/amp/{casting,plugin,state}.py": "the layer, which is made of them: tests/plugins/amp/test_layer.py",
    "cli/*/{app,options,facts}.py": "groups, options and rows of the commands that tests/cli runs",
    "cli/{help,options}.py": "the commands that tests/cli runs",
    "core/compiled.py": "tests/packaging/test_compiled.py, which compiles",
    "core/errors/*": "every exception: tests/core/test_errors.py",
    "core/hooks.py": "names for plugins, which every plugin of tests/core/host imports",
    "operators/*": "tests/opinfo and the samples of every operator, with kernels masked and without data",
    "core/dispatch/call/*": "the path of every call: tests/core/dispatch/call by the parts of a call",
    "core/dispatch/intercept/tt_function.py": "tests/core/methods/test_tt_function_api.py",
    "core/dispatch/registry/tables.py": "what plugins fill: tests/core/dispatch/resolve/test_kernels.py",
    "core/dispatch/resolve/{composite,dtypes,operators,resolution,shape_rules}.py": (
        "tests/core/dispatch/resolve/test_kernels.py"
    ),
    "core/extension/*": "extensions that are built and called: tests/core/extension",
    "core/layers/{composed_backend,derived_kernels}.py": (
        "backends of layouts: tests/plugins; that cannot change: tests/core/methods/test_attributes.py"
    ),
    "core/methods/{nested,memory/pinning}.py": "tests/core/methods/test_creation.py",
    "core/methods/memory/host_storage.py": "tests/core/methods/memory/test_pickling.py",
    "core/methods/lazy_member.py": "tests/core/host/test_lazy_member.py, with plugins that are installed",
    "cli/pages/{operator_page,pages}.py": "tests/docs/test_operator_pages.py",
    "core/schema/*": "the whole of ops.yaml: tests/core/schema",
    "core/shapes/*": "tests/operators, tests/opinfo and the samples of every operator without data",
    "core/tensor/{backend,base,blank,common_dtype,tensor}.py": "the tensors of every test; tests/core/methods",
    "core/{tensor/shared_memory,methods/memory/sharing,methods/memory/storages}.py": (
        "tensors that travel: tests/api/multiprocessing/test_reductions.py"
    ),
    "testing/*": "faults that they must find, and operators that are right: tests/testing",
    "plugins/autograd/plugin.py": "members of tensors: tests/plugins/autograd",
    "plugins/autograd/formulas/*": "tests/plugins/autograd/formulas/test_formulas.py, for every operator",
    "plugins/autograd/record/{codes,grad_state,hooks,mutating,plans,refcount}.py": (
        "tests/plugins/autograd/record"
    ),
    "plugins/autograd/transforms/{levels,randomness,unwrap}.py": "tests/plugins/autograd/transforms",
    "plugins/autograd/transforms/batching/*": "tests/plugins/autograd/transforms/batching/test_batching.py",
    "plugins/{nested/*,quantized/backend.py,quantized/handle.py,quantized/plugin.py,quantized/tables.py}": (
        "against loops over rows and PyTorch: tests/plugins/nested, tests/plugins/quantized"
    ),
    "plugins/sparse/{backend,conversion_members,functions,parts,plugin,shapes,compute/elements,"
    "compute/library,compute/solve,compute/tables,compute/whole,structure/compressed,"
    "structure/coo,structure/making,structure/tables}.py": "tests/plugins/sparse",
    "plugins/sparse/cpu/{batches,convert,dense,kernels,library,native,sorting}.py": "tests/plugins/sparse: conversions",
    "plugins/sparse/cuda/*": "tests/plugins/sparse/cuda/test_cuda.py",
}
"""Modules without a test at their path -> what tests them; {a,b} stands for several names, * for any."""

WITHOUT_MODULES: Final = {
    "tests/backends/cuda/emulated": "run by tests/backends/cuda/test_emulated.py with an emulated device",
    "tests/testing/faults": "faults that the conformance check must find, and the check itself",
    "tests/ecosystem": "PyTorch's libraries on the whole, under the facade",
    "tests/fuzz": "random programs against the whole",
    "tests/opinfo": "PyTorch's database of operators against the whole",
    "tests/packaging": "the build hook, wheels and editable installs",
    "tests/thirdparty": "packages that are built and installed",
}
"""Folders of tests for which the product has no folder -> their subject."""


def product() -> list[str]:
    """Return the modules of the product that could have a test of their own."""
    found = [path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py")]
    return sorted(p.relative_to(ROOT).as_posix() for p in found if not p.name.startswith("_"))


def test_of(module: str) -> str:
    """Return the path of the test of a module."""
    folder, _, name = module.rpartition("/")
    return f"tests/{folder}/test_{name}"


test_of.__test__ = False  # type: ignore[attr-defined]


def globs(pattern: str) -> Iterator[str]:
    """Yield the patterns that one with braces stands for."""
    several = re.search(r"\{([^}]*)\}", pattern)
    if several is None:
        yield pattern
        return
    for name in several[1].split(","):
        yield from globs(pattern[: several.start()] + name + pattern[several.end() :])


EXCEPTIONS: Final = [glob for pattern in TESTED_ELSEWHERE for glob in globs(pattern)]
UNTESTED: Final = [module for module in product() if not (ROOT / test_of(module)).is_file()]


def test_every_module_has_a_test_at_its_path():
    missing = [m for m in UNTESTED if not any(fnmatchcase(m, glob) for glob in EXCEPTIONS)]
    assert missing == [], f"write {test_of(missing[0])}, or say in TESTED_ELSEWHERE what tests the module"


@pytest.mark.parametrize("glob", EXCEPTIONS)
def test_every_exception_is_needed(glob):
    assert any(fnmatchcase(module, glob) for module in UNTESTED)


def test_exceptions_are_few_and_have_reasons():
    assert len(TESTED_ELSEWHERE) <= 50
    for pattern, reason in {**TESTED_ELSEWHERE, **WITHOUT_MODULES}.items():
        assert len(reason) > 10, pattern
        for path in re.findall(r"tests/[\w/.]+\w", reason):
            assert (ROOT / path).exists(), path


def test_every_test_lies_at_the_path_of_a_module_or_of_a_folder():
    stray = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        folder = path.relative_to(ROOT).parent.as_posix()
        exempt = any(folder == known or folder.startswith(f"{known}/") for known in WITHOUT_MODULES)
        if not exempt and not (ROOT / folder.removeprefix("tests").lstrip("/")).is_dir():
            stray.append(path.relative_to(ROOT).as_posix())
    assert stray == []


@pytest.mark.parametrize("folder", WITHOUT_MODULES)
def test_every_folder_without_modules_is_there_and_has_none(folder):
    assert any((ROOT / folder).rglob("test_*.py"))
    assert not (ROOT / folder.removeprefix("tests/")).exists()
