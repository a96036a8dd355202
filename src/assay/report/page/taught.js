// What the policy is told: advantages under the estimator in use, and which component they come from.

const EPSILON = 1e-4;

/** What the policy is told of every row, and what each group says. `terms` are the weighted components, for GDPO. */
function advantages(table, reward, estimator, terms = []) {
  const moments = groupMoments(table, reward), group = table.get("group");
  const { mean, squares, count } = moments;
  const scale = new Float64Array(table.groups);
  for (let g = 0; g < table.groups; g++) {
    const n = count[g];
    if (estimator === "dr_grpo") scale[g] = n > 1 ? 1 : 0;
    else if (estimator === "rloo") scale[g] = n > 1 ? n / (n - 1) : 0;
    else scale[g] = n > 1 ? 1 / (Math.sqrt(squares[g] / (n - 1)) + EPSILON) : 0;
  }
  const advantage = new Float64Array(table.rows), told = { estimator, advantage, scale, ...moments };
  if (estimator === "gdpo" && terms.length) {
    for (let i = 0; i < table.rows; i++) advantage[i] = Number.isNaN(reward[i]) ? NaN : 0;
    for (const term of terms) pieceOf(table, reward, term, told, (i, piece) => (advantage[i] += piece));
  } else for (let i = 0; i < table.rows; i++) advantage[i] = Number.isNaN(reward[i]) ? NaN : (reward[i] - mean[group[i]]) * scale[group[i]];
  return told;
}

/** What one component adds to the advantage of each row that has one. */
function pieceOf(table, reward, { path, weight }, { estimator, scale, count }, take) {
  const values = table.get(`part/${path}`), group = table.get("group"), each = typeof weight !== "number";
  const gdpo = estimator === "gdpo";
  const mine = new Float64Array(table.rows);
  for (let i = 0; i < table.rows; i++) mine[i] = Number.isNaN(reward[i]) ? NaN : each && !gdpo ? weight[i] * values[i] : values[i];
  const own = groupMoments(table, mine);
  for (let i = 0; i < table.rows; i++) {
    const g = group[i];
    if (Number.isNaN(mine[i]) || count[g] < 2) continue;
    const factor = gdpo ? 1 / (Math.sqrt(own.squares[g] / Math.max(1, own.count[g] - 1)) + EPSILON) : scale[g];
    const w = each ? (gdpo ? weight[i] : 1) : weight;
    take(i, w * (mine[i] - own.mean[g]) * factor);
  }
}

/** Lowest and highest reward of each group, and how many groups have no signal. */
function extremes(table, reward) {
  const low = new Float64Array(table.groups).fill(Infinity), high = new Float64Array(table.groups).fill(-Infinity);
  const group = table.get("group"), count = new Uint32Array(table.groups);
  for (let i = 0; i < table.rows; i++) {
    const v = reward[i], g = group[i];
    if (Number.isNaN(v)) continue;
    if (v < low[g]) low[g] = v;
    if (v > high[g]) high[g] = v;
    count[g]++;
  }
  let flat = 0, several = 0;
  for (let g = 0; g < table.groups; g++)
    if (count[g] > 1) {
      several++;
      if (high[g] - low[g] <= 1e-9) flat++;
    }
  return { low, high, count, flat, several };
}

/** Each weighted component's share of the advantage's variance within groups. */
function shares(table, terms, told, reward) {
  const { advantage } = told;
  let power = 0;
  for (const a of advantage) if (!Number.isNaN(a)) power += a * a;
  return Object.fromEntries(terms.map((term) => {
    let sum = 0;
    pieceOf(table, reward, term, told, (i, piece) => (sum += piece * advantage[i]));
    return [term.path, power > 0 ? sum / power : 0];
  }));
}

/** The composites in a shape: [{path, weights, schedules}], the outermost first. */
function composites(shape, path = "") {
  const own = shape.kind === "composite" ? [{ path, weights: shape.weights, schedules: shape.schedules ?? {} }] : [];
  const below = Object.entries(shape.children || {});
  return [...own, ...below.flatMap(([name, child]) => composites(child, path ? `${path}/${name}` : name))];
}

/** The components that are added up, each with its weight in the whole (or its weights, row by row). */
function weighted(table, shape, weights, path = "", share = 1) {
  const names = Object.keys(shape.children || {});
  if (!names.length) return path ? [{ path, weight: share }] : [];
  const into =
    shape.kind === "composite" ? names.map((n) => [n, weightOf(table, shape, weights[path] || {}, n)])
    : shape.kind === "gate" ? names.slice(1).map((n) => [n, 1])
    : shape.kind === "stored" ? []
    : names.map((n) => [n, 1]);
  return into.flatMap(([n, w]) => weighted(table, shape.children[n], weights, path ? `${path}/${n}` : n, times(share, w)));
}

function times(a, b) {
  if (typeof a === "number" && typeof b === "number") return a * b;
  if (typeof a === "number") return b.map((v) => a * v);
  return a.map((v, i) => v * (typeof b === "number" ? b : b[i]));
}

/**
 * The weights that give one component a wanted share of the advantage's variance, the others keeping their proportion:
 * {path: weight}. By steps towards it, on whole groups of some 40,000 rows; see weights_for in assay.analyze.attribution.
 */
function weightsFor(table, terms, reward, estimator, path, share) {
  const group = table.get("group"), stride = Math.floor(table.rows / 40000) + 1, rows = [];
  for (let g = 0; g < table.groups; g += stride) {
    const known = Array.from(table.members(g)).filter((i) => !Number.isNaN(reward[i]));
    if (known.length > 1) rows.push(...known);
  }
  const centred = new Map();
  for (const term of terms) {
    const values = table.get(`part/${term.path}`), mine = new Float64Array(table.rows).fill(NaN);
    for (const i of rows) mine[i] = values[i];
    const { mean } = groupMoments(table, mine);
    const column = Float64Array.from(rows, (i) => (Number.isNaN(mine[i]) ? 0 : mine[i] - mean[group[i]]));
    if (column.some((v) => Math.abs(v) > 1e-9)) centred.set(term.path, column);
  }
  if (!centred.has(path)) return null; // it never differs within a group: no weight gives it a share
  const now = Object.fromEntries(terms.map(({ path: p, weight }) => [p, typeof weight === "number" ? weight : weight.reduce((a, b) => a + b, 0) / weight.length]));
  const paths = [...centred.keys()], weights = Object.fromEntries(paths.map((p) => [p, now[p] || 1e-3]));
  const measure = () => measured(centred, weights, rows, group, table.groups, estimator);
  const before = measure(), others = paths.filter((p) => p !== path), left = others.reduce((sum, p) => sum + before[p], 0) || 1;
  const target = Object.fromEntries(paths.map((p) => [p, p === path ? share : (1 - share) * (before[p] / left)]));
  const size = Object.values(now).reduce((sum, w) => sum + Math.abs(w), 0);
  for (let step = 0; step < 60; step++) {
    const is = measure();
    for (const p of paths) weights[p] *= Math.min(2, Math.max(0.5, Math.sqrt((target[p] + 1e-6) / is[p])));
    const scale = size / Object.values(weights).reduce((sum, w) => sum + Math.abs(w), 0);
    for (const p of paths) weights[p] *= scale;
  }
  return weights;
}

/** Each component's share under these weights, as if nothing but their sum made the reward; never quite nothing. */
function measured(centred, weights, rows, group, groups, estimator) {
  const whole = new Float64Array(rows.length), squares = new Float64Array(groups), size = new Uint32Array(groups);
  for (const [path, column] of centred) for (let k = 0; k < whole.length; k++) whole[k] += weights[path] * column[k];
  for (let k = 0; k < whole.length; k++) {
    squares[group[rows[k]]] += whole[k] ** 2;
    size[group[rows[k]]]++;
  }
  const over = Float64Array.from(size, (n, g) => (estimator === "dr_grpo" ? 1 : estimator === "rloo" ? (n / (n - 1)) ** 2 : 1 / (Math.sqrt(squares[g] / (n - 1)) + EPSILON) ** 2));
  let power = 0;
  for (let k = 0; k < whole.length; k++) power += whole[k] ** 2 * over[group[rows[k]]];
  return Object.fromEntries([...centred].map(([path, column]) => {
    let sum = 0;
    for (let k = 0; k < whole.length; k++) sum += weights[path] * column[k] * whole[k] * over[group[rows[k]]];
    return [path, Math.max(1e-4, sum / (power || 1))];
  }));
}
