// Stored components folded again: the same rules as assay.compose, on whole columns. No reward is called.

/** The reward of every row under these weights: {path of a composite: {component: weight}}. */
function fold(table, shape, weights, path = "") {
  const stored = () => (path ? table.get(`part/${path}`) : table.get("reward"));
  const names = Object.keys(shape.children || {});
  const child = (name) => fold(table, shape.children[name], weights, path ? `${path}/${name}` : name);
  if (!names.length) return stored();
  switch (shape.kind) {
    case "composite":
      return foldSum(table, shape, weights[path] || shape.weights, names, names.map(child), path);
    case "gate":
      return foldGate(shape, child(names[0]), child(names[1]), table.rows);
    case "clip":
      return child(names[0]).map((v) => Math.min(shape.high, Math.max(shape.low, v)));
    case "shaped": {
      const [base, bonus] = names.map(child);
      const limit = (v) => (Number.isNaN(v) ? 0 : Math.min(shape.limit, Math.max(-shape.limit, v)));
      return base.map((v, i) => v + limit(bonus[i]));
    }
    case "normalize":
      return foldNormal(table, shape, names.map(child)[0], stored);
    case "choice":
      return foldChoice(table, path, names, names.map(child));
    default:
      return stored(); // somebody's own composition: its stored value stands
  }
}

function foldGate(shape, required, inner, rows) {
  const out = new Float64Array(rows);
  for (let i = 0; i < rows; i++)
    out[i] = Number.isNaN(required[i]) ? NaN : required[i] >= shape.at_least ? inner[i] : shape.otherwise;
  return out;
}

function foldChoice(table, path, names, columns) {
  const out = new Float64Array(table.rows).fill(NaN);
  names.forEach((name, k) => {
    const state = table.get(`state/${path ? `${path}/` : ""}${name}`);
    for (let i = 0; i < table.rows; i++) if (state[i] !== ABSENT) out[i] = columns[k][i];
  });
  return out;
}

function foldNormal(table, shape, raw, stored) {
  if (shape.how === "minmax")
    return raw.map((v) => Math.min(1, Math.max(0, (v - shape.low) / (shape.high - shape.low))));
  if (shape.how !== "group") return stored(); // a running scale depends on what was seen before
  const { mean, squares, count } = groupMoments(table, raw);
  const group = table.get("group");
  return raw.map((v, i) => (v - mean[group[i]]) / (Math.sqrt(squares[group[i]] / count[group[i]]) + 1e-6));
}

/** A weighted sum, and the stated policies for what was not scored; see CompositeReward. */
function foldSum(table, shape, weights, names, columns, path) {
  const rows = table.rows, out = new Float64Array(rows), w = names.map((n) => weights[n] ?? 0);
  const policy = names.map((n) => (shape.policies || {})[n] ?? shape.on_missing ?? "reweight");
  const all = w.reduce((sum, x) => sum + Math.abs(x), 0);
  const means = columns.map((c, k) => (policy[k] === "impute" ? groupMoments(table, c) : null));
  const group = table.get("group"), dropped = new Set();
  const states = names.map((n) => table.get(`state/${path ? `${path}/` : ""}${n}`));
  for (let i = 0; i < rows; i++) {
    let total = 0, carried = 0, anyKnown = false, lost = false, reweigh = false, drop = false;
    for (let k = 0; k < columns.length; k++) {
      let value = columns[k][i];
      if (Number.isNaN(value)) {
        // a lazy composite had no need to ask under its own weights; under others nobody knows what it would have said
        if (states[k] && states[k][i] === NOT_ASKED) {
          if (w[k] !== 0) lost = true;
          continue;
        }
        if (typeof policy[k] === "number") value = policy[k];
        else if (policy[k] === "impute" && means[k].count[group[i]]) value = means[k].mean[group[i]];
        else {
          if (w[k] !== 0) {
            if (policy[k] === "reweight") reweigh = true;
            else lost = true;
            if (policy[k] === "drop_group") drop = true;
          }
          continue;
        }
      }
      total += w[k] * value;
      carried += Math.abs(w[k]);
      if (w[k] !== 0) anyKnown = true;
    }
    const missing = lost || reweigh || !anyKnown;
    if (drop) dropped.add(group[i]);
    if (!missing) out[i] = total;
    else if (lost || (!anyKnown && hasMissing(columns, i))) out[i] = NaN;
    else out[i] = reweigh && carried ? (total * all) / carried : total;
  }
  if (dropped.size) for (let i = 0; i < rows; i++) if (dropped.has(group[i])) out[i] = NaN;
  return out;
}

function hasMissing(columns, i) {
  return columns.some((c) => Number.isNaN(c[i]));
}

/** Mean, sum of squared distances and count of what is known, for each group. */
function groupMoments(table, values) {
  const { groups, rows } = table, group = table.get("group");
  const mean = new Float64Array(groups), squares = new Float64Array(groups), count = new Uint32Array(groups);
  for (let i = 0; i < rows; i++)
    if (!Number.isNaN(values[i])) {
      mean[group[i]] += values[i];
      count[group[i]]++;
    }
  for (let g = 0; g < groups; g++) mean[g] /= count[g] || 1;
  for (let i = 0; i < rows; i++) if (!Number.isNaN(values[i])) squares[group[i]] += (values[i] - mean[group[i]]) ** 2;
  return { mean, squares, count };
}

/** What the policy is told of every row, and what each group says. */
function advantages(table, reward, estimator) {
  const moments = groupMoments(table, reward), group = table.get("group");
  const { mean, squares, count } = moments;
  const scale = new Float64Array(table.groups);
  for (let g = 0; g < table.groups; g++) {
    const n = count[g];
    if (estimator === "dr_grpo") scale[g] = n > 1 ? 1 : 0;
    else if (estimator === "rloo") scale[g] = n > 1 ? n / (n - 1) : 0;
    else scale[g] = n > 1 ? 1 / (Math.sqrt(squares[g] / (n - 1)) + 1e-4) : 0;
  }
  const out = new Float64Array(table.rows);
  for (let i = 0; i < table.rows; i++) out[i] = Number.isNaN(reward[i]) ? NaN : (reward[i] - mean[group[i]]) * scale[group[i]];
  return { advantage: out, scale, ...moments };
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
function shares(table, terms, told) {
  const { advantage, scale } = told, group = table.get("group");
  let power = 0;
  for (const a of advantage) if (!Number.isNaN(a)) power += a * a;
  const found = {};
  for (const { path, weight } of terms) {
    const values = table.get(`part/${path}`), { mean } = groupMoments(table, values);
    let sum = 0;
    for (let i = 0; i < table.rows; i++) {
      const g = group[i];
      if (Number.isNaN(values[i]) || Number.isNaN(advantage[i])) continue;
      sum += weight * (values[i] - mean[g]) * scale[g] * advantage[i];
    }
    found[path] = power > 0 ? sum / power : 0;
  }
  return found;
}

/** The composites in a shape: [{path, weights}], the outermost first. */
function composites(shape, path = "") {
  const own = shape.kind === "composite" ? [{ path, weights: shape.weights }] : [];
  const below = Object.entries(shape.children || {});
  return [...own, ...below.flatMap(([name, child]) => composites(child, path ? `${path}/${name}` : name))];
}

/** The components that are added up, each with its weight in the whole. */
function weighted(shape, weights, path = "", share = 1) {
  const names = Object.keys(shape.children || {});
  if (!names.length) return path ? [{ path, weight: share }] : [];
  const own = weights[path] || shape.weights;
  const into =
    shape.kind === "composite" ? names.map((n) => [n, own[n] ?? 0])
    : shape.kind === "gate" ? names.slice(1).map((n) => [n, 1])
    : shape.kind === "stored" ? []
    : names.map((n) => [n, 1]);
  return into.flatMap(([n, w]) => weighted(shape.children[n], weights, path ? `${path}/${n}` : n, share * w));
}
