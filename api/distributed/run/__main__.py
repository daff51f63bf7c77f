"""`python -m tt.distributed.run`."""

from __future__ import annotations

import sys

from tt.distributed.run.launch import main

if __name__ == "__main__":
    sys.exit(main())
