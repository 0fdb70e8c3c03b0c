// The error of every subcarrier of a band, as bars from zero, and what is tolerated.

import { digits, set, svg } from "./dom.js";
import { errorOf, gammaOf } from "./round.js";

const [TOP, RIGHT, BOTTOM, LEFT] = [8, 4, 22, 44];

/** Draw into an <svg>; without an answer only the axes. */
export function draw(root, round, answer) {
  const { state, band, given } = round;
  const errors = answer?.computation_errors ?? [];
  const tolerated = errorOf(gammaOf(state), round);
  const { clientWidth: width, clientHeight: height } = root;
  set(root, { "aria-label": words(errors, tolerated) });
  if (!width || !band) return;
  const subcarriers = band.length;
  const most = Math.max(tolerated, ...errors) * 1.05;
  const step = (width - LEFT - RIGHT) / subcarriers;
  const y = (value) => TOP + (height - TOP - BOTTOM) * (1 - value / most);
  const bars = errors.map((error, f) =>
    svg("rect", {
      // The one that the cell shows.
      class: given && f === state.round ? "bar chosen" : "bar",
      x: (LEFT + (f + 0.1) * step).toFixed(1),
      y: y(error).toFixed(1),
      width: (0.8 * step).toFixed(1),
      height: (y(0) - y(error)).toFixed(1),
    }),
  );
  const tick = (x, at, anchor, text) => svg("text", { class: "tick", x, y: at, "text-anchor": anchor }, text);
  set(root, { viewBox: `0 0 ${width} ${height}` });
  root.replaceChildren(
    svg("path", { class: "grid", d: `M${LEFT} ${y(0)}H${width - RIGHT}` }),
    ...bars,
    svg("path", { class: "now", d: `M${LEFT} ${y(tolerated)}H${width - RIGHT}` }),
    tick(LEFT - 6, y(0) + 4, "end", "0"),
    tick(LEFT - 6, Math.min(y(tolerated), y(0) - 12) + 4, "end", digits(tolerated)),
    tick(LEFT + step / 2, height - 4, "middle", "0"),
    tick((LEFT + width - RIGHT) / 2, height - 4, "middle", "subcarrier"),
    tick(width - RIGHT - step / 2, height - 4, "middle", String(subcarriers - 1)),
  );
}

function words(errors, tolerated) {
  if (!errors.length) return "Error over frequency: nobody is active.";
  const ends = [Math.min(...errors), Math.max(...errors)].map(digits);
  return `Error over frequency: from ${ends[0]} to ${ends[1]} on ${errors.length} subcarriers, tolerated ${digits(tolerated)}.`;
}
