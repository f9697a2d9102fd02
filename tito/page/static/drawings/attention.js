// Attention weights: touch a word, and its row says where it looks; or write another sentence. Scores, softmax and weighted mean
// are those of the lesson, as `numbers` of book/drawings/attention.py computes them.
drawing("attention", (drawn) => {
  const [LABEL, CELL, ROW, TOP] = [72, 35, 36, 72];
  const { sentence, most, longest, parts, kinds } = drawn.state;
  const isCausal = () => drawn.value(`${drawn.name}-mask`) === "causal";
  const kindOf = (word) => Object.keys(kinds).find((kind) => kinds[kind][2].split(" ").includes(word.toLowerCase())) ?? "noun";
  const dot = (a, b) => a.reduce((sum, one, n) => sum + one * b[n], 0);
  const percent = (weight) => (100 * weight + 1e-9).toFixed(0);
  let words = sentence.split(" ");
  let chosen = drawn.state.chosen;

  function numbers() {
    const [keys, queries] = [0, 1].map((n) => words.map((word) => kinds[kindOf(word)][n]));
    const scores = queries.map((query) => keys.map((key) => dot(query, key) / Math.sqrt(key.length)));
    const weights = scores.map((row, i) => {
      const seen = row.map((score, j) => (isCausal() && j > i ? -Infinity : score));
      const powers = seen.map((score) => Math.exp(score - Math.max(...seen)));
      const sum = powers.reduce((total, one) => total + one, 0);
      return powers.map((power) => power / sum);
    });
    const outputs = weights.map((row) => parts.map((_, n) => dot(row, keys.map((key) => key[n]))));
    return [scores, weights, outputs];
  }

  // As `panel` of book/drawings/attention.py.
  function draw() {
    const foot = TOP + words.length * ROW;
    const title = "The weights: a row for each word that looks, a column for each word looked at";
    const panel = svgPanel(drawn.name, title, "", 358, foot + 100, true);
    words.forEach((word, j) => {
      const [x, y] = [LABEL + (j + 0.5) * CELL + 4, TOP - 8];
      svgText(panel, x, y, word, { anchor: "start", key: `seen ${j}` });
      panel.lastChild.setAttribute("transform", `rotate(-75 ${x} ${y})`);
    });
    words.forEach((word, i) => {
      const y = TOP + i * ROW;
      svgCell(panel, 2, y + 1, word, { kind: "muted", width: LABEL - 6, height: ROW - 2, key: `word ${i}` });
      panel.append(svgPart("path", { class: "bar", "data-key": `bars ${i}` }));
      words.forEach((_, j) => {
        const x = LABEL + j * CELL;
        const place = { x: x + 1, y: y + 1, width: CELL - 2, height: ROW - 2, rx: 3 };
        panel.append(svgPart("rect", { class: "outline", "data-key": `weight ${i} ${j}`, ...place }));
        svgText(panel, x + CELL / 2, y + 22.5, "", { key: `weight ${i} ${j} text` });
      });
    });
    svgText(panel, LABEL - 6, foot + 20, "scores", { kind: "muted", anchor: "end" });
    words.forEach((_, j) => svgText(panel, LABEL + (j + 0.5) * CELL, foot + 20, "", { kind: "muted", key: `score ${j} text` }));
    svgText(panel, LABEL - 6, foot + 75, "output", { kind: "muted", anchor: "end" });
    parts.forEach((part, n) => {
      svgText(panel, LABEL + 71 * n + 35, foot + 46, part, { kind: "muted" });
      svgCell(panel, LABEL + 71 * n, foot + 53, "", { width: 70, key: `output ${n}` });
    });
    drawn.show([panel]);
    drawn.touch(
      words.map((_, i) => [`word ${i}`]),
      (key) => {
        chosen = Number(key.split(" ")[1]);
        show();
      },
    );
    show();
  }

  function show() {
    const [causal, full] = [isCausal(), ROW - 2];
    const [scores, weights, outputs] = numbers();
    weights.forEach((row, i) => {
      const foot = TOP + i * ROW + 1 + full;
      const bar = (weight, j) => `M${LABEL + j * CELL + 1},${foot} v${(-full * weight).toFixed(2)} h${CELL - 2} v${(full * weight).toFixed(2)} z`;
      drawn.part(`bars ${i}`).setAttribute("d", row.map(bar).join(""));
      row.forEach((weight, j) => {
        const hidden = causal && j > i;
        drawn.part(`weight ${i} ${j}`).classList.toggle("hidden", hidden);
        drawn.write(`weight ${i} ${j} text`, hidden ? "" : percent(weight));
      });
    });
    const row = weights[chosen];
    const best = words.map((_, j) => j).sort((one, other) => row[other] - row[one]);
    const seen = best.slice(0, 3).filter((j) => row[j] >= 0.01);
    drawn.mark([`word ${chosen}`, ...words.map((_, j) => `weight ${chosen} ${j}`), ...seen.map((j) => `seen ${j}`)]);
    words.forEach((_, i) => drawn.part(`word ${i}`).setAttribute("aria-pressed", i === chosen));
    scores[chosen].forEach((score, j) => drawn.write(`score ${j} text`, causal && j > chosen ? "" : score.toFixed(1)));
    outputs[chosen].forEach((value, n) => drawn.write(`output ${n} text`, (value + 1e-9).toFixed(2)));
    const kind = kindOf(words[chosen]);
    const told = seen.map((j) => `${words[j]} ${percent(row[j])} %`).join(", ");
    const output = parts.map((part, n) => [outputs[chosen][n], part]).filter(([value]) => value >= 0.005);
    drawn.say(
      `'${words[chosen]}' counts as ${"aeiou".includes(kind[0]) ? "an" : "a"} ${kind}: ${causal ? "with a causal mask it" : "it"} looks at ${told}. ` +
        `Its output is ${output.map(([value, part]) => `${(value + 1e-9).toFixed(2)} ${part}`).join(", ")}.`,
    );
  }

  drawn.on(`${drawn.name}-mask`, show);
  drawn.on("text", (text) => {
    const written = text.split(/\s+/).map((word) => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "")).filter(Boolean);
    const long = written.find((word) => [...word].length > longest);
    const wrong = written.length === 0 || written.length > most || long !== undefined;
    drawn.control("text").setAttribute("aria-invalid", wrong);
    if (long !== undefined) return drawn.say(`'${long}' has more than ${longest} letters. The drawing still shows the sentence before.`);
    if (wrong) return drawn.say(`The sentence has ${written.length} words. Write 1 to ${most}. The drawing still shows the sentence before.`);
    words = written;
    chosen = words.length - 1;
    draw();
  });
  draw();
});
