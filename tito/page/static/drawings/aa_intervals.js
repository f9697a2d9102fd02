// A/A tests: the experiments were computed by lesson 19's functions (book/drawings/aa_intervals.py); each press shows the next one.
drawing("aa_intervals", (drawn) => {
  const { states, pairs, computers } = drawn.state;
  const drift = `${drawn.name}-drift`;
  const ways = ["apart", "turns"];
  let shown = 1; // experiments so far

  function show() {
    const name = drawn.value(drift);
    const so_far = states[name].slice(0, shown);
    const last = so_far.at(-1);
    ways.forEach((way, n) => {
      for (const kind of ["value", "wrong"]) drawn.part(`${way} ${kind}`).setAttribute("d", last.lines[way][kind]);
      drawn.write(`${way} text`, `a winner in ${last.winners[n]} of ${pairs}`);
    });
    const [apart, turns] = ways.map((way, n) => so_far.reduce((sum, one) => sum + one.winners[n], 0));
    const tests = pairs * shown;
    drawn.say(
      `A computer that ${computers[name]}: of ${tests} A/A tests, ${apart} declare a winner when the sides run one after the ` +
        `other, and ${turns} when they are interleaved; 5 % would be ${Math.floor(tests / 20)}.`,
    );
  }

  drawn.on(drift, () => {
    shown = 1;
    show();
  });
  drawn.on("again", () => {
    shown = (shown % states[drawn.value(drift)].length) + 1;
    show();
  });
  show();
});
