"""Every public name is on some page, and the tables of the pages list nothing that does not exist."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import textwrap
from typing import get_args, get_type_hints

import pytest
import typer

import tt
from tt.backends.array_api import ArrayApiBackend
from tt.core import errors, hooks
from tt.core.dispatch.registry.tables import KernelTable
from tt.core.host import host
from tt.core.host.manifest import Manifest
from tt.core.schema.classes import DTYPE_CLASSES
from tt.core.schema.fields import FIELDS, TOP_LEVEL
from tt.core.schema.model import BASES, KINDS, RESULTS, TAGS, VARIANTS
from tt.core.tensor.backend import Backend
from tt.core.tensor.device_interface import DeviceInterface
from tt.utils import cpp_extension

ERRORS = [name for name in errors.__all__ if inspect.isclass(getattr(errors, name))]

# --- errors ----------------------------------------------------------------------------------------------------


def fields_of(name: str) -> list[str]:
    """Return the attributes that a class sets itself."""
    cls = getattr(errors, name)
    if issubclass(cls, tuple):
        return list(cls._fields)
    if dataclasses.is_dataclass(cls):
        return [f.name for f in dataclasses.fields(cls)]
    if "__init__" not in vars(cls):
        return []
    tree = ast.parse(textwrap.dedent(inspect.getsource(vars(cls)["__init__"])))
    targets = [t for node in ast.walk(tree) if isinstance(node, ast.Assign) for t in node.targets]
    leaves = [leaf for t in targets for leaf in (t.elts if isinstance(t, ast.Tuple) else [t])]
    names = [x.attr for x in leaves if isinstance(x, ast.Attribute) and ast.unparse(x.value) == "self"]
    return [name for name in names if not name.startswith("_")]


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_has_a_section_with_its_bases_fields_and_an_example(pages, name):
    section = pages["docs/errors.md"].section(f"`{name}`")
    cls = getattr(errors, name)
    bases = [base.__name__ for base in cls.__bases__ if base not in (errors.TTError, object)]
    missing = [word for word in [*bases, *fields_of(name)] if not section.mentions(word)]
    assert not missing, f"the section {name} of docs/errors.md does not mention {missing}"
    if name not in ("TTError", "DispatchError", "SchemaProblem"):  # never raised themselves
        assert re.search(rf"(tt\.core\.errors\.{name}:|except tt\.errors\.{name} )", section.code), (
            "no example"
        )


def test_the_page_of_errors_has_no_section_for_what_does_not_exist(pages):
    found = re.findall(r"^### `(\w+)`$", pages["docs/errors.md"].text, re.MULTILINE)
    assert sorted(found) == sorted(ERRORS)


@pytest.mark.exhaustive
def test_no_other_module_defines_an_error_that_users_see(root):
    elsewhere = []
    for folder in ("api", "core", "backends", "plugins", "cli"):
        for path in (root / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                bases = {ast.unparse(b).rpartition(".")[2] for b in getattr(node, "bases", [])}
                if bases & {*ERRORS} and path.parent != root / "core" / "errors":
                    elsewhere.append(f"{path.relative_to(root)}: {node.name}")
    assert not elsewhere


# --- plugins ---------------------------------------------------------------------------------------------------


def test_every_field_of_the_manifest_is_described(pages):
    table = pages["docs/plugins.md"].section("The manifest").first_cells()
    assert table == [f.name for f in dataclasses.fields(Manifest)]


def test_every_hook_is_described(pages):
    specified = {
        f"{name}({', '.join(inspect.signature(getattr(hooks.Hooks, name)).parameters)})"
        for name in vars(hooks.Hooks)
        if name.startswith("tt_")
    }
    assert set(pages["docs/plugins.md"].section("The hooks").first_cells()) == specified


def test_every_state_of_a_plugin_is_described(pages):
    assert pages["docs/plugins.md"].section("States").first_cells() == list(
        get_args(get_type_hints(host.PluginState)["state"])
    )


def test_every_option_of_a_kernel_is_described(pages):
    parameters = inspect.signature(KernelTable.kernel).parameters.values()
    options = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    assert pages["docs/backends.md"].section("Writing kernels").first_cells() == options


def members_of(cls: type) -> set[str]:
    """Return the public attributes and methods that a class itself defines, methods with their parameters."""
    found = set()
    for name, value in vars(cls).items():
        if not name.startswith("_"):
            parameters = list(inspect.signature(value).parameters)[1:] if inspect.isfunction(value) else None
            found.add(name if parameters is None else f"{name}({', '.join(parameters)})")
    return found


@pytest.mark.parametrize(
    ("heading", "cls"), [("The device interface", DeviceInterface), ("The methods of Backend", Backend)]
)
def test_every_method_of_a_backend_is_described(pages, heading, cls):
    rows = list(pages["docs/backends.md"].section(heading).rows())
    described = {re.findall(r"`([^`]+)`", row.split("|")[1])[0] for row in rows}
    inherited = set() if cls is DeviceInterface else members_of(DeviceInterface)
    assert described == members_of(cls) - inherited


def test_every_parameter_of_the_array_backend_is_described(pages):
    table = pages["docs/backends.md"].section("A backend of twenty lines").first_cells()
    assert table == list(inspect.signature(ArrayApiBackend).parameters)


def test_every_error_of_the_page_of_backends_exists(pages):
    assert set(pages["docs/backends.md"].section("Errors").first_cells()) <= set(ERRORS)


def test_the_group_of_entry_points_is_named(pages):
    assert pages["docs/plugins.md"].mentions(host.GROUP)


@pytest.mark.parametrize("name", sorted(set(tt.library.__all__)))
def test_every_name_of_the_library_is_described(pages, name):
    assert pages["docs/plugins.md"].section("Contents of `tt.library`").mentions(name)


# --- the command -----------------------------------------------------------------------------------------------


def commands():
    """Return every command by its full name."""
    from tt.cli.main import build

    found, waiting = {}, [("tt", typer.main.get_command(build()))]
    while waiting:
        name, command = waiting.pop(0)
        found[name] = command
        waiting += [(f"{name} {sub}", c) for sub, c in getattr(command, "commands", {}).items()]
    return found


@pytest.fixture(scope="module")
def described(pages):
    """The section of each command, by its full name."""
    page = pages["docs/commands.md"]
    names = [re.match(r"`(tt( [a-z-]+)*)", heading) for heading in page.headings]
    return {match[1]: page.section(match[0]) for match in names if match}


def test_every_command_has_a_section_and_every_section_a_command(described):
    groups = {name for name, command in commands().items() if getattr(command, "commands", None)} - {"tt"}
    assert sorted(described) == sorted(set(commands()) - groups)


@pytest.mark.parametrize("name", commands())
def test_every_option_of_a_command_is_in_its_section(described, name):
    options = [o for p in commands()[name].params for o in (*p.opts, *p.secondary_opts) if o.startswith("-")]
    section = described.get(name)
    if section is None:
        assert not options, f"the group {name} has options, and no section"
        return
    listed = re.findall(r"(?<![\w-])--?[a-z][a-z-]*", " ".join(re.findall(r"`([^`]+)`", section.prose)))
    missing = [option for option in options if not section.mentions(option)]
    assert not missing, f"the section of {name} does not mention {missing}"
    unknown = sorted(set(listed) - set(options) - {"-h", "--help"})
    assert not unknown, f"{name} has no options {unknown}"


@pytest.mark.exhaustive
def test_every_environment_variable_is_described(pages, root):
    found = set()
    for folder in ("api", "core", "backends", "plugins", "cli"):
        for path in (root / folder).rglob("*.py"):
            found |= variables_in(path.read_text(encoding="utf-8"))
    found |= variables_in((root / "hatch_build.py").read_text(encoding="utf-8"))
    table = pages["docs/commands.md"].section("Environment variables").first_cells()
    assert sorted(table) == sorted(found)


def variables_in(source: str) -> set[str]:
    """Return the environment variables of tt that are in the strings of a program, less the names of its own."""
    nodes = list(ast.walk(ast.parse(source)))
    strings = [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    names = {n.id for n in nodes if isinstance(n, ast.Name)}
    return {word for text in strings for word in re.findall(r"\bTT_[A-Z_]*[A-Z]\b", text)} - names


# --- the schema ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("Keys of a file", TOP_LEVEL),
        ("Keys of an entry", FIELDS),
        ("Signatures", BASES),
        ("Kinds", KINDS),
        ("Variants", VARIANTS),
        ("Results", RESULTS),
        ("Tags", TAGS),
        ("Classes of dtypes", DTYPE_CLASSES),
    ],
)
def test_every_word_of_the_schema_is_described_in_its_order(pages, heading, words):
    assert pages["docs/schema.md"].section(heading).first_cells() == list(words)


def test_every_shape_rule_that_is_described_exists(pages):
    from tt.core.shapes.registry import rules

    listed = pages["docs/schema.md"].section("Shape rules").first_cells()
    assert listed and not set(listed) - set(rules())


# --- tt --------------------------------------------------------------------------------------------------------


# Namespaces, and the page that describes them.
PAGES = {
    "nn": ("nn", "nn.attention", "nn.attention.bias", "nn.init", "nn.parameter", "nn.utils", "nn.utils.rnn",
           "nn.utils.parametrize", "nn.utils.parametrizations", "nn.utils.prune", "nn.utils.stateless",
           "compiler", "jit"),
    "amp": ("amp", "cpu.amp", "cuda.amp"),
    "fx": ("fx",),
    "processes": ("multiprocessing", "futures"),
    "distributed": ("distributed", "distributed.nn"),
    "surface": ("random", "quasirandom", "hub", "storage", "types", "utils.benchmark", "utils.collect_env",
                "utils.dlpack", "utils.flop_counter", "utils.model_zoo", "utils.module_tracker", "utils.tensorboard",
                "utils.weak", "autograd.grad_mode", "autograd.anomaly_mode", "autograd.variable"),
    "optim": ("optim", "optim.lr_scheduler", "optim.swa_utils"),
    "distributions": ("distributions", "distributions.constraints", "distributions.transforms"),
}  # fmt: skip
GENERAL = (
    "tensors",
    "autograd",
    "sparse",
    "nested",
    "quantized",
    "cuda",
    "nn",
    "amp",
    "optim",
    "distributions",
    "distributed",
    "data",
    "processes",
    "saving",
    "array_api",
    "surface",
    "fx",
)


def public_names() -> list[str]:
    """Return what `tt` and its namespaces export besides operators."""
    names = [
        f"tt.{name}" for name in {"bool", "is_tensor", *tt._TYPE_HOMES, *tt._HOMES, *tt._MODULES} - {"bool_"}
    ]
    for module in ("accelerator", "autograd", "cpu", "cuda", "func", "serialization", "sparse", "testing"):
        names += [f"tt.{module}.{name}" for name in getattr(tt, module).__all__]
    return sorted(names)


@pytest.mark.parametrize("name", public_names())
def test_every_public_name_is_described(pages, name):
    namespace, _, short = name.rpartition(".")
    for page in (pages[f"docs/{title}.md"] for title in GENERAL):
        listed = namespace != "tt" and page.mentions(namespace) and page.mentions(short)
        if page.mentions(name) or listed:
            return
    raise AssertionError(f"none of the pages {', '.join(GENERAL)} mentions {name}")


@pytest.mark.parametrize("namespace", [space for spaces in PAGES.values() for space in spaces])
def test_every_name_of_a_namespace_is_on_its_page(pages, namespace):
    title = next(title for title, spaces in PAGES.items() if namespace in spaces)
    page = pages[f"docs/{title}.md"]
    names = importlib.import_module(f"tt.{namespace}").__all__
    missing = [n for n in names if not (page.mentions(n) or page.mentions(f"tt.{namespace}.{n}"))]
    assert not missing, f"docs/{title}.md does not mention {missing} of tt.{namespace}"


def test_the_tables_of_modules_and_optimizers_list_nothing_that_does_not_exist(pages):
    namespaces = {
        ("nn", "Modules"): [tt.nn],
        ("nn", "Initialisation"): [tt.nn.init],
        ("optim", "Training"): [tt.optim],
        ("optim", "Schedules"): [tt.optim.lr_scheduler],
    }
    for (title, heading), spaces in namespaces.items():
        rows = list(pages[f"docs/{title}.md"].section(heading).rows())
        cells = [row.split("|")[2 if heading == "Modules" else 1] for row in rows]
        names = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
        unknown = [n for n in names if not any(hasattr(space, n) for space in spaces)]
        assert names and not unknown, f"docs/{title}.md lists {unknown}"
        repeated = {n for n in names if names.count(n) > 1}
        assert not repeated, f"docs/{title}.md lists {repeated} twice"


@pytest.mark.exhaustive
def test_every_page_of_the_namespaces_has_all_methods_of_module_and_optimizer(pages):
    schedule = tt.optim.lr_scheduler.LRScheduler
    for title, cls in (("nn", tt.nn.Module), ("optim", tt.optim.Optimizer), ("optim", schedule)):
        methods = [n for n, v in inspect.getmembers(cls, callable) if not n.startswith("_")]
        missing = [n for n in methods if not pages[f"docs/{title}.md"].mentions(n)]
        assert not missing, f"docs/{title}.md does not mention {missing} of {cls.__name__}"


# --- extensions ------------------------------------------------------------------------------------------------


def test_every_option_of_loading_an_extension_is_described(pages):
    options = {
        name for function in (cpp_extension.load_inline, cpp_extension.load)
        for name in inspect.signature(function).parameters
    }  # fmt: skip
    assert set(pages["docs/inline-kernels.md"].section("Options").first_cells()) == options


@pytest.mark.parametrize("name", cpp_extension.__all__)
def test_every_name_of_extensions_is_described(pages, name):
    assert pages["docs/inline-kernels.md"].mentions(name)


def test_every_name_of_the_header_of_extensions_is_described(pages, root):
    header = (root / "core/extension/include/tt/extension.h").read_text(encoding="utf-8")
    names = set(re.findall(r"\b(tt_\w+|TT_\w+)\b", re.sub(r"/\*.*?\*/|enum \{.*?\}", "", header, flags=re.S)))
    section = pages["docs/inline-kernels.md"].section("Functions over tensors")
    missing = [name for name in names - {"TT_EXTENSION_H"} if not section.mentions(name)]
    assert "tt_empty" in names and not missing


def names_of_tensor_likes() -> list[str]:
    """Return the imports of authors of tensor-likes."""
    modules = (tt.overrides, tt.utils._python_dispatch, tt.utils._pytree)
    return sorted(name for module in modules for name in module.__all__)


@pytest.mark.parametrize("name", names_of_tensor_likes())
def test_every_name_for_tensor_likes_is_described(pages, name):
    assert pages["docs/tensor-likes.md"].mentions(name)
