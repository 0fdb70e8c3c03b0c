// Small helpers for elements. Nothing here parses HTML: the page's policy forbids it.

const SVG = "http://www.w3.org/2000/svg";

/** Make an SVG element. */
export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  set(made, attributes);
  made.append(...children);
  return made;
}

/** Make an HTML element. */
export function html(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  set(made, attributes);
  made.append(...children);
  return made;
}

export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : value);
  }
}

export const find = (selector, inside = document) => inside.querySelector(selector);

/** Three significant digits, with a plain decimal point. */
export function digits(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e5)) return value.toExponential(2);
  return String(Number(value.toPrecision(3)));
}

/** A number of devices, or a sum of their priorities. */
export const amount = (value) => String(Math.round(100 * value) / 100);

/** "matching_pursuit" → "Matching pursuit". */
export function title(name) {
  const words = name.replaceAll("_", " ").replace(/\birs\b/, "surface");
  return /^(dc|sdr)$/.test(name) ? name.toUpperCase() : words[0].toUpperCase() + words.slice(1);
}
