// Gradient descent in a valley: learning rate and momentum are set, the path is computed as `path` of book/drawings/valley.py does.
drawing("valley", (drawn) => {
  const { curvatures, steps, map, plot } = drawn.state;
  let { start } = drawn.state;
  const settings = () => [drawn.value("rate"), Number(drawn.value(`${drawn.name}-momentum`))];
  let points, losses, timer;

  function compute() {
    const [rate, momentum] = settings();
    const w = [...start];
    const velocity = [0, 0];
    points = [[...w]];
    for (let step = 0; step < steps; step++) {
      curvatures.forEach((curvature, axis) => {
        velocity[axis] = momentum * velocity[axis] + curvature * w[axis];
        w[axis] -= rate * velocity[axis];
      });
      points.push([...w]);
    }
    losses = points.map((point) => point.reduce((sum, one, axis) => sum + (curvatures[axis] * one * one) / 2, 0));
  }

  const clip = (value) => Math.max(-2000, Math.min(2000, value));
  const place = ([w0, w1]) => [clip((w0 - map.left) * map.scale), clip(map.middle - w1 * map.scale)];
  const height = (loss) => {
    const power = Math.min(Math.max(Math.log10(Math.max(loss, 1e-300)), plot.lowest), plot.highest);
    return plot.bottom - ((plot.bottom - plot.top) * (power - plot.lowest)) / (plot.highest - plot.lowest);
  };
  const across = (step) => plot.left + ((plot.right - plot.left) * step) / steps;
  const line = (places) => `M${places.map((place) => place.map((one) => one.toFixed(1)).join(",")).join(" L")}`;
  const dots = (places) => places.map(([x, y]) => `M${x.toFixed(1)},${y.toFixed(1)}h0`).join("");

  function show(step) {
    const places = points.slice(0, step + 1).map(place);
    const heights = losses.slice(0, step + 1).map((loss, at) => [across(at), height(loss)]);
    const [rate, momentum] = settings();
    const grows = Math.max(...curvatures) * rate > 2 * (1 + momentum);
    for (const [key, d] of [["path", line(places)], ["points", dots(places)], ["losses", line(heights)]]) {
      drawn.part(key).setAttribute("d", d);
      drawn.part(key).classList.toggle("wrong", grows);
      drawn.part(key).classList.toggle("value", !grows);
    }
    for (const [key, [x, y]] of [["here", places.at(-1)], ["loss", heights.at(-1)]]) {
      drawn.part(key).setAttribute("cx", x.toFixed(1));
      drawn.part(key).setAttribute("cy", y.toFixed(1));
    }
    const [left, top] = place(start);
    drawn.part("start").setAttribute("cx", left.toFixed(1));
    drawn.part("start").setAttribute("cy", top.toFixed(1));
    const [flat, steep] = curvatures.map((curvature) => number(1 - rate * curvature));
    const how = momentum
      ? `Each step repeats ${number(momentum)} of the one before.`
      : `Each step multiplies w0 by 1 - ${number(rate)} = ${flat} and w1 by 1 - ${curvatures[1]} * ${number(rate)} = ${steep}.`;
    const [w0, w1] = points[step];
    drawn.say(`From (${start.map(number).join(", ")}): ${how.replace("Each", "each")} After ${step} steps: w0 = ${number(w0)}, w1 = ${number(w1)}, loss ${number(losses[step])}.${grows ? ` It diverges: the learning rate is above 2 / ${curvatures[1]}.` : ""}`);
  }

  compute();
  const go = drawn.steps(() => steps + 1, show);
  const stop = () => clearInterval(timer);
  const again = () => {
    stop();
    drawn.output("rate", drawn.value("rate").toFixed(3));
    compute();
    go(steps);
  };
  drawn.on("rate", again);
  drawn.on(`${drawn.name}-momentum`, again);
  drawn.on("step", stop);
  drawn.on("by", stop);
  drawn.on("play", () => {
    stop();
    if (drawn.still) return go(steps);
    let step = 0;
    go(step);
    timer = setInterval(() => (step < steps ? go(++step) : stop()), 80);
  });
  again();
  drawn.drag(
    "start",
    (x, y) => {
      const [w0, w1] = [x / map.scale + map.left, (map.middle - y) / map.scale].map((one) => Math.round(2 * one) / 2);
      start = [Math.max(-10.5, Math.min(5.5, w0)), Math.max(-4, Math.min(4, w1))];
      again();
    },
    { label: "start of the path" },
  );
});
