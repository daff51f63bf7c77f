"""The backends of this folder are separate packages, whose modules import libraries that need not be here."""

collect_ignore_glob = ["*_backend"]
