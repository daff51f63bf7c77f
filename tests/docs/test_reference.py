"""The reference of the site: every public name has a page, and docstrings become pages and links."""

from __future__ import annotations

import importlib
import sys
from fnmatch import fnmatchcase

import pytest


@pytest.fixture(scope="module", autouse=True)
def site(root):
    """The modules of the site, which only `make docs` imports otherwise."""
    sys.path.insert(0, str(root / "docs" / "site"))
    yield
    sys.path.remove(str(root / "docs" / "site"))


@pytest.fixture(scope="module")
def reference(site):
    return importlib.import_module("reference")


@pytest.fixture(scope="module")
def links(site):
    return importlib.import_module("links")


@pytest.fixture(scope="module")
def docstrings(site):
    return importlib.import_module("docstrings")


# Modules below api/ without a page of their own, with the reason.
WITHOUT = {
    "__config__": "two functions that describe the installation, as PyTorch's",
    "__future__": "settings of PyTorch that change nothing here",
    "__main__": "the command",
    "accelerator.memory": "its names are those of accelerator",
    "autograd.gradcheck": "its names are exported by autograd and errors",
    "cuda.comm": "its names are those of nn.parallel.comm",
    "cuda.graphs": "its names are those of cuda",
    "cuda.random": "its names are those of cuda",
    "cuda.streams": "its names are those of cuda",
    "jit.annotations": "types for annotations, as PyTorch's",
    "nn.common_types": "types for annotations, as PyTorch's",
    "return_types": "classes of the results of operators, which their pages describe",
    "signal": "holds signal.windows",
    "signal.windows.windows": "its names are exported by signal.windows",
    "distributions.constraint_registry": "its names are exported by distributions",
}
# Modules that implement a namespace: what is for users in them, the namespace exports.
IMPLEMENTING = (
    "amp.*", "array_api.*", "as_torch.*", "distributed.*", "distributions.[!ckt]*", "distributions.c[!o]*",
    "distributions.continuous_bernoulli", "distributions.kumaraswamy", "func.*", "hub.*", "masked.*",
    "multiprocessing.*", "nn.attention.implementations",
    "nn.grouped_products", "nn.modules*", "nn.parallel.*",
    "nn.uninitialized", "nn.utils.clip_grad", "nn.utils.convert_parameters", "nn.utils.fusion", "nn.utils.init",
    "nn.utils.memory_format", "nn.utils.spectral_norm", "nn.utils.weight_norm", "optim.[!ls]*", "optim.lbfgs",
    "fx.passes", "fx.passes.utils", "optim.lr_scheduler.*", "optim.sgd", "optim.sparse_adam", "optim.swapping",
    "serialization.*", "sparse.gradcheck", "sparse.typed", "utils.benchmark.*", "utils.checkpoint_states",
    "utils.data.*", "utils.swap", "distributions.transformed_distribution",
)  # fmt: skip


def public_modules(root):
    """Return the modules below api/ whose path has no part that begins with an underscore, but for dunders."""
    found = []
    for path in sorted((root / "api").rglob("*.py")):
        parts = path.relative_to(root / "api").with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if all(not part.startswith("_") or part.startswith("__") for part in parts):
            found.append(".".join(parts))
    return found


def test_every_public_module_has_a_page_or_a_reason(reference, root):
    documented = {name for chapter in reference.NAMESPACES.values() for name in chapter}
    modules = public_modules(root)
    implementing = {m for m in modules if any(fnmatchcase(m, p) for p in IMPLEMENTING)} - documented
    assert sorted(set(modules) - documented - implementing) == sorted(WITHOUT)
    assert not [p for p in IMPLEMENTING if not any(fnmatchcase(m, p) for m in implementing)]


def test_every_public_name_of_a_namespace_has_a_page(reference):
    pages = {f"{reference.FOLDER}/{name.removesuffix('.rst')}" for name in reference.pages()}
    pages |= set(reference.operator_pages().values())
    entries = reference.entries()
    missing = [e.name for e in entries.values() if e.page not in pages and e.kind != "module"]
    assert len(entries) > 1500 and not missing
    modules = [e.name.removeprefix("tt.") for e in entries.values() if e.kind == "module" and not e.page]
    assert set(modules) <= {*WITHOUT, "_utils", "backends", "nn.modules", "array_api.fft", "array_api.linalg",
                            "multiprocessing.reducer", "library.errors"}  # fmt: skip


def test_a_name_is_described_exactly_once(reference):
    described = [
        line.partition(":: ")[2].removesuffix("()")
        for text in reference.pages().values()
        for line in text.splitlines()
        if line.startswith((".. autoclass", ".. autofunction", ".. autoexception", ".. py:class"))
    ]
    homes = {e.home for e in reference.entries().values() if e.kind in ("class", "function", "exception")}
    assert len(described) == len(set(described)) and set(described) == homes


def test_pages_differ_on_file_systems_that_ignore_case(reference):
    names = [name.casefold() for name in reference.pages()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "kind", "page"),
    [
        ("tt.softmax", "operator", "docs/operators/softmax"),
        ("tt.Tensor.add_", "operator", "docs/operators/add"),
        ("tt.nn.functional.softmax", "operator", "docs/operators/softmax"),
        ("tt.nn.Linear", "class", "docs/reference/tt.nn.Linear"),
        ("tt.nn.Parameter", "class", "docs/reference/tt.Parameter"),
        ("tt.func.grad", "function", "docs/reference/func"),
        ("tt.cuda.Event", "class", "docs/reference/tt.cuda.Event"),
        ("tt.autograd.no_grad", "class", "docs/reference/tt.no_grad"),
        ("tt.library.DETERMINISM", "data", "docs/reference/library"),
        ("tt.errors.ShapeError", "exception", "docs/reference/errors"),
    ],
)
def test_where_a_name_is_described(reference, name, kind, page):
    if name in reference.entries():
        entry = reference.entries()[name]
        assert (entry.kind, entry.page) == (kind, page)
    else:
        assert reference.operator_pages()[name] == page


def test_pages_are_written_once_and_removed_with_their_names(reference, tmp_path):
    (tmp_path / "tt.Gone.rst").write_text("")
    reference.write(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == set(reference.pages())
    before = {p: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
    reference.write(tmp_path)
    assert before == {p: p.stat().st_mtime_ns for p in tmp_path.iterdir()}


# --- docstrings ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("(*, in) to (*, out)", r"(\*, in) to (\*, out)"),
        ("x_ and |y|, `x_ * |y|`", r"x\_ and \|y\|, `x_ * |y|`"),
        ("some `Tensor`s", r"some `Tensor`\ s"),
        (":math:`a_b * c` and ``a_``", ":math:`a_b * c` and ``a_``"),
        ("see `a paper <http://x_.y>`_", "see `a paper <http://x_.y>`_"),
        ("*args : Any", "*args : Any"),
    ],
)
def test_signs_of_a_docstring_are_meant_as_they_stand(docstrings, written, meant):
    assert docstrings.escaped([written]) == [meant]


def test_examples_are_left_as_they_are(docstrings):
    lines = [">>> x.add_(y) * 2 | z_", "tensor(*)", "", "use x_"]
    assert docstrings.escaped(lines) == [*lines[:3], r"use x\_"]


def test_inventories_are_read_by_sphinx_and_lead_to_python_and_numpy(links, tmp_path):
    inventory = pytest.importorskip("sphinx.util.inventory")
    found = links.inventories(tmp_path)
    (address, file) = found["python"]
    read = inventory.InventoryFile.loads((tmp_path / "python.inv").read_bytes(), uri=address)
    assert file == str(tmp_path / "python.inv")
    assert read.data["py:class"]["collections.abc.Callable"].uri.endswith(
        "collections.abc.html#collections.abc.Callable"
    )
    assert read.data["py:class"]["ValueError"].uri == f"{address}/library/exceptions.html#ValueError"
    assert read.data["py:class"]["dict"].uri == f"{address}/library/stdtypes.html#dict"
