"""Graphs of programs, compilers and exporters."""

from __future__ import annotations

from typing import Final

from tt._compat.absent.rows import table

__all__ = ["ABSENT"]

ABSENT: Final = [
    *table(
        "tt does not capture programs as graphs yet",
        {
            "torch": "SymBool SymFloat SymInt",
            "torch._higher_order_ops": "associative_scan scan map",
            "torch._higher_order_ops.associative_scan": "associative_scan",
            "torch._higher_order_ops.wrap": "inductor_compiled_code",
            "torch.fx._compatibility": "compatibility:decorator",
            "torch.fx._symbolic_trace": "is_fx_symbolic_tracing:false",
            "torch.fx.experimental.proxy_tensor": "get_proxy_mode:none make_fx",
            "torch.fx.experimental.symbolic_shapes": (
                "GuardOnDataDependentSymNode ShapeEnv StrictMinMaxConstraint free_symbols free_unbacked_symbols "
                "guard_or_false:bool guard_or_true:bool guard_size_oblivious:bool has_free_symbols:false "
                "is_symbolic:false statically_known_true:bool sym_eq"
            ),
            "torch.fx.graph_module": "_CodeOnlyModule _USER_PRESERVED_ATTRIBUTES_KEY reduce_graph_module",
        },
    ),
    *table(
        "tt does not export programs yet",
        {
            "torch.export": (
                "Constraint Dim ExportBackwardSignature ExportGraphSignature ExportedProgram ModuleCallEntry "
                "ModuleCallSignature ShapesCollection draft_export export "
                "load register_dataclass save unflatten"
            ),
            "torch.export.decomp_utils": "CustomDecompTable",
            "torch.export.dynamic_shapes": "AdditionalInputs Constraint Dim ShapesCollection dims",
            "torch.export.exported_program": "ExportedProgram default_decompositions",
            "torch.export.graph_signature": "ExportGraphSignature InputKind InputSpec OutputKind OutputSpec",
            "torch.export.unflatten": "FlatArgsAdapter InterpreterModule UnflattenedModule unflatten",
            "torch.export.passes": "move_to_device_pass",
        },
    ),
    *table(
        "tt does not write ONNX files yet",
        {
            "torch.onnx": (
                "ExportableModule JitScalarType ONNXProgram OnnxExporterError export "
                "register_custom_op_symbolic:none select_model_mode_for_export unregister_custom_op_symbolic:none"
            ),
            "torch.onnx.errors": "OnnxExporterError SymbolicValueError UnsupportedOperatorError",
            "torch.onnx.ops": "symbolic symbolic_multi_out",
            "torch.onnx.utils": "export unconvertible_ops",
            "torch.onnx.verification": "VerificationInfo verify_onnx_program",
            "torch.onnx.symbolic_opset9": "masked_fill softmax",
            "torch.onnx.symbolic_opset11": "select squeeze unsqueeze",
            "torch.onnx.symbolic_opset12": "dropout",
        },
    ),
    *table(
        "tt has no compiler yet",
        {
            "torch._dynamo": "explain export optimize run",
            "torch._dynamo.backends.common": "aot_autograd",
            "torch._dynamo.backends.registry": "lookup_backend register_backend",
            "torch._dynamo.testing": "CompileCounter CompileCounterWithBackend",
            "torch._functorch.aot_autograd": "aot_function aot_module aot_module_simplified make_boxed_func",
            "torch._functorch.compilers": "aot_function memory_efficient_fusion ts_compile",
            "torch._inductor": "aoti_compile_and_package aoti_load_package compile cudagraph_mark_step_begin",
            "torch._inductor.compile_fx": "compile_fx compile_fx_inner",
            "torch._inductor.cpp_builder": "get_cpp_compiler",
            "torch._inductor.package": "load_package package_aoti",
        },
    ),
]  # fmt: skip
