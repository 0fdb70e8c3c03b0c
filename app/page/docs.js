// Swagger UI on the service's own document; if the service asks for a key, so does this page.

import { find } from "./dom.js";
import { askForKey } from "./key.js";
import { insist, key } from "./service.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
/** As chosen on the page, or else as the system says. */
function follow() {
  const theme = localStorage.getItem("theme") || (dark.matches ? "dark" : "light");
  document.documentElement.classList.toggle("dark-mode", theme === "dark");
}
dark.addEventListener("change", follow);
addEventListener("storage", follow);
follow();

const say = (text) => (find("#said").textContent = text);

/** Return the document, or null if the user has no key to show. */
async function openapi() {
  for (;;) {
    try {
      return (await insist("openapi.json", null, null, ({ message }) => say(message))).answer;
    } catch (error) {
      if (error.status === 401 && (await askForKey(error))) continue;
      say(`${error.title}: ${error.message}`);
      return null;
    }
  }
}

function show(spec) {
  say("");
  const swagger = SwaggerUIBundle({
    spec,
    dom_id: "#swagger-ui",
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    tryItOutEnabled: true,
    // Its badge would be loaded from another host.
    validatorUrl: null,
    onComplete() {
      // Shown as a link under the title.
      swagger.specActions.updateUrl("openapi.json");
      if (key.get()) swagger.preauthorizeApiKey("key", key.get());
    },
  });
}

const spec = await openapi();
if (spec) show(spec);
