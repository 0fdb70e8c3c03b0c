// The API key, asked for when the service wants one.

import { find } from "./dom.js";
import { key } from "./service.js";

/** Ask for a key in the service's own words; return whether one was given. */
export function askForKey(error) {
  const dialog = find("#key");
  find("#key-reason").textContent = error.message;
  find("#key-value").value = "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      () => {
        const given = find("#key-value").value.trim();
        const wanted = dialog.returnValue === "use" && given !== "";
        if (wanted) key.set(given);
        resolve(wanted);
      },
      { once: true },
    );
  });
}
