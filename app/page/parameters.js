// The parameters of an algorithm as a form, built from their JSON Schemas in GET /algorithms.

import { html } from "./dom.js";

const TIPS = {
  delta: "δ: how much more devices count that the receiver does not serve yet than those it serves.",
  search: "Backward drops devices from all of them, forward adds them to none, bidirectional lets dropped ones come back.",
  starts: "How many starting points the search has. More take longer and find a little more.",
  tolerance: "How small the last step must be.",
  max_iterations: "Steps after which it stops.",
  solver: "What solves the semidefinite programmes.",
  reading: "How devices are read off the solution: those its receiver serves, or the longest prefix by slack.",
  start: "The device whose turn it is.",
  average_gains: "Each device's mean gain so far, as a JSON list.",
  phase_update: "How the phases are tuned: all at once, or one after the other.",
  scheduled_by: "The algorithm that schedules for the channels as they are then.",
};

/** Fill `form` with a field per parameter; `changed(name, value)` hears of values, undefined for the default. */
export function parameterFields(form, prefix, parameters, values, changed) {
  form.replaceChildren(
    ...parameters.map(({ name, default: usual, json_schema: schema }) => {
      const id = `${prefix}-${name}`;
      const field = control(schema, values[name] ?? usual);
      field.id = id;
      field.addEventListener("change", () => {
        const value = reading(field, schema);
        changed(name, same(value, usual) ? undefined : value);
      });
      const label = html("label", { for: id, "data-tip": TIPS[name] ?? null }, name.replaceAll("_", " "));
      return html("div", { class: "field" }, label, field);
    }),
  );
}

function control(schema, value) {
  if (schema.enum) {
    const options = schema.enum.map((each) =>
      html("option", { value: each, selected: each === value }, String(each).replaceAll("_", " ")),
    );
    return html("select", {}, ...options);
  }
  if (schema.type === "boolean") return html("input", { type: "checkbox", checked: value });
  if (["integer", "number"].includes(schema.type)) {
    // The bounds guide the arrows; whatever is typed goes to the service, which says what is wrong.
    const made = html("input", { type: "number", step: schema.type === "integer" ? 1 : "any", value });
    const least = schema.minimum ?? schema.exclusiveMinimum;
    const most = schema.maximum ?? schema.exclusiveMaximum;
    if (least !== undefined) made.min = least;
    if (most !== undefined) made.max = most;
    return made;
  }
  const text = value === null ? "" : JSON.stringify(value);
  return html("input", { type: "text", placeholder: "left out, or JSON", value: text });
}

function reading(field, schema) {
  if (field.type === "checkbox") return field.checked;
  if (field.value === "") return undefined;
  if (field.type === "number") return field.valueAsNumber;
  if (schema.enum) return schema.enum.find((each) => String(each) === field.value);
  try {
    return JSON.parse(field.value);
  } catch {
    return field.value;
  }
}

const same = (left, right) => JSON.stringify(left) === JSON.stringify(right);
