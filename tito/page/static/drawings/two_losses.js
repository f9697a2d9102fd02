// Two losses: a logit goes down each of them, as `walk` of book/drawings/two_losses.py does.
drawing("two_losses", (drawn) => {
  const { most, map } = drawn.state;
  const sigmoid = (z) => 1 / (1 + Math.exp(-z));
  const losses = {
    "cross-entropy": (z) => [Math.log1p(Math.exp(-z)), sigmoid(z) - 1],
    "squared error": (z) => [(sigmoid(z) - 1) ** 2, 2 * (sigmoid(z) - 1) * sigmoid(z) * (1 - sigmoid(z))],
  };
  let walks;

  function show() {
    const told = Object.entries(losses).map(([name, loss]) => {
      const { z, steps } = walks[name];
      const [value, gradient] = loss(z);
      const [x, y] = [map.left + (z + 8) * map.across, map.bottom - value * map.up];
      drawn.part(`dot ${name}`).setAttribute("cx", x.toFixed(1));
      drawn.part(`dot ${name}`).setAttribute("cy", y.toFixed(1));
      const end = [x + 2 * map.across, y - 2 * gradient * map.up].map((one) => one.toFixed(1));
      drawn.part(`tangent ${name}`).setAttribute("points", `${x.toFixed(1)},${y.toFixed(1)} ${end.join(",")}`);
      const texts = { steps: String(steps), z: z.toFixed(2), loss: value.toFixed(4), gradient: gradient.toFixed(5) };
      for (const [column, text] of Object.entries(texts)) drawn.write(`${name} ${column} text`, text);
      const title = name[0].toUpperCase() + name.slice(1);
      return `${title} after ${texts.steps} steps: z = ${texts.z}, loss ${texts.loss}, gradient ${texts.gradient}.`;
    });
    drawn.say(told.join(" "));
  }

  function again() {
    walks = Object.fromEntries(Object.keys(losses).map((name) => [name, { z: drawn.value("start"), steps: 0 }]));
    drawn.output("start", drawn.value("start"));
    show();
  }

  drawn.on("go", (count) => {
    const untilYes = Number(count) === most;
    for (const [name, loss] of Object.entries(losses)) {
      const walk = walks[name];
      for (let step = 0; step < count && !(untilYes && walk.z > 0); step++) {
        walk.z -= loss(walk.z)[1];
        walk.steps++;
      }
    }
    show();
  });
  drawn.on("again", again);
  drawn.on("start", again);
  again();
  const plot = drawn.part("dot cross-entropy").ownerSVGElement;
  plot.style.touchAction = "pan-y"; // the start can be dragged from everywhere above the table
  drawn.drag(
    "dot cross-entropy",
    (x) => {
      drawn.control("start").value = (x - map.left) / map.across - 8;
      again();
    },
    { within: (x, y) => y <= map.bottom },
  );
});
