// A computation graph, filled in step by step: forward, then backward in reverse order of creation. The inputs can be changed, and a
// mistake chosen: a gradient that arrives overwrites what was there, or the nodes propagate in a wrong order (`early`). `trace` of book/drawings/computation_graph.py computes the same.
{
  const OPERATIONS = {
    "*": (x, y) => [x * y, [y, x]],
    "+": (x, y) => [x + y, [1, 1]],
    square: (x) => [x * x, [2 * x]],
  };
  const squared = (x) => (x.startsWith("-") ? `(${x})²` : `${x}²`);
  const written = (sign, used) => (sign === "square" ? squared(used[0]) : used.join(` ${sign} `));

  function trace(inputs, nodes, overwrite = false, early = null) {
    const values = { ...inputs };
    const locals = {};
    const grads = {};
    const steps = [];
    const step = (says, at) => steps.push({ says, at, values: { ...values }, grads: { ...grads }, locals: { ...locals } });
    const names = Object.keys(inputs);
    step(`The inputs: ${names.map((name) => `${name} = ${number(inputs[name])}`).join(", ")}.`, names);
    for (const [name, sign, used] of nodes) {
      const [value, factors] = OPERATIONS[sign](...used.map((one) => values[one]));
      values[name] = value;
      used.forEach((one, place) => (locals[`${one} ${name} ${place}`] = factors[place]));
      const withNumbers = written(sign, used.map((one) => number(values[one])));
      step(`Forward: ${name} = ${written(sign, used)} = ${withNumbers} = ${number(value)}.`, [name]);
    }
    const root = nodes.at(-1)[0];
    grads[root] = 1;
    step(`Backward: the gradient of ${root} with respect to itself is 1.`, [root]);
    for (const name of early ?? nodes.map(([one]) => one).reverse()) {
      const used = nodes.find(([one]) => one === name)[2];
      const g = grads[name];
      const arrivals = used.map((to, place) => {
        const local = locals[`${to} ${name} ${place}`];
        const product = local * g;
        let text = `${to} gets ${number(g)} * ${number(local)} = ${number(product)}`;
        if (to in grads) text += overwrite ? `, which overwrites ${number(grads[to])}` : `, added to ${number(grads[to])}: ${number(grads[to] + product)}`;
        grads[to] = overwrite ? product : (grads[to] ?? 0) + product;
        return text;
      });
      step(`From ${name}, whose gradient is ${number(g)}: ${arrivals.join("; ")}.`, [name, ...used]);
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

  drawing("computation_graph", (drawn) => {
    const { inputs, nodes, early } = drawn.state;
    const names = [...Object.keys(inputs), ...nodes.map(([name]) => name)];
    const rule = `${drawn.name}-rule`;
    let steps = trace(inputs, nodes);

    const show = (number_of) => {
      const step = steps[number_of];
      const right = trace(inputs, nodes).at(-1).grads;
      const backward = Object.keys(step.grads).length > 1;
      for (const name of names) {
        drawn.write(`value ${name}`, name in step.values ? step.values[name] : "");
        const arrived = name in step.grads;
        const lost = number_of === steps.length - 1 && step.grads[name] !== right[name];
        drawn.set(`grad ${name}`, lost ? "wrong" : "gradient", arrived ? `grad ${number(step.grads[name])}` : "");
      }
      for (const [name, , used] of nodes) {
        used.forEach((one, place) => {
          const edge = `${one} ${name} ${place}`;
          drawn.write(`local ${edge}`, edge in step.locals ? `×${number(step.locals[edge])}` : "");
        });
      }
      const at = step.at[0];
      const used = nodes.find(([name]) => name === at)?.[2] ?? [];
      const edges = backward ? (step.at.length > 1 ? used : []) : used;
      drawn.mark([...step.at.map((name) => `box ${name}`), ...edges.map((one, place) => `edge ${one} ${at} ${place}`)]);
      drawn.say(step.says);
    };

    const go = drawn.steps(steps.length, show);
    const again = () => {
      const wrongly = drawn.value(rule) === "wrong";
      steps = trace(inputs, nodes, wrongly && !early, wrongly ? early : null);
      go(Number(drawn.control("step").value));
    };
    const change = (by) => (name) => {
      inputs[name] += by;
      drawn.output(name, `${name} = ${number(inputs[name])}`);
      again();
    };
    drawn.on("less", change(-1));
    drawn.on("more", change(1));
    drawn.on(rule, again);
    drawn.on("forward", () => go(nodes.length));
    drawn.on("backward", () => go(steps.length - 1));
  });
}
