// The side: facts, weights as sliders, distributions to brush; and the findings in their own tab.

const ESTIMATORS = { grpo: "GRPO", dr_grpo: "Dr. GRPO", rloo: "RLOO", gdpo: "GDPO" };

Object.assign(App.prototype, {
  /** Everything that does not change with every stroke. */
  drawFrame() {
    const tabs = [["browse", "Responses"], ["findings", `Findings${this.head.study ? ` · ${this.head.study.findings.length}` : ""}`]];
    $("tabs").replaceChildren(...tabs.map(([tab, name]) =>
      el("button", { role: "tab", "aria-selected": String(this.state.tab === tab), onclick: () => { this.set({ tab }); this.drawFrame(); } }, name)));
    const findings = this.state.tab === "findings";
    $("findings").hidden = !findings;
    $("list").hidden = $("bar").hidden = findings;
    if (findings) this.drawFindings();
    $("sort").replaceChildren(...Object.entries(SORTS).map(([value, name]) => el("option", { value, selected: value === this.state.sort }, name)));
    $("mode").replaceChildren(...["groups", "rows"].map((mode) =>
      el("button", { "aria-pressed": String(this.state.mode === mode), onclick: () => { this.set({ mode }); this.refilter(); this.drawFrame(); } }, mode)));
    if (document.activeElement !== $("filter")) $("filter").value = this.state.filter;
    this.drawSide();
    this.drawCounts();
    this.drawNumbers();
  },
  drawSide() {
    const t = this.table;
    this.drawnFor = t.rows;
    const columns = [["reward", this.reward], ...t.paths.filter((p) => this.isLeaf(p)).map((p) => [p.split("/").at(-1), t.get(`part/${p}`)]),
      ["chars", t.get("length")], ...[...t.columns.keys()].filter((n) => n.startsWith("own/")).slice(0, 4).map((n) => [n.slice(4), t.get(n)])];
    this.histograms = columns.map(([name, values]) => ({ name, values, holder: el("div", { class: "histogram-of" }) }));
    const sliders = this.composites.filter((c) => Object.keys(c.weights).length);
    const steps = this.head.study?.steps ?? [];
    $("side").replaceChildren(
      el("section", { id: "numbers" }),
      sliders.length ? el("section", {}, this.weightsHead(), ...sliders.flatMap((c) => this.sliders(c))) : "",
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
    const chosen = el("select", { "aria-label": "Estimator", onchange: (e) => { this.set({ estimator: e.target.value }); this.refold(); this.refilter(true); this.drawNumbers(); } },
      ...Object.entries(ESTIMATORS).map(([value, name]) => el("option", { value, selected: value === this.state.estimator }, name)));
    return el("h2", {}, "Weights", chosen, el("button", { id: "reset", title: "The configured weights again", onclick: () => { this.set({ weights: {} }); this.refold(); this.refilter(true); this.drawFrame(); } }, "reset"));
  },
  sliders({ path, weights }) {
    const most = Math.max(1, ...Object.values(weights).map(Math.abs));
    return Object.keys(weights).map((name) => {
      const now = this.weightsAt(path)[name], full = path ? `${path}/${name}` : name;
      const number = el("output", {}, short(now));
      const slider = el("input", { type: "range", min: weights[name] < 0 ? -most : Math.min(0, now), max: Math.max(most, now), step: 0.01, value: now, "aria-label": `Weight of ${name}`, data: { weight: full },
        oninput: (e) => { number.textContent = short(Number(e.target.value)); this.weigh(path, name, Number(e.target.value)); } });
      return el("div", { class: "slider" }, el("div", { class: "head" }, el("b", {}, name), number), slider, el("div", { class: "share", data: { share: full } }));
    });
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
        h.key = key;
      }
      if (!h.whole) { h.holder.replaceChildren(); continue; }
      const part = this.all ? h.whole.counts : this.countInto(h.whole, values);
      const { low, high, missing } = h.whole;
      h.holder.replaceChildren(
        el("div", { class: "head" }, el("b", {}, h.name), el("span", { class: "dim" }, `${short(low)} to ${short(high)}${missing ? ` · ${missing.toLocaleString()} not scored` : ""}`)),
        histogram(h.name, h.whole, part, (from, to, last) => this.brush(h.name, from, to, last)));
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

  drawFindings() {
    const s = this.head.study;
    if (!s) return $("findings").replaceChildren(el("p", { class: "dim" }, "The whole Run is still being read; findings follow."));
    const rows = (numbers, count) => el("span", { class: "rows" }, ...numbers.slice(0, 8).map((i) => el("a", { href: "#", onclick: (e) => { e.preventDefault(); this.jump(i); } }, String(i + 1))), count > 8 ? " …" : "");
    const table = (heads, lines) => el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads.map((h) => el("th", {}, h)))), el("tbody", {}, ...lines.map((l) => el("tr", {}, ...l.map((c) => el("td", {}, c)))))));
    const rule = (f) => this.head.rules.some((r) => r.name === f.rule);
    const a = s.attribution, g = s.groups;
    $("findings").replaceChildren(
      el("h2", {}, "What was found"),
      ...(s.findings.length ? s.findings : [{ severity: "note", rule: "nothing", says: "No rule found anything.", rows: [], count: 0 }]).map((f) =>
        el("article", { class: `finding ${f.severity}` }, el("div", { class: "head" }, el("span", { class: "severity" }, f.severity), el("b", {}, f.rule.replaceAll("_", " ")),
          f.count && f.rows.length ? el("span", { class: "dim" }, `${f.count.toLocaleString()} rows (${percent(f.share, 1)})${f.paid ? `, ${percent(f.paid)} of them paid above their group` : ""}`) : null,
          rule(f) ? el("button", { onclick: () => { this.set({ sort: "suspicion" }); this.setFilter(f.rule); } }, "show all") : null),
          el("p", {}, f.says), f.rows.length ? rows(f.rows, f.count) : null)),
      a ? el("h2", {}, `What the advantage is made of (${a.estimator})`) : "",
      a ? table(["component", "weight", "of weights", "of advantage", "silent groups", "flips", ""], a.components.map((c) => [c.name, short(c.weight), percent(c.configured), percent(c.share, 1), percent(c.silent), percent(c.flips, 1), c.dead ? "teaches nothing" : ""])) : "",
      a?.correctness ? el("p", { class: "dim" }, `Against “${a.correctness}” alone ${percent(a.flips, 1)} of the signs are turned round; ${percent(a.overruled, 1)} of the advantage lies where it does not differ.`) : "",
      el("h2", {}, "Groups"),
      el("p", {}, `${g.count.toLocaleString()} groups of ${short(g.size)}; ${percent(g.flat, 1)} without signal (${percent(g.dead_share, 1)} dead, ${percent(g.saturated_share, 1)} saturated); variance within ${g.within.toFixed(4)}, between ${g.between.toFixed(4)}.`),
      Object.keys(g.pass_at).length ? el("p", {}, `${Object.entries(g.pass_at).map(([k, p]) => `pass@${k} ${percent(p, 1)}`).join(" · ")} (${g.passing})`) : "",
      ...[["dead", g.dead], ["saturated", g.saturated]].map(([name, list]) => list.length ? el("details", {}, el("summary", {}, `${list.length} ${name} prompts`), ...list.map((p) => el("p", {}, rows(p.rows.slice(0, 1), 1), ` ${p.name}`))) : ""),
      el("h2", {}, "Kinds of response"),
      table(["kind", "rows", "share", "mean reward", "others", "within group", "look at"], [...s.kinds, ...s.clusters].map((k) => [k.name.replaceAll("_", " "), k.count.toLocaleString(), percent(k.share, 1), short(k.mean), short(k.others), k.within === null ? "–" : signed(k.within), rows(k.rows, 0)])),
      s.failures.length ? el("h2", {}, "What components complained of") : "",
      s.failures.length ? table(["rows", "why", "look at"], s.failures.map((f) => [f.count.toLocaleString(), f.name, rows(f.rows, 0)])) : "",
      Object.keys(s.reasons).length ? el("h2", {}, "Not scored, and why") : "",
      Object.keys(s.reasons).length ? table(["rows", "why"], Object.entries(s.reasons).map(([why, n]) => [n.toLocaleString(), why])) : "",
      el("h2", {}, "Distributions"),
      table(["", "mean", "std", "min", "p05", "median", "p95", "max", "skew", "kurtosis", "at floor", "at ceiling", "not scored"], s.distributions.map((d) => [d.name, short(d.mean), short(d.std), short(d.low), short(d.quantiles.p05), short(d.quantiles.p50), short(d.quantiles.p95), short(d.high), short(d.skewness), short(d.kurtosis), percent(d.at_floor), percent(d.at_ceiling), Object.entries(d.missing).map(([k, n]) => `${n.toLocaleString()} ${k}`).join(", ")])),
    );
  },
  jump(i) {
    this.set({ tab: "browse" });
    this.drawFrame();
    const g = this.table.get("group")[i], at = this.list.items.indexOf(this.state.mode === "rows" ? i : g);
    if (at >= 0) this.list.move(at);
    this.open(g, i);
  },
});
