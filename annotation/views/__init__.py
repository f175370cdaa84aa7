"""Views speak HTTP and nothing else: `work` for workers, `studies` for researchers."""
