"""Collects answers: studies, items, workers, sittings, assignments and annotations."""
