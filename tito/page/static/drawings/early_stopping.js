// Learning curves: where early stopping ends the training, and which epoch it keeps, for each patience. The runs were made by lesson
// 08's Trainer; `stopped` and `told` of book/drawings/early_stopping.py say the same.
drawing("early_stopping", (drawn) => {
  const { runs, place: [left, right, top, bottom, highest] } = drawn.state;
  const setting = `${drawn.name}-points`;
  const epochs = Object.values(runs)[0].training.length;
  const x = (epoch) => left + ((right - left) * (epoch - 1)) / (epochs - 1);
  const y = (loss) => bottom - ((bottom - top) * loss) / highest;
  const points = (losses) => losses.map((loss, n) => `${x(n + 1).toFixed(1)},${y(loss).toFixed(1)}`).join(" ");
  const put = (key, attributes) => Object.entries(attributes).forEach(([name, value]) => drawn.part(key).setAttribute(name, value));

  function show() {
    const [count, patience] = [drawn.value(setting), drawn.value("patience")];
    const losses = runs[count].validation;
    const best = losses.indexOf(Math.min(...losses)) + 1;
    let [kept, stop] = [1, 1];
    while (stop < epochs && stop - kept < patience) {
      stop++;
      if (losses[stop - 1] < losses[kept - 1]) kept = stop;
    }
    drawn.output("patience", patience);
    for (const [name, all] of Object.entries(runs[count])) {
      put(`${name} all`, { points: points(all) });
      put(`${name} run`, { points: points(all.slice(0, stop)) });
      put(`${name} name`, { y: y(all.at(-1)) + 4.5 });
    }
    put("wait", { x: x(kept).toFixed(1), width: (x(stop) - x(kept)).toFixed(1) });
    put("kept", { cx: x(kept).toFixed(1), cy: y(losses[kept - 1]).toFixed(1) });
    for (const [key, epoch, text] of [["kept", kept, `keeps epoch ${kept}`], ["stop", stop, `stops after epoch ${stop}`]]) {
      drawn.write(`${key} text`, text);
      put(`${key} text`, { x: Math.min(Math.max(x(epoch), 88), 240) });
      put(`${key} line`, { points: `${x(epoch)},${key === "kept" ? 21 : 41} ${x(epoch)},${bottom}` });
    }
    const ends = stop < epochs ? `stops after epoch ${stop}` : `runs for all ${epochs} epochs`;
    const says = `${count} training points, patience ${patience}: training ${ends} and keeps epoch ${kept}, with a validation loss of ${losses[kept - 1].toFixed(3)}. `;
    drawn.say(
      kept === best
        ? `${says}This is the lowest of ${epochs} epochs; the last has ${losses.at(-1).toFixed(3)}.`
        : `${says}Too early: epoch ${best} would have ${losses[best - 1].toFixed(3)}.`,
    );
  }

  for (const name of ["patience", setting]) drawn.on(name, show);
  show();
});
