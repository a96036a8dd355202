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
