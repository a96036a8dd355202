// The side: facts, weights as sliders, distributions to brush, what was paid over training steps.

const ESTIMATORS = { grpo: "GRPO", dr_grpo: "Dr. GRPO", rloo: "RLOO", gdpo: "GDPO" };
const SEVERITIES = ["alarm", "warning", "note"];

Object.assign(App.prototype, {
  /** Everything that does not change with every stroke. */
  drawFrame() {
    const { tab } = this.state;
    document.body.dataset.tab = tab;
    this.drawTabs();
    $("findings").hidden = tab !== "findings";
    $("list").hidden = $("bar").hidden = tab === "findings";
    if (tab === "findings") this.drawFindings();
    $("sort").replaceChildren(...Object.entries(SORTS).map(([value, name]) => el("option", { value, selected: value === this.state.sort }, name)));
    $("mode").replaceChildren(...["groups", "rows"].map((mode) =>
      el("button", { "aria-pressed": String(this.state.mode === mode), onclick: () => { this.set({ mode }); this.refilter(); this.drawFrame(); } }, mode)));
    if (document.activeElement !== $("filter")) $("filter").value = this.state.filter;
    const [part] = this.table.paths.filter((p) => this.isLeaf(p));
    $("filter").placeholder = `Filter:  ${part ? `${part.split("/").at(-1)} == 1 and ` : ""}chars > 800   or   "some text"`;
    this.drawSide();
    this.drawCounts();
    this.drawNumbers();
  },
  drawTabs() {
    const found = this.head.study?.findings ?? [];
    const dots = SEVERITIES.map((s) => [s, found.filter((f) => f.severity === s).length]).filter(([, n]) => n)
      .map(([s, n]) => el("span", { class: `dots ${s}`, title: `${n} ${s}${n > 1 ? "s" : ""}` }, String(n)));
    const tabs = [["browse", ["Responses"]], ["findings", ["Findings", ...dots]], ["weights", ["Weights"]]];
    $("tabs").replaceChildren(...tabs.map(([tab, name]) =>
      el("button", { role: "tab", class: tab === "weights" ? "narrow" : "", "aria-selected": String(this.state.tab === tab), onclick: () => { this.set({ tab }); this.drawFrame(); } }, ...name)));
  },
  drawSide() {
    const t = this.table;
    this.drawnFor = t.rows;
    const columns = [["reward", this.reward], ...t.paths.filter((p) => this.isLeaf(p)).map((p) => [p.split("/").at(-1), t.get(`part/${p}`), p]),
      ["chars", t.get("length")], ...[...t.columns.keys()].filter((n) => n.startsWith("own/")).slice(0, 4).map((n) => [n.slice(4), t.get(n)])];
    this.histograms = columns.map(([name, values, path]) => ({ name, values, path, holder: el("div", { class: "histogram-of" }) }));
    const sliders = this.composites.filter((c) => Object.keys(c.weights).length);
    const steps = this.head.study?.steps ?? [];
    $("side").replaceChildren(
      el("section", { id: "numbers" }),
      sliders.length ? el("section", {}, this.weightsHead(), ...sliders.flatMap((c) => this.sliders(c)), el("p", { class: "dim", id: "rest" })) : "",
      el("section", {}, el("h2", {}, "Distributions", el("small", {}, "drag to filter")), ...this.histograms.map((h) => h.holder)),
      steps.length > 1 ? el("section", {}, el("h2", {}, "Over steps", el("small", {}, "click for its rows")), stepLines(steps, (k) => this.openStep(steps, k))) : "",
    );
  },
  isLeaf(path) {
    return !this.table.paths.some((p) => p.startsWith(`${path}/`));
  },
  openStep(steps, k) {
    const next = steps[k + 1];
    this.setFilter(next ? `step >= ${steps[k].step} and step < ${next.step}` : `step >= ${steps[k].step}`);
  },
  weightsHead() {
    const again = () => { this.refold(); this.refilter(true); this.drawFrame(); if (this.detail.group !== null) this.detail.draw(); };
    const chosen = el("select", { "aria-label": "Estimator", onchange: (e) => { this.set({ estimator: e.target.value }); again(); } },
      ...Object.entries(ESTIMATORS).map(([value, name]) => el("option", { value, selected: value === this.state.estimator }, name)));
    return el("h2", {}, "Weights", chosen, el("button", { id: "reset", title: "The configured weights again", onclick: () => { this.set({ weights: {} }); again(); } }, "reset"));
  },
  sliders({ path, weights, schedules }) {
    const most = Math.max(1, ...Object.values(weights).map(Math.abs));
    return Object.keys(weights).map((name) => {
      const now = this.weightsAt(path)[name], full = path ? `${path}/${name}` : name;
      const free = schedules[name] && this.state.weights[path]?.[name] === undefined;
      const number = el("output", {}, free ? "scheduled" : short(now));
      const slider = el("input", { type: "range", min: weights[name] < 0 ? -most : Math.min(0, now), max: Math.max(most, now), step: 0.01, value: now, "aria-label": `Weight of ${name}`, data: { weight: full },
        oninput: (e) => { number.textContent = short(Number(e.target.value)); this.weigh(path, { [name]: Number(e.target.value) }); } });
      const share = el("div", { class: "share", data: { share: full }, title: "Its share of the advantage. Click to give it another one: the weights follow",
        onclick: (e) => { const box = share.getBoundingClientRect(); this.wantShare(path, name, (e.clientX - box.left) / box.width); } });
      return el("div", { class: "slider" }, el("div", { class: "head" }, el("b", {}, name), number), slider, share);
    });
  },
  /** Other weights, so that a component makes this share of the advantage. */
  wantShare(path, name, wanted) {
    const full = path ? `${path}/${name}` : name, own = this.weightsAt(path);
    const mine = this.terms.filter((t) => Object.keys(own).some((n) => t.path === (path ? `${path}/${n}` : n)));
    if (!mine.some((t) => t.path === full)) return this.toast("a share can be set for a component that is not made of others");
    const found = weightsFor(this.table, mine, this.reward, this.state.estimator, full, Math.min(0.98, Math.max(0.02, wanted)));
    if (!found) return this.toast(`${name} never differs within a group: no weight gives it a share`);
    const fresh = Object.entries(found).map(([p, w]) => [p.split("/").at(-1), w]);
    const scale = path ? Object.values(own).reduce((s, w) => s + Math.abs(w), 0) / fresh.reduce((s, [, w]) => s + Math.abs(w), 0) : 1;
    this.weigh(path, Object.fromEntries(fresh.map(([n, w]) => [n, +(w * scale).toPrecision(4)])));
    this.refold();
    this.drawFrame();
    if (Math.abs(this.shares[full] - wanted) > 0.04) this.toast(`${name} reaches ${percent(this.shares[full])}: other groups, gates or bounds have the rest`);
  },
  /** Numbers that follow the weights at once. */
  drawNumbers() {
    const { flat, several } = this.range, t = this.table;
    let known = 0, sum = 0;
    for (const v of this.reward) if (!Number.isNaN(v)) { known++; sum += v; }
    const fact = (value, name, bad) => el("div", { class: `fact${bad ? " bad" : ""}` }, el("b", {}, value), el("span", {}, name));
    $("numbers")?.replaceChildren(el("div", { class: "facts" },
      fact(known ? (sum / known).toFixed(3) : "–", "mean reward"),
      fact(several ? percent(flat / several) : "–", "groups without signal", several && flat / several > 0.3),
      fact((t.rows - known).toLocaleString(), "not scored", known < t.rows * 0.995)));
    for (const node of document.querySelectorAll("[data-share]")) {
      const nested = Object.keys(this.shares).filter((p) => p === node.dataset.share || p.startsWith(`${node.dataset.share}/`));
      const share = nested.reduce((all, p) => all + this.shares[p], 0);
      node.replaceChildren(el("i", { style: { width: `${100 * Math.min(1, Math.max(0, share))}%` } }), el("span", {}, nested.length ? `${percent(share)} of the advantage` : "a gate: no weight in the sum"));
    }
    const rest = 1 - Object.values(this.shares).reduce((a, b) => a + b, 0);
    if ($("rest")) $("rest").textContent = Math.abs(rest) > 0.005 && several > flat ? `${percent(rest)} by gates, bounds and what was not scored` : "";
    $("reset")?.toggleAttribute("disabled", !Object.keys(this.state.weights).length);
    this.drawHistograms();
  },
  drawHistograms() {
    const everyone = { *[Symbol.iterator]() { for (let i = 0; i < this.n; i++) yield i; }, n: this.table.rows };
    for (const h of this.histograms ?? []) {
      const values = h.name === "reward" ? this.reward : h.values;
      const key = `${this.table.rows}/${h.name === "reward" ? JSON.stringify(this.state.weights) : ""}`;
      if (h.key !== key) {
        h.whole = binned(values, everyone);
        h.lacking = h.path ? lacking(this.table, h.path) : h.whole?.missing ? `${h.whole.missing.toLocaleString()} not scored` : "";
        h.key = key;
      }
      if (!h.whole) { h.holder.replaceChildren(h.lacking ? el("div", { class: "head" }, el("b", {}, h.name), el("span", { class: "dim" }, h.lacking)) : ""); continue; }
      const part = this.all ? h.whole.counts : this.countInto(h.whole, values);
      const { low, high } = h.whole;
      h.holder.replaceChildren(
        el("div", { class: "head" }, el("b", {}, h.name), el("span", { class: "dim" }, `${short(low)} to ${short(high)}`)),
        histogram(h.name, h.whole, part, (from, to, last) => this.brush(h.name, from, to, last)),
        h.lacking ? el("div", { class: "lacking" }, h.lacking) : "");
    }
  },
  countInto({ low, width, counts }, values) {
    const part = new Uint32Array(counts.length);
    for (const i of this.chosen) if (!Number.isNaN(values[i])) part[Math.min(part.length - 1, Math.floor((values[i] - low) / width))]++;
    return part;
  },
  brush(name, from, to, last) {
    const n = (v) => String(+v.toPrecision(6)), word = `${name} >= ${n(from)} and ${name} ${last ? "<=" : "<"} ${n(to)}`;
    const others = this.state.filter.split(" and ").filter((p) => p.trim() && !p.trim().startsWith(`${name} `));
    this.setFilter([...others, word].join(" and "));
  },
  setFilter(filter) {
    this.set({ filter, tab: "browse" });
    $("filter").value = filter;
    return this.refilter().then(() => this.drawFrame());
  },
  drawCounts() {
    const t = this.table, n = this.chosen?.length ?? 0;
    $("count").textContent = this.all ? `${t.rows.toLocaleString()} rows` : `${n.toLocaleString()} of ${t.rows.toLocaleString()} rows`;
    $("facts").textContent = `${t.rows.toLocaleString()} rows · ${t.groups.toLocaleString()} prompts`;
    this.drawHistograms();
  },
});

/** Why values are missing, in words: a shut gate is nobody's failure. */
function lacking(table, path) {
  const counts = new Uint32Array(STATES.length), states = table.get(`state/${path}`), above = [];
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) above.push(table.get(`state/${path.slice(0, end)}`));
  for (let i = 0; i < states.length; i++) {
    const why = states[i] === ABSENT ? above.find((column) => column?.[i] && column[i] !== ABSENT) : undefined; // what it is part of was not asked
    counts[why ? why[i] : states[i]]++;
  }
  return STATES.map((name, s) => [name, counts[s]]).filter(([name, n]) => n && name !== "scored").map(([name, n]) => `${n.toLocaleString()} ${name}`).join(", ");
}
