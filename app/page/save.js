// Pictures and tables to keep: SVG with its colours written in, PNG made from that, CSV.

import { find, set, svg } from "./dom.js";

const STYLES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap",
  "stroke-linejoin", "paint-order", "opacity", "font-family", "font-size", "text-anchor",
];
const [SCALE, MARGIN] = [3, 4];

/** Save a picture as "svg" or "png", or the rows of `table()` as "csv". */
export async function save(name, kind, picture, table) {
  const made = kind === "csv" ? new Blob([csv(table())], { type: "text/csv" }) : await drawn(kind, picture);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(made);
  link.download = `airsched-${name}.${kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function csv(rows) {
  const written = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : value);
  return rows.map((row) => row.map(written).join(",")).join("\r\n") + "\r\n";
}

async function drawn(kind, picture) {
  const alone = standalone(picture);
  const blob = new Blob([new XMLSerializer().serializeToString(alone)], { type: "image/svg+xml" });
  if (kind === "svg") return blob;
  const image = new Image();
  image.src = URL.createObjectURL(blob);
  await image.decode();
  URL.revokeObjectURL(image.src);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = ["width", "height"].map((side) => SCALE * Number(alone.getAttribute(side)));
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** Return a copy that needs no style sheet. */
function standalone(picture) {
  const copy = picture.cloneNode(true);
  const originals = [picture, ...picture.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((each, k) => {
    const style = getComputedStyle(originals[k]);
    if (style.display === "none") each.dataset.gone = "";
    for (const name of STYLES) each.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "tabindex", "role", "aria-label"]) each.removeAttribute(name);
  });
  for (const each of copy.querySelectorAll("[data-gone]")) each.remove();
  const { x, y, width, height } = picture.viewBox.baseVal;
  const [left, top, wide, high] = [x - MARGIN, y - MARGIN, width + 2 * MARGIN, height + 2 * MARGIN];
  const ground = getComputedStyle(find("#tolerance")).backgroundColor;
  copy.prepend(find("#edge").cloneNode(true), svg("rect", { x: left, y: top, width: wide, height: high, fill: ground }));
  const shown = Math.max(1, 480 / wide);
  set(copy, {
    xmlns: "http://www.w3.org/2000/svg",
    viewBox: [left, top, wide, high].join(" "),
    width: Math.round(wide * shown),
    height: Math.round(high * shown),
  });
  return copy;
}
