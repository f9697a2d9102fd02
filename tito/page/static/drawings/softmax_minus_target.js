// Softmax minus target: touch a target to make its class the true one, set the smoothing, take steps. The gradient is that of
// `numbers` in book/drawings/softmax_minus_target.py.
drawing("softmax_minus_target", (drawn) => {
  const { base, high } = drawn.state.map;
  const group = `${drawn.name}-logits`;
  const rounded = (value) => String(Number(value.toFixed(3)) + 0);
  const listed = (row) => row.map(rounded).join(", ");
  const sum = (row) => row.reduce((total, one) => total + one);
  let label = drawn.state.label;
  let logits;

  function compute() {
    const smoothing = drawn.value("smoothing");
    const largest = Math.max(...logits);
    const powers = logits.map((logit) => Math.exp(logit - largest));
    const probability = powers.map((power) => power / sum(powers));
    const target = powers.map((_, j) => smoothing / 3 + (j === label ? 1 - smoothing : 0));
    const loss = -sum(target.map((t, j) => t * (logits[j] - largest - Math.log(sum(powers)))));
    return { logit: logits, probability, target, gradient: probability.map((p, j) => p - target[j]), loss };
  }

  function show(before) {
    const state = compute();
    for (const name of ["logit", "probability", "target", "gradient"]) {
      state[name].forEach((value, j) => drawn.write(`${name} ${j} text`, rounded(value)));
      if (name !== "logit") drawn.write(`sum ${name} text`, rounded(sum(state[name])));
    }
    const level = (share) => (base - share * high).toFixed(1);
    state.probability.forEach((p, j) => {
      const t = state.target[j];
      for (const [key, share] of [["bar", p], ["goal", t]]) {
        drawn.part(`${key} ${j}`).setAttribute("y", level(share));
        drawn.part(`${key} ${j}`).setAttribute("height", (share * high).toFixed(1));
      }
      const x = drawn.part(`arrow ${j}`).getAttribute("d").match(/[\d.]+/)[0];
      drawn.part(`arrow ${j}`).setAttribute("d", `M${x},${level(p)} Q${x},${level((p + t) / 2)} ${x},${level(t)}`);
    });
    drawn.write("loss text", state.loss);
    drawn.mark([`target ${label}`]);
    [0, 1, 2].forEach((j) => drawn.part(`target ${j}`).setAttribute("aria-pressed", j === label));
    drawn.output("smoothing", drawn.value("smoothing"));
    const step = before === undefined ? "" : ` One step ago it was ${number(before)}.`;
    drawn.say(
      `Probabilities ${listed(state.probability)}, minus the targets ${listed(state.target)}: the gradient is ${listed(state.gradient)}. The loss is ${number(state.loss)}.${step}`,
    );
  }

  function again() {
    logits = drawn.value(group).split(" ").map(Number);
    show();
  }

  drawn.touch(
    [[0, 1, 2].map((j) => `target ${j}`)],
    (key) => {
      label = Number(key.split(" ")[1]);
      show();
    },
    (key) => `class ${key.split(" ")[1]} is the true class`,
  );
  drawn.on(group, again);
  drawn.on("again", again);
  drawn.on("smoothing", () => show());
  drawn.on("go", () => {
    const { gradient, loss } = compute();
    logits = logits.map((logit, j) => logit - gradient[j]);
    show(loss);
  });
  again();
});
