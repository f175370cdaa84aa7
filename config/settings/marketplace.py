"""The marketplace as a service of its own: its own database and addresses, and nothing of the studies on its pages."""

import os

if url := os.environ.get("MARKETPLACE_DATABASE_URL"):
    os.environ["DATABASE_URL"] = url

from config.settings.base import *  # noqa: F403

ROOT_URLCONF = "config.marketplace_urls"
LOGIN_REDIRECT_URL = "marketplace:groups"
