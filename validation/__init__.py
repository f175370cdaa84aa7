"""Judges answers: tallies, agreement, resolutions and exports."""
