// Stored components folded again: the same rules as assay.compose, on whole columns. No reward is called.

/**
 * The reward of every row under other weights: {path of a composite: {component: weight}}.
 * What no new weight is below stands as it was stored. `reached` are the rows that get here at all: 1 where a gate is
 * open or a task is chosen; null for all of them.
 */
function fold(table, shape, weights, path = "", reached = null) {
  const stored = () => (path ? table.get(`part/${path}`) : table.get("reward"));
  const names = Object.keys(shape.children || {}), at = (name) => (path ? `${path}/${name}` : name);
  if (!names.length || !touched(weights, path)) return stored();
  const child = (name, rows = reached) => fold(table, shape.children[name], weights, at(name), rows);
  switch (shape.kind) {
    case "composite":
      return foldSum(table, shape, weights[path] || {}, names, names.map((n) => child(n)), path, reached);
    case "gate":
      return foldGate(shape, child(names[0]), (open) => child(names[1], open), reached);
    case "clip":
      return child(names[0]).map((v) => Math.min(shape.high, Math.max(shape.low, v)));
    case "shaped": {
      const [base, bonus] = names.map((n) => child(n));
      const limit = (v) => (Number.isNaN(v) ? 0 : Math.min(shape.limit, Math.max(-shape.limit, v)));
      return base.map((v, i) => v + limit(bonus[i]));
    }
    case "normalize":
      return foldNormal(table, shape, child(names[0]));
    case "choice":
      return foldChoice(table, names.map((n) => [table.get(`state/${at(n)}`), (rows) => child(n, rows)]), reached);
    default:
      return stored(); // somebody's own composition: its stored value stands
  }
}

/** Whether there is a new weight at this path or below it. */
function touched(weights, path) {
  return Object.keys(weights).some((p) => !path || p === path || p.startsWith(`${path}/`));
}

function foldGate(shape, required, inner, reached) {
  const open = Uint8Array.from(required, (v, i) => (reached === null || reached[i]) && v >= shape.at_least ? 1 : 0);
  const values = inner(open);
  return required.map((v, i) => (Number.isNaN(v) ? NaN : open[i] ? values[i] : shape.otherwise));
}

function foldChoice(table, children, reached) {
  const out = new Float64Array(table.rows).fill(NaN);
  for (const [state, values] of children) {
    const chosen = state.map((s, i) => (s !== ABSENT && (reached === null || reached[i]) ? 1 : 0));
    values(chosen).forEach((v, i) => { if (chosen[i]) out[i] = v; });
  }
  return out;
}

function foldNormal(table, shape, raw) {
  if (shape.how === "minmax")
    return raw.map((v) => Math.min(1, Math.max(0, (v - shape.low) / (shape.high - shape.low))));
  if (shape.how === "running") return foldRunning(table, raw);
  const { mean, squares, count } = groupMoments(table, raw);
  const group = table.get("group");
  return raw.map((v, i) => (v - mean[group[i]]) / (Math.sqrt(squares[group[i]] / count[group[i]]) + 1e-6));
}

/** By all that was seen so far, piece by piece as `assay reweigh` reads a Run: 4,096 rows and the rest of their group. */
function foldRunning(table, raw, piece = 4096) {
  const out = new Float64Array(raw.length), group = table.get("group");
  let count = 0, mean = 0, squares = 0;
  for (let start = 0, end; start < raw.length; start = end) {
    end = Math.min(raw.length, start + piece);
    while (end < raw.length && group[end] === group[end - 1]) end++;
    for (let i = start; i < end; i++) {
      if (Number.isNaN(raw[i])) continue;
      const delta = raw[i] - mean;
      mean += delta / ++count;
      squares += delta * (raw[i] - mean);
    }
    const deviation = count ? Math.sqrt(squares / count) : 0;
    for (let i = start; i < end; i++) out[i] = (raw[i] - mean) / (deviation + 1e-6);
  }
  return out;
}

/** A component's weight: a number, or one for each row where it is scheduled and no new weight takes its place. */
function weightOf(table, shape, own, name) {
  const schedule = shape.schedules?.[name];
  if (own[name] !== undefined || !schedule) return own[name] ?? shape.weights[name] ?? 0;
  const kept = new Map();
  return Float64Array.from(table.get("step"), (step) => {
    const s = Math.max(0, step);
    if (!kept.has(s)) kept.set(s, scheduled(schedule, s));
    return kept.get(s);
  });
}

/** The weight at a training step; see assay.compose.schedule. */
function scheduled(schedule, step) {
  if (schedule.kind === "steps") return schedule.pieces.filter(([start], k) => k === 0 || start <= step).at(-1)[1];
  const { start, end, steps, after } = schedule;
  const share = steps <= 0 ? (step >= after ? 1 : 0) : Math.min(1, Math.max(0, (step - after) / steps));
  return start + (end - start) * (schedule.kind === "cosine" ? (1 - Math.cos(Math.PI * share)) / 2 : share);
}

/** A weighted sum, and the stated policies for what was not scored; see CompositeReward. */
function foldSum(table, shape, own, names, columns, path, reached) {
  const rows = table.rows, out = new Float64Array(rows).fill(NaN), group = table.get("group");
  const weights = names.map((n) => weightOf(table, shape, own, n)), w = new Float64Array(names.length);
  const weigh = (i) => { for (let k = 0; k < w.length; k++) w[k] = typeof weights[k] === "number" ? weights[k] : weights[k][i]; };
  const policy = names.map((n) => (shape.policies || {})[n] ?? shape.on_missing ?? "reweight");
  const means = columns.map((c, k) => (policy[k] === "impute" ? groupMoments(table, c) : null));
  const spared = shape.lazy === "group" ? standIns(table, shape, names, columns, policy, weigh, w, reached) : null;
  const dropped = new Set();
  for (let i = 0; i < rows; i++) {
    if (reached !== null && !reached[i]) continue;
    weigh(i);
    // what pays, and what costs: each carries the weight of its own kind
    const total = [0, 0], carried = [0, 0], all = [0, 0];
    let complete = true, known = false, reweigh = false, lost = false;
    for (let k = 0; k < w.length; k++) {
      const side = w[k] < 0 ? 1 : 0;
      all[side] += w[k];
      let value = columns[k][i];
      const asked = !spared?.[k].has(i);
      if (!asked || Number.isNaN(value)) complete = false;
      if (!asked) value = spared[k].get(i);
      else if (Number.isNaN(value) && typeof policy[k] === "number") value = policy[k];
      else if (Number.isNaN(value) && means[k]?.count[group[i]]) value = means[k].mean[group[i]];
      if (!Number.isNaN(value)) {
        total[side] += w[k] * value;
        carried[side] += w[k];
        known ||= w[k] !== 0;
      } else if (asked && w[k] !== 0) {
        if (policy[k] === "reweight") reweigh = true;
        else lost = true;
        if (policy[k] === "drop_group") dropped.add(group[i]);
      }
    }
    if (lost || (!known && !complete) || (reweigh && all[0] && !carried[0])) continue;
    out[i] = reweigh ? [0, 1].reduce((sum, side) => sum + (carried[side] ? (total[side] * all[side]) / carried[side] : 0), 0) : total[0] + total[1];
  }
  if (dropped.size) for (let i = 0; i < rows; i++) if (dropped.has(group[i])) out[i] = NaN;
  return out;
}

/**
 * What stands for the calls that a lazy composite spares, for each component a Map of row to number (NaN: the row is
 * lost in any case): asked stage by stage, a row is spared where no outcome could move it in its group; see lazy.py.
 */
function standIns(table, shape, names, columns, policy, weigh, w, reached) {
  const found = names.map(() => new Map()), settled = (k, i) => (found[k].has(i) ? found[k].get(i) : columns[k][i]);
  const stages = shape.stages.map((stage) => stage.map((n) => names.indexOf(n)));
  const middle = names.map((n) => { const [low, high] = shape.ranges[n] ?? [0, 0]; return (low + high) / 2; });
  for (let g = 0; g < table.groups; g++) {
    const members = Array.from(table.members(g)).filter((i) => reached === null || reached[i]);
    const asked = [...stages[0]];
    for (const stage of stages.slice(1)) {
      const failed = (i, how) => (weigh(i), asked.some((k) => !found[k].has(i) && Number.isNaN(columns[k][i]) && w[k] !== 0 && policy[k] === how));
      const lost = new Set(members.some((i) => failed(i, "drop_group")) ? members : members.filter((i) => failed(i, "skip")));
      const still = lost.size ? [] : unmoved(members, asked, names, shape, settled, weigh, w);
      for (const k of stage) {
        for (const i of still) found[k].set(i, middle[k]);
        for (const i of lost) found[k].set(i, NaN);
      }
      asked.push(...stage);
    }
  }
  return found;
}

/** Rows whose place in their group no outcome of what was not asked yet can change. */
function unmoved(members, asked, names, shape, settled, weigh, w) {
  const bounds = [];
  for (const i of members) {
    let low = 0, high = 0;
    weigh(i);
    for (let k = 0; k < names.length; k++) {
      if (w[k] === 0) continue;
      const value = settled(k, i), range = asked.includes(k) ? [value, value] : shape.ranges[names[k]];
      if (!range || Number.isNaN(range[0])) return [];
      low += Math.min(w[k] * range[0], w[k] * range[1]);
      high += Math.max(w[k] * range[0], w[k] * range[1]);
    }
    bounds.push([low, high, i]);
  }
  bounds.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
  let highest = -Infinity;
  return bounds.filter(([low, high], k) => {
    const alone = highest < low && high < (bounds[k + 1]?.[0] ?? Infinity);
    highest = Math.max(highest, high);
    return alone;
  }).map(([, , i]) => i);
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
