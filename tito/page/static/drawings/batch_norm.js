// Which numbers share a mean: touch a number of a batch and change it. Batch norm or layer norm, in training or evaluation, as
// `computed` of book/drawings/batch_norm.py has them from lesson 11's functions.
drawing("batch_norm", (drawn) => {
  const EPS = 1e-5;
  const setting = (name, otherwise) => (drawn.control(`${drawn.name}-${name}`) ? drawn.value(`${drawn.name}-${name}`) : otherwise);
  const mean = (row) => row.reduce((sum, one) => sum + one, 0) / row.length;
  const batches = Object.fromEntries(Object.entries(drawn.state).map(([shape, { x }]) => [shape, [...x]]));
  let chosen = 0;
  const now = () => drawn.state[setting("shape", "table")];

  function indices(at) {
    return now().lengths.map((length, axis, all) => Math.floor(at / all.slice(axis + 1).reduce((a, b) => a * b, 1)) % length);
  }

  // The numbers that normalize that `at`, by their places, and their mean and standard deviation.
  function group(at) {
    const method = setting("method");
    const axis = method === "batch" ? 1 : 0;
    const own = indices(at)[axis];
    if (method === "batch" && setting("mode", "training") === "evaluation") {
      const { running } = now();
      return { places: [at], centre: running.mean[own], std: Math.sqrt(running.var[own] + EPS) };
    }
    const x = batches[setting("shape", "table")];
    const places = x.map((_, place) => place).filter((place) => indices(place)[axis] === own);
    const centre = mean(places.map((place) => x[place]));
    return { places, centre, std: Math.sqrt(mean(places.map((place) => (x[place] - centre) ** 2)) + EPS) };
  }

  function show() {
    const x = batches[setting("shape", "table")];
    const { places, centre, std } = group(chosen);
    x.forEach((value, at) => {
      const kind = places.includes(at) ? "value" : "muted";
      const own = group(at);
      drawn.set(`x ${at}`, kind, value);
      drawn.set(`y ${at}`, kind, ((value - own.centre) / own.std).toFixed(2));
    });
    drawn.mark([`x ${chosen}`, `y ${chosen}`]);
    const [n, c] = indices(chosen);
    const name = `x[${indices(chosen).join(", ")}]`;
    drawn.output("chosen", `${name} = ${number(x[chosen])}`);
    const of = setting("method") === "batch" ? `${now().column} ${c}` : `example ${n}`;
    const shared =
      places.length === 1 ? `${name} is normalized with the running statistics of ${of}` : `${name} is normalized with the ${places.length} numbers of ${of}`;
    const same = setting("method") === "layer" && setting("mode") === "evaluation" ? " Layer norm is the same in both modes." : "";
    drawn.say(
      `${shared}: mean ${number(centre)}, standard deviation ${number(std)}. Normalized: (${number(x[chosen])} - ${number(centre)}) / ${number(std)} = ${number((x[chosen] - centre) / std)}.${same}`,
    );
  }

  function lay() {
    const { lengths, x } = now();
    chosen = 0;
    // An image's pixels are reached as they stand: its first row, then that of the next channel.
    const order = (at) => {
      const [n, c, h = 0, w = 0] = indices(at);
      return [n * 2 + h, c * 2 + w];
    };
    const rows = [];
    x.forEach((_, at) => {
      const [row, column] = lengths.length === 2 ? indices(at) : order(at);
      (rows[row] ??= [])[column] = `x ${at}`;
    });
    drawn.touch(
      rows,
      (key) => {
        chosen = Number(key.split(" ")[1]);
        show();
      },
      (key) => `x[${indices(Number(key.split(" ")[1])).join(", ")}]`,
    );
    show();
  }

  for (const [name, by] of [["less", -1], ["more", 1]]) {
    drawn.on(name, () => {
      batches[setting("shape", "table")][chosen] += by;
      show();
    });
  }
  for (const name of ["method", "mode"]) drawn.on(`${drawn.name}-${name}`, show);
  drawn.on(`${drawn.name}-shape`, (shape) => {
    drawn.variant(shape);
    lay();
  });
  lay();
});
