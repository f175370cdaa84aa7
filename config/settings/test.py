"""Settings for tests: as in production, but fast, with a cache and files that vanish."""

import os
import tempfile

os.environ.setdefault("SECRET_KEY", "only-for-tests-" + "x" * 40)
var_dir = tempfile.TemporaryDirectory(prefix="touchstone-test-")  # goes when the process ends
os.environ.setdefault("VAR_DIR", var_dir.name)

from config.settings.base import *  # noqa: F403
from config.settings.base import REST_FRAMEWORK, STORAGES

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
WHITENOISE_USE_FINDERS = False  # every client would list all static files; live servers have a handler of their own
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] = {"user": None, "anon": None, "join": None, "frame": None}
ACCOUNT_RATE_LIMITS = False
