// A signal through twenty layers: the fifteen states were computed by lesson 04's functions (book/drawings/twenty_layers.py).
drawing("twenty_layers", (drawn) => {
  const { stds, layers, map, states } = drawn.state;
  const activation = `${drawn.name}-activation`;

  function histograms(shares) {
    return shares
      .map((row, layer) => {
        const [middle, high] = [map.left + (layer + 0.5) * map.step, map.high / row.length];
        const bins = row.map((share, n) => {
          const half = Math.min(share / 100 / map.full, 1) * (map.step / 2 - 1);
          const y = map.top + (row.length - 1 - n) * high;
          const [left, wide] = [(middle - half).toFixed(1), (2 * half).toFixed(1)];
          return half ? `M${left},${y.toFixed(1)}h${wide}v${high.toFixed(1)}h-${wide}z` : "";
        });
        return bins.join("");
      })
      .join("");
  }

  function short(std) {
    return number(Number(std.toPrecision(2)));
  }

  function show() {
    const state = states[`${drawn.value(activation)} ${drawn.value("std")}`];
    const std = stds[drawn.value("std")];
    drawn.output("std", std);
    drawn.control("std").setAttribute("aria-valuetext", std);
    drawn.part("histograms").setAttribute("d", histograms(state.shares));
    layers.forEach((layer, n) => {
      const one = state.stds[n];
      drawn.set(`std ${layer}`, one >= 0.1 && one <= 10 ? "value" : "wrong", short(one));
    });
    drawn.say(state.told);
  }

  drawn.on("std", show);
  drawn.on(activation, show);
  show();
});
