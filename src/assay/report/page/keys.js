// Keys, and the start.

const KEYS = [
  ["j / k", "next, previous line"], ["n / p", "next, previous response of the open prompt"], ["Enter", "open"], ["Esc", "close"],
  ["g / G", "first, last line"], ["/", "filter"], ["e", "only what was not scored"], ["r", "raw text: spaces, hidden characters, tags"],
  ["c", "copy the response's row as JSON"], ["s", "sort by suspicion"], ["f", "findings"], ["t", "light or dark"], ["?", "this"],
];

Object.assign(App.prototype, {
  bind() {
    const filter = $("filter");
    filter.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => { this.set({ filter: filter.value }); this.refilter(); }, 120);
    });
    filter.addEventListener("keydown", (e) => {
      if (e.key === "Escape" || e.key === "Enter") { filter.blur(); $("list").focus(); e.stopPropagation(); }
    });
    $("sort").addEventListener("change", (e) => { this.set({ sort: e.target.value }); this.refilter(); });
    $("theme").addEventListener("click", () => this.theme());
    $("help").addEventListener("click", () => this.help());
    window.addEventListener("hashchange", () => {
      const wanted = { ...DEFAULTS, ...this.fromUrl() };
      if (this.url(wanted) === this.url(this.state)) return;
      Object.assign(this.state, wanted);
      this.refold();
      this.refilter().then(() => this.drawFrame());
      this.open(this.state.open, this.state.row);
    });
    document.addEventListener("keydown", (e) => this.key(e));
  },
  key(e) {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) && e.target.type !== "range";
    if (typing || e.ctrlKey || e.metaKey || e.altKey || $("keys").open) return;
    const here = () => this.list.items[this.list.at];
    const walk = (to) => {
      this.list.move(to);
      if (this.detail.group !== null && here() !== undefined) this.openHere(here());
    };
    const keys = {
      j: () => walk(this.list.at + 1), k: () => walk(this.list.at - 1), ArrowDown: () => walk(this.list.at + 1), ArrowUp: () => walk(this.list.at - 1),
      n: () => this.detail.group !== null && this.detail.step(1), p: () => this.detail.group !== null && this.detail.step(-1),
      g: () => walk(0), G: () => walk(this.list.items.length - 1),
      Enter: () => here() !== undefined && this.openHere(here()), o: () => here() !== undefined && this.openHere(here()), Escape: () => this.open(null),
      "/": () => { this.set({ tab: "browse" }); this.drawFrame(); $("filter").focus(); $("filter").select(); },
      e: () => { this.set({ errors: !this.state.errors }); this.refilter(); this.toast(this.state.errors ? "only what was not scored" : "all rows"); },
      r: () => this.detail.group !== null && this.detail.toggleRaw(),
      c: () => this.detail.group !== null && this.detail.copy(this.detail.members[this.detail.at]),
      s: () => { this.set({ sort: this.state.sort === "suspicion" ? "file" : "suspicion" }); this.refilter(); this.drawFrame(); },
      f: () => { this.set({ tab: this.state.tab === "findings" ? "browse" : "findings" }); this.drawFrame(); },
      t: () => this.theme(), "?": () => this.help(),
    };
    if (e.target.type === "range" && e.key.startsWith("Arrow")) return;
    if (e.key === "Enter" && e.target.tagName === "BUTTON") return;
    if (keys[e.key]) {
      e.preventDefault();
      keys[e.key]();
    }
  },
  openHere(item) {
    if (this.state.mode === "rows") this.open(this.table.get("group")[item], item);
    else this.open(item);
  },
  theme() {
    const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("assay/theme", document.documentElement.dataset.theme); } catch { /* it is only a taste */ }
  },
  help() {
    const dialog = $("keys");
    dialog.replaceChildren(el("h2", {}, "Keys"), el("dl", {}, ...KEYS.flatMap(([k, what]) => [el("dt", {}, k), el("dd", {}, what)])),
      el("h2", {}, "Filter"), el("p", {}, "Compare any column: "), el("code", {}, "match == 1 and length > 800"), el("code", {}, "not scored"), el("code", {}, 'outcome == "timeout"'), el("code", {}, 'keyword_stuffing and text ~ "because"'),
      el("p", { class: "dim" }, this.known().join(", ")), el("form", { method: "dialog" }, el("button", {}, "close")));
    dialog.showModal();
  },
});

(async function start() {
  try {
    const kept = localStorage.getItem("assay/theme");
    if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  } catch { /* no storage for files in this browser */ }
  const app = new App(JSON.parse($("data").textContent));
  globalThis.assay = app; // for the console, and for tests
  try {
    await app.start();
  } catch (error) {
    $("told").textContent = `This page could not be drawn: ${error.message}`;
    $("told").classList.add("wrong");
    document.body.dataset.ready = "failed";
    throw error;
  }
})();
