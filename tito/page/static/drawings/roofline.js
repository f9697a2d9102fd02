// A roofline: machine and operation are set, the point and the roof are computed as in book/drawings/roofline.py.
drawing("roofline", (drawn) => {
  const { plot, across, up } = drawn.state;
  const operation = `${drawn.name}-operation`;
  const x = (intensity) => plot.left + ((Math.log10(intensity) - across[0]) / (across[1] - across[0])) * (plot.right - plot.left);
  const y = (speed) => plot.bottom - ((Math.log10(speed) - up[0]) / (up[1] - up[0])) * (plot.bottom - plot.top);

  function line(key, points, limit) {
    const part = drawn.part(key);
    part.setAttribute("points", points.map((point) => point.map((one) => one.toFixed(1)).join(",")).join(" "));
    if (key === "ridge") return;
    part.classList.toggle("gradient", key === limit);
    part.classList.toggle("muted", key !== limit);
    part.setAttribute("stroke-width", key === limit ? 4 : 2);
  }

  function show() {
    const [gflops, gbytes] = [drawn.value("gflops"), drawn.value("gbytes")];
    const n = 2 ** drawn.value("exponent");
    const product = drawn.value(operation) === "matmul";
    const [flops, bytes] = [product ? 2 * n ** 3 : n ** 2, 12 * n ** 2];
    const [arithmetic, memory] = [flops / gflops / 1e3, bytes / gbytes / 1e3];
    const limit = memory > arithmetic ? "memory" : "arithmetic";
    const speed = flops / Math.max(arithmetic, memory) / 1e3;
    drawn.output("exponent", n);
    drawn.control("exponent").setAttribute("aria-valuetext", `n = ${n}`);
    drawn.output("gflops", gflops);
    drawn.output("gbytes", gbytes);
    const low = Math.max(10 ** across[0], 10 ** up[0] / gbytes);
    const corner = [x(gflops / gbytes), y(gflops)];
    line("memory", [[x(low), y(low * gbytes)], corner], limit);
    line("arithmetic", [corner, [x(10 ** across[1]), corner[1]]], limit);
    line("ridge", [corner, [corner[0], plot.bottom]]);
    drawn.part("here").setAttribute("cx", x(flops / bytes).toFixed(1));
    drawn.part("here").setAttribute("cy", y(speed).toFixed(1));
    drawn.say(
      `${product ? "A matrix product" : "A sum"} with n = ${n}: ${number(flops / bytes)} FLOPs per byte. Its arithmetic takes ` +
        `${number(arithmetic)} microseconds, its bytes ${number(memory)}, so it waits for ${limit}; at best ${number(speed)} ` +
        `billion FLOPs per second. The ridge point is at ${number(gflops / gbytes)} FLOPs per byte.`,
    );
  }

  for (const name of [operation, "exponent", "gflops", "gbytes"]) drawn.on(name, show);
  show();
});
