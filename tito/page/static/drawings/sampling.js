// Temperature, top-k and top-p: three sliders filter the logits of the next token, the most probable first, as `filtered` of
// lesson 16 does (book/drawings/sampling.py).
drawing("sampling", (drawn) => {
  const { ks, scales, room, prompts } = drawn.state;
  const sum = (row) => row.reduce((total, one) => total + one, 0);

  function softmax(logits) {
    const largest = Math.max(...logits);
    const powers = logits.map((logit) => Math.exp(logit - largest));
    const total = sum(powers);
    return powers.map((power) => power / total);
  }

  function show() {
    const { text, tokens, logits } = prompts[drawn.value(`${drawn.name}-prompt`)];
    const [t, k, p] = [drawn.value("temperature"), ks[drawn.value("top-k")], drawn.value("top-p")];
    const shares = softmax(logits.map((logit, n) => (t > 0 ? logit / t : n === 0 ? 0 : -Infinity)));
    let rest = shares.map((share, n) => (k === null || n < k ? share : 0));
    rest = rest.map((one) => one / sum(rest));
    if (p < 1) {
      let before = 0;
      rest = rest.map((one) => {
        const kept = before < p ? one : 0;
        before += one;
        return kept;
      });
      rest = rest.map((one) => one / sum(rest));
    }
    const words = { temperature: number(t), "top-k": String(k ?? "off"), "top-p": p < 1 ? number(p) : "off" };
    for (const [name, word] of Object.entries(words)) {
      drawn.output(name, word);
      drawn.control(name).setAttribute("aria-valuetext", word);
    }
    const scale = scales.find((one) => one >= Math.max(shares[0], rest[0]) - 1e-9);
    drawn.write("scale", scale);
    const left = (one) => (one > 0 ? one.toFixed(3) : "removed");
    tokens.forEach((token, n) => {
      drawn.write(`token ${n}`, token);
      drawn.part(`token ${n}`).setAttribute("class", rest[n] > 0 ? "text" : "muted");
      drawn.part(`bar ${n}`).setAttribute("width", ((room * rest[n]) / scale).toFixed(1));
      drawn.part(`outline ${n}`).setAttribute("width", ((room * shares[n]) / scale).toFixed(1));
      drawn.part(`outline ${n}`).classList.toggle("hidden", rest[n] === 0);
      drawn.write(`share ${n} text`, shares[n].toFixed(3));
      drawn.write(`rest ${n} text`, left(rest[n]));
      drawn.part(`rest ${n} text`).setAttribute("class", rest[n] > 0 ? "text" : "muted");
    });
    const tail = rest.slice(tokens.length);
    drawn.write("others title text", `${tail.length} others, ${tail.filter((one) => one > 0).length} remain`);
    drawn.write("others share text", sum(shares.slice(tokens.length)).toFixed(3));
    drawn.write("others rest text", left(sum(tail)));
    const kept = rest.filter((one) => one > 0).length;
    const start = `After '${text}', temperature ${words.temperature}, top-k ${words["top-k"]}, top-p ${words["top-p"]}: `;
    if (kept === rest.length) return drawn.say(`${start}all ${kept} tokens remain. '${tokens[0]}' has a probability of ${rest[0].toFixed(3)}.`);
    if (kept === 1) return drawn.say(`${start}1 of ${rest.length} tokens remains, '${tokens[0]}'.`);
    const share = sum(shares.filter((_, n) => rest[n] > 0)).toFixed(3);
    drawn.say(
      `${start}${kept} of ${rest.length} tokens remain, with ${share} of the probability. Divided by this sum, '${tokens[0]}' has ${rest[0].toFixed(3)} instead of ${shares[0].toFixed(3)}.`,
    );
  }

  for (const name of [`${drawn.name}-prompt`, "temperature", "top-k", "top-p"]) drawn.on(name, show);
  show();
});
