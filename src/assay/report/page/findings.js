// The findings: the verdict, each rule with its rows, and what the numbers say of rewards, groups and kinds of response.

Object.assign(App.prototype, {
  drawFindings() {
    const s = this.head.study;
    if (!s) return $("findings").replaceChildren(el("p", { class: "dim" }, "The whole Run is still being read; findings follow."));
    $("findings").replaceChildren(
      this.verdict(s),
      s.findings.length ? el("div", { class: "found" }, ...s.findings.map((f) => this.finding(f))) : "",
      el("div", { class: "panels" },
        s.attribution ? this.taughtPanel(s.attribution) : "",
        this.groupsPanel(s.groups),
        this.agreementPanel(s.agreement),
        s.steps.length > 1 ? panel("Over training steps", stepLines(s.steps, (k) => this.openStep(s.steps, k))) : "",
        this.kindsPanel("Kinds of response", s.kinds),
        s.clusters.length ? this.kindsPanel("Kinds that nobody named", s.clusters) : "",
        s.failures.length ? panel("What components complained of", grid(["rows", "why", "look at"], s.failures.map((f) => [f.count.toLocaleString(), f.name, this.rowLinks(f.rows.slice(0, 3))]), "reasons")) : "",
        Object.keys(s.reasons).length ? panel("Not scored, and why", grid(["rows", "why"], Object.entries(s.reasons).map(([why, n]) => [n.toLocaleString(), why]), "reasons")) : "",
        distributionsPanel(s.distributions)),
    );
  },
  verdict(s) {
    const count = (severity) => s.findings.filter((f) => f.severity === severity).length;
    const [alarms, warnings, notes] = SEVERITIES.map(count), many = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
    const said = alarms ? `${many(alarms, "alarm")}: look before this trains anything` : warnings ? `No alarm, ${many(warnings, "warning")}` : "Nothing suspicious";
    return el("div", { class: `verdict-line ${alarms ? "alarm" : warnings ? "warning" : "good"}` }, el("b", {}, said),
      el("span", { class: "dim" }, [alarms && warnings ? many(warnings, "warning") : "", notes ? many(notes, "note") : "", `${s.rows.toLocaleString()} rows in ${s.groups.count.toLocaleString()} groups`].filter(Boolean).join(" · ")));
  },
  finding(f) {
    const facts = f.count && f.rows.length ? `${f.count.toLocaleString()} rows · ${percent(f.share, 1)}` : "";
    return el("article", { class: `finding ${f.severity}` },
      el("div", { class: "head" }, el("span", { class: "severity" }, f.severity), el("b", {}, f.rule.replaceAll("_", " ")), el("span", { class: "dim" }, facts),
        f.rows.length ? el("button", { onclick: () => { this.set({ sort: "suspicion" }); this.setFilter(f.rule); } }, "show") : null),
      el("p", {}, f.says),
      f.paid ? el("p", { class: "paid" }, meter(f.paid), el("span", { class: "dim" }, `${percent(f.paid)} of them were paid above their group`)) : null,
      f.rows.length ? this.rowLinks(f.rows, f.count) : null);
  },
  rowLinks(numbers, count = 0) {
    return el("span", { class: "rows" }, ...numbers.slice(0, 8).map((i) => el("a", { href: this.link(i), onclick: (e) => { e.preventDefault(); this.jump(i); } }, (i + 1).toLocaleString())), count > 8 ? " …" : "");
  },
  taughtPanel(a) {
    const names = a.components.map((c) => [c.name, `weight ${short(c.weight)}`]);
    const bars = el("div", { class: "bars" }, ...a.components.flatMap((c, k) => [
      el("div", { class: "name" }, el("b", {}, names[k][0]), el("span", { class: "dim" }, c.dead ? "teaches nothing" : names[k][1])),
      el("div", { class: "two", title: `${percent(c.configured)} of the weights, ${percent(c.share, 1)} of the advantage` },
        el("i", { class: "configured", style: { width: bounded(c.configured) } }), el("i", { class: "taught", style: { width: bounded(c.share) } })),
      el("div", { class: "number" }, percent(c.share, 1)),
      el("div", { class: "dim" }, c.name === a.correctness ? "what is right" : c.flips ? `turns ${percent(c.flips, 1)} of the signs` : ""),
    ]));
    const rest = Math.abs(a.rest) > 0.005 ? `${percent(a.rest, 1)} comes from gates, bounds and what was not scored. ` : "";
    const against = a.correctness ? `Against “${a.correctness}” alone, ${percent(a.flips, 1)} of the signs are turned round; ${percent(a.overruled, 1)} of the advantage lies in groups where it does not differ.` : "";
    return panel(`What the advantage is made of · ${ESTIMATORS[a.estimator] ?? a.estimator}`,
      el("p", { class: "legend dim" }, el("i", { class: "configured" }), "share of the weights", el("i", { class: "taught" }), "share of the advantage"), bars,
      rest || against ? el("p", { class: "dim" }, rest + against) : "");
  },
  groupsPanel(g) {
    const facts = [["groups", g.count.toLocaleString()], ["responses in one", short(g.size)], ["different rewards in one", g.effective_size.toFixed(1)],
      ["without signal", percent(g.flat, 1)], ["all at the lowest", percent(g.dead_share, 1)], ["all at the highest", percent(g.saturated_share, 1)],
      ["variance within", g.within.toFixed(4)], ["variance between", g.between.toFixed(4)]];
    const passed = Object.entries(g.pass_at);
    return panel("Groups",
      el("dl", { class: "facts-list" }, ...facts.map(listed)),
      passed.length ? el("div", { class: "passes", title: g.passing }, ...passed.map(([k, p]) =>
        el("div", {}, el("span", { class: "tall" }, el("i", { style: { height: bounded(p) } })), el("b", {}, percent(p)), el("span", { class: "dim" }, `pass@${k}`)))) : "",
      passed.length ? el("p", { class: "dim" }, `passing: ${g.passing}`) : "",
      ...[["dead", g.dead], ["saturated", g.saturated]].map(([name, list]) => list.length
        ? el("details", {}, el("summary", {}, `${list.length} ${name} prompts`), ...list.map((p) => el("p", {}, this.rowLinks(p.rows.slice(0, 1)), ` ${p.name}`))) : ""));
  },
  agreementPanel(a) {
    if (!a) return "";
    const c = a.confusion;
    const facts = [["rows with a label", a.count.toLocaleString()], ["AUC", a.auc === null ? "–" : a.auc.toFixed(3)], ["Spearman", a.spearman.toFixed(3)], ["Kendall", a.kendall.toFixed(3)], ["Krippendorff's alpha", a.alpha.toFixed(3)],
      ["paid and good", c.tp], ["paid and bad", c.fp], ["not paid and good", c.fn], ["not paid and bad", c.tn]];
    const links = [["paid, and should not be", a.false_positives], ["should be paid", a.false_negatives]].filter(([, rows]) => rows.length);
    return panel("Against the labels beside this Run", el("dl", { class: "facts-list" }, ...facts.map(listed)),
      ...links.map(([name, rows]) => el("p", {}, el("span", { class: "dim" }, `${name} `), this.rowLinks(rows, rows.length))));
  },
  kindsPanel(title, kinds) {
    const most = Math.max(1e-9, ...kinds.map((k) => Math.abs(k.within ?? 0)));
    return panel(title, grid(["kind", "rows", "mean", "others", "within its group", "look at"], kinds.map((k) => [
      k.name.replaceAll("_", " "), `${k.count.toLocaleString()} · ${percent(k.share)}`, short(k.mean), short(k.others),
      k.within === null ? "–" : el("span", { class: "lean" }, el("span", { class: "axis" }, el("i", { class: k.within < 0 ? "minus" : "", style: { width: `${50 * Math.abs(k.within) / most}%` } })), signed(k.within)),
      this.rowLinks(k.rows.slice(0, 3))])));
  },
  jump(i) {
    this.set({ tab: "browse" });
    this.drawFrame();
    const g = this.table.get("group")[i], at = this.list.items.indexOf(this.state.mode === "rows" ? i : g);
    if (at >= 0) this.list.move(at);
    this.open(g, i);
  },
});

function distributionsPanel(distributions) {
  const heads = ["", "", "mean", "std", "min", "p05", "median", "p95", "max", "skew", "kurtosis", "at floor", "at ceiling", "not scored"];
  const line = (d) => (d.count === 0 ? [d.name, "", ...Array(11).fill("–"), missingOf(d)] : [
    d.name, spark(d.counts), short(d.mean), short(d.std), short(d.low), short(d.quantiles.p05), short(d.quantiles.p50), short(d.quantiles.p95), short(d.high), short(d.skewness), short(d.kurtosis),
    percent(d.at_floor), percent(d.at_ceiling), missingOf(d)]);
  return el("section", { class: "panel wide" }, el("h2", {}, "Distributions"), grid(heads, distributions.map(line)));
}

const missingOf = (d) => Object.entries(d.missing).map(([k, n]) => `${n.toLocaleString()} ${k}`).join(", ");
const bounded = (share) => `${100 * Math.min(1, Math.max(0, share))}%`;
const meter = (share) => el("span", { class: "meter small" }, el("i", { style: { width: bounded(share) } }));

function panel(title, ...children) {
  return el("section", { class: "panel" }, el("h2", {}, title), ...children);
}

const listed = ([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, String(value)));

function grid(heads, lines, kind = "") {
  return el("div", { class: `scroll ${kind}` }, el("table", {}, el("thead", {}, el("tr", {}, ...heads.map((h) => el("th", {}, h)))), el("tbody", {}, ...lines.map((l) => el("tr", {}, ...l.map((c) => el("td", {}, c)))))));
}
