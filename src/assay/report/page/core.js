"use strict";
// The columns of a Run as typed arrays, and where its rows' texts come from: this file, or the server beside it.

const $ = (id) => document.getElementById(id);

/** An element with properties and children. Text is always text: nothing here ever parses HTML. */
function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") node.className = value;
    else if (key === "style") Object.assign(node.style, value);
    else if (key === "data") Object.assign(node.dataset, value);
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((c) => c !== undefined && c !== null && c !== false));
  return node;
}

function svg(tag, props = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(props)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const TYPES = { f8: Float64Array, f4: Float32Array, i4: Int32Array, u4: Uint32Array, u1: Uint8Array };

async function inflate(base64) {
  const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** One growing column. */
class Column {
  constructor(type) {
    this.type = type;
    this.size = 0;
    this.array = new TYPES[type](0);
  }
  append(values) {
    const need = this.size + values.length;
    if (need > this.array.length) {
      const larger = new TYPES[this.type](this.size ? Math.max(need, this.array.length * 2) : need);
      larger.set(this.array.subarray(0, this.size));
      this.array = larger;
    }
    this.array.set(values, this.size);
    this.size = need;
  }
  get values() {
    return this.array.subarray(0, this.size);
  }
}

/** All rows, as columns by name: reward, outcome, group, length, ..., and `part/<path>`, `state/<path>`. */
class Table {
  constructor(head) {
    this.head = head;
    this.columns = new Map();
    this.rows = 0;
    this.titles = [];
  }
  append(columns, titles) {
    let rows = 0;
    for (const [name, { type, values }] of Object.entries(columns)) {
      if (!this.columns.has(name)) {
        const fresh = new Column(type);
        const nothing = name.startsWith("state/") ? ABSENT : type[0] === "f" ? NaN : 0;
        fresh.append(new TYPES[type](this.rows).fill(nothing)); // a component that appears late
        this.columns.set(name, fresh);
      }
      this.columns.get(name).append(values);
      rows = values.length;
    }
    this.rows += rows;
    for (const title of titles) this.titles.push(title);
    for (const [name, column] of this.columns)
      if (column.size < this.rows)
        column.append(new TYPES[column.type](this.rows - column.size).fill(name.startsWith("state/") ? ABSENT : NaN));
    this.index();
  }
  /** Other values for the rows there are; rows beyond them keep theirs. */
  replace(name, values) {
    this.get(name)?.set(values.subarray(0, this.rows));
  }
  get(name) {
    const column = this.columns.get(name);
    return column && column.values;
  }
  has(name) {
    return this.columns.has(name);
  }
  get paths() {
    return [...this.columns.keys()].filter((n) => n.startsWith("part/")).map((n) => n.slice(5));
  }
  /** Rows by group: group g holds order[start[g]] .. order[start[g + 1] - 1]. */
  index() {
    const group = this.get("group");
    const count = group.reduce((most, g) => (g > most ? g : most), -1) + 1;
    const start = new Uint32Array(count + 1);
    for (const g of group) start[g + 1]++;
    for (let g = 0; g < count; g++) start[g + 1] += start[g];
    const next = start.slice();
    const order = new Uint32Array(group.length);
    for (let i = 0; i < group.length; i++) order[next[group[i]]++] = i;
    Object.assign(this, { start, order, groups: count });
  }
  members(g) {
    return this.order.subarray(this.start[g], this.start[g + 1]);
  }
}

const ABSENT = 6, GATED = 5, NOT_ASKED = 7;
const STATES = ["scored", "abstained", "timeout", "grader error", "infra error", "gated", "not stored", "not asked"];

/** Rows inside this file: blocks of whole rows, inflated when somebody looks. */
class Embedded {
  constructor(data) {
    this.data = data;
    this.live = false;
    this.blocks = new Map();
    this.where = new Map();
    data.blocks.forEach((numbers, block) => numbers.forEach((row, at) => this.where.set(row, [block, at])));
  }
  async columns() {
    const found = {};
    for (const [name, { type, data }] of Object.entries(this.data.columns))
      found[name] = { type, values: new TYPES[type](await inflate(data)) };
    const titles = JSON.parse(new TextDecoder().decode(await inflate(this.data.titles)));
    return { columns: found, titles };
  }
  async block(number) {
    if (!this.blocks.has(number)) {
      const node = $(`block-${number}`);
      this.blocks.set(number, inflate(node.textContent.trim()).then((b) => JSON.parse(new TextDecoder().decode(b))));
    }
    return this.blocks.get(number);
  }
  async rows(numbers) {
    return Promise.all(
      Array.from(numbers, async (row) => {
        const place = this.where.get(row);
        return place ? (await this.block(place[0]))[place[1]] : null;
      }),
    );
  }
  async search(text) {
    const wanted = text.toLowerCase();
    const found = [];
    for (let b = 0; b < this.data.blocks.length; b++) {
      const rows = await this.block(b);
      rows.forEach((row, at) => {
        if (JSON.stringify(row).toLowerCase().includes(JSON.stringify(wanted).slice(1, -1)))
          found.push(this.data.blocks[b][at]);
      });
    }
    const kept = this.where.size < this.data.head.rows;
    return { rows: found, note: kept ? `searched the ${this.where.size.toLocaleString()} rows whose text is in this file` : "" };
  }
  kept(kind) {
    try {
      return JSON.parse(localStorage.getItem(`assay/${kind}/${this.data.head.id}`) || "[]");
    } catch {
      return []; // a browser that keeps nothing for files
    }
  }
  async labels() {
    return this.kept("labels").map(({ row, label }) => [row - 1, label]);
  }
  async save(kind, row, record) {
    const kept = [...this.kept(kind), record];
    try {
      localStorage.setItem(`assay/${kind}/${this.data.head.id}`, JSON.stringify(kept));
    } catch { /* what is saved now is handed over alone */ }
    const lines = kept.map((r) => JSON.stringify(r)).join("\n") + "\n";
    const link = el("a", { href: URL.createObjectURL(new Blob([lines], { type: "application/jsonl" })), download: `${kind}.jsonl` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    return `${kind}.jsonl handed to your downloads, with ${kept.length} line${kept.length > 1 ? "s" : ""}`;
  }
}

/** Rows from `assay view`, on this machine. */
class Served {
  constructor(data) {
    this.data = data;
    this.live = true;
    this.kept = new Map();
  }
  async ask(path, options = {}) {
    const answer = await fetch(path, { headers: { "X-Assay": "1" }, ...options });
    if (!answer.ok) throw new Error(`${answer.status}: ${(await answer.text()).slice(0, 200)}`);
    return answer;
  }
  async state(studied) {
    return (await this.ask(`api/state?studied=${studied}`)).json();
  }
  /** Rows from one on: as many more as there are already, so that a long Run is shown soon and drawn seldom. */
  async columns(from = 0, groups = 0, only = "") {
    const most = only ? from + 1e9 : Math.max(50000, from);
    const query = `from=${from}&most=${most}&groups=${groups}&only=${only}`;
    const buffer = await (await this.ask(`api/columns?${query}`)).arrayBuffer();
    const size = new DataView(buffer).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
    const found = {};
    for (const { name, type, at, count } of head.columns) found[name] = { type, values: new TYPES[type](buffer, at, count) };
    return { columns: found, titles: head.titles, rows: head.rows };
  }
  /** Rows asked for in one turn of the loop are asked for together. */
  async rows(numbers) {
    const wanted = Array.from(numbers).filter((n) => !this.kept.has(n));
    if (this.kept.size > 2000) this.kept.clear();
    if (wanted.length) {
      this.asked ??= { ids: new Set(), answer: Promise.resolve().then(() => this.fetchRows()) };
      for (const n of wanted) this.asked.ids.add(n);
      await this.asked.answer;
      const lost = Array.from(numbers).filter((n) => !this.kept.has(n)); // cleared meanwhile
      if (lost.length) return this.rows(numbers);
    }
    return Array.from(numbers, (n) => this.kept.get(n));
  }
  async fetchRows() {
    const ids = [...this.asked.ids];
    this.asked = undefined;
    for (let at = 0; at < ids.length; at += 256) {
      const piece = ids.slice(at, at + 256), rows = await (await this.ask(`api/rows?ids=${piece.join(",")}`)).json();
      piece.forEach((n, k) => this.kept.set(n, rows[k]));
    }
  }
  async search(text) {
    return (await this.ask(`api/search?q=${encodeURIComponent(text)}`)).json();
  }
  async labels() {
    return (await this.ask("api/labels")).json();
  }
  /** The server knows the row whole; what is told is only what is new. */
  async save(kind, row, { label, expected }) {
    const record = kind === "labels" ? { row, label } : { row, expected };
    const headers = { "X-Assay": "1", "Content-Type": "application/json" };
    const answer = await this.ask(`api/${kind}`, { method: "POST", headers, body: JSON.stringify(record) });
    return (await answer.json()).said;
  }
}
