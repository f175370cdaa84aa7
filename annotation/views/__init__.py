"""Views speak HTTP and nothing else: `work` for workers; `studies`, `workers`, `jobs` for researchers."""
