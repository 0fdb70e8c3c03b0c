// Active devices against the tolerance; a click or a drag sets γ.

import { set, svg, title } from "./dom.js";
import { LIMITS } from "./state.js";

const [LEAST, MOST] = LIMITS.gamma;
const [TOP, RIGHT, BOTTOM, LEFT] = [14, 14, 26, 34];

export class Chart {
  #root;
  #legend;
  #data = { gamma: 0, devices: 1, lines: [] };

  /** Draws into an <svg>; `chosen(gamma)` hears of clicks. */
  constructor(root, legend, chosen) {
    this.#root = root;
    this.#legend = legend;
    let held = false;
    const choose = (event) => {
      const { left, width } = root.getBoundingClientRect();
      const share = (event.clientX - left - LEFT) / (width - LEFT - RIGHT);
      chosen(Math.round(2 * (LEAST + share * (MOST - LEAST))) / 2);
    };
    root.addEventListener("pointerdown", (event) => {
      held = true;
      root.setPointerCapture(event.pointerId);
      choose(event);
    });
    root.addEventListener("pointermove", (event) => held && choose(event));
    for (const end of ["pointerup", "pointercancel"]) root.addEventListener(end, () => (held = false));
    new ResizeObserver(() => this.#draw()).observe(root);
  }

  /** `lines`: [{panel, name, points: [[γ, devices], …], now: devices at γ or null}]. */
  show(data) {
    this.#data = data;
    this.#draw();
  }

  #draw() {
    const { clientWidth: width, clientHeight: height } = this.#root;
    if (!width) return;
    const { gamma, devices, lines } = this.#data;
    const x = (value) => LEFT + ((value - LEAST) / (MOST - LEAST)) * (width - LEFT - RIGHT);
    const y = (value) => height - BOTTOM - (value / devices) * (height - TOP - BOTTOM);
    set(this.#root, { viewBox: `0 0 ${width} ${height}`, "aria-label": this.#words() });
    const drawn = [];
    for (const count of ticks(devices)) {
      drawn.push(svg("path", { class: "grid", d: `M${LEFT} ${y(count)}H${width - RIGHT}` }));
      drawn.push(svg("text", { class: "tick", x: LEFT - 8, y: y(count) + 4, "text-anchor": "end" }, String(count)));
    }
    for (let value = LEAST; value <= MOST; value += 10) {
      drawn.push(svg("text", { class: "tick", x: x(value), y: height - 8, "text-anchor": "middle" }, `${value}`.replace("-", "−")));
    }
    drawn.push(svg("path", { class: "now", d: `M${x(gamma)} ${TOP - 6}V${height - BOTTOM}` }));
    for (const { panel, points, now } of lines) {
      const path = points.map(([at, count]) => `${x(at).toFixed(1)} ${y(count).toFixed(1)}`).join("L");
      if (points.length) drawn.push(svg("path", { class: `line ${panel}`, d: `M${path}` }));
      if (now !== null) drawn.push(svg("circle", { class: `dot ${panel}`, cx: x(gamma), cy: y(now), r: 5 }));
    }
    this.#root.replaceChildren(...drawn);
    this.#legend.replaceChildren(
      ...lines.map(({ panel, name, now }) => {
        const item = document.createElement("li");
        item.className = panel;
        item.append(`${title(name)}${now === null ? "" : `: ${now}`}`);
        return item;
      }),
    );
  }

  #words() {
    const { gamma, lines } = this.#data;
    const told = lines.map(({ name, points, now }) => {
      const ends = points.length ? `, from ${points[0][1]} at ${points[0][0]} dB to ${points.at(-1)[1]} at ${points.at(-1)[0]} dB` : "";
      return `${title(name)} ${now ?? "no answer"}${ends}`;
    });
    return `Active devices against the tolerance. At ${gamma} dB: ${told.join("; ")}.`;
  }
}

/** Up to five whole numbers from 0 to `most`. */
function ticks(most) {
  const step = Math.max(1, [1, 2, 5, 10, 20, 25, 50].find((each) => most / each <= 5) ?? most);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, k) => k * step);
}

