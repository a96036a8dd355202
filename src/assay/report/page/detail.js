// One prompt opened: its responses side by side, the best first, and everything that the scoring said of them.

const OWN = new Set(["reward", "outcome", "error", "seconds", "detail"]);

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

/** A response as nodes: thinking folded, the extracted answer and hidden characters marked. Never parsed as HTML. */
function prose(text, marks, raw) {
  if (raw) return [el("pre", { class: "raw" }, shown(text, true))];
  const found = [];
  let rest = text;
  for (;;) {
    const open = rest.search(/<think>/i);
    if (open < 0) break;
    const close = rest.slice(open).search(/<\/think>/i);
    const end = close < 0 ? rest.length : open + close + 8;
    if (open > 0) found.push(el("pre", {}, marked(rest.slice(0, open), marks)));
    const inside = rest.slice(open + 7, close < 0 ? end : end - 8);
    found.push(
      el("details", { class: "think", open: inside.length < 600 },
        el("summary", {}, `think · ${inside.length.toLocaleString()} characters${close < 0 ? " · never closed" : ""}`),
        el("pre", {}, marked(inside, marks))),
    );
    rest = rest.slice(end);
  }
  if (rest.trim() || !found.length) found.push(el("pre", {}, marked(rest, marks)));
  return found;
}

function shown(text, spaces) {
  const visible = text.replace(HIDDEN, (c) => `⟦U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟧`);
  return spaces ? visible.replace(/ /g, "·").replace(/\t/g, "→\t").replace(/\n/g, "⏎\n") : visible;
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

/** What was extracted, wherever the component wrote it. */
function extractedOf(output) {
  const said = output.metadata || {};
  for (const key of ["extracted", "answer", "extracted_answer", "predicted", "found"]) if (said[key] !== undefined) return said[key];
  for (const part of Object.values(output.components || {})) {
    const below = extractedOf(part);
    if (below !== undefined) return below;
  }
  return undefined;
}

/** One component: its value as a bar, or in words why there is none. */
function component(name, output, weight, path, app) {
  const said = output.metadata || {}, gated = output.reward === null && (said.gated || "lazy" in said);
  const state = gated ? (said.gated ? "gated" : "not asked") : output.outcome;
  const nested = Object.entries(output.components || {});
  const inner = app.weightsAt(path);
  const node = el("div", { class: `component ${output.reward === null ? (gated ? "gated" : "unscored") : ""}` },
    el("div", { class: "head" },
      el("b", {}, name), weight !== undefined ? el("span", { class: "dim" }, `× ${short(weight)}`) : null,
      el("span", { class: "value" }, output.reward === null ? state.replace("_", " ") : Number(output.reward).toFixed(3))),
    output.reward === null ? null : el("div", { class: "meter" },
      el("i", { style: { width: `${100 * Math.min(1, Math.max(0, Math.abs(output.reward)))}%` }, class: output.reward < 0 ? "minus" : "" })),
    output.error ? el("p", { class: "why" }, shown(output.error)) : null,
    typeof said.reason === "string" ? el("p", { class: "why" }, shown(said.reason)) : null,
    ...special(said),
    rest(said),
    nested.length ? el("div", { class: "nested" },
      ...nested.map(([n, o]) => component(n, o, inner?.[n], path ? `${path}/${n}` : n, app))) : null);
  return node;
}

const SPECIAL = new Set(["reason", "weights", "gated", "tests", "cases", "results", "calls", "judge", "reply", "judge_prompt", "replies", "extracted", "gold"]);

function rest(said) {
  const left = Object.entries(said).filter(([k, v]) => !SPECIAL.has(k) && v !== null && v !== "" && !(Array.isArray(v) && !v.length));
  if (!left.length) return null;
  const line = (v) => (typeof v === "string" ? v : JSON.stringify(v));
  const text = left.map(([k, v]) => `${k} ${line(v)}`).join(" · ");
  if (text.length < 160) return el("p", { class: "why dim" }, shown(text));
  return el("details", { class: "more" }, el("summary", {}, left.map(([k]) => k).join(", ")), el("pre", {}, shown(JSON.stringify(Object.fromEntries(left), null, 1))));
}

/** Failed tests with what was expected, and judge calls whole. */
function special(said) {
  const found = [];
  const tests = [said.tests, said.cases, said.results].find(Array.isArray);
  if (tests) found.push(testsTable(tests));
  const calls = [said.calls, said.judge, said.replies].find((v) => v && typeof v === "object");
  for (const call of calls ? (Array.isArray(calls) ? calls : [calls]) : []) found.push(judgeCall(call));
  if (!calls && (said.reply || said.judge_prompt)) found.push(judgeCall({ prompt: said.judge_prompt, reply: said.reply }));
  return found;
}

function judgeCall(call) {
  if (typeof call !== "object" || call === null) call = { reply: String(call) };
  const parts = Object.entries(call).filter(([, v]) => v !== null && v !== undefined && v !== "");
  const facts = parts.filter(([, v]) => typeof v !== "object" && String(v).length < 60);
  return el("details", { class: "judge" },
    el("summary", {}, `judge call · ${facts.map(([k, v]) => `${k} ${v}`).join(" · ") || parts.map(([k]) => k).join(", ")}`),
    ...parts.filter((p) => !facts.includes(p)).map(([k, v]) => el("div", {}, el("b", {}, k), el("pre", {}, shown(typeof v === "string" ? v : JSON.stringify(v, null, 1))))));
}

function testsTable(tests) {
  const failed = (t) => t && typeof t === "object" && (t.passed === false || t.ok === false || (t.status && t.status !== "passed" && t.status !== "ok"));
  const shownTests = tests.filter(failed).slice(0, 5);
  const text = (v) => shown(v === undefined ? "" : typeof v === "string" ? v : JSON.stringify(v));
  return el("details", { class: "tests", open: shownTests.length > 0 },
    el("summary", {}, `${tests.length} tests, ${tests.filter(failed).length} failed`),
    ...shownTests.map((t) => el("div", { class: "test" },
      ...["name", "input", "stdin", "args", "expected", "got", "actual", "output", "stdout", "stderr", "error", "message"].filter((k) => t[k] !== undefined && t[k] !== "")
        .map((k) => el("div", {}, el("b", {}, k), el("pre", {}, text(t[k])))),
      diffOf(t))));
}

function diffOf(test) {
  const got = test.got ?? test.actual ?? test.stdout ?? test.output;
  if (typeof got !== "string" || typeof test.expected !== "string") return null;
  const a = test.expected.split("\n").slice(0, 60), b = got.split("\n").slice(0, 60), lines = [];
  for (let k = 0; k < Math.max(a.length, b.length); k++) {
    if (a[k] === b[k]) lines.push(el("span", {}, `  ${shown(a[k] ?? "")}\n`));
    else {
      if (a[k] !== undefined) lines.push(el("span", { class: "minus" }, `− ${shown(a[k])}\n`));
      if (b[k] !== undefined) lines.push(el("span", { class: "plus" }, `+ ${shown(b[k])}\n`));
    }
  }
  return el("pre", { class: "diff" }, ...lines);
}

/** Turns as they happened; a reward for each step where there is one. */
function timeline(messages, steps) {
  let turn = 0;
  return el("ol", { class: "timeline" }, ...messages.map((m) => {
    const given = m.role === "assistant" && Array.isArray(steps) ? steps[turn++] : undefined;
    return el("li", { class: String(m.role).replace(/\W/g, "") },
      el("b", {}, String(m.role)), given !== undefined ? el("span", { class: "tag quiet" }, `reward ${short(Number(given))}`) : null,
      ...(textOf(m.content) ? prose(textOf(m.content), [], false) : []),
      ...(Array.isArray(m.tool_calls) ? m.tool_calls.map((c) =>
        el("pre", { class: "tool" }, shown(`${c?.function?.name ?? "tool"}(${textOf(c?.function?.arguments ?? "")})`))) : []));
  }));
}

class Detail {
  constructor(app) {
    this.app = app;
    this.node = $("detail");
    this.group = null;
    this.raw = false;
    this.at = 0;
  }
  async show(g, row) {
    const { app } = this, { table } = app;
    this.group = g;
    const reward = app.reward, members = Array.from(table.members(g)).sort((a, b) => (reward[b] || -Infinity) - (reward[a] || -Infinity));
    this.members = members;
    this.at = row === undefined ? 0 : Math.max(0, members.indexOf(row));
    this.node.hidden = false;
    document.body.classList.add("opened");
    const rows = await app.source.rows(members.slice(0, 64));
    if (this.group !== g) return; // another one was opened meanwhile
    this.rows = rows;
    this.draw();
  }
  close() {
    this.group = null;
    this.node.hidden = true;
    document.body.classList.remove("opened");
    this.node.replaceChildren();
  }
  draw() {
    const { app } = this, { table, told } = app, g = this.group;
    const first = this.rows.find(Boolean);
    const asked = first ? promptOf(first) : table.titles[g];
    const gold = first && (first.ground_truth ?? first.solution ?? first.answer);
    this.node.replaceChildren(
      el("div", { class: "top" },
        el("button", { onclick: () => app.open(null), title: "Close (Esc)", "aria-label": "Close" }, "✕"),
        el("b", {}, `${this.members.length} responses`),
        el("span", { class: "dim" }, `mean ${told.count[g] ? told.mean[g].toFixed(3) : "–"}, std ${told.count[g] ? Math.sqrt(told.squares[g] / told.count[g]).toFixed(3) : "–"}`),
        el("span", { class: "grow" }),
        el("button", { onclick: () => this.toggleRaw(), title: "Raw text (r)", "aria-pressed": this.raw }, "raw"),
        el("span", { class: "dim" }, "n / p")),
      el("div", { class: "prompt" }, el("details", { open: (asked || "").length < 700 },
        el("summary", {}, "prompt"), el("pre", {}, shown(asked || "")))),
      gold === undefined || gold === null ? "" : el("div", { class: "gold" }, el("b", {}, "gold "), el("code", {}, shown(oneLine(textOf(gold))).slice(0, 600))),
      el("div", { class: "cards" }, ...this.rows.map((row, k) => this.card(row, this.members[k], k, gold))),
    );
    this.reach();
  }
  card(row, i, k, gold) {
    const { app } = this, reward = app.reward[i], stored = app.table.get("reward")[i];
    const state = STATES[app.table.get("outcome")[i]];
    const head = el("div", { class: "head" },
      app.cell(i, true),
      el("span", { class: "value" }, Number.isNaN(reward) ? state : reward.toFixed(3)),
      el("span", { class: "dim", title: "advantage" }, `adv ${signed(app.told.advantage[i])}`),
      Math.abs(reward - stored) > 1e-9 ? el("span", { class: "dim" }, `stored ${short(stored)}`) : null,
      el("a", { class: "dim", href: app.link(i), title: "Link to this row" }, `row ${(i + 1).toLocaleString()}`));
    const rules = app.rulesOf([i]).map((r) => el("span", { class: "tag bad", title: app.says(r) }, r));
    const kinds = app.kindsOf(i).map((n) => el("span", { class: "tag quiet" }, n));
    const node = el("article", { class: "card", onclick: () => { this.at = k; this.reach(false); }, data: { row: i } }, head, el("div", { class: "tags" }, ...rules, ...kinds));
    if (!row) {
      node.append(el("p", { class: "why" }, "The text of this row is not in this file, to keep it small. See it with:"),
        el("code", {}, `assay view ${app.head.path}`));
      return node;
    }
    const detail = row.detail || { reward: row.reward, outcome: row.outcome };
    const extracted = extractedOf(detail), turns = messagesOf(row);
    if (detail.error) node.append(el("p", { class: "why" }, shown(detail.error)));
    if (extracted !== undefined)
      node.append(el("div", { class: "pair" }, el("b", {}, "extracted"), el("code", {}, extracted === null ? "nothing" : shown(textOf(extracted)).slice(0, 300)),
        gold === undefined ? null : el("b", {}, "gold"), gold === undefined ? null : el("code", {}, shown(oneLine(textOf(gold))).slice(0, 300))));
    const parts = Object.entries(detail.components || {}), weights = app.weightsAt("");
    node.append(el("div", { class: "components" }, ...(parts.length
      ? parts.map(([name, output]) => component(name, output, weights?.[name], name, app))
      : [component(app.head.name || "reward", { ...detail, components: {} }, undefined, "", app)])));
    const said = detail.metadata || {};
    if (typeof said.gate === "string") node.append(el("p", { class: "why" }, `gate ${said.gate}`));
    for (const [name, why] of Object.entries(said.missing && typeof said.missing === "object" ? said.missing : {}))
      node.append(el("p", { class: "why" }, shown(`${name}: ${why}`)));
    const marks = [typeof extracted === "string" ? extracted : ""];
    node.append(turns.length > 2 ? timeline(turns, said.steps ?? said.step_rewards) : el("div", { class: "text" }, ...prose(responseOf(row), marks, this.raw)));
    node.append(this.actions(row, i));
    return node;
  }
  actions(row, i) {
    const { app } = this;
    const label = (value) => () => app.save("labels", { ...this.identity(row, i), label: value, at: new Date().toISOString() });
    return el("div", { class: "actions" },
      el("button", { onclick: label(1), title: "It deserves a high reward" }, "▲ good"),
      el("button", { onclick: label(0), title: "It deserves a low reward" }, "▼ bad"),
      el("button", { onclick: () => this.makeTest(row, i), title: "Write this row into a JSONL with the score it should get" }, "make this a test"),
      el("button", { onclick: () => this.copy(i), title: "Copy this row as JSON (c)" }, "copy"));
  }
  identity(row, i) {
    return { row: i + 1, group: row.group ?? null, prompt: promptOf(row), response: responseOf(row) };
  }
  makeTest(row, i) {
    const asked = window.prompt("The score this response should get:", Number.isNaN(this.app.reward[i]) ? "0" : String(+this.app.reward[i].toFixed(3)));
    if (asked === null) return;
    const expected = Number(asked);
    if (asked.trim() === "" || !Number.isFinite(expected)) return this.app.toast(`needed a number; found "${asked}"`);
    const own = Object.fromEntries(Object.entries(row).filter(([k]) => !OWN.has(k) && !k.startsWith("reward/")));
    this.app.save("cases", { ...own, expected });
  }
  copy(i) {
    const row = this.rows[this.members.indexOf(i)];
    if (!row) return this.app.toast("the text of this row is not in this file");
    const text = JSON.stringify(row, null, 1);
    (navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"))).then(
      () => this.app.toast(`row ${i + 1} copied`),
      () => {
        const area = el("textarea", {}, text);
        document.body.append(area);
        area.select();
        this.app.toast(document.execCommand("copy") ? `row ${i + 1} copied` : "the browser did not allow copying");
        area.remove();
      });
  }
  toggleRaw() {
    this.raw = !this.raw;
    this.draw();
  }
  step(by) {
    this.at = Math.min(this.members.length - 1, Math.max(0, this.at + by));
    this.reach();
  }
  reach(scroll = true) {
    const cards = [...this.node.querySelectorAll(".card")];
    cards.forEach((c, k) => c.classList.toggle("here", k === this.at));
    if (scroll && cards[this.at] && this.at > 0) cards[this.at].scrollIntoView({ block: "nearest", inline: "center" });
  }
}
