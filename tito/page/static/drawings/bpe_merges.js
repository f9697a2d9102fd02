// Byte-pair encoding: step through the merges of a text, or write another one. Counts, choices and merges are those of lesson 12,
// as `merges` of book/drawings/bpe_merges.py makes them.
drawing("bpe_merges", (drawn) => {
  const [LETTER, EDGE, HEIGHT, ROW, RIGHT] = [9, 12, 28, 34, 356];
  const { text: FIRST, longest, least, shown } = drawn.state;
  let states = [];

  function written(bytes) {
    try {
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(new Uint8Array(bytes));
      return text.replaceAll(" ", "·").replaceAll("\n", "⏎");
    } catch {
      return bytes.map((one) => one.toString(16).padStart(2, "0")).join("");
    }
  }

  // The pairs with their counts: the most frequent first, of equal ones the smallest.
  function ranked(ids) {
    const counts = new Map();
    for (let i = 0; i + 1 < ids.length; i++) {
      const key = `${ids[i]} ${ids[i + 1]}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const pairs = [...counts].map(([key, count]) => [key.split(" ").map(Number), count]);
    return pairs.sort(([a, m], [b, n]) => n - m || a[0] - b[0] || a[1] - b[1]);
  }

  function merged(ids, [first, second], made) {
    const out = [];
    for (let i = 0; i < ids.length; i++) {
      if (ids[i] === first && ids[i + 1] === second) {
        out.push(made);
        i++;
      } else out.push(ids[i]);
    }
    return out;
  }

  function merges(bytes) {
    const tokens = new Map(Array.from({ length: 256 }, (_, id) => [id, [id]]));
    const name = (pair) => pair.map((id) => written(tokens.get(id))).join(" + ");
    const found = [];
    let [ids, made] = [[...bytes], 256];
    let told = `The ${ids.length} bytes of the text are ${ids.length} tokens.`;
    for (;;) {
      const pairs = ranked(ids);
      const [pair, highest] = pairs[0] ?? [null, 0];
      const equal = pairs.filter(([, count]) => count === highest).length;
      if (highest >= least) {
        told += ` Next: ${name(pair)}, which occurs ${highest} times`;
        told += equal > 1 ? `; of ${equal} such pairs, it has the smallest ids.` : ".";
      } else told += " No pair occurs twice.";
      const listed = pairs.slice(0, shown).map(([one, count]) => [name(one), count]);
      found.push({ tokens: ids.map((id) => written(tokens.get(id))), fresh: ids.map((id) => id === made - 1 && made > 256), pairs: listed, told });
      if (highest < least) return found;
      const before = ids.length;
      tokens.set(made, pair.flatMap((id) => tokens.get(id)));
      ids = merged(ids, pair, made);
      told = `Token ${made} = ${name(pair)}: ${before} tokens become ${ids.length}.`;
      made++;
    }
  }

  // As `laid_out` and `panel` of book/drawings/bpe_merges.py.
  function laidOut(tokens) {
    let [x, y] = [2, 2];
    return tokens.map((token) => {
      const width = Math.min(LETTER * [...token].length + EDGE, RIGHT - 2);
      if (x + width > RIGHT) [x, y] = [2, y + ROW];
      x += width;
      return [x - width, y, width];
    });
  }

  function show(step) {
    const { tokens, fresh, pairs, told } = states[step];
    const top = Math.max(...states.map((state) => laidOut(state.tokens).at(-1)[1])) + ROW + 20; // one height for all steps
    const panel = svgPanel(drawn.name, "The tokens of a text, and its most frequent pairs", `${told} A dot is a space.`, 358, top + shown * 24 + 4);
    laidOut(tokens).forEach(([x, y, width], n) =>
      svgCell(panel, x, y, tokens[n], { width, height: HEIGHT, key: `token ${n}` }),
    );
    svgText(panel, 2, top - 6, "most frequent pairs (· is a space)", { kind: "muted", anchor: "start" });
    pairs.forEach(([pair, count], n) => {
      const y = top + n * 24 + 14;
      svgText(panel, 2, y, `${count} ×`, { anchor: "start", key: `count ${n} text` });
      if (n === 0) panel.lastChild.setAttribute("font-weight", "600");
      svgText(panel, 44, y, pair, { anchor: "start", key: `pair ${n} text` });
      if (n === 0) panel.lastChild.setAttribute("font-weight", "600");
    });
    drawn.show([panel]);
    drawn.mark(tokens.map((_, n) => `token ${n}`).filter((_, n) => fresh[n]));
    drawn.say(told);
  }

  states = merges(new TextEncoder().encode(FIRST));
  const go = drawn.steps(() => states.length, show);
  drawn.on("text", (text) => {
    const bytes = new TextEncoder().encode(text);
    const wrong = bytes.length === 0 || bytes.length > longest;
    drawn.control("text").setAttribute("aria-invalid", wrong);
    if (wrong) return drawn.say(`The text has ${bytes.length} bytes. Write 1 to ${longest}. The drawing still shows the text before.`);
    states = merges(bytes);
    go(0);
  });
});
