// The nearest letters by cosine at some steps of a training; the vectors were computed with lesson 13's functions
// (book/drawings/letter_neighbours.py), the cosines are computed here.
drawing("letter_neighbours", (drawn) => {
  const [ROOM, ACROSS] = [340, 9];
  const { letters, weights, places, bits, saved, nearest } = drawn.state;
  let chosen = drawn.state.chosen;
  const cosine = ([a, b], [c, d]) => (a * c + b * d) / Math.hypot(a, b) / Math.hypot(c, d);

  function show() {
    const n = drawn.value("saved");
    drawn.output("saved", saved[n]);
    drawn.control("saved").setAttribute("aria-valuetext", `${saved[n]} steps`);
    const all = weights[n].map((vector) => cosine(weights[n][chosen], vector));
    const near = letters.map((_, i) => i).sort((i, j) => all[j] - all[i]).filter((i) => i !== chosen).slice(0, nearest);
    const [left, top] = places[n].at(-1);
    drawn.part("across").setAttribute("points", `0,${top} 358,${top}`);
    drawn.part("up").setAttribute("points", `${left},0 ${left},${ROOM}`);
    [chosen, ...near].forEach((i, m) => {
      drawn.part(`ray ${m === 0 ? "chosen" : m - 1}`).setAttribute("points", `${left},${top} ${places[n][i].join(",")}`);
    });
    letters.forEach((_, i) => {
      const [x, y] = places[n][i];
      const letter = drawn.part(`letter ${i}`);
      letter.setAttribute("x", x);
      letter.setAttribute("y", y + 4.5);
      letter.setAttribute("class", near.includes(i) ? "value on-line" : i === chosen ? "text on-line" : "text");
      drawn.set(`choose ${i}`, near.includes(i) ? "value" : "muted");
      drawn.part(`choose ${i}`).setAttribute("aria-pressed", i === chosen);
    });
    drawn.mark([`choose ${chosen}`, `letter ${chosen}`]);
    const start = n ? `After ${saved[n]} steps` : "Before training";
    const told = near.map((i) => `${letters[i]} ${(all[i] + 1e-9).toFixed(2)}`).join(", ");
    drawn.say(`${start}, with ${bits[n]} bits per character: nearest to '${letters[chosen]}', with their cosines, are ${told}.`);
  }

  const rows = letters.map((_, i) => `choose ${i}`);
  drawn.touch(
    [0, 1, 2].map((row) => rows.slice(row * ACROSS, (row + 1) * ACROSS)),
    (key) => {
      chosen = Number(key.split(" ")[1]);
      show();
    },
  );
  drawn.on("saved", show);
  show();
});
