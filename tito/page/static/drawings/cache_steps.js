// A key-value cache, token by token: what is computed for the newest token, without a cache and with one. All numbers were
// computed by the lesson's functions; the panels are those of `panel` in book/drawings/cache_steps.py.
drawing("cache_steps", (drawn) => {
  const [LEFT, CELL, TOP, ROW, FLAT] = [70, 46, 46, 28, 18];
  const HEIGHT = TOP + 6 * ROW + 5 * FLAT + 90;
  const LETTERS = ["k₁", "k₂", "v₁", "v₂"];
  const WAYS = {
    without: ["without a cache", "wrong", "hatched: computed again"],
    with: ["with a cache", "muted", "grey: read from the cache"],
  };
  const { tokens, columns, weights, outputs, costs, told } = drawn.state;
  const written = (value) => (value + 0).toFixed(2).replace(/^-(0.00)$/, "$1");

  function panel(way, n) {
    const [title, old, said] = WAYS[way];
    const output = outputs[n - 1][way].map(written);
    const described = `${n} columns of keys and values, ${n} rows of attention weights, and the output ${output.join(", ")}. ${said}; blue: new.`;
    const made = svgPanel(`${drawn.name}-${way}`, title, described, 358, HEIGHT);
    const cell = (x, y, text, kind, key) => svgCell(made, x, y, text, { kind, width: CELL, height: ROW, key });
    svgText(made, 2, 16, title, { anchor: "start" });
    made.lastChild.setAttribute("font-weight", "600");
    for (let j = 0; j < n; j++) {
      svgText(made, LEFT + (j + 0.5) * CELL, TOP - 8, tokens[j]);
      columns[j].forEach((value, i) =>
        cell(LEFT + j * CELL, TOP + i * ROW, written(value), j === n - 1 ? "value" : old, `${way} ${LETTERS[i]} ${j}`),
      );
    }
    LETTERS.forEach((letter, i) => svgText(made, LEFT - 6, TOP + i * ROW + 18, letter, { kind: "muted", anchor: "end" }));
    const top = TOP + 4 * ROW + 26;
    svgText(made, 2, top - 8, "attention weights of each token", { kind: "muted", anchor: "start" });
    for (let i = 0; i < n; i++) {
      const [y, fresh] = [top + i * FLAT, i === n - 1];
      svgText(made, LEFT - 6, y + (fresh ? 19 : 14), tokens[i], { anchor: "end" });
      for (let j = 0; j <= i; j++) {
        const x = LEFT + j * CELL;
        if (fresh) cell(x, y, written(weights[i][j]), "value", `${way} weight ${j}`);
        else svgCell(made, x, y, "", { kind: old, width: CELL, height: FLAT, dashed: way === "with" });
      }
    }
    const foot = HEIGHT - ROW - 46;
    svgText(made, LEFT - 6, foot + 18, "output", { kind: "muted", anchor: "end" });
    output.forEach((text, i) => cell(LEFT + i * CELL, foot, text, "value", `${way} output ${i}`));
    svgText(made, LEFT + 2 * CELL + 12, foot + 18, said, { kind: "muted", anchor: "start" });
    costs[n - 1][way].slice(0, 2).forEach((text, i) => {
      svgText(made, 2, foot + ROW + 18 + 20 * i, text, { anchor: "start", key: `${way} cost ${i} text` });
      if (i === 0) made.lastChild.setAttribute("font-weight", "600");
    });
    return made;
  }

  const go = drawn.steps(
    () => tokens.length,
    (step) => {
      drawn.show(Object.keys(WAYS).map((way) => panel(way, step + 1)));
      drawn.say(told[step]);
    },
  );
  go(3); // the first token shows no difference
});
