// One prompt opened: its responses side by side, the best first, and everything that the scoring said of them.

const OWN = new Set(["reward", "outcome", "error", "seconds", "detail", "lineage", "key", "clipped"]);
const MOST_CARDS = 64;

const goldOf = (row) => row.ground_truth ?? row.solution ?? row.answer;

class Detail {
  constructor(app) {
    this.app = app;
    this.node = $("detail");
    this.group = null;
    this.raw = false;
    this.at = 0;
  }
  async show(g, row) {
    const { app } = this, { table } = app, reward = app.reward;
    const members = g < table.groups ? Array.from(table.members(g)) : [];
    if (!members.length) return this.close(); // a link to a Run that has fewer groups now
    const rank = (i) => (Number.isNaN(reward[i]) ? -Infinity : reward[i]);
    members.sort((a, b) => (rank(b) === rank(a) ? a - b : rank(b) - rank(a)));
    this.group = g;
    this.members = members;
    this.at = row === undefined || row === null ? 0 : Math.max(0, members.indexOf(row));
    this.from = Math.max(0, Math.min(this.at - MOST_CARDS / 2, members.length - MOST_CARDS)) | 0;
    this.node.hidden = false;
    document.body.classList.add("opened");
    const rows = await app.source.rows(members.slice(this.from, this.from + MOST_CARDS));
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
    const { app } = this, { told } = app, g = this.group, at = this.node.querySelector(".cards")?.scrollLeft ?? 0;
    const first = this.rows.find(Boolean);
    const asked = first ? promptOf(first) : app.table.titles[g];
    const gold = first && goldOf(first);
    const spread = told.count[g] ? Math.sqrt(told.squares[g] / told.count[g]) : NaN;
    this.node.replaceChildren(
      el("div", { class: "top" },
        el("button", { onclick: () => app.open(null), title: "Close (Esc)", "aria-label": "Close" }, "✕"),
        el("b", {}, `${this.members.length} responses`),
        el("span", { class: "dim" }, told.count[g] ? `mean ${told.mean[g].toFixed(3)} ± ${spread.toFixed(3)}` : "none scored"),
        el("span", { class: "grow" }),
        el("button", { onclick: () => this.toggleRaw(), title: "Raw text (r)", "aria-pressed": String(this.raw) }, "raw")),
      el("div", { class: "strip overview", role: "group", "aria-label": "Responses, best first" },
        ...this.members.slice(0, 200).map((i, k) => {
          const cell = app.cell(i, true);
          cell.addEventListener("click", () => this.goto(k));
          return cell;
        })),
      el("div", { class: "prompt" }, el("details", { open: (asked || "").length < 700 },
        el("summary", {}, "prompt"), el("pre", {}, shown(asked || "")))),
      gold === undefined || gold === null ? "" : el("div", { class: "gold" }, el("b", {}, "gold "), el("code", {}, shown(oneLine(textOf(gold))).slice(0, 600))),
      el("div", { class: "cards" }, ...this.rows.map((row, k) => this.card(row, this.members[this.from + k], this.from + k))),
    );
    this.node.querySelector(".cards").scrollLeft = at;
    this.reach();
  }
  card(row, i, k) {
    const { app } = this, reward = app.reward[i], stored = app.table.get("reward")[i];
    const missing = Number.isNaN(reward);
    const head = el("div", { class: "head" },
      app.cell(i, true),
      el("span", { class: `value${missing ? " words" : ""}` }, missing ? app.stateOf(i) : reward.toFixed(3)),
      missing ? null : el("span", { class: "dim", title: "What the policy is told of it" }, `adv ${signed(app.told.advantage[i])}`),
      Math.abs(reward - stored) > 1e-9 || missing !== Number.isNaN(stored) ? el("span", { class: "dim" }, `stored ${short(stored)}`) : null,
      el("a", { class: "dim", href: app.link(i), title: "Link to this row" }, `row ${(i + 1).toLocaleString()}`));
    const rules = app.rulesOf([i]).map((r) => el("span", { class: "tag bad", title: app.says(r) }, r.replaceAll("_", " ")));
    const kinds = app.kindsOf(i).map((n) => el("span", { class: "tag quiet" }, n));
    const tags = [...rules, ...kinds];
    const node = el("article", { class: "card", onclick: () => { this.at = k; this.reach(false); }, data: { row: i } }, head, tags.length ? el("div", { class: "tags" }, ...tags) : null);
    if (!row) {
      node.append(el("p", { class: "why" }, "The text of this row is not in this file, to keep it small. See it with:"),
        el("code", {}, `assay view ${app.head.path}`));
      return node;
    }
    node.append(...this.scoring(row, goldOf(row)), ...this.text(row), this.actions(row, i));
    return node;
  }
  /** Extracted beside gold, then each component with its reasons. */
  scoring(row, gold) {
    const { app } = this, detail = row.detail || { reward: row.reward, outcome: row.outcome };
    const said = detail.metadata || {}, extracted = extractedOf(detail), found = [];
    if (detail.error && Object.keys(detail.components || {}).length) found.push(el("p", { class: "why" }, shown(detail.error)));
    if (extracted !== undefined)
      found.push(el("div", { class: "pair" }, el("b", {}, "extracted"), el("code", {}, extracted === null ? "nothing" : shown(textOf(extracted)).slice(0, 300)),
        gold === undefined || gold === null ? null : [el("b", {}, "gold"), el("code", {}, shown(oneLine(textOf(gold))).slice(0, 300))]));
    const parts = Object.entries(detail.components || {});
    found.push(el("div", { class: "components" }, ...(parts.length
      ? parts.map(([name, output]) => component(name, output, app.weightShown("", name, said), name, app))
      : [component(app.head.name || "reward", { ...detail, components: {} }, undefined, "", app)])));
    if (parts.length && typeof said.gate === "string") found.push(el("p", { class: "why" }, `gate ${said.gate}`));
    return found;
  }
  text(row) {
    const turns = messagesOf(row), detail = row.detail || {}, extracted = extractedOf(detail);
    const marks = [typeof extracted === "string" ? extracted : ""];
    if (turns.length > 2 && !this.raw) {
      const steps = [detail, ...Object.values(detail.components || {})].map((o) => o?.metadata?.steps ?? o?.metadata?.step_rewards).find(Array.isArray);
      return [timeline(turns, steps, marks)];
    }
    return [el("div", { class: "text" }, ...prose(responseOf(row), marks, this.raw))];
  }
  actions(row, i) {
    const { app } = this, given = app.labels.get(i);
    const label = (value, name, title) => el("button", { class: value ? "good" : "bad", title, "aria-pressed": String(given === value),
      onclick: () => app.label(row, i, given === value ? null : value) }, name);
    return el("div", { class: "actions" },
      label(1, "▲ good", "It deserves a high reward; again to take it back"),
      label(0, "▼ bad", "It deserves a low reward; again to take it back"),
      el("button", { onclick: () => this.makeTest(row, i), title: "Write this row into a JSONL with the score it should get" }, "make this a test"),
      el("button", { onclick: () => this.copy(i), title: "Copy this row as JSON (c)" }, "copy"));
  }
  makeTest(row, i) {
    const { app } = this;
    if (row.clipped && !app.source.live) return app.toast(`this text is cut in this file; make the test in: assay view ${app.head.path}`);
    const asked = window.prompt("The score this response should get:", Number.isNaN(app.reward[i]) ? "0" : String(+app.reward[i].toFixed(3)));
    if (asked === null) return;
    const expected = Number(asked);
    if (asked.trim() === "" || !Number.isFinite(expected)) return app.toast(`needed a number; found "${asked}"`);
    const own = Object.fromEntries(Object.entries(row).filter(([k]) => !OWN.has(k) && !k.startsWith("reward/")));
    app.save("cases", i, { ...own, expected });
  }
  copy(i) {
    const row = this.rows[this.members.indexOf(i) - this.from];
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
    this.goto(Math.min(this.members.length - 1, Math.max(0, this.at + by)));
  }
  goto(k) {
    if (k < this.from || k >= this.from + this.rows.length) return this.show(this.group, this.members[k]);
    this.at = k;
    this.reach();
  }
  reach(scroll = true) {
    const cards = [...this.node.querySelectorAll(".card")], here = this.at - this.from;
    cards.forEach((c, k) => c.classList.toggle("here", k === here));
    this.node.querySelectorAll(".overview .cell").forEach((c, k) => c.classList.toggle("here", k === this.at));
    if (scroll && cards[here] && (here > 0 || this.from)) cards[here].scrollIntoView({ block: "nearest", inline: "nearest" });
    else if (scroll && cards[here]) cards[here].parentNode.scrollLeft = 0;
  }
}
