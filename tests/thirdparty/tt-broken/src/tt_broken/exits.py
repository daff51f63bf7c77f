"""Ends the program when it is imported."""

raise SystemExit("this plugin needs Python 2")
