"""`python -m tt.as_torch program.py`: run a program in which `import torch` gives tt."""

from __future__ import annotations

import sys

from tt.as_torch.programs import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
