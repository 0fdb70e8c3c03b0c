// Explanations of single words: beside the pointer's or the keyboard's element, one at a time.

import { find } from "./dom.js";

export function connectTips() {
  const tip = find("#tip");
  let owner = null;

  function show(element) {
    // A field is explained by what stands on its label.
    const wanted = element?.closest?.("[data-tip]") ?? element?.labels?.[0]?.closest("[data-tip]") ?? null;
    if (wanted === owner) return;
    owner?.removeAttribute("aria-describedby");
    owner = wanted;
    tip.hidden = !owner;
    if (!owner) return;
    tip.textContent = owner.dataset.tip;
    owner.setAttribute("aria-describedby", "tip");
    place();
  }

  function place() {
    if (!owner) return;
    const { left, bottom, top } = owner.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = tip;
    tip.style.left = `${Math.max(8, Math.min(left, document.documentElement.clientWidth - width - 8))}px`;
    tip.style.top = `${bottom + 6 + height > innerHeight ? top - height - 6 : bottom + 6}px`;
  }

  for (const kind of ["pointerover", "pointerdown", "focusin"]) document.addEventListener(kind, ({ target }) => show(target));
  // What gets the focus may scroll into view first.
  addEventListener("scroll", place, { passive: true });
  addEventListener("blur", () => show(null));
  document.addEventListener("focusout", () => show(null));
  document.addEventListener("keydown", ({ key }) => key === "Escape" && show(null));
}
