// A request as something to paste: into a shell, or into Python.

import { find } from "./dom.js";
import { address, key } from "./service.js";

const METHODS = { schedule: "schedule", "schedule/irs": "schedule_irs", "schedule/wideband": "schedule_wideband" };
const ARRAYS = ["channels", "direct", "irs_to_server", "devices_to_irs"];

export const copyable = { curl, python };

/** From a file of its own ("here document"): a shell takes arguments of limited length only. */
export function curl({ path, body }) {
  const authorised = key.get() ? ` \\\n  -H "Authorization: Bearer $API_KEY"` : "";
  return `curl -s ${address(path)} -H 'Content-Type: application/json'${authorised} -d @- <<'JSON'
${JSON.stringify(body)}
JSON
`;
}

export function python({ path, body }) {
  const arrays = ARRAYS.filter((name) => name in body);
  const options = Object.entries(body)
    .filter(([name]) => !arrays.includes(name))
    .map(([name, value]) => `        ${name}=${literal(value)},\n`)
    .join("");
  const authorised = key.get() ? ', api_key=os.environ["API_KEY"]' : "";
  return `import base64
${key.get() ? "import os\n" : ""}
import numpy as np
from airsched_client import SchedulerClient  # pip install ./clients


def array(shape, data):
    return np.frombuffer(base64.b64decode(data), "<c16").reshape(shape)


${arrays.map((name) => assignment(name, body[name])).join("")}
with SchedulerClient(${JSON.stringify(address("").replace(/\/$/, ""))}${authorised}) as client:
    schedule = client.${METHODS[path]}(
        ${arrays.join(", ")},
${options}    )
print(schedule.active)
`;
}

function assignment(name, { shape, data }) {
  return `${name} = array((${shape.join(", ")}), ${JSON.stringify(data)})\n`;
}

/** Write a JSON value as Python does. */
function literal(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object") {
    const entries = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${literal(each)}`);
    return `{${entries.join(", ")}}`;
  }
  return JSON.stringify(value);
}

/** Put text on the clipboard, or where it can be copied by hand if the browser does not allow that. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Outside localhost, browsers allow it over HTTPS only.
    const box = find("#by-hand textarea");
    box.value = text;
    find("#by-hand").showModal();
    box.select();
    return false;
  }
}
