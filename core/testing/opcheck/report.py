"""The report of opcheck: each failure with its arguments, a program that repeats it, and a suggestion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

__all__ = ["FAULTS", "OpCheckFailure", "OpCheckReport"]

FAULTS: Final[dict[str, str]] = {
    # --- test_schema ---
    "call_fails": "make the call work first, or give opcheck arguments that the operator takes",
    "mutated_input": 'declare that the operator changes it (mutates=("{argument}",), or `Tensor(a!) {argument}` in a '
    "schema), or let the kernel work on a copy",
    "mutated_outside": "write only to the elements of '{argument}': it may be a part of a larger tensor",
    "never_mutated": "declare only arguments that the operator changes, or give arguments with which it does",
    "mutated_list": "work on a copy of the list '{argument}'",
    "changed_metadata": "do not change shape, dtype or requires_grad of '{argument}': work on x.detach() or a view",
    "bumped_version": "the values of '{argument}' stayed, but autograd takes it for changed: write to a copy",
    "version_not_bumped": "let the dispatcher see the change: write through the kernel's own argument, or by an "
    "in-place operator",
    "wrong_result": "return the results that the schema declares, or correct the schema",
    "wrong_dtype": "return the dtype that the schema promises (custom_op(..., result=...), `result:` in YAML)",
    "wrong_device": "make results on the device of the arguments, for instance with tt.empty_like(x)",
    # --- test_aliasing ---
    "aliased_input": "return a copy, or declare the sharing: `Tensor(a) {argument}` and `-> Tensor(a)`",
    "alias_not_shared": "return a view of the argument, or do not declare that it is one",
    "results_share": "make memory of its own for each result",
    "result_kept": "make a new result in each call: a caller may change the one it got",
    "result_overlaps": "return memory of its own for each element: x.contiguous(), numpy's .copy()",
    "readonly_result": "return an array that can be written to: numpy's .copy()",
    # --- test_faketensor ---
    "missing_fake": "write one: @op.fake",
    "fake_fails": "the fake implementation must take whatever the kernel takes, and must not look at values",
    "fake_needs_data": "compute the shape from shapes alone, or declare the operator: tags=('data_dependent_shape',)",
    "fake_result": "return as many results, of the same types and on the device of the arguments, as the kernel does",
    "fake_shape": "return the kernel's shape",
    "fake_dtype": "return the kernel's dtype: tt.empty_like(x, dtype=...)",
    "fake_strides": "lay the fake result out as the kernel's: tt.empty_strided(...), or return "
    "contiguous results from the kernel",
    "fake_aliases": "return a new tensor from the fake implementation, not its argument",
    # --- test_autograd_registration ---
    "no_gradient": "add one (@op.backward, or a formula), or say that there is none: tags=('nondifferentiable',)",
    "detached": "nothing between arguments and result may leave tt's operators (.numpy(), .detach(), .item()); add "
    "@op.backward for the whole, or say that there is none: tags=('nondifferentiable',)",
    # --- test_gradients ---
    "gradient_fails": "return one gradient for each argument (None for what has none), in the shape of the argument",
    "gradient_wrong": "compare the formula with the two Jacobians; at a point where the operator is not smooth, give "
    "other arguments",
    "gradient_random": "the gradient may depend on what was saved and on the gradient it gets alone",
    "gradient_undefined": "an unused output has the gradient None or zeros: treat both alike",
    "gradient_mutates": "work on a copy in the gradient: its arguments belong to others",
    "gradient_layout": "the gradient that arrives may be expanded or transposed: do not rely on its memory",
    "second_gradient_fails": "write the gradient in tt's operators on tensors, all of which can be differentiated",
    "second_gradient_wrong": "write the gradient in tt's operators on tensors: values from .numpy() and .detach() "
    "are constants to the second derivative",
    # --- test_vmap ---
    "vmap_fails": "make the batching rule take all arguments, or remove it: one call for each example serves",
    "vmap_wrong": "the rule must agree with a loop over the examples",
    # --- test_determinism ---
    "nondeterministic": "say so (tags=('random',)) and draw from tt's generator, or remove the state from the kernel",
    "untagged_random": "say that the operator draws: tags=('random',)",
    "seed_ignored": "draw from tt's generator (tt.library.reserve), which tt.manual_seed sets, and from no other",
    # --- test_layouts ---
    "layout_fails": "the kernel must take any strides: copy arguments that it cannot use (numpy's ascontiguousarray)",
    "layout_wrong": "use the strides of each argument, or copy it first (numpy's ascontiguousarray)",
    "empty_fails": "return an empty result for empty arguments, or refuse them with a ValueError",
    # --- test_devices ---
    "dtype_fails": "serve the dtype, or narrow the registration: kernel(..., dtypes='floating')",
    "dtype_wrong": "compute in float32 (half='float32' in a KernelTable), or correct the kernel",
    "device_fails": "serve the device, or remove the registration",
    "device_wrong": "compare the two kernels: the same call gives other values on the two devices",
}
"""Fault -> the suggestion of the report."""


SHOWN: Final = 4
"""On how many further arguments a failure says that it occurs."""


@dataclass(frozen=True, slots=True)
class OpCheckFailure:
    """Something that opcheck found wrong.

    Attributes
    ----------
    test : str
        Which test: "test_schema", ...
    fault : str
        What kind of fault, a key of `FAULTS`.
    message : str
        The fault, in words.
    on : str
        On which arguments: those that were given, or what opcheck made of them.
    also : tuple of str
        On which others, too.
    snippet : str
        Code that repeats it, with arguments as small as opcheck could make them.
    argument : str
        The argument that it is about.
    """

    test: str
    fault: str
    message: str
    on: str
    also: tuple[str, ...]
    snippet: str
    argument: str = ""

    @property
    def hint(self) -> str:
        """The suggestion for the fault."""
        return FAULTS[self.fault].replace("{argument}", self.argument.partition("[")[0] or "x")

    def __str__(self) -> str:
        shown = [*self.also[:SHOWN], *([f"{len(self.also) - SHOWN} more"] if len(self.also) > SHOWN else [])]
        also = f" (also: {', '.join(shown)})" if shown else ""
        lines = [f"{self.test}: {self.fault}", f"  on {self.on}{also}"]
        lines += [f"  {line}" for line in self.message.splitlines()]
        lines += [f"  try: {self.hint}", "  repeat:", *(f"    {line}" for line in self.snippet.splitlines())]
        return "\n".join(lines)


class OpCheckReport(dict[str, Any]):
    """The findings of opcheck: the name of each test -> "SUCCESS", or an `OpCheckError` with its failures.

    Attributes
    ----------
    op : str
        The signature of the operator.
    failures : list of OpCheckFailure
        All failures of all tests.
    notes : dict
        The name of a test -> its gaps, with reasons.
    calls : int
        How often the operator was called.
    """

    def __init__(self, op: str) -> None:
        super().__init__()
        self.op = op
        self.failures: list[OpCheckFailure] = []
        self.notes: dict[str, list[str]] = {}
        self.calls = 0

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.failures

    def note(self, test: str, text: str) -> None:
        """Note a gap of a test."""
        known = self.notes.setdefault(test, [])
        if text not in known:
            known.append(text)

    def __str__(self) -> str:
        count = len(self.failures)
        lines = [f"opcheck of {self.op}: {count or 'no'} failure{'s' if count != 1 else ''}"]
        for number, failure in enumerate(self.failures, 1):
            first, *rest = str(failure).splitlines()
            lines += ["", f"{number}. {first}", *(f"   {line}".rstrip() for line in rest)]
        passed = [name for name, outcome in self.items() if outcome == "SUCCESS"]
        if passed:
            lines += ["", f"passed: {', '.join(passed)}"]
        lines += [f"not looked at by {name}: {text}" for name, texts in self.notes.items() for text in texts]
        return "\n".join(lines)
