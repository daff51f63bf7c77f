"""Compare the digits network before and after its weights were rounded to int8: python -m tt.examples.quantized."""

from __future__ import annotations

import sys

from tt.examples.quantized.compare import compare

if __name__ == "__main__":
    seeds = [int(word) for word in sys.argv[1:]] or list(range(5))
    sys.stdout.write("seed  float32  int8    same answers  bytes of weights    ms float32  ms int8\n")
    for seed in seeds:
        found = compare(seed)
        sys.stdout.write(
            f"{seed:4}  {found.float_accuracy:7.4f}  {found.int8_accuracy:.4f}  {found.agreement:12.4f}  "
            f"{found.float_bytes:7} -> {found.int8_bytes:6}  {found.float_ms:10.1f}  {found.int8_ms:7.1f}\n"
        )
        sys.stdout.flush()
