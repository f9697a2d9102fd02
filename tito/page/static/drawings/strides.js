// Strides: touch an element, and its way along memory is drawn, as by `hop` of book/drawings/strides.py.
drawing("strides", (drawn) => {
  const [WIDE, MEMORY, LEFT] = [56, 64, 8];
  const group = `${drawn.name}-array`;
  let state;

  const position = (i, j) => i * state.strides[0] + j * state.strides[1];

  function choose(key) {
    const [i, j] = key.split(" ").slice(1).map(Number);
    const way = [];
    let at = 0;
    [i, j].forEach((count, axis) => {
      for (let n = 0; n < count; n++) way.push([at, (at += state.strides[axis])]);
    });
    for (let n = 0; n < 3; n++) {
      const [start, stop] = way[n] ?? [0, 0];
      const [x0, x1] = [start, stop].map((one) => LEFT + (one + 0.5) * WIDE);
      const arc = `M${x0},${MEMORY - 3} Q${(x0 + x1) / 2},${MEMORY - 37} ${x1},${MEMORY - 3}`;
      drawn.part(`hop ${n}`).setAttribute("d", stop > start ? arc : "");
      drawn.part(`hop ${n} text`).setAttribute("x", (x0 + x1) / 2);
      drawn.write(`hop ${n} text`, stop > start ? `+${stop - start}` : "");
    }
    const [s0, s1] = state.strides;
    const place = position(i, j);
    drawn.mark([key, `memory ${place}`]);
    drawn.say(
      `Strides (${s0}, ${s1}): the element [${i}, ${j}] stands at position ${i} * ${s0} + ${j} * ${s1} = ${place} and is ${state.memory[place]}.`,
    );
  }

  function lay() {
    state = drawn.state[drawn.value(group)];
    drawn.variant(drawn.value(group));
    const keys = state.grid.map((row, i) => row.map((_, j) => `array ${i} ${j}`));
    drawn.touch(keys, choose, (key) => `element ${key.split(" ").slice(1).join(", ")}: ${drawn.part(`${key} text`).textContent}`);
    choose(keys.at(-1).at(-1));
    drawn.say(state.order);
  }

  drawn.on(group, lay);
  lay();
});
