// Inline SVG: histograms that can be brushed, and lines over training steps.

/** Equal bins over what is known. */
function binned(values, rows, bins = 40) {
  let low = Infinity, high = -Infinity;
  for (const i of rows) {
    const v = values[i];
    if (v < low) low = v;
    if (v > high) high = v;
  }
  if (low > high) return null;
  const width = (high - low) / bins || 1, counts = new Uint32Array(high > low ? bins : 1);
  let missing = 0;
  for (const i of rows) {
    const v = values[i];
    if (Number.isNaN(v)) missing++;
    else counts[Math.min(counts.length - 1, Math.floor((v - low) / width))]++;
  }
  return { low, high, width, counts, missing };
}

function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e6) return `${(value / 1e6).toFixed(1)}M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(0)}k`;
  if (size >= 100 || Number.isInteger(value)) return String(Math.round(value));
  return String(+value.toFixed(3));
}

const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}%`;

/** A histogram of all rows with the filtered ones in front; dragging over it calls `brush(low, high)`. */
function histogram(name, whole, part, brush) {
  const W = 260, H = 44, bars = whole.counts.length;
  const most = Math.max(1, ...whole.counts);
  const tall = (n) => (n ? Math.max(1.5, (H - 2) * Math.sqrt(n / most)) : 0);
  const node = svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "histogram", preserveAspectRatio: "none", role: "img", "aria-label": `Histogram of ${name}` });
  for (let k = 0; k < bars; k++) {
    const x = (W / bars) * k, w = Math.max(1, W / bars - 1);
    node.append(svg("rect", { x, y: H - tall(whole.counts[k]), width: w, height: tall(whole.counts[k]), class: "all" }));
    if (part) node.append(svg("rect", { x, y: H - tall(part[k]), width: w, height: tall(part[k]), class: "some" }));
    const from = whole.low + whole.width * k, title = svg("title");
    title.textContent = `${short(from)} to ${short(from + whole.width)}: ${whole.counts[k].toLocaleString()} rows`;
    node.append(svg("rect", { x, y: 0, width: W / bars, height: H, class: "hit" }, title));
  }
  const area = svg("rect", { y: 0, height: H, class: "brush", width: 0, x: 0 });
  node.append(area);
  let begun = null;
  const place = (event) => {
    const box = node.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  node.addEventListener("pointerdown", (event) => {
    begun = place(event);
    node.setPointerCapture(event.pointerId);
  });
  node.addEventListener("pointermove", (event) => {
    if (begun === null) return;
    const now = place(event);
    area.setAttribute("x", W * Math.min(begun, now));
    area.setAttribute("width", W * Math.abs(now - begun));
  });
  node.addEventListener("pointerup", (event) => {
    const now = place(event), from = Math.min(begun, now), to = Math.max(begun, now);
    begun = null;
    area.setAttribute("width", 0);
    // a click takes the bin under it; edges go to the bins' borders, so that what is seen is what is taken
    const first = Math.min(bars - 1, Math.floor(from * bars)), last = Math.min(bars - 1, Math.floor(to * bars));
    brush(whole.low + whole.width * first, last === bars - 1 ? whole.high : whole.low + whole.width * (last + 1), last === bars - 1);
  });
  return node;
}

/** Lines over training steps, each between its own lowest and highest value. */
function stepLines(steps, open) {
  const parts = Object.keys(steps[0].parts);
  const series = [
    ["reward", (p) => p.mean],
    ["no signal", (p) => p.flat],
    ["length", (p) => p.length],
    ...parts.slice(0, 8).map((name) => [name, (p) => p.parts[name]]),
  ];
  return el("div", { class: "steps" }, ...series.map(([name, of]) => stepLine(name, steps, steps.map(of), open)));
}

function stepLine(name, steps, values, open) {
  const W = 260, H = 56, known = values.filter((v) => v !== null && !Number.isNaN(v));
  if (!known.length) return null;
  const low = Math.min(...known), high = Math.max(...known);
  const x = (k) => 4 + ((W - 8) * k) / Math.max(1, values.length - 1), y = (v) => H - 6 - ((H - 12) * (v - low)) / (high - low || 1);
  const points = values.map((v, k) => (v === null ? null : `${x(k).toFixed(1)},${y(v).toFixed(1)}`)).filter(Boolean);
  const node = svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "line", preserveAspectRatio: "none", role: "img", "aria-label": `${name} over steps` });
  node.append(svg("polyline", { points: points.join(" ") }));
  values.forEach((v, k) => {
    const title = svg("title");
    title.textContent = `step ${steps[k].step}: ${short(v)} (${steps[k].rows.toLocaleString()} rows)`;
    const hit = svg("rect", { x: x(k) - W / values.length / 2, y: 0, width: W / values.length, height: H, class: "hit" }, title);
    hit.addEventListener("click", () => open(k));
    node.append(hit);
  });
  return el("figure", {}, el("figcaption", {}, el("b", {}, name), ` ${short(values[0])} → ${short(values.at(-1))}`), node);
}

// Cividis in nine stops: told apart by every kind of colour vision, and in grey.
const SCALE = [
  [0, 34, 78], [26, 56, 111], [63, 76, 107], [92, 98, 110], [122, 119, 116],
  [152, 142, 116], [185, 167, 103], [219, 194, 81], [254, 232, 56],
];

function colour(value, low, high) {
  const t = high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0.5;
  const at = t * (SCALE.length - 1), k = Math.min(SCALE.length - 2, Math.floor(at)), f = at - k;
  const [r, g, b] = SCALE[k].map((c, j) => Math.round(c + (SCALE[k + 1][j] - c) * f));
  return { backgroundColor: `rgb(${r},${g},${b})`, color: t > 0.55 ? "#111" : "#fff" };
}

/** A histogram in a table's cell. */
function spark(counts) {
  const W = 84, H = 18, most = Math.max(1, ...counts), node = svg("svg", { viewBox: `0 0 ${W} ${H}`, class: "spark", "aria-hidden": "true" });
  counts.forEach((n, k) => {
    const tall = n ? Math.max(1, H * Math.sqrt(n / most)) : 0;
    node.append(svg("rect", { x: (W / counts.length) * k, y: H - tall, width: Math.max(1, W / counts.length - 1), height: tall }));
  });
  return node;
}
