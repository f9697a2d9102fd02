// A program as a graph with its groups: touch a step, and the sentence says where its result goes. Groups and bytes were computed by
// lesson 21's functions (book/drawings/program_groups.py).
drawing("program_groups", (drawn) => {
  const setting = (name) => drawn.value(`${drawn.name}-${name}`);

  function lay() {
    const key = `${setting("name")} ${setting("loops")}`;
    const { told, inputs } = drawn.state[key];
    const choose = (part) => {
      const n = Number(part.split(" ")[1]) - 1;
      drawn.mark([part, ...inputs[n].map((source) => `step ${source}`)]);
      drawn.say(told[n]);
    };
    drawn.variant(key);
    drawn.touch(
      told.map((_, n) => [`step ${n + 1}`]),
      choose,
    );
    choose(`step ${told.length}`);
  }

  for (const name of ["name", "loops"]) drawn.on(`${drawn.name}-${name}`, lay);
  lay();
});
