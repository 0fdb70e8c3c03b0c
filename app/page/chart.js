// Devices against error: the frontier, what each algorithm serves at each tolerance, and where it is now.
// A click or a drag sets γ.

import { amount, html, set, svg, title } from "./dom.js";

const [TOP, RIGHT, BOTTOM, LEFT] = [20, 14, 42, 34];

export class Chart {
  #root;
  #legend;
  #data = null;

  /** Draws into an <svg>; `chosen(gamma)` hears of clicks. */
  constructor(root, legend, chosen) {
    this.#root = root;
    this.#legend = legend;
    let held = false;
    const choose = (event) => {
      const { left, width } = root.getBoundingClientRect();
      const share = (event.clientX - left - LEFT) / (width - LEFT - RIGHT);
      const [least, most] = this.#data.range;
      chosen(Math.round(2 * (least + share * (most - least))) / 2);
    };
    root.addEventListener("pointerdown", (event) => {
      held = Boolean(this.#data);
      if (!held) return;
      root.setPointerCapture(event.pointerId);
      choose(event);
    });
    root.addEventListener("pointermove", (event) => held && choose(event));
    for (const end of ["pointerup", "pointercancel"]) root.addEventListener(end, () => (held = false));
    new ResizeObserver(() => this.#draw()).observe(root);
  }

  /** `counted` names what is counted, devices or the sum of their priorities, `most` is that of all of them.
   * `frontier`: [[γ in dB, count], …] or null, `recommended` one of them; `lines`: [{panel, name,
   * samples: [[γ, count, whether within γ], …], now: [own error as γ, count] or null}]. */
  show(data) {
    this.#data = data;
    this.#draw();
  }

  #draw() {
    const { clientWidth: width, clientHeight: height } = this.#root;
    if (!width || !this.#data) return;
    const { range: [least, most], gamma, counted, most: all, frontier, recommended, lines } = this.#data;
    const inside = (value) => Math.min(Math.max(value, least), most);
    const x = (value) => LEFT + ((inside(value) - least) / (most - least)) * (width - LEFT - RIGHT);
    const y = (value) => height - BOTTOM - (value / all) * (height - TOP - BOTTOM);
    const place = ([at, count]) => `${x(at).toFixed(1)} ${y(count).toFixed(1)}`;
    set(this.#root, { viewBox: `0 0 ${width} ${height}`, "aria-label": this.#words() });
    const drawn = [];
    for (const count of steps(0, all)) {
      drawn.push(svg("path", { class: "grid", d: `M${LEFT} ${y(count)}H${width - RIGHT}` }));
      drawn.push(svg("text", { class: "tick", x: LEFT - 8, y: y(count) + 4, "text-anchor": "end" }, String(count)));
    }
    for (const value of steps(least, most)) {
      drawn.push(svg("text", { class: "tick", x: x(value), y: height - BOTTOM + 18, "text-anchor": "middle" }, `${value}`.replace("-", "−")));
    }
    drawn.push(
      svg("text", { class: "tick", x: 2, y: 10 }, counted),
      svg("text", { class: "tick", x: (LEFT + width - RIGHT) / 2, y: height - 4, "text-anchor": "middle" }, "error as tolerance, γ = PE/σ², dB"),
      svg("path", { class: "now", d: `M${x(gamma)} ${TOP - 4}V${height - BOTTOM}` }),
    );
    if (frontier) drawn.push(svg("path", { class: "frontier", d: `M${staircase(frontier, [least, most]).map(place).join("L")}` }));
    for (const { panel, samples } of lines) {
      for (const [at, count, within] of samples) {
        drawn.push(marker(panel, x(at), y(count), 2.4, within ? "sample" : "sample missed"));
      }
    }
    if (recommended) drawn.push(svg("circle", { class: "recommended", cx: x(recommended[0]), cy: y(recommended[1]), r: 8 }));
    for (const { panel, now } of lines) if (now) drawn.push(marker(panel, x(now[0]), y(now[1]), panel === "first" ? 6 : 4, "dot"));
    this.#root.replaceChildren(...drawn);
    this.#legend.replaceChildren(
      ...lines.map(({ panel, name, now }) => html("li", { class: panel }, `${title(name)}${now ? `: ${amount(now[1])}` : ""}`)),
    );
  }

  #words() {
    const { gamma, counted, lines, recommended } = this.#data;
    const told = lines.map(({ name, samples, now }) => {
      const ends = samples.length ? `, from ${amount(samples[0][1])} at ${samples[0][0]} dB to ${amount(samples.at(-1)[1])} at ${samples.at(-1)[0]} dB` : "";
      return `${title(name)} ${now ? amount(now[1]) : "no answer"}${ends}`;
    });
    if (recommended) told.push(`recommended are ${amount(recommended[1])} at ${recommended[0].toFixed(1)} dB`);
    return `${title(counted)} against error. At ${gamma} dB: ${told.join("; ")}.`;
  }
}

/** The first algorithm's points are round, the second's square. */
function marker(panel, x, y, size, kind) {
  const [name, shape] = panel === "first"
    ? ["circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: size }]
    : ["rect", { x: (x - size).toFixed(1), y: (y - size).toFixed(1), width: 2 * size, height: 2 * size }];
  return svg(name, { class: `${kind} ${panel}`, ...shape });
}

/** So many devices from this tolerance on. */
function staircase(points, [least, most]) {
  const corners = [[least, 0]];
  for (const [gamma, count] of points) corners.push([gamma, corners.at(-1)[1]], [gamma, count]);
  return [...corners, [most, corners.at(-1)[1]]];
}

/** Up to seven round numbers between two. */
function steps(least, most) {
  const step = [1, 2, 5, 10, 20, 25, 50].find((each) => (most - least) / each <= 6) ?? most - least;
  const first = Math.ceil(least / step);
  return Array.from({ length: Math.floor(most / step) - first + 1 }, (_, k) => (first + k) * step);
}
