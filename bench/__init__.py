"""Measurements, beside what the machine could do at best. Not tests: `make bench` prints tables."""
