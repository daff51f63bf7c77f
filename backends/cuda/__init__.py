"""NVIDIA GPUs through CuPy.  Nothing here imports CuPy before a CUDA device is used."""

from tt.core.lazy import attach

# Reading the manifest of the plugin imports this package, in processes that never use a GPU.
__all__ = attach(
    __name__,
    {
        ".runtime.attention_flags": (
            "allow_fp16_bf16_reduction_math_sdp cudnn_sdp_enabled enable_cudnn_sdp enable_flash_sdp enable_math_sdp "
            "enable_mem_efficient_sdp flash_sdp_enabled fp16_bf16_reduction_math_sdp_allowed "
            "is_flash_attention_available math_sdp_enabled mem_efficient_sdp_enabled sdp_kernel"
        ),
        ".runtime.settings": "cudnn is_built matmul",
    },
)
