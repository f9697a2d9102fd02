// Forward mode beside reverse mode, line by line of a function: the input can be changed. `steps` of book/drawings/dual_numbers.py
// computes the same with lesson 17's Dual and lesson 01's Value; what an operation uses is a name, or a number.
drawing("dual_numbers", (drawn) => {
  const COLUMNS = ["value", "tangent", "gradient"];
  const setting = `${drawn.name}-function`;

  // Of an operation on values and tangents: the value, the tangent, how it is computed, and the local derivatives.
  const OPERATIONS = {
    "+": (a, b, da, db) => [a + b, da + db, `${number(da)} + ${number(db)}`, [1, 1]],
    "*": (a, b, da, db) => [a * b, da * b + a * db, `${number(da)} * ${number(b)} + ${number(a)} * ${number(db)}`, [b, a]],
    sin: (a, _, da) => [Math.sin(a), Math.cos(a) * da, `cos(${number(a)}) * ${number(da)} = ${number(Math.cos(a))} * ${number(da)}`, [Math.cos(a)]],
  };
  const written = (sign, used) => (sign === "sin" ? `sin(${number(used[0])})` : used.map(number).join(` ${sign} `));

  function steps(nodes, x) {
    const now = { value: { x }, tangent: { x: 1 }, gradient: {} };
    const locals = {};
    const found = [];
    const step = (says, at) => found.push({ says, at, ...Object.fromEntries(COLUMNS.map((column) => [column, { ...now[column] }])) });
    step(`Forward mode: the value of x is ${number(x)}. Its tangent is 1, the derivative of x with respect to x.`, ["value x", "tangent x"]);
    for (const [name, sign, used] of nodes) {
      const values = used.map((one) => now.value[one] ?? one);
      const [value, tangent, how, factors] = OPERATIONS[sign](values[0], values[1], ...used.map((one) => now.tangent[one] ?? 0));
      [now.value[name], now.tangent[name], locals[name]] = [value, tangent, factors];
      const computed = `${name} = ${written(sign, used)} = ${written(sign, values)} = ${number(value)}`;
      step(`${computed}. Its tangent is ${how} = ${number(tangent)}.`, [`value ${name}`, `tangent ${name}`]);
    }
    const derivative = number(now.tangent.y);
    found.at(-1).says += ` Forward mode is finished: y = ${number(now.value.y)}, dy/dx = ${derivative}.`;
    const gradient = now.gradient;
    gradient.y = 1;
    step("Reverse mode, with the recorded values: the gradient of y with respect to itself is 1.", ["gradient y"]);
    for (const [name, , used] of [...nodes].reverse()) {
      const g = gradient[name];
      const to = used.filter((one) => typeof one === "string");
      const arrivals = used.flatMap((one, place) => {
        if (typeof one === "number") return [];
        const product = locals[name][place] * g;
        const text = `${one} gets ${number(g)} * ${number(locals[name][place])} = ${number(product)}`;
        const before = gradient[one];
        gradient[one] = (before ?? 0) + product;
        return before === undefined ? text : `${text}, added to ${number(before)}: ${number(gradient[one])}`;
      });
      step(`From ${name}, whose gradient is ${number(g)}: ${arrivals.join("; ")}.`, [name, ...to].map((one) => `gradient ${one}`));
    }
    found.at(-1).says += ` Reverse mode is finished: dy/dx = ${derivative}, too.`;
    found.at(-1).at = ["tangent y", "gradient x"];
    return found;
  }

  let all;
  const read = () => (all = steps(drawn.state[drawn.value(setting)], drawn.value("x")));
  const show = (count) => {
    for (const column of COLUMNS) {
      for (const name of Object.keys(all[0].value).concat(drawn.state[drawn.value(setting)].map(([one]) => one))) {
        drawn.write(`${column} ${name} text`, all[count][column][name] ?? "");
      }
    }
    drawn.mark(all[count].at);
    drawn.say(all[count].says);
  };
  read();
  const go = drawn.steps(() => all.length, show);
  go(Infinity);
  drawn.on("x", (x) => {
    drawn.output("x", Number(x));
    read();
    go(Number(drawn.control("step").value));
  });
  drawn.on(setting, (name) => {
    drawn.variant(name);
    read();
    go(Infinity);
  });
});
