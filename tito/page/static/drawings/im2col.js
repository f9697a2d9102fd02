// im2col: touch an output (a window, a column of the table), a weight (a row) or a pixel (its copies). The numbers of all four
// settings were computed by the lesson's functions (book/drawings/im2col.py).
drawing("im2col", (drawn) => {
  const [CELL, TOP, LEFT, ROW, SIDE] = [34, 24, 46, 30, 4];
  const setting = (name) => drawn.value(`${drawn.name}-${name}`);
  let state;

  const backward = () => setting("direction") === "backward";
  const pixel = (n) => `pixel ${Math.floor(n / SIDE)} ${n % SIDE}`;
  const copies = () => state.columns.flatMap((row, k) => row.flatMap((n, window) => (n < 0 ? [] : [{ k, window, n }])));
  const box = (key, place) => {
    for (const [name, value] of Object.entries(place)) drawn.part(key).setAttribute(name, value);
    drawn.part(key).style.visibility = "visible";
  };
  const wide = () => (state.outputs.length <= 4 ? CELL : 19);
  const hide = () => ["window", "row", "column"].forEach((key) => (drawn.part(key).style.visibility = "hidden"));
  const sum = (count) => (count ? `${Array(count).fill(1).join(" + ")} = ${count}` : "0");
  const key = (weight) => `weight ${Math.floor(weight / 3)} ${weight % 3}`;

  function chooseWindow(window) {
    hide();
    const [down, right] = [Math.floor(window / state.size), window % state.size].map((one) => one * state.stride);
    box("window", { x: 2 + right * CELL, y: TOP + down * CELL });
    box("column", { x: LEFT + window * wide() });
    const pixels = state.columns.map((row) => row[window]);
    drawn.mark([
      ...pixels.filter((n) => n >= 0).map(pixel),
      ...copies().filter((one) => one.window === window).map((one) => `copy ${one.k} ${one.window}`),
      `output ${Math.floor(window / state.size)} ${window % state.size}`,
    ]);
    const seen = pixels.map((n) => (n < 0 ? "0 (padding)" : n));
    const diagonal = [0, 4, 8].map((k) => seen[k]).join(" + ");
    drawn.say(
      backward()
        ? `Column ${window}: each pixel of this window gets a gradient of 1 from it.`
        : `Column ${window} is one window. Its product with the kernel: ${diagonal} = ${state.outputs[window]}.`,
    );
  }

  function chooseWeight(weight) {
    hide();
    box("row", { y: TOP + 20 + weight * ROW });
    const pixels = state.columns[weight];
    drawn.mark([...pixels.filter((n) => n >= 0).map(pixel), ...pixels.map((n, window) => `copy ${weight} ${window}`), key(weight)]);
    const place = `(${Math.floor(weight / 3)}, ${weight % 3})`;
    const seen = pixels.map((n) => (n < 0 ? "padding" : n)).join(", ");
    drawn.say(
      backward()
        ? `Row ${weight}: the gradients of this row go back to the pixels ${seen}, by one addition to a slice.`
        : `Row ${weight} holds the pixels that weight ${place} multiplies: ${seen}. They are a slice of the picture.`,
    );
  }

  function choosePixel(n) {
    hide();
    const own = copies().filter((one) => one.n === n);
    drawn.mark([pixel(n), ...own.map((one) => `copy ${one.k} ${one.window}`)]);
    const places = `${own.length} place${own.length === 1 ? "" : "s"}`;
    drawn.say(`Pixel ${n} was copied to ${places}.${backward() ? ` Its gradient is the sum: ${sum(own.length)}.` : ""}`);
  }

  function fill() {
    for (const { k, window, n } of copies()) {
      const text = drawn.part(`copy ${k} ${window}`);
      text.textContent = backward() ? 1 : n;
      text.setAttribute("class", backward() ? "gradient" : "text");
    }
    state.counts.flat().forEach((count, n) => drawn.set(pixel(n), backward() ? "gradient" : "value", backward() ? count : n));
    state.outputs.forEach((output, window) => {
      const place = `output ${Math.floor(window / state.size)} ${window % state.size}`;
      drawn.set(place, backward() ? "muted" : "value", output);
    });
  }

  const rows = (name, side) => [...Array(side).keys()].map((i) => [...Array(side).keys()].map((j) => `${name} ${i} ${j}`));
  const place = (part, side) => {
    const [, i, j] = part.split(" ").map(Number);
    return i * side + j;
  };

  function lay() {
    const variant = `${setting("stride")} ${setting("padding")}`;
    state = drawn.state[variant];
    drawn.variant(variant);
    drawn.touch(rows("pixel", SIDE), (part) => choosePixel(place(part, SIDE)), (part) => `pixel ${place(part, SIDE)}`);
    drawn.touch(rows("weight", 3), (part) => chooseWeight(place(part, 3)), (part) => `weight ${part.split(" ").slice(1).join(", ")}`);
    drawn.touch(rows("output", state.size), (part) => chooseWindow(place(part, state.size)), (part) => `output of window ${place(part, state.size)}`);
    // With a mouse the table can be touched, too: above it a column, at its left a row, in it both.
    const table = drawn.part("row").ownerSVGElement;
    table.addEventListener("click", (event) => {
      const scale = table.viewBox.baseVal.width / table.getBoundingClientRect().width;
      const x = (event.clientX - table.getBoundingClientRect().left) * scale;
      const y = (event.clientY - table.getBoundingClientRect().top) * scale;
      const [window, weight] = [Math.floor((x - LEFT) / wide()), Math.floor((y - TOP - 20) / ROW)];
      if (window >= 0 && window < state.outputs.length && weight < 0) chooseWindow(window);
      else if (weight >= 0 && weight < 9 && window < 0) chooseWeight(weight);
      else if (state.columns[weight]?.[window] >= 0) choosePixel(state.columns[weight][window]);
    });
    fill();
    chooseWindow(0);
    drawn.say(state.formula);
  }

  drawn.on(`${drawn.name}-stride`, lay);
  drawn.on(`${drawn.name}-padding`, lay);
  drawn.on(`${drawn.name}-direction`, () => {
    fill();
    choosePixel(5);
  });
  lay();
});
