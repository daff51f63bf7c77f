"""The kinds of faults of an operator that opcheck names, each with a suggestion."""

from __future__ import annotations

from typing import Final

__all__ = ["FAULTS"]

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
