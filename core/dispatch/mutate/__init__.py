"""Calls that write: in place, and into `out=`."""
