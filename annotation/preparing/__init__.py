"""Items made from raw material before a study begins: pairs out of dumps, sets out of pools. No database.

The same input and seed give the same items, byte for byte. What does not become an item is named with its reason.
"""
