"""An MTurk-compatible requester API and a worker site, on its own models; it imports no other app."""
