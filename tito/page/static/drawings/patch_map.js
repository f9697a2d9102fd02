// A patch map: touch a cell, and the sentence below says what the model predicts with this vector from the clean run. The shares
// were computed by the lesson's functions (book/drawings/patch_map.py).
drawing("patch_map", (drawn) => {
  const { shares, clean, corrupt, streams } = drawn.state;
  const written = (share) => share.toFixed(2).replace("-0.00", "0.00");

  function choose(key) {
    const [row, position] = key.split(" ").slice(1).map(Number);
    const share = shares[row][position];
    drawn.mark([key]);
    drawn.say(
      `With the vector ${streams[row]} at position ${position} from the clean run, the corrupt run predicts e with a probability of ${written(
        corrupt + share * (clean - corrupt),
      )}: ${written(share)} of the difference comes back.`,
    );
  }

  drawn.touch(
    shares.map((row, r) => row.map((_, j) => `cell ${r} ${j}`)),
    choose,
    (key) => `${streams[key.split(" ")[1]]}, position ${key.split(" ")[2]}: ${drawn.part(`${key} text`).textContent}`,
  );
  choose(drawn.state.chosen);
});
