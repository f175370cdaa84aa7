"""Settings, read from the environment; every variable is listed in docs/settings.md.

Without any variable set the project refuses to start: `SECRET_KEY` is needed unless `DEBUG=true`.
"""

import re
import sys
from pathlib import Path

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parents[2]
env = environ.Env()

# Everything the running system writes itself (embedded database, broker, exports) is under one ignored folder.
VAR_DIR = Path(env("VAR_DIR", default=str(BASE_DIR / "var")))
DEBUG = env.bool("DEBUG", default=False)

SECRET_KEY = env("SECRET_KEY", default="")
if not SECRET_KEY:
    if not DEBUG:
        raise ImproperlyConfigured(
            "SECRET_KEY is not set. Set it to a long random string, for example the output of "
            "`python -c 'import secrets; print(secrets.token_urlsafe(50))'`, or set DEBUG=true for development."
        )
    SECRET_KEY = "for-development-only-" + "x" * 40
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])

ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
# Where people reach this server from outside; printed links begin with it.
SITE_URL = env("SITE_URL", default="http://127.0.0.1:8000").rstrip("/")

INSTALLED_APPS = [
    "annotation.apps.AnnotationConfig",
    "validation.apps.ValidationConfig",
    "hits.apps.HitsConfig",
    "marketplace.apps.MarketplaceConfig",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "csp",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]

MIDDLEWARE = [
    "config.middleware.limit_body",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- Database -----------------------------------------------------------------------------------
DATABASES = {"default": env.db("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'touchstone.sqlite3'}")}
DATABASES["default"]["CONN_MAX_AGE"] = env.int("CONN_MAX_AGE", default=60)
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # IMMEDIATE takes the write lock at BEGIN: a deferred transaction that turns into a writer fails at once
    # with "database is locked" instead of waiting its turn.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
SILENCED_SYSTEM_CHECKS = ["models.W040"]  # SQLite leaves out what PostgreSQL keeps beside an index; both count right
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Cache, Celery ------------------------------------------------------------------------------
CACHES = {"default": env.cache("CACHE_URL", default="locmemcache://touchstone")}

CELERY_BROKER_URL = env("CELERY_BROKER_URL", default="filesystem://localhost/")
if CELERY_BROKER_URL.startswith("filesystem://"):
    broker_dir = VAR_DIR / "broker"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(broker_dir / "queue"),
        "data_folder_out": str(broker_dir / "queue"),
        "control_folder": str(broker_dir / "control"),
        "polling_interval": 0.05,  # the default of a second makes every click feel slow
    }
    if "test" not in sys.argv:
        for folder in ("queue", "control"):
            (broker_dir / folder).mkdir(parents=True, exist_ok=True, mode=0o700)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BEAT_SCHEDULER = "config.beat.Scheduler"
BEAT_FILE = VAR_DIR / "beat"
CELERY_BEAT_SCHEDULE = {
    "expire leases": {"task": "annotation.tasks.expire_leases", "schedule": 30.0},
    "score workers": {"task": "validation.tasks.score_workers", "schedule": 15.0},
    "label ratings": {"task": "validation.tasks.label_ratings", "schedule": 15.0},
    "keep the marketplace's time": {"task": "marketplace.tasks.keep_time", "schedule": 30.0},
    "resume jobs": {"task": "annotation.tasks.resume_jobs", "schedule": 60.0},
    "keep HITs": {"task": "hits.tasks.sweep", "schedule": 10.0},
}

# --- Files --------------------------------------------------------------------------------------
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = Path(env("STATIC_ROOT", default=str(VAR_DIR / "static")))
# Without `collectstatic` (development, the demo) whitenoise serves straight from the source folders.
STATIC_COLLECTED = (STATIC_ROOT / "staticfiles.json").exists()
WHITENOISE_USE_FINDERS = not STATIC_COLLECTED
if not STATIC_COLLECTED:
    STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # whitenoise warns at every start of a folder that is not there
MEDIA_ROOT = Path(env("MEDIA_ROOT", default=str(VAR_DIR / "media")))
S3_BUCKET = env("S3_BUCKET", default="")
STORAGES: dict[str, dict[str, object]] = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if STATIC_COLLECTED or "collectstatic" in sys.argv
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
if S3_BUCKET:
    STORAGES["default"] = {
        "BACKEND": "storages.backends.s3.S3Storage",
        "OPTIONS": {
            "bucket_name": S3_BUCKET,
            "endpoint_url": env("S3_ENDPOINT_URL", default=None),
            "region_name": env("S3_REGION", default=None),
            "location": env("S3_PREFIX", default=""),
            "signature_version": "s3v4",
            "default_acl": None,
            "file_overwrite": False,
        },
    }

# --- People -------------------------------------------------------------------------------------
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
ACCOUNT_ADAPTER = "annotation.accounts.ClosedSignup"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "annotation:studies"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
EMAIL_CONFIG = env.email("EMAIL_URL", default="consolemail://")
vars().update(EMAIL_CONFIG)
DEFAULT_FROM_EMAIL = env("DEFAULT_FROM_EMAIL", default="touchstone@localhost")
# How long a personal link or token works, in days; it can be renewed or revoked at any time.
LINK_DAYS = env.int("LINK_DAYS", default=90)

# --- Security -----------------------------------------------------------------------------------
HTTPS = env.bool("HTTPS", default=SITE_URL.startswith("https://"))
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.bool("BEHIND_PROXY", default=False) else None
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_REFERRER_POLICY = "same-origin"  # a personal link never leaves in a Referer header
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}
MAX_BODY_BYTES = env.int("MAX_BODY_BYTES", default=1024 * 1024)
MAX_UPLOAD_BYTES = env.int("MAX_UPLOAD_BYTES", default=200 * 1024 * 1024)
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
API_RATE = env("API_RATE", default="6000/min")
JOIN_RATE = env("JOIN_RATE", default="30/hour")
FRAME_RATE = env("FRAME_RATE", default="600/min")

# --- API ----------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["annotation.authentication.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["annotation.parsers.StrictJSONParser"],
    "DEFAULT_THROTTLE_CLASSES": ["annotation.throttling.PerWorker"],
    "DEFAULT_THROTTLE_RATES": {"user": API_RATE, "anon": "60/min", "join": JOIN_RATE, "frame": FRAME_RATE},
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "annotation.problems.as_problem",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Touchstone API",
    "DESCRIPTION": f"""For annotators who are programs: take a sitting, keep drafts, submit or return it.

Every request carries `Authorization: Token ...`, with the token that `manage.py add_worker` prints; it works for
{LINK_DAYS} days, or until it is withdrawn. Anything may be sent again: taking gives the open sitting, submitting gives
the first answer to it. Errors are `application/problem+json`, with a `code` for programs and a sentence for people.

Limits: {API_RATE} requests for each worker, 60/min for each address without a token, {MAX_BODY_BYTES:,} bytes a body.
""",
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "ENUM_NAME_OVERRIDES": {
        "SittingState": "annotation.models.sittings.State",
        "WorkerState": "annotation.models.Enrolment.State",
        "BatchState": "hits.models.Batch.State",
        "PaymentState": "hits.models.Payment.State",
    },
}

# --- Time, words, logs --------------------------------------------------------------------------
LANGUAGE_CODE = "en-gb"
TIME_ZONE = env("TIME_ZONE", default="UTC")
USE_I18N = False
USE_TZ = True

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "config.logs.RedactingFormatter",
            "format": "{asctime} {levelname} {name} {message}",
            "style": "{",
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env("LOG_LEVEL", default="INFO")},
    # Those that would write lines of their own, with whole addresses in them.
    "loggers": {
        name: {"handlers": ["console"], "level": "INFO", "propagate": False}
        for name in ("django", "django.server", "gunicorn.access", "gunicorn.error")
    },
}

# --- Marketplace --------------------------------------------------------------------------------
# What requesters pay beside rewards: "none", or "mturk" for the shares Amazon took.
MARKETPLACE_FEES = env.str("MARKETPLACE_FEES", default="none")
# Whether anybody may make an account to work here; otherwise workers come by personal links.
MARKETPLACE_SIGNUP = env.bool("MARKETPLACE_SIGNUP", default=False)
MARKETPLACE_CALLS_PER_SECOND = env.int("MARKETPLACE_CALLS_PER_SECOND", default=100)
# Task pages and event addresses at plain http: on one machine only.
MARKETPLACE_ALLOWS_HTTP = env.bool("MARKETPLACE_ALLOWS_HTTP", default=not HTTPS)
# Faults on demand, for tests of requester software alone (see marketplace/faults.py).
MARKETPLACE_FAULTS = env.str("MARKETPLACE_FAULTS", default="")
if MARKETPLACE_FAULTS and not DEBUG:
    raise ImproperlyConfigured("MARKETPLACE_FAULTS breaks calls on purpose: it is refused unless DEBUG=true.")
if MARKETPLACE_FEES not in ("none", "mturk"):
    raise ImproperlyConfigured("MARKETPLACE_FEES is none or mturk.")

# --- HITs ---------------------------------------------------------------------------------------
# Where people reach the tasks from a marketplace's frame; best another host than the marketplace's.
PUBLIC_URL = env.str("PUBLIC_URL", default=SITE_URL).rstrip("/")
MTURK_MODE = env.str("MTURK_MODE", default="marketplace")
if MTURK_MODE not in ("marketplace", "sandbox", "production"):
    raise ImproperlyConfigured("MTURK_MODE is marketplace, sandbox or production.")
# Empty: the own marketplace, or Amazon's addresses for the two other modes.
MTURK_ENDPOINT_URL = env.str("MTURK_ENDPOINT_URL", default="")
MTURK_ACCESS_KEY = env.str("MTURK_ACCESS_KEY", default="")
MTURK_SECRET_KEY = env.str("MTURK_SECRET_KEY", default="")
MTURK_REGION = env.str("MTURK_REGION", default="us-east-1")
MTURK_ALLOW_SPENDING = env.bool("MTURK_ALLOW_SPENDING", default=False)
# What the marketplace takes beside rewards, for the costs shown before anything is bought.
MTURK_FEES = env.str("MTURK_FEES", default=MARKETPLACE_FEES if MTURK_MODE == "marketplace" else "mturk")
# At most so many calls a second, whichever process makes them (0: no limit), and so many at a time in one process.
MTURK_CALLS_PER_SECOND = env.int("MTURK_CALLS_PER_SECOND", default=50)
MTURK_PARALLEL = env.int("MTURK_PARALLEL", default=4)
MTURK_READ_TIMEOUT = env.float("MTURK_READ_TIMEOUT", default=20.0)  # seconds
# Origins of marketplaces that may show workers' task pages in a frame, and to which a task's form may be sent; no other
# page may be framed at all.
FRAMING = {
    "marketplace": [SITE_URL],
    "sandbox": ["https://workersandbox.mturk.com"],
    "production": ["https://worker.mturk.com", "https://www.mturk.com"],
}
TASK_FRAME_HOSTS = [host.strip() for host in env.list("TASK_FRAME_HOSTS", default=FRAMING[MTURK_MODE])]
if wrong := [host for host in TASK_FRAME_HOSTS if not re.fullmatch(r"https?://[\w.*-]+(:\d+)?", host)]:
    raise ImproperlyConfigured(f"TASK_FRAME_HOSTS takes origins such as https://work.example.org, not {wrong[0]!r}.")
