"""Brings and pays workers through an MTurk-compatible marketplace."""
