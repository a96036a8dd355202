// The list in the middle: a million lines of which only those in sight exist.

const NARROW = matchMedia("(max-width: 900px)");
const lineHeight = () => (NARROW.matches ? 66 : 46); // as in page.css
let LINE = lineHeight();
const TALLEST = 8e6; // browsers give up on elements much taller than this; beyond it the scroll bar is a scale

class List {
  constructor(app) {
    this.app = app;
    this.node = $("list");
    this.space = $("space");
    this.items = new Uint32Array(0);
    this.at = 0;
    this.pool = new Map();
    this.node.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(this.node);
    NARROW.addEventListener("change", () => { LINE = lineHeight(); this.show(this.items, true); });
  }
  /** Groups or rows by number, in the order to be shown. */
  show(items, keep) {
    this.items = items;
    this.at = Math.min(keep ? this.at : 0, Math.max(0, items.length - 1));
    this.space.style.height = `${Math.min(TALLEST, items.length * LINE)}px`;
    if (!keep) this.node.scrollTop = 0;
    this.clear();
    this.draw();
  }
  clear() {
    for (const line of this.pool.values()) line.remove();
    this.pool.clear();
  }
  /** The number of the first line in sight; the scroll bar is stretched where there are too many lines. */
  top() {
    const whole = this.items.length * LINE, room = this.node.clientHeight;
    if (whole <= TALLEST) return this.node.scrollTop / LINE;
    return (this.node.scrollTop / Math.max(1, TALLEST - room)) * ((whole - room) / LINE);
  }
  draw() {
    const first = Math.max(0, Math.floor(this.top()) - 4), seen = Math.ceil(this.node.clientHeight / LINE) + 8;
    const last = Math.min(this.items.length, first + seen), shift = this.node.scrollTop - this.top() * LINE;
    for (const [k, line] of this.pool)
      if (k < first || k >= last) {
        line.remove();
        this.pool.delete(k);
      }
    for (let k = first; k < last; k++) {
      let line = this.pool.get(k);
      if (!line) {
        line = this.app.state.mode === "rows" ? this.row(this.items[k], k) : this.group(this.items[k], k);
        this.pool.set(k, line);
        this.space.append(line);
      }
      line.style.transform = `translateY(${shift + k * LINE}px)`;
      line.classList.toggle("here", k === this.at);
    }
  }
  move(to) {
    if (!this.items.length) return;
    this.at = Math.min(this.items.length - 1, Math.max(0, to));
    const room = this.node.clientHeight, top = this.top(), shown = room / LINE;
    if (this.at < top || this.at > top + shown - 1) {
      const target = this.at < top ? this.at : this.at - shown + 1;
      const whole = this.items.length * LINE;
      this.node.scrollTop = whole <= TALLEST ? target * LINE : (target / ((whole - room) / LINE)) * (TALLEST - room);
    }
    this.draw();
  }
  line(k, open, ...children) {
    return el("div", { class: "item", role: "button", onclick: () => { this.at = k; this.draw(); open(); } }, ...children);
  }
  group(g, k) {
    const { app } = this, { table, told } = app, members = table.members(g);
    const flat = told.count[g] > 1 && app.range.high[g] - app.range.low[g] <= 1e-9;
    const title = el("span", { class: "name" }, table.titles[g] || `group ${g + 1}`);
    const rules = app.rulesOf(members);
    const line = this.line(
      k,
      () => app.open(g),
      el("span", { class: "strip" }, ...Array.from(members.length > 32 ? members.subarray(0, 32) : members, (i) => app.cell(i)),
        members.length > 32 ? el("span", { class: "dim" }, `+${members.length - 32}`) : null),
      el("span", { class: "what" }, title,
        el("span", { class: "tags" }, flat ? el("span", { class: "tag quiet" }, "no signal") : null,
          ...rules.slice(0, 3).map((r) => el("span", { class: "tag bad", title: app.says(r) }, r.replaceAll("_", " "))))),
      el("span", { class: "number", title: "mean reward" }, told.count[g] ? told.mean[g].toFixed(3) : "–"),
      el("span", { class: "number dim", title: "standard deviation" },
        told.count[g] ? `±${Math.sqrt(told.squares[g] / told.count[g]).toFixed(2)}` : ""),
    );
    return line;
  }
  row(i, k) {
    const { app } = this, { table, told } = app, g = table.get("group")[i];
    const excerpt = el("span", { class: "name" });
    app.source.rows([i]).then(([row]) => {
      excerpt.textContent = row ? oneLine(responseOf(row)).slice(0, 220) : table.titles[g] || "";
    }, () => (excerpt.textContent = table.titles[g] || ""));
    return this.line(
      k,
      () => app.open(g, i),
      el("span", { class: "strip" }, app.cell(i), el("span", { class: "dim" }, `row ${(i + 1).toLocaleString()}`)),
      el("span", { class: "what" }, excerpt, el("span", { class: "tags" },
        ...app.rulesOf([i]).map((r) => el("span", { class: "tag bad", title: app.says(r) }, r.replaceAll("_", " "))))),
      el("span", { class: "number", title: "advantage" }, signed(told.advantage[i])),
      el("span", { class: "number dim", title: "characters" }, short(table.get("length")[i])),
    );
  }
}

const signed = (v) => (Number.isNaN(v) ? "–" : `${v >= 0 ? "+" : "−"}${Math.abs(v).toFixed(2)}`);
const oneLine = (text) => text.replace(/\s+/g, " ").trim();
