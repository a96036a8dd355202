// Filter expressions, compiled to closures; nothing is ever evaluated as code.
//   match == 1 and length > 800      not scored      outcome == "timeout"      "some text"      text ~ "x" and reward > 0

const TOKEN = /\s*(?:(\d+\.?\d*(?:e[-+]?\d+)?|\.\d+)|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(==|!=|<=|>=|&&|\|\||[-+*/()<>~!=])|([A-Za-z_][\w./]*))/y;

function tokens(text) {
  const found = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length && text.slice(TOKEN.lastIndex).trim()) {
    const at = TOKEN.lastIndex, m = TOKEN.exec(text);
    if (!m) throw new Error(`cannot read "${text.slice(at, at + 12).trim()}"`);
    if (m[1] !== undefined) found.push({ kind: "number", value: Number(m[1]) });
    else if (m[2] !== undefined || m[3] !== undefined) found.push({ kind: "string", value: (m[2] ?? m[3]).replace(/\\(.)/g, "$1") });
    else if (m[4]) found.push({ kind: "op", value: m[4] });
    else found.push({ kind: "name", value: m[5] });
  }
  return found;
}

/**
 * A filter: {test(i), texts}. `names(name)` gives the column of a name as a function of the row, or undefined;
 * `texts` are the searches to be answered first, each {text, rows: Set or null}.
 */
function compile(text, names, known) {
  const all = tokens(text), texts = [];
  let at = 0;
  const peek = (value) => all[at] && (all[at].kind === "op" || all[at].kind === "name") && all[at].value === value;
  const take = (...values) => (values.some(peek) ? all[at++].value : null);
  const search = (wanted) => {
    const asked = { text: wanted, rows: null };
    texts.push(asked);
    return (i) => asked.rows !== null && asked.rows.has(i);
  };

  function or() {
    let left = and();
    while (take("or", "||")) {
      const a = left, b = and();
      left = (i) => truth(a(i)) || truth(b(i));
    }
    return left;
  }
  function and() {
    let left = not();
    while (take("and", "&&")) {
      const a = left, b = not();
      left = (i) => truth(a(i)) && truth(b(i));
    }
    return left;
  }
  function not() {
    if (!take("not", "!")) return comparison();
    const inner = not();
    return (i) => !truth(inner(i));
  }
  function comparison() {
    if (all[at] && all[at].kind === "name" && ["text", "response", "prompt"].includes(all[at].value) && all[at + 1]?.value === "~") {
      at += 2;
      const wanted = all[at++];
      if (!wanted || wanted.kind !== "string") throw new Error('text ~ needs a "quoted text"');
      return search(wanted.value);
    }
    if (all[at]?.kind === "string" && !["==", "!=", "=", "<", ">"].includes(all[at + 1]?.value)) return search(all[at++].value);
    const left = sum(), op = take("==", "=", "!=", "<=", ">=", "<", ">");
    if (!op) return left;
    const right = sum();
    switch (op) {
      case "==": case "=": return (i) => same(left(i), right(i));
      case "!=": return (i) => !same(left(i), right(i));
      case "<": return (i) => left(i) < right(i);
      case "<=": return (i) => left(i) <= right(i);
      case ">": return (i) => left(i) > right(i);
      default: return (i) => left(i) >= right(i);
    }
  }
  function sum() {
    let left = product();
    for (let op; (op = take("+", "-")); ) {
      const a = left, b = product();
      left = op === "+" ? (i) => a(i) + b(i) : (i) => a(i) - b(i);
    }
    return left;
  }
  function product() {
    let left = unary();
    for (let op; (op = take("*", "/")); ) {
      const a = left, b = unary();
      left = op === "*" ? (i) => a(i) * b(i) : (i) => a(i) / b(i);
    }
    return left;
  }
  function unary() {
    if (take("-")) {
      const inner = unary();
      return (i) => -inner(i);
    }
    if (take("(")) {
      const inner = or();
      if (!take(")")) throw new Error("a bracket is not closed");
      return inner;
    }
    const token = all[at++];
    if (!token) throw new Error("something is missing at the end");
    if (token.kind === "number" || token.kind === "string") return () => token.value;
    if (token.kind !== "name") throw new Error(`did not expect "${token.value}"`);
    if (token.value === "true" || token.value === "false") return () => (token.value === "true" ? 1 : 0);
    const column = names(token.value);
    if (!column) throw new Error(`there is no "${token.value}"${near(token.value, known())}`);
    return column;
  }

  const test = or();
  if (at < all.length) throw new Error(`did not expect "${all[at].value}"; join parts with and, or`);
  return { test: (i) => truth(test(i)), texts };
}

function truth(value) {
  return typeof value === "number" ? value !== 0 && !Number.isNaN(value) : Boolean(value);
}

function same(a, b) {
  return typeof a === "number" && typeof b === "number" ? Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b)) : a === b;
}

function near(name, known) {
  const shared = (other) => {
    let k = 0;
    while (k < name.length && k < other.length && name[k] === other[k]) k++;
    return k;
  };
  const best = known.slice().sort((a, b) => shared(b) - shared(a))[0];
  return best && shared(best) >= 2 ? `; did you mean ${best}?` : `; there is ${known.slice(0, 12).join(", ")} …`;
}
