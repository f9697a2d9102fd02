// The residual stream: switch off what a part adds. All states were computed with the small GPT (book/drawings/residual_stream.py).
drawing("residual_stream", (drawn) => {
  const [HIGH, TOKENS, CELL, TOP, ROW] = [34, 152, 68, 46, 66];
  const switches = [...drawn.controls.querySelectorAll('[name="adds"]')];

  function show() {
    const off = switches.filter((one) => !one.checked).map((one) => one.value);
    const { rows, notes, told } = drawn.state[drawn.value(`${drawn.name}-prompt`)][off.join(" ")];
    rows.forEach(([tokens, shares], n) => {
      const bar = (share, m) => {
        const height = (HIGH * share) / 100;
        return `M${TOKENS + m * CELL + 1},${TOP + n * ROW + HIGH} v${(0 - height).toFixed(2)} h${CELL - 2} v${height.toFixed(2)} z`;
      };
      drawn.part(`bars ${n}`).setAttribute("d", shares.map(bar).join(""));
      const part = drawn.part(`part ${n}`);
      if (off.includes(String(n - 1))) part.setAttribute("stroke-dasharray", "4 3");
      else part.removeAttribute("stroke-dasharray");
      drawn.set(`part ${n}`, part.hasAttribute("stroke-dasharray") ? "muted" : "value");
      drawn.write(`note ${n} text`, notes[n]);
      tokens.forEach((token, m) => {
        drawn.write(`token ${n} ${m} text`, token);
        drawn.write(`share ${n} ${m} text`, `${shares[m]} %`);
      });
    });
    drawn.say(told);
  }

  drawn.on("adds", show);
  drawn.on(`${drawn.name}-prompt`, show);
  show();
});
