from collections.abc import Mapping
Profile = tuple[int, ...]
Histogram = Mapping[Profile, int]
