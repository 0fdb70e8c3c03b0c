// Pasted or dropped channels in place of the model's.

import { find } from "./dom.js";
import { fromFile, fromText } from "./files.js";

/** Connect the dialog and the page as a place to drop files; `use(channels)` takes them, null for the model. */
export function connectFiles(use) {
  const dialog = find("#own");
  const problem = find("#own-error");

  async function attempt(read) {
    try {
      use(await read());
      problem.textContent = "";
      if (dialog.open) dialog.close();
    } catch (error) {
      problem.textContent = error.message;
      if (!dialog.open) dialog.showModal();
    }
  }

  find("#open-own").addEventListener("click", () => {
    problem.textContent = "";
    dialog.showModal();
  });
  find("#use-own").addEventListener("click", () => attempt(() => fromText(find("#own-text").value)));
  find("#own-file").addEventListener("change", ({ target }) => {
    const [file] = target.files;
    target.value = "";
    if (file) attempt(() => fromFile(file));
  });
  find("#use-model").addEventListener("click", () => use(null));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    const text = event.dataTransfer.getData("text");
    if (file) attempt(() => fromFile(file));
    else if (text) attempt(() => fromText(text));
  });
}
