// Light or dark: as the system says, or as chosen here.

import { find } from "./dom.js";

const NEXT = { "": "dark", dark: "light", light: "" };
const WORDS = { "": "system", dark: "dark", light: "light" };

export function connectTheme() {
  show(localStorage.getItem("theme") ?? "");
  find("#theme").addEventListener("click", () => {
    const theme = NEXT[document.documentElement.dataset.theme ?? ""];
    localStorage.setItem("theme", theme);
    show(theme);
  });
}

function show(theme) {
  document.documentElement.dataset.theme = theme;
  find("#theme").textContent = `Colours: ${WORDS[theme]}`;
}
