// A tree of sums, phase by phase: lesson 22's simulator has run the kernels, and `panel` of book/drawings/sum_tree.py has drawn them.
drawing("sum_tree", (drawn) => {
  const order = () => drawn.value(`${drawn.name}-order`);
  const go = drawn.steps(
    () => drawn.state[order()].length,
    (phase) => {
      drawn.variant(`${order()} ${phase}`);
      drawn.say(drawn.state[order()][phase]);
    },
  );
  drawn.on(`${drawn.name}-order`, () => go(1));
  go(1);
});
