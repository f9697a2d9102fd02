// Broadcasting: the reader chooses an example or types two shapes. Laid out as in book/drawings/broadcasting.py.
{
  const [BOX, CELL, ROW, LABEL, RANK] = [44, 44, 34, 106, 4];
  const MOST = 30; // numbers in a result that is drawn; of a larger one only the shape

  const written = (shape) => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;
  const size = (shape) => shape.reduce((product, length) => product * length, 1);

  // A shape as one types it, "(2, 3)" or "2 3"; undefined for anything else.
  function parsed(text) {
    const inner = text.trim().replace(/^\((.*)\)$/, "$1").trim().replace(/,$/, "");
    if (inner === "") return text.includes("(") ? [] : undefined;
    const lengths = inner.split(/\s*,\s*|\s+/);
    if (lengths.length > RANK || !lengths.every((one) => /^\d{1,4}$/.test(one))) return undefined;
    return lengths.map(Number);
  }

  const padded = (shape, rank) => [...Array(rank - shape.length).fill(1), ...shape];

  // The shape of the result, or {bad: [axes from the left that do not fit]}.
  function broadcast(a, b) {
    const rank = Math.max(a.length, b.length);
    const [left, right] = [padded(a, rank), padded(b, rank)];
    const bad = left.flatMap((length, axis) => (length !== right[axis] && length !== 1 && right[axis] !== 1 ? [axis] : []));
    return { bad, shape: left.map((length, axis) => (length === 1 ? right[axis] : length)) };
  }

  // The index of an operand's number that stands at (i, j) of the result: an axis of length 1 has stride 0.
  function place(x, rank, i, j) {
    const index = [i, j].slice(2 - rank).slice(rank - x.shape.length);
    return index.map((at, axis) => (x.shape[axis] === 1 ? 0 : at));
  }
  function valueAt(x, index) {
    let at = 0;
    index.forEach((one, axis) => (at = at * x.shape[axis] + one));
    return x.data[at];
  }

  drawing("broadcasting", (drawn) => {
    const example = `${drawn.name}-example`;

    function render(a, b, sign, wanted) {
      const { bad, shape } = broadcast(a.shape, b.shape);
      const rank = Math.max(a.shape.length, b.shape.length);
      const named = { a: a.shape, b: b.shape, ...(bad.length ? {} : { result: shape }) };
      const told = Object.entries(named).map(([name, lengths]) => `${name} has the shape ${written(lengths)}`).join("; ");
      const high = 3 * ROW + 30;
      const shapes = svgPanel(`${drawn.name}-shapes`, "The shapes, one below the other", told, LABEL + RANK * BOX + 6, high);
      Object.entries(named).forEach(([name, lengths], row) => {
        const y = 4 + row * (ROW + 6) + (name === "result" ? 8 : 0);
        svgText(shapes, LABEL - 4, y + 22, `${name} ${written(lengths)}`, { anchor: "end", key: `shape ${name}` });
        padded(lengths, rank).forEach((length, axis) => {
          const kind = bad.includes(axis) ? "wrong" : "value";
          const dashed = axis < rank - lengths.length;
          svgCell(shapes, LABEL + (RANK - rank + axis) * BOX, y, length, { kind, width: BOX, height: ROW, dashed, key: `length ${name} ${axis}` });
        });
      });
      if (bad.length) {
        drawn.show([shapes]);
        const axis = bad.at(-1);
        const [m, n] = [padded(a.shape, rank)[axis], padded(b.shape, rank)[axis]];
        drawn.say(`ValueError: on axis ${axis - rank} the lengths are ${m} and ${n}. They differ, and neither is 1.`);
        return;
      }
      const repeated = ["a", "b"].flatMap((name) => {
        const own = padded((name === "a" ? a : b).shape, rank);
        const axes = own.flatMap((length, axis) => (length === 1 && shape[axis] > 1 ? [axis] : []));
        return axes.length ? [`${name} is repeated along axis ${axes.join(" and ")}`] : [];
      });
      const says = `The result has the shape ${written(shape)}${repeated.length ? `: ${repeated.join(", ")}` : ""}.`;
      if (rank > 2 || size(shape) > MOST || size(shape) === 0 || shape.at(-1) > 7) {
        drawn.show([shapes]);
        drawn.say(`${says} It has ${size(shape).toLocaleString("en")} numbers.`);
        return;
      }
      const [rows, columns] = [1, 1, ...shape].slice(-2);
      const grid = (key, title, touched, cell) => {
        const numbers = [...Array(rows).keys()].map((i) => [...Array(columns).keys()].map((j) => number(cell(i, j)[0])).join(" "));
        const [wide, high] = [columns * CELL + 4, rows * ROW + 26];
        const panel = svgPanel(`${drawn.name}-${key}`, title, numbers.join("; "), wide, high, touched);
        svgText(panel, 2, 16, title, { anchor: "start" });
        panel.lastChild.setAttribute("font-weight", "600");
        for (let i = 0; i < rows; i++) {
          for (let j = 0; j < columns; j++) {
            const [text, options] = cell(i, j);
            svgCell(panel, 2 + j * CELL, 24 + i * ROW, text, { width: CELL, height: ROW, key: `${key} ${i} ${j}`, ...options });
          }
        }
        return panel;
      };
      const operand = (key, x) => {
        const [own, across] = [1, 1, ...x.shape].slice(-2);
        return grid(key, key, false, (i, j) => {
          const ghost = i >= own || j >= across;
          return [valueAt(x, place(x, rank, i, j)), { kind: ghost ? "muted" : "value", dashed: ghost }];
        });
      };
      const of = (i, j) => {
        const [left, right] = [a, b].map((x) => valueAt(x, place(x, rank, i, j)));
        return [left, right, sign === "-" ? left - right : left + right];
      };
      const result = grid("result", `a ${sign} b`, true, (i, j) => [of(i, j)[2], { kind: wanted(i, j) ? "value" : "wrong" }]);
      drawn.show([shapes, operand("a", a), operand("b", b), result]);
      drawn.say(says + (sign === "-" ? " Only the diagonal was wanted." : ""));
      const keys = [...Array(rows).keys()].map((i) => [...Array(columns).keys()].map((j) => `result ${i} ${j}`));
      drawn.touch(
        keys,
        (key) => {
          const [i, j] = key.split(" ").slice(1).map(Number);
          const [left, right, sum] = of(i, j);
          const at = (name, x) => `${name}[${place(x, rank, i, j).join(", ")}]`;
          drawn.mark([key, `a ${i} ${j}`, `b ${i} ${j}`]);
          const here = [i, j].slice(2 - rank).join(", ");
          const [from, and] = [at("a", a), at("b", b)].map((one) => one.replace("[]", ""));
          drawn.say(`result[${here}] = ${from} ${sign} ${and} = ${number(left)} ${sign} ${number(right)} = ${number(sum)}.`);
        },
        (key) => `result ${key.split(" ").slice(1).join(", ")}: ${drawn.part(`${key} text`).textContent}`,
      );
    }

    const numbered = (shape, by) => ({ shape, data: Array.from({ length: Math.min(size(shape), 100) }, (_, at) => (at + 1) * by) });

    function own() {
      const shapes = ["a", "b"].map((name) => {
        const shape = parsed(drawn.value(name));
        drawn.control(name).setAttribute("aria-invalid", shape === undefined);
        return shape;
      });
      if (shapes.includes(undefined)) drawn.say(`Write a shape of at most ${RANK} lengths, such as (2, 3) or (3,).`);
      else render(numbered(shapes[0], 1), numbered(shapes[1], 10), "+", () => true);
    }

    function choose(name) {
      if (name === "own") return own();
      const { a, b, sign } = drawn.state[name];
      for (const [key, x] of Object.entries({ a, b })) {
        drawn.control(key).value = written(x.shape);
        drawn.control(key).setAttribute("aria-invalid", false);
      }
      return render(a, b, sign, (i, j) => sign === "+" || i === j);
    }

    drawn.on(example, choose);
    for (const name of ["a", "b"]) {
      drawn.on(name, () => {
        drawn.controls.querySelector(`[name="${example}"][value="own"]`).checked = true;
        own();
      });
    }
    choose("sum");
  });
}
