// Swagger UI on the service's own document.

SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  // Its badge would be loaded from another host.
  validatorUrl: null,
});
