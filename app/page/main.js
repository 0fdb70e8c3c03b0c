// The page: controls → state → round → one panel per algorithm, and the curve.

import { Chart } from "./chart.js";
import { connectControls, showControls } from "./controls.js";
import { copy } from "./copy.js";
import { Curves } from "./curve.js";
import { find } from "./dom.js";
import { connectFiles } from "./given.js";
import { askForKey } from "./key.js";
import { Panel } from "./panel.js";
import { round } from "./round.js";
import { insist } from "./service.js";
import { limited, read, within, written } from "./state.js";
import { connectTheme } from "./theme.js";

let state = read(location.hash);
let given = null;
let algorithms = [];
let current = null;
const panels = {};
const curves = new Curves(drawCurves, (message, panel) => {
  // If the panel has no answer either, it says why.
  const shown = message && panels[panel]?.answer ? message : "";
  find("#curve-error").textContent = shown;
  find("#curve-error").hidden = !shown;
});
let points = {};
let marked = null;
const chart = new Chart(find("#curve"), find("#legend"), (gamma) => change({ gamma: limited("gamma", gamma) }));

// What the panels tell.
const hear = {
  chosen(panel, name) {
    state.parameters[panel] = {};
    change({ [panel]: name });
  },
  adjusted(panel, parameter, value) {
    if (value === undefined) delete state.parameters[panel][parameter];
    else state.parameters[panel][parameter] = value;
    change({});
  },
  removed: () => compare(""),
  moved(device, at) {
    state.moved.set(device, within(at));
    marked = device;
    change({});
  },
  restored(device) {
    state.moved.delete(device);
    change({});
  },
  surfaceMoved(at) {
    [state.surface.x, state.surface.y] = within(at);
    change({});
  },
  marked(device) {
    marked = device;
    const told = Object.values(panels).map((panel) => panel.words(device));
    // The second sentence need not say again which device it is and where.
    const rest = told.slice(1).map((words) => words.replace(/^[^:]*: /, ""));
    find("#marked").textContent = [told[0], ...rest].join(" · ");
    for (const panel of Object.values(panels)) panel.mark(device);
  },
  answered(panel, answeredRound) {
    if (answeredRound !== current) return;
    drawCurves(points);
    if (marked !== null) hear.marked(Math.min(marked, current.positions.length - 1));
    announce();
  },
  refused: askAgainWithKey,
  copied: async (write, request) => said((await copy(write(request))) ? "Copied." : ""),
};

/** Change the state and draw it: at once, then at most once per frame. */
let [waiting, changed] = [false, false];
export function change(values) {
  Object.assign(state, values);
  if (waiting) {
    changed = true;
    return;
  }
  refresh();
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    if (changed) change({});
    changed = false;
  });
}

function refresh() {
  if (!algorithms.length) return;
  showControls(state, given);
  current = round(state, given);
  const endpoint = current.surface ? "/schedule/irs" : "/schedule";
  const offered = algorithms.filter(({ endpoints }) => endpoints.includes(endpoint));
  const choices = {};
  const answers = [];
  for (const [name, panel] of Object.entries(panels)) {
    const chosen = offered.find((each) => each.name === state[name]) ?? fallback(offered, name);
    if (chosen.name !== state[name]) state.parameters[name] = {};
    state[name] = chosen.name;
    const parameters = state.parameters[name];
    panel.offer(offered, chosen.name, parameters);
    const algorithm = { name: chosen.name, ...parameters };
    choices[name] = { algorithm, endpoints: chosen.endpoints };
    answers.push(panel.ask(current, algorithm));
  }
  curves.ask(current, choices, Promise.all(answers));
  remember();
}

function fallback(offered, panel) {
  const usual = panel === "first" ? "matching_pursuit" : "dual_pursuit";
  return offered.find(({ name }) => name === usual) ?? offered[0];
}

function drawCurves(found) {
  points = found;
  const lines = Object.entries(panels).map(([panel, { answer }]) => ({
    panel,
    name: state[panel],
    points: points[panel] ?? [],
    now: answer?.active.length ?? null,
  }));
  chart.show({ gamma: state.gamma, devices: current.positions.length, lines });
}

/** Show or hide the second algorithm. */
function compare(name) {
  if (name && !panels.second) panels.second = new Panel("second", hear);
  if (!name && panels.second) {
    panels.second.remove();
    delete panels.second;
    find("#compare").focus();
  }
  find("#panels").classList.toggle("two", Boolean(panels.second));
  find("#compare").hidden = Boolean(panels.second);
  change({ second: name });
}

let timer = 0;
/** Write the state into the address, a little later: browsers allow only so many changes. */
function remember() {
  clearTimeout(timer);
  timer = setTimeout(() => history.replaceState(null, "", `#${written(state)}`), 200);
}

let speaking = 0;
/** Tell screen readers, once things have calmed down. */
function announce() {
  clearTimeout(speaking);
  speaking = setTimeout(() => {
    find("#spoken").textContent = Object.values(panels).map(({ summary }) => summary).join(". ");
  }, 700);
}

let saying = 0;
function said(text, milliseconds = 2500) {
  clearTimeout(saying);
  find("#said").textContent = text;
  saying = setTimeout(() => said("", 1e9), milliseconds);
}

let asking = false;
async function askAgainWithKey(error) {
  if (asking) return;
  asking = true;
  const given = await askForKey(error);
  asking = false;
  if (given) start();
}

/** Learn which algorithms there are, then begin. */
async function start() {
  try {
    const { answer } = await insist("algorithms", null, null, ({ message }) => said(message, 1e9));
    algorithms = answer.algorithms;
    said("");
  } catch (error) {
    if (error.status === 401) return askAgainWithKey(error);
    return said(`${error.title}: ${error.message}`, 1e9);
  }
  document.body.dataset.state = "started";
  compare(state.second);
}

connectTheme();
connectControls(() => state, change);
connectFiles((found) => {
  given = found;
  change({ round: 0, ...(found?.gamma !== undefined && { gamma: limited("gamma", found.gamma) }) });
});
find("#compare").addEventListener("click", () => compare(state.first === "dual_pursuit" ? "matching_pursuit" : "dual_pursuit"));
find("#link").addEventListener("click", async () => {
  const link = `${location.href.replace(/#.*/, "")}#${written(state)}`;
  said((await copy(link)) ? "Link copied." : "");
});
addEventListener("hashchange", () => {
  if (location.hash.slice(1) === written(state)) return;
  state = read(location.hash);
  compare(state.second);
});
panels.first = new Panel("first", hear);
start();
