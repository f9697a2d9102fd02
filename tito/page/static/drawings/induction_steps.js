// Two attention patterns during the training: the slider shows one of the states that lesson 18's functions computed
// (book/drawings/induction_steps.py).
drawing("induction_steps", (drawn) => {
  const { steps, states } = drawn.state;

  function show() {
    const stop = drawn.value("stop");
    const state = states[stop];
    drawn.output("stop", steps[stop]);
    drawn.control("stop").setAttribute("aria-valuetext", `${steps[stop]} training steps`);
    state.percent.forEach((pattern, layer) =>
      pattern.forEach((row, i) =>
        row.forEach((percent, j) => drawn.part(`cell ${layer} ${i} ${j}`).setAttribute("fill-opacity", percent / 100)),
      ),
    );
    drawn.say(state.told);
  }

  drawn.on("stop", show);
  show();
});
