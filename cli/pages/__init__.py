"""Checks of the registrations, coverage, and pages of documentation."""
