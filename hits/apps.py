from django.apps import AppConfig


class HitsConfig(AppConfig):
    name = "hits"
