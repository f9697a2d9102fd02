// A matrix product: touch an element of c, and its row, its column and its sum of products are shown.
drawing("matrix_product", (drawn) => {
  const { a, b } = drawn.state;

  function choose(key) {
    const [i, j] = key.split(" ").slice(1).map(Number);
    drawn.mark([key, ...b.flatMap((_, k) => [`a ${i} ${k}`, `b ${k} ${j}`])]);
    const sum = a[i].reduce((total, one, k) => total + one * b[k][j], 0);
    const products = a[i].map((one, k) => `${one} * ${b[k][j]}`).join(" + ");
    drawn.write("sum", `${products} = ${sum}`);
    drawn.say(`c[${i}, ${j}] is row ${i} of a times column ${j} of b: ${products} = ${sum}.`);
  }

  drawn.on("size", () => {
    const size = drawn.value("size");
    const [products, bytes, result] = [size ** 3, 4 * size ** 3, size ** 2].map((one) => one.toLocaleString("en"));
    drawn.output("size", size);
    drawn.say(
      `For matrices of ${size} by ${size}, the array of products has ${products} numbers, ${bytes} bytes; the result has ${result} numbers.`,
    );
  });
  drawn.touch(
    a.map((_, i) => b[0].map((_, j) => `c ${i} ${j}`)),
    choose,
    (key) => `c ${key.split(" ").slice(1).join(", ")}: ${drawn.part(`${key} text`).textContent}`,
  );
  choose("c 0 0");
});
