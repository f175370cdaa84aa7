"""Every address of the site; each app lists its own."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from config import health

admin.autodiscover()
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]  # one log-in, with its MFA and limits

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="annotation:studies"), name="front"),
    path("", include("annotation.urls")),
    path("", include("validation.urls")),
    path("", include("hits.urls")),
    path("api/v1/", include("validation.api_urls")),
    path("api/v1/", include("hits.api_urls")),
    path("api/", include("annotation.api_urls")),
    path("marketplace/", include("marketplace.urls")),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]

# Under /api/ these answer as everything does there; elsewhere Django's own do.
handler400 = "annotation.problems.bad_request"
handler500 = "annotation.problems.server_error"
