// Softmax: two sliders change the logits; float32 is computed as `numbers` of book/drawings/softmax.py does.
drawing("softmax", (drawn) => {
  const { logits, map } = drawn.state;
  const float32 = Math.fround;
  const written = (value) => (value >= 1000 && value < 1e6 ? value.toFixed(0) : number(value));
  const listed = (row) => row.map(written).join(", ");

  function extent(kind, value, values) {
    if (kind === "logit") {
      const width = (Math.abs(value) * map.up) / Math.max(map.least, ...values.map(Math.abs));
      return [map.zero - (value < 0 ? width : 0), width];
    }
    if (!Number.isFinite(value)) return [map.left, map.room];
    return [map.left, (map.room * value) / (kind === "power" ? Math.max(...values) : 1)];
  }

  function fill(kind, values) {
    values.forEach((value, n) => {
      const key = `${kind} ${n}`;
      const [x, width] = extent(kind, value, values);
      drawn.part(key).setAttribute("x", x.toFixed(1));
      drawn.part(key).setAttribute("width", width.toFixed(1));
      drawn.set(key, Number.isFinite(value) ? "value" : "wrong", written(value));
    });
  }

  function show() {
    const [multiply, add] = [drawn.value("multiply"), drawn.value("add")];
    drawn.output("multiply", multiply);
    drawn.output("add", add);
    let row = logits.map((logit) => float32(logit * multiply + add));
    const shifted = drawn.value(`${drawn.name}-shift`) === "max";
    const largest = Math.max(...row);
    if (shifted) row = row.map((logit) => float32(logit - largest));
    const powers = row.map((logit) => float32(Math.exp(logit)));
    const total = powers.reduce((sum, power) => float32(sum + power));
    const shares = powers.map((power) => float32(power / total));
    drawn.write("title logit", shifted ? "logits minus the largest" : "logits");
    fill("logit", row);
    fill("power", powers);
    fill("share", shares);
    const after = shifted ? `, after subtracting ${number(largest)}` : "";
    const overflow = Number.isFinite(total) ? "" : " In float32, exp is inf above 88.72, and inf / inf is nan.";
    drawn.say(`Logits ${listed(row)}${after}: exp gives ${listed(powers)}; divided by their sum, ${written(total)}: ${listed(shares)}.${overflow}`);
  }

  for (const name of ["multiply", "add", `${drawn.name}-shift`]) drawn.on(name, show);
  show();
});
