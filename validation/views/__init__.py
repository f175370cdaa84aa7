"""Pages of researchers: what was judged, and who does the work."""
