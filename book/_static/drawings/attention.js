// Attention weights: touch a word, and its row says where it looks. Both sets of weights were computed by the lesson's functions
// (book/drawings/attention.py).
drawing("attention", (drawn) => {
  const [ROW, TOP] = [38, 68];
  const { words, weights } = drawn.state;
  const mask = () => drawn.value(`${drawn.name}-mask`);
  let chosen = drawn.state.chosen;

  function show() {
    weights[mask()].forEach((row, i) =>
      row.forEach((weight, j) => {
        const [bar, cell] = [drawn.part(`bar ${i} ${j}`), drawn.part(`weight ${i} ${j}`)];
        const hidden = mask() === "causal" && j > i;
        bar.setAttribute("y", (TOP + i * ROW + 2 + (ROW - 4) * (1 - weight)).toFixed(2));
        bar.setAttribute("height", ((ROW - 4) * weight).toFixed(2));
        cell.classList.toggle("hidden", hidden);
        drawn.write(`weight ${i} ${j} text`, hidden ? "" : (100 * weight).toFixed(0));
      }),
    );
    const row = weights[mask()][chosen];
    const best = words.map((_, j) => j).sort((one, other) => row[other] - row[one]);
    const seen = best.slice(0, 3).filter((j) => row[j] >= 0.01);
    drawn.mark([`word ${chosen}`, ...words.map((_, j) => `weight ${chosen} ${j}`), ...seen.map((j) => `seen ${j}`)]);
    words.forEach((_, i) => drawn.part(`word ${i}`).setAttribute("aria-pressed", i === chosen));
    const told = seen.map((j) => `${words[j]} ${(100 * row[j]).toFixed(0)} %`).join(", ");
    drawn.say(`'${words[chosen]}' looks at ${told}.`);
  }

  drawn.touch(
    words.map((_, i) => [`word ${i}`]),
    (key) => {
      chosen = Number(key.split(" ")[1]);
      show();
    },
  );
  drawn.on(`${drawn.name}-mask`, show);
  show();
});
