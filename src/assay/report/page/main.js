// The page: state, what follows from it, and the keys. The state is in the URL, so that what one sees can be sent.

const DEFAULTS = { filter: "", sort: "file", mode: "groups", tab: "browse", weights: {}, estimator: "grpo", open: null, row: null, errors: false };
const SORTS = {
  file: "as in the file", suspicion: "most suspicious", high: "highest mean", low: "lowest mean",
  spread: "largest spread", missing: "not scored first", long: "longest",
};

class App {
  constructor(data) {
    this.head = data.head;
    this.source = data.served ? new Served(data) : new Embedded(data);
    this.table = new Table(data.head);
    this.state = { ...DEFAULTS, ...this.fromUrl() };
    this.list = new List(this);
    this.detail = new Detail(this);
    this.labels = new Map();
  }
  async start() {
    $("title").textContent = this.head.title;
    document.title = this.head.title;
    const { columns, titles } = await this.source.columns();
    this.table.append(columns, titles);
    this.shape = this.head.shape;
    this.readLabels(await this.source.labels().catch(() => []));
    this.bind();
    this.refold();
    await this.refilter();
    this.drawFrame();
    if (this.state.open !== null) this.detail.show(this.state.open, this.state.row ?? undefined);
    document.body.dataset.ready = "yes";
    if (this.source.live) this.follow();
  }
  /** Rows that were scored meanwhile come in; what one looks at stays where it is. */
  async follow() {
    let studied = 0, file = 0;
    for (;;) {
      const state = await this.source.state(studied).catch(() => null);
      if (!state) {
        this.toast("assay view is no longer running");
        return;
      }
      if (file && state.file !== file) return location.reload(); // scored anew: these rows are gone
      file = state.file;
      const begun = performance.now(), grown = state.rows > this.table.rows, fresh = state.studied !== studied;
      if (grown) {
        const { columns, titles } = await this.source.columns(this.table.rows, this.table.titles.length);
        this.table.append(columns, titles);
      }
      if (fresh) {
        const { columns } = await this.source.columns(0, 1e9, "flags,suspicion");
        for (const [name, { values }] of Object.entries(columns)) this.table.replace(name, values);
        Object.assign(this.head, state.head);
        studied = state.studied;
      }
      this.shape = this.head.shape = state.shape?.kind ? state.shape : this.head.shape;
      if (grown || fresh) {
        this.refold();
        await this.refilter(true);
        this.drawFrame();
      }
      $("facts").classList.toggle("live", state.growing);
      // the page must stay quick while rows come in: it rests three times as long as drawing them took
      const more = state.rows > this.table.rows; // there are rows that were not sent yet
      const rest = state.growing || more ? Math.max(more ? 50 : 500, (state.growing ? 3 : 0.2) * (performance.now() - begun)) : 3000;
      await new Promise((later) => setTimeout(later, rest));
    }
  }

  // -- state and URL

  fromUrl() {
    const given = new URLSearchParams(location.hash.slice(1)), found = {};
    for (const key of ["filter", "sort", "mode", "tab", "estimator"]) if (given.has(key)) found[key] = given.get(key);
    for (const key of ["open", "row"]) if (/^\d+$/.test(given.get(key) ?? "")) found[key] = Number(given.get(key));
    if (given.has("errors")) found.errors = true;
    try {
      const weights = JSON.parse(given.get("weights") || "{}");
      if (weights && typeof weights === "object") found.weights = weights;
    } catch { /* a URL that somebody edited: the configured weights stand */ }
    if (!(found.sort in SORTS)) delete found.sort;
    return found;
  }
  url(state) {
    const given = new URLSearchParams();
    for (const key of ["filter", "sort", "mode", "tab", "estimator", "open", "row"])
      if (state[key] !== DEFAULTS[key] && state[key] !== null) given.set(key, state[key]);
    if (state.errors) given.set("errors", "1");
    if (Object.keys(state.weights).length) given.set("weights", JSON.stringify(state.weights));
    return `#${given}`;
  }
  link(i) {
    return this.url({ ...this.state, open: this.table.get("group")[i], row: i });
  }
  remember() {
    history.replaceState(null, "", this.url(this.state));
  }
  set(changes) {
    Object.assign(this.state, changes);
    this.remember();
  }

  // -- what follows from the weights

  weightsAt(path) {
    const own = this.composites.find((c) => c.path === path);
    return own && { ...own.weights, ...(this.state.weights[path] || {}) };
  }
  /** What a component weighed for a row: a slider's weight, or what the fold said that it used. */
  weightShown(path, name, said) {
    return this.state.weights[path]?.[name] ?? said.weights?.[name] ?? this.weightsAt(path)?.[name];
  }
  refold() {
    this.composites = composites(this.shape);
    const { weights } = this.state;
    this.reward = Object.keys(weights).length ? fold(this.table, this.shape, weights) : this.table.get("reward");
    this.terms = weighted(this.table, this.shape, weights).filter((t) => this.table.has(`part/${t.path}`));
    this.told = advantages(this.table, this.reward, this.state.estimator, this.terms);
    this.range = extremes(this.table, this.reward);
    this.shares = shares(this.table, this.terms, this.told, this.reward);
    let low = Infinity, high = -Infinity;
    for (const v of this.reward) {
      if (v < low) low = v;
      if (v > high) high = v;
    }
    Object.assign(this, { low, high });
  }
  weigh(path, changes) {
    const weights = structuredClone(this.state.weights), own = this.composites.find((c) => c.path === path);
    weights[path] = { ...(weights[path] || {}), ...changes };
    if (Object.entries(weights[path]).every(([n, w]) => !own.schedules[n] && own.weights[n] === w)) delete weights[path];
    this.set({ weights });
    cancelAnimationFrame(this.pending);
    this.pending = requestAnimationFrame(async () => {
      this.refold();
      await this.refilter(true);
      this.drawNumbers();
      if (this.detail.group !== null) this.detail.show(this.detail.group, this.detail.members?.[this.detail.at]);
    });
  }

  // -- filter and order

  names(name) {
    const t = this.table, plain = { row: (i) => i + 1, chars: (i) => t.get("length")[i], reward: (i) => this.reward[i], advantage: (i) => this.told.advantage[i],
      stored: (i) => t.get("reward")[i], scored: (i) => (Number.isNaN(this.reward[i]) ? 0 : 1), outcome: (i) => this.head.outcomes[t.get("outcome")[i]],
      group: (i) => t.titles[t.get("group")[i]], flagged: (i) => t.get("flags")[i], mean: (i) => this.told.mean[t.get("group")[i]],
      label: (i) => this.labels.get(i) ?? NaN, labelled: (i) => (this.labels.has(i) ? 1 : 0), flat: (i) => { const g = t.get("group")[i]; return this.told.count[g] > 1 && this.range.high[g] - this.range.low[g] <= 1e-9 ? 1 : 0; } };
    if (plain[name]) return plain[name];
    const path = t.paths.find((p) => p === name || p.split("/").at(-1) === name);
    if (path) {
      const values = t.get(`part/${path}`);
      return (i) => values[i];
    }
    const rule = this.head.rules.findIndex((r) => r.name === name);
    if (rule >= 0) return (i) => (t.get("flags")[i] >>> rule) & 1;
    const bit = this.head.bits.indexOf(name);
    if (bit >= 0) return (i) => (t.get("bits")[i] >>> bit) & 1;
    const finding = this.head.study?.findings.find((f) => f.rule === name);
    if (finding) {
      const rows = new Set(finding.rows);
      return (i) => (rows.has(i) ? 1 : 0);
    }
    for (const column of [name, `own/${name}`])
      if (t.has(column)) {
        const values = t.get(column);
        return (i) => values[i];
      }
    return undefined;
  }
  known() {
    const t = this.table;
    return ["reward", "advantage", "scored", "outcome", "chars", "words", "repetition", "step", "row", "group", "flat", "flagged", "suspicion", "label",
      ...t.paths.map((p) => p.split("/").at(-1)), ...this.head.rules.map((r) => r.name), ...this.head.bits,
      ...[...t.columns.keys()].filter((n) => n.startsWith("own/")).map((n) => n.slice(4))];
  }
  async refilter(keep = false) {
    const { table } = this, begun = performance.now();
    const turn = (this.turn = (this.turn ?? 0) + 1);
    let predicate = null, note = "";
    const wanted = this.state.filter.trim();
    try {
      predicate = wanted ? compile(wanted, (n) => this.names(n), () => this.known()) : null;
    } catch (error) {
      const operators = /[=<>~"'()]|\b(and|or|not)\b/.test(wanted);
      if (operators || wanted.split(/\s+/).length === 1) {
        this.tell(error.message, true);
        if (operators) return;
      }
      if (!operators) predicate = compile(JSON.stringify(wanted), () => undefined, () => []); // plain words: look for them
    }
    for (const asked of predicate?.texts ?? []) {
      const found = await this.source.search(asked.text);
      asked.rows = new Set(found.rows);
      note = found.note || note;
    }
    if (turn !== this.turn) return; // a newer filter is on its way
    const chosen = new Uint32Array(table.rows), outcome = table.get("outcome");
    let count = 0;
    for (let i = 0; i < table.rows; i++)
      if ((!predicate || predicate.test(i)) && (!this.state.errors || outcome[i] > 0 || Number.isNaN(this.reward[i]))) chosen[count++] = i;
    this.chosen = chosen.subarray(0, count);
    this.all = count === table.rows;
    this.list.show(this.state.mode === "rows" ? this.sortRows() : this.sortGroups(), keep);
    this.tell(note);
    this.took = performance.now() - begun;
    document.body.dataset.took = this.took.toFixed(1);
    this.drawCounts();
  }
  sortRows() {
    const t = this.table, items = this.chosen.slice(), by = (of) => items.sort((a, b) => of(b) - of(a) || a - b);
    const low = (v) => (Number.isNaN(v) ? -Infinity : v);
    switch (this.state.sort) {
      case "suspicion": return by((i) => t.get("suspicion")[i]);
      case "high": return by((i) => low(this.reward[i]));
      case "low": return by((i) => (Number.isNaN(this.reward[i]) ? -Infinity : -this.reward[i]));
      case "spread": return by((i) => Math.abs(this.told.advantage[i]) || 0);
      case "missing": return by((i) => (Number.isNaN(this.reward[i]) ? 1 : 0));
      case "long": return by((i) => t.get("length")[i]);
      default: return items;
    }
  }
  sortGroups() {
    const t = this.table, group = t.get("group"), seen = new Uint8Array(t.groups), found = [];
    for (const i of this.chosen) if (!seen[group[i]]) { seen[group[i]] = 1; found.push(group[i]); }
    const items = Uint32Array.from(found), most = (column) => {
      const values = t.get(column), top = new Float64Array(t.groups);
      for (const i of this.chosen) if (values[i] > top[group[i]]) top[group[i]] = values[i];
      return top;
    };
    const by = (values) => items.sort((a, b) => values[b] - values[a] || a - b);
    const { mean, squares, count } = this.told, usual = (v, g) => (count[g] ? v : -Infinity);
    switch (this.state.sort) {
      case "suspicion": return by(most("suspicion"));
      case "high": return by(mean.map((v, g) => usual(v, g)));
      case "low": return by(mean.map((v, g) => usual(-v, g)));
      case "spread": return by(squares.map((v, g) => (count[g] ? v / count[g] : -1)));
      case "missing": return by(mean.map((_, g) => t.start[g + 1] - t.start[g] - count[g]));
      case "long": return by(most("length"));
      default: return items;
    }
  }

  // -- small things that others draw with

  cell(i, large) {
    const value = this.reward[i], flagged = this.table.get("flags")[i] > 0;
    const words = Number.isNaN(value) ? this.stateOf(i) : value.toFixed(3);
    const gated = this.gatedAt(i);
    const node = el("span", { class: `cell${Number.isNaN(value) ? " none" : ""}${gated ? " gated" : ""}${flagged ? " flagged" : ""}${large ? " large" : ""}`,
      title: `row ${i + 1}: ${words}${gated ? ", gate shut" : ""}${flagged ? ` · ${this.rulesOf([i]).join(", ")}` : ""}` });
    if (!Number.isNaN(value)) Object.assign(node.style, colour(value, this.low, this.high));
    return node;
  }
  /** Why a row has no number, in words. */
  stateOf(i) {
    const state = this.table.get("outcome")[i];
    return state ? STATES[state] : "not scored under these weights";
  }
  gatedAt(i) {
    if (!this.gates || this.gatesFor !== this.table.columns.size) {
      this.gates = this.table.paths.map((p) => `state/${p}`);
      this.gatesFor = this.table.columns.size;
    }
    return this.gates.some((name) => this.table.get(name)[i] === GATED);
  }
  rulesOf(rows) {
    let bits = 0;
    const flags = this.table.get("flags");
    for (const i of rows) bits |= flags[i];
    return this.head.rules.filter((_, k) => (bits >>> k) & 1).map((r) => r.name);
  }
  says(name) {
    return this.head.rules.find((r) => r.name === name)?.says;
  }
  kindsOf(i) {
    const bits = this.table.get("bits")[i];
    return this.head.bits.filter((_, k) => (bits >>> k) & 1).map((n) => n.replaceAll("_", " "));
  }
  open(g, row) {
    this.set({ open: g, row: row ?? null });
    if (g === null) this.detail.close();
    else this.detail.show(g, row);
  }
  readLabels(given) {
    for (const [row, label] of given) {
      if (label === null) this.labels.delete(row);
      else this.labels.set(row, label);
    }
  }
  async label(row, i, label) {
    const at = new Date().toISOString();
    await this.save("labels", i, { row: i + 1, key: row.key, group: row.group ?? null, prompt: promptOf(row), response: responseOf(row), label, at });
    this.readLabels([[i, label]]);
    this.detail.draw();
  }
  async save(kind, i, record) {
    try {
      this.toast(await this.source.save(kind, i, record));
    } catch (error) {
      this.toast(`not saved: ${error.message}`);
    }
  }
  tell(text, wrong) {
    $("told").textContent = text || "";
    $("told").classList.toggle("wrong", Boolean(wrong));
  }
  toast(text) {
    const node = $("toast");
    node.textContent = text;
    node.classList.add("shown");
    clearTimeout(this.fading);
    this.fading = setTimeout(() => node.classList.remove("shown"), 3500);
  }
}
