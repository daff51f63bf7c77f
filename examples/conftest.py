"""The backends of this folder are packages of their own, whose modules import libraries that need not be here."""

collect_ignore_glob = ["*_backend"]
