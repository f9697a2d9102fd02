// A computation graph, which opens filled; its steps go forward, then backward in reverse order of creation. The inputs can be changed, another
// expression typed, and a mistake chosen: a gradient that arrives overwrites what was there, or the nodes propagate in a wrong order
// (`early`). `trace` of book/drawings/computation_graph.py computes the same; what an operation uses is a name, or a number.
{
  const OPERATIONS = {
    "+": (x, y) => [x + y, [1, 1]],
    "-": (x, y) => [x - y, [1, -1]],
    "*": (x, y) => [x * y, [y, x]],
    "/": (x, y) => [x / y, [1 / y, -x / y / y]],
    "**": (x, n) => [x ** n, [n && n * x ** (n - 1)]],
    negate: (x) => [-x, [-1]],
  };
  const FUNCTIONS = {
    tanh: (x) => [Math.tanh(x), [1 - Math.tanh(x) ** 2]],
    exp: (x) => [Math.exp(x), [Math.exp(x)]],
    relu: (x) => [Math.max(0, x), [x > 0 ? 1 : 0]],
    log: (x) => [Math.log(x), [1 / x]],
    sin: (x) => [Math.sin(x), [Math.cos(x)]],
  };
  Object.assign(OPERATIONS, FUNCTIONS);
  const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
  const named = (used) => used.filter((one) => typeof one === "string");
  const enclosed = (x) => (x.startsWith("-") ? `(${x})` : x);

  // An operation on names, or on numbers, as a reader writes it.
  function written(sign, used) {
    const [x, y] = used.map(number);
    if (sign in FUNCTIONS) return `${sign}(${x})`;
    if (sign === "negate") return `-${enclosed(x)}`;
    if (sign === "**" && /^-?\d+$/.test(y)) return enclosed(x) + [...y].map((one) => RAISED[one]).join("");
    return sign === "**" ? `${enclosed(x)}**${y}` : `${x} ${sign} ${y}`;
  }

  function trace(inputs, nodes, overwrite = false, early = null) {
    const values = { ...inputs };
    const locals = {};
    const grads = {};
    const steps = [];
    const step = (says, at) => steps.push({ says, at, values: { ...values }, grads: { ...grads }, locals: { ...locals } });
    const names = Object.keys(inputs);
    step(`The inputs: ${names.map((name) => `${name} = ${number(inputs[name])}`).join(", ")}.`, names);
    for (const [name, sign, used] of nodes) {
      const operands = used.map((one) => values[one] ?? one);
      const [value, factors] = OPERATIONS[sign](...operands);
      const computed = `Forward: ${name} = ${written(sign, used)} = ${written(sign, operands)}`;
      if (!factors.concat(value).every(Number.isFinite)) {
        step(`${computed}: the result or its derivative is not a finite number. Change ${named(used).join(" or ")}.`, [name]);
        return steps;
      }
      values[name] = value;
      used.forEach((one, place) => (locals[`${one} ${name} ${place}`] = factors[place]));
      step(`${computed} = ${number(value)}.`, [name]);
    }
    const root = nodes.at(-1)[0];
    grads[root] = 1;
    step(`Backward: the gradient of ${root} with respect to itself is 1.`, [root]);
    for (const name of early ?? nodes.map(([one]) => one).reverse()) {
      const used = nodes.find(([one]) => one === name)[2];
      const g = grads[name];
      const arrivals = used.flatMap((to, place) => {
        if (typeof to === "number") return [];
        const local = locals[`${to} ${name} ${place}`];
        const product = local * g;
        let text = `${to} gets ${number(g)} * ${number(local)} = ${number(product)}`;
        if (to in grads) text += overwrite ? `, which overwrites ${number(grads[to])}` : `, added to ${number(grads[to])}: ${number(grads[to] + product)}`;
        grads[to] = overwrite ? product : (grads[to] ?? 0) + product;
        return text;
      });
      step(`From ${name}, whose gradient is ${number(g)}: ${arrivals.join("; ")}.`, [name, ...named(used)]);
    }
    let says = `Done. The gradients of the inputs: ${names.map((name) => `${name} ${number(grads[name])}`).join(", ")}.`;
    const lost = overwrite || early ? wrong(inputs, nodes, grads) : [];
    const why = early ? "A node went on before its gradient was complete" : "What had arrived before was lost";
    if (lost.length) says += ` Wrong: ${lost.join(", ")}. ${why}.`;
    step(says, names);
    return steps;
  }

  function wrong(inputs, nodes, grads) {
    const right = trace(inputs, nodes).at(-1).grads;
    return Object.keys(inputs).filter((name) => grads[name] !== right[name]);
  }

  // What a reader types, read as Python reads it. A mistake is thrown as a sentence.

  class Mistake extends Error {}
  const mistake = (sentence) => {
    throw new Mistake(sentence);
  };
  const NAME = /^[A-Za-z]\d?$/;
  const KNOWN = Object.keys(FUNCTIONS).join(", ");
  const TOKEN = /\*\*|[-+*/()]|\.(?=[A-Za-z])|\d+\.?\d*|\.\d+|[A-Za-z_]\w*|\S/g;

  // A tree of {number}, {name} and {sign, used}.
  function parsed(text) {
    const tokens = text.match(TOKEN) ?? mistake("Write an expression, such as (x * y + x) ** 2.");
    tokens.forEach((token, at) => {
      if (token === "=") mistake("Write only what comes after =.");
      if (token === "^") mistake("Python writes a power with **, not with ^.");
      const called = tokens[at + 1] === "(" && /^[A-Za-z_]\w/.test(token);
      if (called && !(token in FUNCTIONS)) mistake(`The function ${token} is not known here: use ${KNOWN}.`);
      if (!called && token in FUNCTIONS) mistake(`Write ${token}(x): ${token} is a function.`);
      if (/^[A-Za-z_]/.test(token) && !called && !NAME.test(token)) mistake(`The name ${token} does not fit in its box: use a letter, or a letter and a digit, such as w or x1.`);
      if (!/^[-+*/()\w.]/.test(token) || (token === "." && !(tokens[at + 1] in FUNCTIONS))) mistake(`${token} is not known here: use names, numbers, + - * / ** and parentheses.`);
    });
    let at = 0;
    const take = (...signs) => (signs.includes(tokens[at]) ? tokens[at++] : undefined);
    const operation = (sign, ...used) => {
      if (sign === "**" && used[1].number === undefined) mistake("The exponent of ** must be a number here, as in x ** 2.");
      if (!used.every((one) => one.number !== undefined)) return { sign, used };
      const [value] = OPERATIONS[sign](...used.map((one) => one.number));
      return Number.isFinite(value) ? { number: value } : mistake(`${written(sign, used.map((one) => one.number))} is not a finite number.`);
    };
    function sum() {
      let tree = product();
      for (let sign; (sign = take("+", "-")); ) tree = operation(sign, tree, product());
      return tree;
    }
    function product() {
      let tree = unary();
      for (let sign; (sign = take("*", "/")); ) tree = operation(sign, tree, unary());
      return tree;
    }
    function unary() {
      if (take("+")) return unary();
      if (take("-")) return operation("negate", unary());
      const base = called();
      return take("**") ? operation("**", base, unary()) : base;
    }
    // A method, too: (w * x + b).tanh().
    function called() {
      let tree = operand();
      while (take(".")) {
        const name = tokens[at];
        at += 2;
        if (!take(")")) mistake(`Write ${name}(x), or x.${name}() with nothing in the parentheses.`);
        tree = operation(name, tree);
      }
      return tree;
    }
    function operand() {
      const name = take(...Object.keys(FUNCTIONS));
      if (take("(")) {
        const inner = sum();
        if (!take(")")) between(at < tokens.length ? "" : "A ( is not closed.");
        return name ? operation(name, inner) : inner;
      }
      const token = tokens[at];
      if (token === undefined) mistake(`After ${tokens[at - 1]} a name or a number is missing.`);
      if (/^[-+*/)]/.test(token)) mistake(`Before ${token} a name or a number is missing.`);
      at++;
      return NAME.test(token) ? { name: token } : { number: Number(token) };
    }
    function between(otherwise) {
      mistake(otherwise || `Between ${tokens[at - 1]} and ${tokens[at]} an operator is missing, such as *.`);
    }
    const tree = sum();
    if (at < tokens.length) between(tokens[at] === ")" ? "There is a ) without its (." : "");
    if (tree.number !== undefined) mistake("Use a name, too: a number has no gradient.");
    if (tree.name !== undefined) mistake(`Compute something with ${tree.name}, such as ${tree.name} * 2.`);
    return tree;
  }

  // {names: of the inputs, nodes: as in the state of a figure}, in the order in which Python computes them.
  function nodesOf(tree) {
    const [names, operations] = [new Set(), []];
    (function visit(one) {
      if (one.name) names.add(one.name);
      one.used?.forEach(visit);
      if (one.sign) operations.push(one);
    })(tree);
    const free = (letters) => [...letters].filter((letter) => !names.has(letter));
    const [last] = free("yLzo");
    const letters = free("pqrstuvwmnkhgfedcba").filter((letter) => letter !== last);
    operations.forEach((one, count) => (one.name = one === tree ? last : (letters[count] ?? mistake("These are too many operations."))));
    const nodes = operations.map((one) => [one.name, one.sign, one.used.map((used) => used.name ?? used.number)]);
    return { names: [...names], nodes };
  }

  // Where the boxes stand: a row below what each uses, just above what uses it first. An edge over several rows has a place in each
  // between, so that it runs behind no box; the order in the rows is the one with the fewest crossings.

  const [WIDE, VALUE, GRADIENT, ACROSS, DOWN, MARGIN] = [76, 40, 26, 88, 116, 8]; // as in tinytorch/support/computation_graph.py
  const [COLUMNS, ROWS] = [4, 6];

  function laidOut(names, nodes) {
    const depth = {};
    for (const name of names) depth[name] = 0;
    for (const [name, , used] of nodes) depth[name] = 1 + Math.max(...named(used).map((one) => depth[one]));
    const last = depth[nodes.at(-1)[0]];
    if (last >= ROWS) mistake(`The graph would have ${last + 1} rows of boxes, and ${ROWS} fit: write fewer operations one after the other.`);
    const row = Object.fromEntries(Object.keys(depth).map((name) => [name, last]));
    for (const [name, , used] of [...nodes].reverse()) for (const one of named(used)) row[one] = Math.min(row[one], row[name] - 1);
    const rows = Array.from({ length: last + 1 }, () => []);
    for (const name of Object.keys(row)) rows[row[name]].push(name);
    const edges = [];
    for (const [end, , used] of nodes) {
      used.forEach((start, place) => {
        if (typeof start === "number") return;
        const through = [start];
        for (let r = row[start] + 1; r < row[end]; r++) {
          through.push(`${start} ${end} ${place} ${r}`);
          rows[r].push(through.at(-1));
        }
        edges.push({ start, end, place, through: [...through, end] });
      });
    }
    const most = Math.max(...rows.map((one) => one.length));
    if (most > COLUMNS) mistake(`The graph would be ${most} boxes wide, and ${COLUMNS} fit: use fewer names at once.`);
    const shift = rows.map((one) => (COLUMNS - one.length) / 2);
    const steps = edges.flatMap(({ through }) => through.slice(1).map((to, i) => [through[i], to]));
    const columns = () => Object.fromEntries(rows.flatMap((one, r) => one.map((name, i) => [name, i + shift[r]])));
    const rowOf = Object.fromEntries(rows.flatMap((one, r) => one.map((name) => [name, r])));
    const cost = () => {
      const column = columns();
      let sum = 0;
      steps.forEach(([from, to], i) => {
        sum += Math.abs(column[from] - column[to]);
        for (const [other, end] of steps.slice(i + 1)) {
          if (rowOf[other] === rowOf[from] && (column[other] - column[from]) * (column[end] - column[to]) < 0) sum += 20;
        }
      });
      for (const [, , used] of nodes) if (column[used[0]] > column[used[1]]) sum += 0.3; // rather as it is written
      return sum;
    };
    for (let sweep = 0; sweep < 4; sweep++) {
      rows.forEach((one, r) => {
        rows[r] = best(permutations(one), (order) => ((rows[r] = order), cost()));
        const slack = COLUMNS - one.length;
        shift[r] = best(Array.from({ length: 2 * slack + 1 }, (_, i) => i / 2), (to) => ((shift[r] = to), cost() + 0.01 * Math.abs(to - slack / 2)));
      });
    }
    return { column: columns(), row: rowOf, rows: rows.length, edges };
  }
  const permutations = (all) => (all.length < 2 ? [all] : all.flatMap((one, i) => permutations(all.toSpliced(i, 1)).map((rest) => [one, ...rest])));
  function best(choices, cost) {
    const costs = choices.map(cost);
    return choices[costs.indexOf(Math.min(...costs))];
  }

  // The graph as `panel` of book/drawings/computation_graph.py draws it, without numbers.
  function panelOf(figure, names, nodes) {
    const { column, row, rows, edges } = laidOut(names, nodes);
    const how = Object.fromEntries(nodes.map(([name, sign, used]) => [name, `${name} = ${written(sign, used)}`]));
    const fitting = (text) => (text.length > 9 ? text.replaceAll(" ", "") : text);
    const title = `The computation graph of ${nodes.at(-1)[0]}`;
    const panel = svgPanel(`${figure}-own`, title, Object.values(how).join("; "), 358, MARGIN * 2 + DOWN * (rows - 1) + VALUE + GRADIENT);
    const indent = (358 - ACROSS * (COLUMNS - 1) - WIDE) / 2;
    const corner = (name) => [indent + ACROSS * column[name], MARGIN + DOWN * row[name]];
    for (const { start, end, place, through } of edges) {
      const [from] = corner(through.at(-2));
      const others = edges.filter((one) => one.end === end && one.place !== place);
      const [twice] = others.map((one) => one.start === start && one.through.length === 2 && through.length === 2);
      const left = others.some((one) => corner(one.through.at(-2))[0] > from || (one.start === start && one.place > place));
      const side = others.length ? (left ? -1 : 1) : 0;
      const points = through.slice(0, -1).flatMap((name) => {
        const [x, y] = corner(name);
        const below = [x + WIDE / 2, y + VALUE + GRADIENT];
        return name === start ? [below] : [[x + WIDE / 2, y], below];
      });
      const [[x1, y1], [x2, y2]] = [points.at(-1), [corner(end)[0] + (WIDE * (3 + side)) / 6, corner(end)[1]]];
      const bend = twice ? 16 * side : 0;
      const curve = `Q${(x1 + x2) / 2 + 2 * bend},${(y1 + y2) / 2} ${x2},${y2 - 1}`;
      const path = { class: "line muted", d: `M${points.map((one) => one.join(",")).join(" L")} ${curve}`, "marker-end": `url(#${figure}-muted)` };
      panel.append(svgPart("path", { ...path, "stroke-width": 1.5, "data-key": `edge ${start} ${end} ${place}` }));
      const along = side > 0 ? 0.45 : 0.75; // two numbers between neighbours stand in two lines
      const [x, y] = [x1 + along * (x2 - x1) + bend + 8 * (side || 1), y1 + along * (y2 - y1) + 4];
      svgText(panel, x, y, "", { kind: "gradient", anchor: side < 0 ? "end" : "start", key: `local ${start} ${end} ${place}` });
      panel.lastChild.classList.add("on-line");
    }
    for (const name of [...names, ...nodes.map(([one]) => one)]) {
      const [x, y] = corner(name);
      const box = { x, width: WIDE, rx: 3 };
      panel.append(svgPart("rect", { ...box, class: "cell value", y, height: VALUE, "data-key": `box ${name}` }));
      svgText(panel, x + WIDE / 2, y + 16, fitting(how[name] ?? name));
      panel.lastChild.setAttribute("font-weight", "600");
      svgText(panel, x + WIDE / 2, y + 33, "", { kind: "value", key: `value ${name}` });
      svgCell(panel, x, y + VALUE, "", { kind: "gradient", width: WIDE, height: GRADIENT, key: `grad ${name}` });
    }
    return panel;
  }

  drawing("computation_graph", (drawn) => {
    const { early, expression, examples } = drawn.state;
    let { inputs, nodes } = drawn.state;
    const FIRST = { names: Object.keys(inputs), inputs: { ...inputs }, nodes, panel: drawn.figure.querySelector(".panels > svg") };
    const rule = `${drawn.name}-rule`;
    let steps = trace(inputs, nodes);

    const gradient = (value) => (number(value).length < 8 ? `grad ${number(value)}` : number(value));
    const show = (count) => {
      const step = steps[count];
      const right = trace(inputs, nodes).at(-1).grads;
      const backward = Object.keys(step.grads).length > 1;
      for (const name of [...Object.keys(inputs), ...nodes.map(([one]) => one)]) {
        drawn.write(`value ${name}`, name in step.values ? step.values[name] : "");
        const arrived = name in step.grads;
        const lost = arrived && count === steps.length - 1 && step.grads[name] !== right[name];
        drawn.set(`grad ${name}`, lost ? "wrong" : "gradient", arrived ? gradient(step.grads[name]) : "");
      }
      for (const [name, , used] of nodes) {
        used.forEach((one, place) => {
          const edge = `${one} ${name} ${place}`;
          if (typeof one === "string") drawn.write(`local ${edge}`, edge in step.locals ? `×${number(step.locals[edge])}` : "");
        });
      }
      const at = step.at[0];
      const used = nodes.find(([name]) => name === at)?.[2] ?? [];
      const edges = backward && step.at.length === 1 ? [] : used;
      drawn.mark([...step.at.map((name) => `box ${name}`), ...edges.map((one, place) => `edge ${one} ${at} ${place}`)]);
      drawn.say(step.says);
    };

    const go = drawn.steps(() => steps.length, show);
    go(steps.length - 1);
    const again = () => {
      const slider = drawn.control("step");
      const to = slider.value === slider.max ? Infinity : Number(slider.value);
      const wrongly = drawn.value(rule) === "wrong";
      steps = trace(inputs, nodes, wrongly && !early, wrongly ? early : null);
      go(to);
    };
    drawn.controls.addEventListener("click", ({ target }) => {
      const by = { less: -1, more: 1 }[target.name];
      if (!by) return;
      inputs[target.value] += by;
      drawn.output(target.value, `${target.value} = ${number(inputs[target.value])}`);
      again();
    });
    drawn.on(rule, () => again());
    drawn.on("clear", () => go(0));
    drawn.on("forward", () => go(Math.min(nodes.length, steps.length - 1)));
    drawn.on("backward", () => go(steps.length - 1));

    const counters = drawn.controls.querySelector(".counters");
    const put = (names, made, panel, values) => {
      const start = made.some(([, sign]) => sign in FUNCTIONS) ? [1, -1, 2, 0.5] : [2, -3, 10, 5]; // of names that are new, in turn
      inputs = values ? { ...values } : Object.fromEntries(names.map((name, i) => [name, inputs[name] ?? start[i % start.length]]));
      nodes = made;
      drawn.show([panel]);
      counters.replaceChildren(
        ...names.map((name) => {
          const counter = counters.firstElementChild.cloneNode(true);
          const [less, value, more] = counter.children;
          for (const [button, word] of [[less, "minus"], [more, "plus"]]) {
            button.value = name;
            button.setAttribute("aria-label", `${name} ${word} 1`);
          }
          value.dataset.value = name;
          value.textContent = `${name} = ${number(inputs[name])}`;
          return counter;
        }),
      );
      go(Infinity);
      again();
    };
    if (!expression) return;
    const read = (text, values) => {
      const same = (one) => one.replace(/\s/g, "");
      let sentence = "";
      try {
        if (same(text) === same(expression)) put(FIRST.names, FIRST.nodes, FIRST.panel, values);
        else {
          const { names, nodes: made } = nodesOf(parsed(text));
          put(names, made, panelOf(drawn.name, names, made), values);
        }
      } catch (error) {
        if (!(error instanceof Mistake)) throw error;
        sentence = error.message;
      }
      drawn.control("expression").setAttribute("aria-invalid", Boolean(sentence));
      if (sentence) drawn.say(`${sentence} The graph is still the one before.`);
    };
    drawn.on("expression", (text) => read(text));
    drawn.on("pick", (text) => read((drawn.control("expression").value = text), examples[text] ?? FIRST.inputs));
  });
}
