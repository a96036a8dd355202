// Texts of a rollout as nodes: never parsed as HTML, and with everything visible that hides.

function textOf(content) {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map((p) => (typeof p === "string" ? p : p?.text ?? "")).join("");
  return content === null || content === undefined ? "" : JSON.stringify(content);
}

function messagesOf(row) {
  let found = row.messages;
  for (const key of ["prompt", "response", "completion"]) {
    if (!Array.isArray(found) || !found.length) found = Array.isArray(row[key]) ? [...(found || []), ...row[key]] : found;
  }
  return Array.isArray(found) ? found.filter((m) => m && typeof m === "object" && "role" in m) : [];
}

function responseOf(row) {
  if (typeof row.response === "string" && row.response) return row.response;
  if (typeof row.completion === "string") return row.completion;
  const said = messagesOf(row).filter((m) => m.role === "assistant");
  return said.length ? textOf(said.at(-1).content) : textOf(row.response ?? row.completion ?? "");
}

function promptOf(row) {
  if (typeof row.prompt === "string" && row.prompt) return row.prompt;
  const asked = messagesOf(row).filter((m) => m.role === "user");
  return asked.length ? textOf(asked.at(-1).content) : "";
}

/** Characters that nobody sees, made visible. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]|\udb40[\udc00-\udc7f]/g;

function shown(text, spaces) {
  const visible = text.replace(HIDDEN, (c) => `⟦U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟧`);
  return spaces ? visible.replace(/ /g, "·").replace(/\t/g, "→\t").replace(/\n/g, "⏎\n") : visible;
}

/** A response as nodes: thinking folded, code set apart, the extracted answer and hidden characters marked. */
function prose(text, marks, raw) {
  if (raw) return [el("pre", { class: "raw" }, shown(text, true))];
  const found = [];
  let rest = text;
  for (let k = 0; k < 40; k++) {
    const open = rest.search(/<think>/i);
    if (open < 0) break;
    const close = rest.slice(open).search(/<\/think>/i);
    const end = close < 0 ? rest.length : open + close + 8;
    if (rest.slice(0, open).trim()) found.push(...fenced(rest.slice(0, open), marks));
    const inside = rest.slice(open + 7, close < 0 ? end : end - 8);
    found.push(
      el("details", { class: "think", open: inside.length < 600 },
        el("summary", {}, `think · ${inside.length.toLocaleString()} characters${close < 0 ? " · never closed" : ""}`),
        el("pre", {}, marked(inside.trim(), marks))),
    );
    rest = rest.slice(end);
  }
  if (rest.trim() || !found.length) found.push(...fenced(rest, marks));
  return found;
}

/** Text and fenced code, one after the other. */
function fenced(text, marks) {
  return text.split(/^(```[^\n]*\n[\s\S]*?(?:\n```[ \t]*$|$(?![\s\S])))/m).filter((piece) => piece.trim())
    .map((piece) => el("pre", { class: piece.startsWith("```") ? "code" : "" }, marked(piece.replace(/^\n+|\s+$/g, ""), marks)));
}

function marked(text, marks) {
  const out = [];
  let at = 0;
  const visible = shown(text, false);
  const places = marks.filter((m) => m && m.length < 200).flatMap((m) => {
    const found = visible.lastIndexOf(m);
    return found >= 0 ? [[found, found + m.length]] : [];
  }).sort((a, b) => a[0] - b[0]);
  for (const [from, to] of places) {
    if (from < at) continue;
    out.push(visible.slice(at, from), el("mark", {}, visible.slice(from, to)));
    at = to;
  }
  out.push(visible.slice(at));
  return out.flatMap((piece) =>
    typeof piece === "string"
      ? piece.split(/(⟦U\+[0-9A-F]+⟧)/).map((p) => (p.startsWith("⟦U+") ? el("span", { class: "hidden" }, p.slice(1, -1)) : p))
      : [piece]);
}

/** Turns as they happened, with their tool calls; a reward for each of the policy's turns where there is one. */
function timeline(messages, steps, marks) {
  let turn = 0;
  const last = messages.findLastIndex((m) => m.role === "assistant");
  return el("ol", { class: "timeline" }, ...messages.map((m, k) => {
    const given = m.role === "assistant" && Array.isArray(steps) ? steps[turn++] : undefined;
    const text = textOf(m.content), name = m.role === "tool" && (m.name || m.tool_call_id);
    const body = [
      ...(text ? prose(text, k === last ? marks : [], false) : []),
      ...(Array.isArray(m.tool_calls) ? m.tool_calls.map(toolCall) : []),
    ];
    const long = text.length > 1200 && k !== last; // what the environment said at length is opened by who wants it
    return el("li", { class: `turn ${String(m.role).replace(/\W/g, "")}` },
      el("b", {}, String(m.role)), name ? el("span", { class: "dim" }, String(name)) : null,
      given !== undefined ? el("span", { class: "tag quiet" }, `reward ${short(Number(given?.reward ?? given?.score ?? given))}`) : null,
      long ? el("details", {}, el("summary", {}, `${oneLine(text).slice(0, 90)}… · ${text.length.toLocaleString()} characters`), ...body) : body);
  }));
}

function toolCall(call) {
  const name = call?.function?.name ?? call?.name ?? "tool", given = call?.function?.arguments ?? call?.arguments ?? "";
  let text = textOf(given);
  try {
    text = Object.entries(typeof given === "string" ? JSON.parse(given) : given).map(([k, v]) => `${k}=${JSON.stringify(v)}`).join(", ");
  } catch { /* not JSON: it stands as it was said */ }
  return el("pre", { class: "call" }, el("b", {}, shown(String(name))), shown(`(${text})`));
}
