"""The matrix of operators and backends: its cells, and filters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tt
from tt.backends.cpu.backend import CpuBackend
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import UnknownNameError, UnknownOpError
from tt.core.library import KernelTable
from tt.testing.coverage import (
    HOWS,
    Place,
    compute_dtype,
    coverage,
    definitions_of,
    family_of,
    matrix,
    percentage,
)

CPU = Place("cpu")


@pytest.fixture
def leaning() -> Iterator[Place]:
    """A backend with one kernel, whose other calls may fall back to the CPU."""
    tt.ones(1)
    backend = CpuBackend()
    backend.device_type, backend.fallback = "leaning", "cpu"
    table = KernelTable(device="leaning")
    table.kernel("exp", lambda self: self, takes=("self",), dtypes=("float32",))
    handles = [REGISTRY.add_backend(backend), REGISTRY.add(table)]
    yield Place("leaning")
    for handle in reversed(handles):
        handle.remove()


def how(name: str, place: Place, dtype: str | None = None) -> str:
    return coverage(definitions_of(name)[0], place, dtype).how


# --- one cell ----------------------------------------------------------------------------------------------------


def test_each_way_of_being_served_is_told_from_the_others(leaning):
    assert how("exp", CPU) == "kernel"
    assert how("exp", Place("meta")) == "generic kernel"
    assert how("relu6", Place("cuda")) == "composite"
    assert how("sin", leaning) == "fallback"
    assert how("exp", Place("cpu", "sparse_coo")) == "missing"
    assert how("sparse::values", CPU) == "other layout"
    assert how("sparse::coo", Place("cuda")) == "kernel"


def test_a_fallback_is_as_good_as_what_it_falls_back_to(leaning):
    found = coverage(definitions_of("sin")[0], leaning)
    expected = coverage(definitions_of("sin")[0], CPU)
    assert (found.dtypes, found.sources) == (expected.dtypes, expected.sources)
    assert how("sparse::values", leaning) == "other layout"


def test_a_preferred_fallback_goes_before_the_composite_where_the_policy_allows(leaning):
    backend = REGISTRY.backend("leaning")
    assert how("logit", leaning) == "composite"
    backend.prefer_fallback = True
    assert how("logit", leaning) == "composite"
    with tt.fallback_policy("silent", "leaning"):
        assert how("logit", leaning) == "fallback"


def test_a_cell_agrees_with_the_call(leaning):
    with tt.fallback_policy("silent"):
        x = tt.ones(2, device="leaning")
        assert tt.sin(x).device == x.device
    with pytest.raises(tt.errors.NoKernelError):
        tt.sin(x)
    assert tt.explain("logit", ["leaning:float32"]).resolution.taken.kind == "composite"


def test_a_dtype_is_served_by_the_kernel_that_computes_in_it(leaning):
    assert how("exp", leaning, "float32") == "kernel"
    assert how("exp", leaning, "float16") == "kernel", "computed in float32"
    assert how("exp", leaning, "int64") == "kernel", "computed in the default dtype"
    assert how("exp", leaning, "float64") == "fallback"
    exp = REGISTRY.operator("exp")
    assert compute_dtype(exp, tt.int64) is tt.float32


def test_a_dtype_that_arrays_cannot_have_is_missing():
    pytest.importorskip("array_api_strict")
    import array_api_strict

    from tt.library import ArrayApiBackend

    tt.ones(1)
    backend = ArrayApiBackend(array_api_strict, "halfless")
    with REGISTRY.add_backend(backend), REGISTRY.add(backend.kernels()):
        assert how("exp", Place("halfless"), "float32") == "kernel"
        assert how("exp", Place("halfless"), "bfloat16") == "missing"


# --- families and shares -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "family"),
    [("exp", "pointwise"), ("sum", "reduction"), ("conv2d", "convolution"), ("sparse::coo", "sparse")],
)
def test_an_operator_belongs_to_the_family_of_its_inputs_or_to_its_namespace(name, family):
    assert family_of(definitions_of(name)[0]) == family


def test_every_operator_stands_once_beside_the_others_of_its_family():
    found = matrix([CPU])
    names = [row.definition.name for row in found.rows]
    assert sorted(names) == sorted(REGISTRY.names())
    changes = sum(a.family != b.family for a, b in zip(found.rows, found.rows[1:], strict=False))
    assert changes == len(found.families()) - 1


def test_the_counts_of_families_add_up_to_those_of_all():
    found = matrix([CPU, Place("cuda")])
    for place in found.places:
        counts = found.counts(place)
        assert counts.total() == len(found.rows)
        for way in HOWS:
            assert sum(found.counts(place, family)[way] for family in found.families()) == counts[way]
        served, whole = found.served(place)
        assert (served, whole) == (
            len(found.rows) - counts["other layout"] - counts["missing"],
            len(found.rows) - counts["other layout"],
        )


def test_a_share_is_whole_only_of_all():
    assert [percentage(*pair) for pair in ((607, 608), (1, 608), (0, 3), (3, 3), (0, 0))] == [
        "99%",
        "1%",
        "0%",
        "100%",
        "-",
    ]


# --- filters -----------------------------------------------------------------------------------------------------


def names_of(**options):
    return [row.definition.name for row in matrix([CPU, Place("cuda")], **options).rows]


def test_patterns_match_overloads_and_names_without_them():
    assert names_of(ops=["sum"]) == ["sum", "sum.dim"]
    assert names_of(ops=["sum.*"]) == ["sum.dim"]
    assert set(names_of(ops=["exp", "linalg_eig*"])) == {
        "exp", "linalg_eigh", "linalg_eigvalsh", "linalg_eig", "linalg_eigvals",
    }  # fmt: skip


def test_a_pattern_for_nothing_is_refused_with_the_nearest():
    with pytest.raises(UnknownOpError, match="did you mean 'softmax'"):
        matrix([CPU], ops=["exp", "softmx"])
    with pytest.raises(UnknownOpError):
        matrix([CPU], ops=["zz*"])


def test_a_namespace_is_that_of_a_plugin_or_of_tt():
    assert all(name.startswith("sparse::") for name in names_of(namespace="sparse"))
    assert not any("::" in name for name in names_of(namespace="tt"))
    with pytest.raises(UnknownNameError, match=r"known: .*sparse, tt"):
        matrix([CPU], namespace="spars")


def test_only_operators_that_promise_the_dtype_are_asked_about_it():
    found = matrix([CPU], dtype="complex64")
    assert found.dtype == "complex64"
    assert all("complex64" in row.promised for row in found.rows)
    assert "floor" not in {row.definition.name for row in found.rows}


def test_missing_leaves_what_one_backend_lacks():
    found = matrix([CPU, Place("cpu", "sparse_coo")], missing=True)
    assert found.rows
    assert all(any(cell.how == "missing" for cell in row.cells) for row in found.rows)


def test_all_backends_but_meta_are_shown_unless_some_are_named():
    places = {str(place) for place in matrix(ops=["exp"]).places}
    assert {"cpu", "cuda", "cpu/sparse_coo"} <= places
    assert "meta" not in places


def test_a_kernel_for_part_of_the_dtypes_is_told_from_one_for_all(leaning):
    row = matrix([leaning, CPU], ops=["exp"]).rows[0]
    served = row.part(row.cells[0])
    assert "float32" in served and "float16" in served
    assert "float64" not in served
    assert row.part(row.cells[1]) == ()
