"""How well a model's outputs match gold: CREPE's detection and writing, Syn-(QA)2's detection. No database.

Every score has a 95% percentile bootstrap interval over items; pairs are resampled as pairs. `files` reads gold and
predictions, the others are pure functions of what it read.
"""
