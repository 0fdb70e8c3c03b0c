// The page: controls → state → round → one panel per algorithm, and the trade-off.

import { Chart } from "./chart.js";
import { connectControls, showControls, showPicked } from "./controls.js";
import { copy } from "./copy.js";
import { amount, find, title } from "./dom.js";
import { connectFiles } from "./given.js";
import { askForKey } from "./key.js";
import { Panel } from "./panel.js";
import { Player } from "./play.js";
import { endpoint, round, toleranceOf, valueOf } from "./round.js";
import { save } from "./save.js";
import { insist } from "./service.js";
import { read, within, written } from "./state.js";
import { connectTheme } from "./theme.js";
import { connectTips } from "./tips.js";
import { Tradeoff } from "./tradeoff.js";

let state = read(location.hash);
let given = null;
let algorithms = [];
let current = null;
let found = null;
let marked = null;
let picked = 0;
const HINTS = {
  model: "Drag a device. Or Tab to one: arrow keys move it, Page Up and Page Down choose another, Backspace puts it back.",
  given: "These devices stay where they are. Point at one, or Tab to it: Page Up and Page Down choose another.",
};
const panels = {};
const tradeoff = new Tradeoff(drawTradeoff, (message) => {
  // If no panel has an answer either, they say why.
  const shown = message && Object.values(panels).some(({ answer }) => answer) ? message : "";
  find("#curve-error").textContent = shown;
  find("#curve-error").hidden = !shown;
});
const chart = new Chart(find("#curve"), find("#legend"), (gamma) => change({ gamma: inRange(gamma) }));
const player = new Player(advance, restart, () => change({}));

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
  jammerMoved(at) {
    [state.jammer.x, state.jammer.y] = within(at);
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
  picked(device) {
    picked = device;
    showPicked(picked, current);
    hear.marked(device);
  },
  answered(panel, answeredRound) {
    if (answeredRound !== current) return;
    drawTradeoff(found);
    if (marked !== null) hear.marked(Math.min(marked, current.positions.length - 1));
    announce();
  },
  refused: askAgainWithKey,
  copied: async (write, request) => said((await copy(write(request))) ? "Copied." : ""),
  saved: save,
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
  current = round(state, given);
  showControls(state, current);
  picked = Math.min(picked, current.positions.length - 1);
  showPicked(picked, current);
  if (marked === null) find("#marked").textContent = given ? HINTS.given : HINTS.model;
  const offered = algorithms.filter(({ endpoints }) => endpoints.includes(endpoint(current)));
  const answers = [];
  for (const [name, panel] of Object.entries(panels)) {
    const chosen = offered.find((each) => each.name === state[name]) ?? fallback(offered, name);
    if (chosen.name !== state[name]) state.parameters[name] = {};
    state[name] = chosen.name;
    const parameters = state.parameters[name];
    panel.offer(offered, chosen.name, parameters, current);
    answers.push(panel.ask(current, { name: chosen.name, ...parameters }));
  }
  const asked = current;
  const answered = Promise.all(answers);
  answered.then(() => asked === current && player.answered(current, panels));
  // The next round comes before anybody could look at this one's.
  tradeoff.ask(current, panels, player.playing ? new Promise(() => {}) : answered);
  remember();
}

function fallback(offered, panel) {
  const usual = panel === "first" ? "matching_pursuit" : "dual_pursuit";
  return offered.find(({ name }) => name === usual) ?? offered[0];
}

function drawTradeoff(newFound) {
  found = newFound;
  const decibels = (gamma) => 10 * Math.log10(gamma);
  const lines = Object.entries(panels).map(([panel, { answer, algorithm }]) => {
    panels[panel].bound(found?.bound);
    const samples = [...(found?.samples.get(JSON.stringify(algorithm)) ?? [])].sort(([one], [other]) => one - other);
    const own = decibels(toleranceOf(answer?.computation_error ?? NaN, current));
    return {
      panel,
      name: state[panel],
      samples: samples.map(([gamma, { active, feasible }]) => [gamma, valueOf(current, active), feasible || !active.length]),
      now: answer && [Number.isFinite(own) ? own : state.gamma, valueOf(current, answer.active)],
    };
  });
  const points = found?.frontier?.points.map(({ gamma, active }) => [decibels(gamma), valueOf(current, active)]) ?? null;
  const recommended = points?.[found.frontier.recommended] ?? null;
  const none = current.surface || current.band ? "no frontier" : "–";
  find("#recommended").textContent = recommended ? `${amount(recommended[1])} at ${recommended[0].toFixed(1)} dB`.replace("-", "−") : none;
  find("#take").disabled = !recommended;
  const [counted, everyone] = [current.fields.priorities ? "sum of priorities" : "devices", current.positions.map((_, device) => device)];
  chart.show({ range: current.range, gamma: state.gamma, counted, most: valueOf(current, everyone), frontier: points, recommended, lines });
}

/** The points of the chart as rows, for a file. */
function curveTable() {
  const rows = [["curve", "gamma_db", "devices", "within_tolerance", ...(current.fields.priorities ? ["sum_of_priorities"] : [])]];
  const value = (active) => (current.fields.priorities ? [valueOf(current, active)] : []);
  for (const { gamma, active } of found?.frontier?.points ?? []) rows.push(["frontier", 10 * Math.log10(gamma), active.length, true, ...value(active)]);
  for (const { algorithm } of Object.values(panels)) {
    for (const [gamma, { active, feasible }] of found?.samples.get(JSON.stringify(algorithm)) ?? []) {
      rows.push([title(algorithm.name), gamma, active.length, feasible, ...value(active)]);
    }
  }
  return rows;
}

function inRange(gamma) {
  const [least, most] = current.range;
  return Math.min(Math.max(gamma, least), most);
}

/** Go to the next round of the trace, or of fading; return whether there is one. */
function advance() {
  if (!given) change({ fading: state.fading + 1 });
  else if ((state.round ?? 0) + 1 < given.rounds.length) change({ round: (state.round ?? 0) + 1 });
  else return false;
  return true;
}

/** Go back to the first round of the trace; return whether there is another. */
function restart() {
  if (!given || given.rounds.length < 2) return false;
  change({ round: 0 });
  return true;
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
/** Tell screen readers, once nothing has changed for a moment. */
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

/** Show channels from elsewhere as what they state says; null for the model. */
function use(newGiven) {
  given = newGiven;
  marked = null;
  const values = { round: 0, weights: new Map(), priorities: new Map(), power: new Map() };
  const [least, most] = given?.range ?? [-Infinity, Infinity];
  values.gamma = given?.gamma ?? (state.gamma >= least && state.gamma <= most ? state.gamma : Math.round((least + most) / 2));
  if (!given) values.gamma = read(`gamma=${state.gamma}`).gamma;
  if (given?.polish !== undefined) values.polish = given.polish;
  values.band = Boolean(given?.band);
  if (given?.irsToServer) values.surface = { ...state.surface, bits: given.bits };
  if (given?.algorithm) {
    const { name, ...parameters } = given.algorithm;
    state.parameters.first = parameters;
    values.first = name;
  }
  change(values);
  scrollTo({ top: 0 });
}

connectTheme();
connectTips();
connectControls(() => state, change, () => [picked, current]);
connectFiles(use);
find("#take").addEventListener("click", () => {
  const { points, recommended } = found.frontier;
  // Rounded up, so that its devices are served.
  change({ gamma: inRange(Math.ceil(1000 * Math.log10(points[recommended].gamma)) / 100) });
});
for (const button of document.querySelectorAll("#tolerance [data-save]")) {
  button.addEventListener("click", () => save("tradeoff", button.dataset.save, find("#curve"), curveTable));
}
for (const button of document.querySelectorAll("#rounds [data-save]")) {
  button.addEventListener("click", () => save("learning", button.dataset.save, find("#learning"), () => player.table()));
}
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
