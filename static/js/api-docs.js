// The page of the API: Swagger UI over our own schema. It sends nothing anywhere but to this site.
const place = document.getElementById("api-docs");
SwaggerUIBundle({ url: place.dataset.schema, domNode: place, deepLinking: true, validatorUrl: null });
