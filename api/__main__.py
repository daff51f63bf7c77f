"""`python -m tt`: the command `tt`, where the folder of scripts is not on the path, or for one of several Pythons."""

from __future__ import annotations

from tt.cli.main import main

if __name__ == "__main__":
    main()
