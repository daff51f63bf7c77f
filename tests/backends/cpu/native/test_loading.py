"""The instruction set of the native kernels: which is taken, the effect of TT_ISA, and its refusals."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.processes import printed_by
from tt.backends.cpu.native import loading
from tt.backends.cpu.native.extensions import LEVELS, digest, level_of, library_of
from tt.backends.cpu.native.loading import Levels, choose, chosen_modules, examine, levels, status
from tt.errors import ConfigurationError

native = pytest.mark.skipif(not status().active, reason=f"native kernels are not in use: {status().reason}")

USES = """
import sys, tt
print(tt.add(tt.tensor([1.0]), 2.0).item())
from tt.backends.cpu.native import loading
print(loading.status().level)
print(*sorted(name.rpartition(".")[2] for name in sys.modules if name.startswith("tt.backends.cpu.native._")))
"""

FAILS = """
import traceback, tt
try:
    tt.add(tt.tensor([1.0]), 2.0)
except Exception as error:
    print(*traceback.format_exception(error), sep="")
"""


def printed_with(program: str, **variables: str) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("TT_ISA", "TT_NATIVE")}
    return printed_by(program, environment | variables).splitlines()


def refusal(asked: str, processor: tuple[str, ...], compiled: tuple[str, ...]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        choose(asked, processor, compiled)
    return str(caught.value)


# --- which level ---


@pytest.mark.parametrize(
    ("processor", "compiled", "expected"),
    [
        (LEVELS, LEVELS, "avx512"),
        (("baseline", "avx2"), LEVELS, "avx2"),
        (("baseline",), LEVELS, "baseline"),
        (LEVELS, ("baseline", "avx2"), "avx2"),
        (LEVELS, ("baseline",), "baseline"),
        (LEVELS, (), "baseline"),
    ],
)
def test_the_highest_level_that_is_there_and_compiled_is_taken(processor, compiled, expected):
    assert choose("", processor, compiled) == expected


@pytest.mark.parametrize("level", LEVELS)
def test_the_level_that_was_asked_for_is_taken(level):
    assert choose(level, LEVELS, LEVELS) == level


def test_an_unknown_word_is_refused():
    assert refusal("avx", ("baseline", "avx2"), LEVELS) == (
        "TT_ISA=avx: unknown instruction set; known: baseline, avx2, avx512\n"
        "  this processor has: baseline, avx2\n"
        "  compiled: baseline, avx2, avx512\n"
        "  try: TT_ISA=avx2, or unset TT_ISA"
    )


def test_a_level_that_the_processor_lacks_is_refused():
    assert refusal("avx512", ("baseline", "avx2"), LEVELS) == (
        "TT_ISA=avx512: this processor does not have avx512\n"
        "  this processor has: baseline, avx2\n"
        "  compiled: baseline, avx2, avx512\n"
        "  try: TT_ISA=avx2, or unset TT_ISA"
    )


def test_a_level_that_was_not_compiled_is_refused():
    assert refusal("avx512", LEVELS, ("baseline", "avx2")) == (
        "TT_ISA=avx512: the native kernels were not compiled for avx512\n"
        "  this processor has: baseline, avx2, avx512\n"
        "  compiled: baseline, avx2\n"
        "  try: TT_ISA=avx2, or unset TT_ISA"
    )


def test_where_nothing_is_compiled_no_other_level_is_suggested():
    assert refusal("sse", (), ()) == (
        "TT_ISA=sse: unknown instruction set; known: baseline, avx2, avx512\n"
        "  this processor has: (not known)\n"
        "  compiled: (none)\n"
        "  try: unset TT_ISA"
    )


def test_a_family_that_is_compiled_for_fewer_levels_runs_with_the_highest_below():
    modules = ("n._threads", "n._all_avx512", "n._all_avx2", "n._all_baseline", "n._few_avx2", "n._few_baseline",
               "n._one_baseline")  # fmt: skip
    assert chosen_modules(modules, "avx512") == {
        "threads": "n._threads", "all": "n._all_avx512", "few": "n._few_avx2", "one": "n._one_baseline",
    }  # fmt: skip
    assert chosen_modules(modules, "avx2")["all"] == "n._all_avx2"
    assert set(chosen_modules(modules, "baseline").values()) == {
        "n._threads", "n._all_baseline", "n._few_baseline", "n._one_baseline",
    }  # fmt: skip


# --- what there is ---


@native
def test_levels_names_those_that_can_run_and_why_the_others_cannot():
    found = levels()
    assert isinstance(found, Levels)
    assert found.usable == tuple(level for level in LEVELS if level not in found.missing)
    assert set(found.usable) == set(found.processor) & set(found.compiled)
    assert "baseline" in found.usable and status().level in found.usable
    assert set(found.missing.values()) <= {"not compiled", "this processor does not have it"}


def test_without_native_kernels_every_level_is_missing_with_the_reason(monkeypatch):
    monkeypatch.setenv("TT_NATIVE", "0")
    monkeypatch.setattr(loading, "examine", lambda: loading.NativeStatus(False, "switched off", ()))
    assert levels() == Levels((), dict.fromkeys(LEVELS, "switched off"), (), ())


@native
def test_levels_that_were_not_compiled_are_named(monkeypatch):
    kept = tuple(module for module in examine().modules if level_of(module) in ("", "baseline"))
    monkeypatch.setattr(loading, "examine", lambda: loading.NativeStatus(True, "", kept))
    found = levels()
    assert found.usable == found.compiled == ("baseline",)
    assert found.missing == {"avx2": "not compiled", "avx512": "not compiled"}


# --- TT_ISA in a process ---


@native
@pytest.mark.parametrize("level", levels().usable)
def test_with_a_level_its_extensions_are_loaded_and_no_others(level):
    number, used, names = printed_with(USES, TT_ISA=level)
    assert (number, used) == ("3.0", level)
    expected = {module.rpartition(".")[2] for module in chosen_modules(examine().modules, level).values()}
    assert {"_threads", "_memory", f"_pointwise_{level}"} <= set(names.split()) < expected


@native
@pytest.mark.parametrize("level", levels().usable)
def test_every_source_has_an_extension_of_the_level_or_of_a_lower_one(level):
    program = """
from tt.backends.cpu.native.extensions import source_name
from tt.backends.cpu.native.loading import examine, load
names = sorted({source_name(module) for module in examine().modules})
print(*(name if load(name) is None else load(name).__name__.rpartition(".")[2] for name in names))
"""
    (names,) = printed_with(program, TT_ISA=level)
    expected = {module.rpartition(".")[2] for module in chosen_modules(examine().modules, level).values()}
    assert set(names.split()) - expected <= {"bfloat_products"}  # for AVX-512 alone


@native
def test_a_family_whose_library_cannot_be_loaded_says_what_to_do(monkeypatch):
    def broken(module):
        raise ImportError("undefined symbol: acme")

    monkeypatch.setattr(loading, "import_module", broken)
    with pytest.raises(ConfigurationError) as caught:
        loading.load("pointwise")
    assert str(caught.value) == (
        f"native kernels: tt.backends.cpu.native._pointwise_{status().level} cannot be loaded: undefined symbol: acme\n"
        "  try: install tt again (in a checkout, make native), or TT_NATIVE=0, and NumPy serves"
    )


@native
@pytest.mark.parametrize("asked", [{}, {"TT_ISA": ""}])
def test_without_a_level_the_highest_is_taken(asked):
    assert printed_with(USES, **asked)[1] == levels().usable[-1]


@native
def test_an_unknown_word_is_an_error_of_the_first_call():
    printed = "\n".join(printed_with(FAILS, TT_ISA="sse9"))
    problem = "TT_ISA=sse9: unknown instruction set; known: baseline, avx2, avx512"
    assert f"  tried: ConfigurationError: {problem}\n" in printed
    found = levels()
    expected = [
        f"ConfigurationError: {problem}",
        f"  this processor has: {', '.join(found.processor)}",
        f"  compiled: {', '.join(found.compiled)}",
        f"  try: TT_ISA={found.usable[-1]}, or unset TT_ISA",
    ]
    assert "\n".join(expected) in printed


def test_a_level_without_native_kernels_is_an_error(tmp_path):
    program = f"""
from pathlib import Path
from tt.backends.cpu.native import loading
loading.examine.__defaults__ = (Path({str(tmp_path)!r}),)
{FAILS}"""
    expected = (
        "TT_ISA=baseline: the native kernels cannot be used: the record of native kernels, _native.json, is not there\n"
        "  try: in a checkout, make native; or unset TT_ISA, and NumPy serves"
    )
    assert expected in "\n".join(printed_with(program, TT_ISA="baseline"))


def test_where_native_kernels_are_switched_off_the_level_does_not_matter():
    program = "from tt.backends.cpu.native import loading; print(loading.status().reason)"
    (reason,) = printed_with(program, TT_ISA="avx2", TT_NATIVE="0")
    assert reason == "switched off by TT_NATIVE=0" or not status().active


# --- the record ---


def test_a_library_of_any_level_that_is_missing_or_stale_leaves_numpy_to_serve(tmp_path):
    package = tmp_path / "tt"
    names = [f"tt.backends.cpu.native._some_{level}" for level in LEVELS]
    source = package.joinpath("backends", "cpu", "native", "src", "some.c")
    source.parent.mkdir(parents=True)
    source.write_text("/* some */\n")
    for name in names:
        library_of(name, package).touch()

    def record(modules: dict[str, str]) -> None:
        suffix = library_of(names[0], package).name.removeprefix("_some_baseline")
        (package / "_native.json").write_text(
            json.dumps({"numpy": "2", "suffix": suffix, "modules": modules})
        )

    record({name: digest(name, source) for name in names})
    assert examine(package).active or os.environ.get("TT_NATIVE") == "0"
    library_of(names[1], package).unlink()
    assert not examine(package).active
    library_of(names[1], package).touch()
    record({name: digest(name, source) for name in names} | {names[2]: "00"})
    assert not examine(package).active


def test_extensions_of_one_source_have_different_digests(tmp_path):
    source = Path(tmp_path, "some.c")
    source.write_text("/* some */\n")
    names = [f"tt.n._some_{level}" for level in LEVELS]
    assert len({digest(name, source) for name in names}) == len(names)
