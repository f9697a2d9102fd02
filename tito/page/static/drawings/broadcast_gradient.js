// The gradient of a broadcast bias: touch one of its numbers, and its copies are summed. All numbers were computed by lesson 06's
// functions (book/drawings/broadcast_gradient.py).
drawing("broadcast_gradient", (drawn) => {
  const setting = (name) => drawn.value(`${drawn.name}-${name}`);
  let chosen = 0;
  let state;

  function choose(n) {
    chosen = n;
    const copies = state.copies[n];
    drawn.mark([`grad ${n}`, `bias ${n}`, ...copies.flatMap(([i, j]) => [`copy ${i} ${j}`, `g ${i} ${j}`])]);
    const parts = copies.map(([i, j]) => drawn.part(`g ${i} ${j} text`).textContent).join(" + ");
    const difference = `the finite difference is ${number(state.differences[n])}.`;
    const right = state.means[n] === state.differences[n] ? "" : ` The mean is wrong: ${number(state.sums[n])} is the sum.`;
    drawn.say(
      setting("how") === "sum"
        ? `Bias ${n}: ${parts} = ${number(state.sums[n])}; ${difference}`
        : `Bias ${n}: (${parts}) / ${copies.length} = ${number(state.means[n])}; ${difference}${right}`,
    );
  }

  function fill() {
    const mean = setting("how") === "mean";
    const shown = mean ? state.means : state.sums;
    shown.forEach((value, n) => drawn.set(`grad ${n}`, value === state.differences[n] ? "gradient" : "wrong", value));
    choose(chosen);
  }

  function lay() {
    state = drawn.state[setting("shape")];
    drawn.variant(setting("shape"));
    const keys = state.bias.map((_, n) => `grad ${n}`);
    const column = state.shape[1] === 1;
    drawn.touch(column ? keys.map((key) => [key]) : [keys], (key) => choose(Number(key.split(" ")[1])), (key) => {
      return `gradient of bias ${key.split(" ")[1]}`;
    });
    chosen = 0;
    fill();
  }

  drawn.on(`${drawn.name}-shape`, lay);
  drawn.on(`${drawn.name}-how`, fill);
  lay();
});
