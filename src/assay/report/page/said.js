// What the scoring said of a response: components, the tests that failed, the judge's calls.

/** What was extracted, wherever the component wrote it. */
function extractedOf(output) {
  const said = output.metadata || {};
  for (const key of ["extracted", "answer", "extracted_answer", "predicted", "found"]) if (said[key] !== undefined) return said[key];
  for (const part of Object.values(output.components || {})) {
    const below = extractedOf(part);
    if (below !== undefined) return below;
  }
  return undefined;
}

/** One component: its value as a bar, or in words why there is none. */
function component(name, output, weight, path, app) {
  const said = output.metadata || {}, value = output.reward, spared = value === null && (said.gated || "lazy" in said);
  const state = spared ? (said.gated ? "gated" : "not asked") : output.outcome;
  const nested = Object.entries(output.components || {});
  const why = ["reason", "why", "gate"].map((k) => said[k]).filter((w) => typeof w === "string" && w);
  const faults = Array.isArray(said.faults) ? said.faults.filter((f) => typeof f === "string") : [];
  return el("div", { class: `component${value === null ? (spared ? " gated" : " unscored") : ""}` },
    el("div", { class: "head" },
      el("b", {}, name), weight !== undefined ? el("span", { class: "dim" }, `× ${short(weight)}`) : null,
      el("span", { class: "value" }, value === null ? state.replace("_", " ") : Number(value).toFixed(3))),
    value === null ? null : el("div", { class: "meter" },
      el("i", { style: { width: `${100 * Math.min(1, Math.max(0, Math.abs(value)))}%` }, class: value < 0 ? "minus" : "" })),
    output.error ? el("p", { class: "why" }, shown(output.error)) : null,
    ...[...why, ...faults].map((w) => el("p", { class: "why" }, shown(w))),
    ...testsOf(said),
    ...judgeOf(said),
    leftOf(said, why.length + faults.length > 0),
    nested.length ? el("div", { class: "nested" },
      ...nested.map(([n, o]) => component(n, o, app.weightShown(path, n, said), path ? `${path}/${n}` : n, app))) : null);
}

const TOLD = new Set(["reason", "why", "gate", "faults", "weights", "missing", "gated", "lazy", "tests", "cases", "results", "failed", "judge", "calls", "extracted", "gold"]);

/** Everything else that it said: in a line where that is short and nothing else was said, folded elsewhere. */
function leftOf(said, quiet) {
  const left = Object.entries(said).filter(([k, v]) => !TOLD.has(k) && v !== null && v !== "" && v !== false && !(Array.isArray(v) && !v.length));
  if (!left.length) return null;
  const line = (v) => (typeof v === "string" ? v : typeof v === "number" ? String(+v.toPrecision(4)) : v === true ? "yes" : JSON.stringify(v));
  const text = left.map(([k, v]) => `${k.replaceAll("_", " ")} ${line(v)}`).join(" · ");
  if (text.length < 100 && !quiet) return el("p", { class: "why dim" }, shown(text));
  return el("details", { class: "more" }, el("summary", {}, left.map(([k]) => k.replaceAll("_", " ")).join(", ")),
    el("pre", {}, shown(JSON.stringify(Object.fromEntries(left), null, 1))));
}

/** The tests: how many failed, and the first of those whole. */
function testsOf(said) {
  const tests = [said.tests, said.cases, said.results].find(Array.isArray);
  if (!tests?.length) return [];
  const isFailed = (t) => t && typeof t === "object" && (t.passed === false || t.ok === false
    || ![undefined, "pass", "passed", "ok", "not_run"].includes(t.outcome ?? t.status));
  const failed = tests.filter(isFailed), idle = tests.filter((t) => t?.outcome === "not_run").length;
  const whole = Array.isArray(said.failed) ? said.failed : failed.slice(0, 5).map((t) => ({ n: tests.indexOf(t) + 1, ...t }));
  const counts = [`${tests.length - failed.length - idle} of ${tests.length} tests passed`, idle ? `${idle} not run after a failure` : ""].filter(Boolean);
  return [el("details", { class: "tests", open: failed.length > 0 }, el("summary", {}, counts.join(" · ")),
    ...whole.map(testShown), failed.length > whole.length ? el("p", { class: "dim" }, `and ${failed.length - whole.length} more that failed`) : null)];
}

const TEST_FIELDS = { input: "input", stdin: "input", args: "input", call: "input", source: "test", detail: "", message: "", error: "", stderr: "stderr" };

function testShown(test) {
  const text = (v) => (typeof v === "string" ? v : JSON.stringify(v)) ?? "";
  const got = [test.got, test.actual, test.stdout, test.output].find((v) => v !== undefined), expected = test.expected;
  const fields = Object.entries(TEST_FIELDS).filter(([k]) => test[k] !== undefined && test[k] !== "" && !(k === "detail" && got !== undefined));
  return el("div", { class: "test" },
    el("p", {}, el("b", {}, `test ${test.name ?? test.n ?? ""}`), el("span", { class: "dim" }, ` ${String(test.outcome ?? test.status ?? "failed").replaceAll("_", " ")}`)),
    ...fields.map(([k, name]) => el("div", { class: "field" }, name ? el("span", { class: "dim" }, name) : null, el("pre", {}, shown(text(test[k]))))),
    expected === undefined ? null : diff(text(expected), got === undefined ? null : text(got)));
}

/** What was expected against what came, line by line. */
function diff(expected, got) {
  if (got === null) return el("div", { class: "field" }, el("span", { class: "dim" }, "expected"), el("pre", {}, shown(expected)));
  const a = expected.split("\n").slice(0, 80), b = got.split("\n").slice(0, 80), lines = [];
  if (a.length > 1 && a.at(-1) === "" && b.at(-1) === "") a.pop(), b.pop();
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const say = (kind, sign, text) => lines.push(el("span", { class: kind }, `${sign} ${shown(text)}\n`));
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) say("", " ", a[i++]), j++;
    else if (i < a.length && (j >= b.length || common[i + 1][j] >= common[i][j + 1])) say("minus", "−", a[i++]);
    else say("plus", "+", b[j++]);
  }
  return el("div", { class: "field" }, el("span", { class: "dim" }, el("span", { class: "minus" }, "− expected"), el("span", { class: "plus" }, " + got")), el("pre", { class: "diff" }, ...lines));
}

/** A judge's verdicts in a line each, and its calls whole: what was asked, what it said, what that cost. */
function judgeOf(said) {
  const judge = said.judge && typeof said.judge === "object" ? said.judge : null;
  const record = judge ?? (Array.isArray(said.calls) ? said : null);
  if (!record) return said.reply ? [callShown({ reply: said.reply, request: said.judge_prompt })] : [];
  const verdicts = record.verdicts ?? (record.verdict ? { [record.id ?? "verdict"]: record.verdict } : {});
  const found = Object.entries(verdicts).map(([name, v]) => el("p", { class: "why" },
    el("b", { class: "verdict" }, `${name} ${shown(String(v?.label ?? v?.value ?? v))}`), v?.reason ? ` ${shown(String(v.reason))}` : ""));
  const calls = (Array.isArray(record.calls) ? record.calls : []).map(callShown);
  const facts = Object.fromEntries(Object.entries(record).filter(([k]) => !["verdicts", "verdict", "calls", "spent"].includes(k)));
  return [...found, ...calls, leftOf(facts, true)];
}

function callShown(call, k = 0) {
  const { request, reply, spent = {}, path, ...others } = call ?? {};
  const tokens = Array.isArray(spent.tokens) ? `${spent.tokens[0]} + ${spent.tokens[1]} tokens` : "";
  const facts = [tokens, spent.seconds ? `${short(spent.seconds)} s` : "", spent.cost ? `$${short(spent.cost)}` : "", spent.cached ? "cached" : "", spent.attempts > 1 ? `${spent.attempts} attempts` : ""];
  const asked = Array.isArray(request) ? request : request ? [{ role: "asked", content: request }] : [];
  const turns = [...asked.map((m) => [String(m?.role ?? "asked"), textOf(m?.content ?? m)]), ["reply", textOf(reply ?? "")]];
  return el("details", { class: "judge" }, el("summary", {}, [`judge call ${k + 1}`, ...facts].filter(Boolean).join(" · ")),
    ...turns.map(([role, text]) => el("div", { class: role === "reply" ? "reply" : "" }, el("span", { class: "dim" }, role), el("pre", {}, shown(text)))),
    Object.keys(others).length ? leftOf(others, true) : null);
}
