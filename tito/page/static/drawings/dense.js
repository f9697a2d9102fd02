// A fully connected layer: touch an output, and what it is computed from is marked. The outputs are those of lesson 04's `linear`
// (book/drawings/dense.py).
drawing("dense", (drawn) => {
  const setting = (name) => drawn.value(`${drawn.name}-${name}`);
  let chosen = [1, 2];
  let state;

  function choose(i, j) {
    chosen = [i, j];
    const at = state.column ? i : j;
    drawn.mark([`x ${i} 0`, `x ${i} 1`, `W 0 ${j}`, `W 1 ${j}`, `b ${at}`, `y ${i} ${j}`]);
    const products = state.x[i].map((x, k) => `${x} * ${state.W[k][j]}`).join(" + ");
    const wrong = state.column ? " This bias belongs to the example, not to the output." : "";
    drawn.say(
      `y[${i}, ${j}] = ${products} + ${state.b[at]} = ${state.y[i][j]}: row ${i} of x, column ${j} of W, bias ${at}.${wrong}`,
    );
  }

  function lay() {
    const key = `${setting("bias")} ${setting("batch")}`;
    state = drawn.state[key];
    drawn.variant(key);
    if (state.error) return drawn.say(state.error);
    const keys = state.y.map((row, i) => row.map((_, j) => `y ${i} ${j}`));
    drawn.touch(
      keys,
      (part) => choose(...part.split(" ").slice(1).map(Number)),
      (part) => `y ${part.split(" ").slice(1).join(", ")}: ${drawn.part(`${part} text`).textContent}`,
    );
    return choose(Math.min(chosen[0], state.y.length - 1), chosen[1]);
  }

  drawn.on(`${drawn.name}-bias`, lay);
  drawn.on(`${drawn.name}-batch`, lay);
  lay();
});
