// The banks of a tile: touch a cell, and the warp reads its column or its row. Banks and conflicts were computed by lesson 22's
// simulator (book/drawings/tile_banks.py).
drawing("tile_banks", (drawn) => {
  const setting = (name) => drawn.value(`${drawn.name}-${name}`);
  const { banks, kinds, told } = drawn.state;
  let chosen = [0, 0];

  function show() {
    const [columns, way] = [setting("columns"), setting("way")];
    const axis = way === "row" ? 0 : 1;
    banks[columns].forEach((row, i) =>
      row.forEach((bank, j) => drawn.set(`cell ${i} ${j}`, [i, j][axis] === chosen[axis] ? kinds[`${columns} ${way}`] : "muted", bank)),
    );
    drawn.mark([`cell ${chosen.join(" ")}`]);
    drawn.say(told[`${columns} ${way}`][chosen[axis]]);
  }

  drawn.touch(
    banks[32].map((row, i) => row.map((_, j) => `cell ${i} ${j}`)),
    (key) => {
      chosen = key.split(" ").slice(1).map(Number);
      show();
    },
    (key) => `row ${key.split(" ")[1]}, column ${key.split(" ")[2]}`,
  );
  for (const name of ["columns", "way"]) drawn.on(`${drawn.name}-${name}`, show);
  show();
});
