"""Addresses of what was judged: evidence, agreement, exports."""

app_name = "validation"

urlpatterns: list = []
