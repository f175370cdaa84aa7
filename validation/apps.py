from django.apps import AppConfig


class ValidationConfig(AppConfig):
    name = "validation"

    def ready(self) -> None:
        from validation import jobs, receivers  # noqa: F401  (importing registers and connects them)
