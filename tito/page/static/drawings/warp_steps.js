// 32 threads over addresses: the states were computed by lesson 22's functions (book/drawings/warp_steps.py).
drawing("warp_steps", (drawn) => {
  const { stops, states } = drawn.state;

  function show() {
    const n = Number(drawn.value("stop"));
    const { pieces, banks, told } = states[n];
    drawn.output("stop", stops[n]);
    drawn.control("stop").setAttribute("aria-valuetext", stops[n]);
    pieces.forEach((count, i) => drawn.set(`piece ${i}`, count ? "value" : "muted", count || ""));
    banks.forEach((count, i) => drawn.set(`bank ${i}`, count > 1 ? "wrong" : count ? "value" : "muted", count || ""));
    drawn.say(told);
  }

  drawn.on("stop", show);
  show();
});
