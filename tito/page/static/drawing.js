// What the drawings share. A drawing's own script, drawings/NAME.js, calls `drawing("NAME", start)`: `start` is called with each
// such figure on the page, as a Drawn. Without scripts a page shows the drawing's first state and its steps in words.

// A number as `number` of book/drawings/figure.py writes it.
function number(value) {
  if (typeof value === "string") return value;
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value + 0).replace(/^-0$/, "0");
  const [digits, power] = value.toExponential(2).split("e");
  if (power >= -4 && power < 3) return String(Number(value.toPrecision(3)));
  return `${Number(digits)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

class Drawn {
  constructor(figure) {
    this.figure = figure;
    this.name = figure.id.replace("figure-", "");
    this.state = JSON.parse(figure.querySelector(":scope > script").textContent);
    this.controls = figure.querySelector(".controls");
    this.still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  }

  // The part with a key; and all whose keys begin with these words.
  part(key) {
    return this.figure.querySelector(`[data-key="${key}"]`);
  }
  parts(start) {
    return [...this.figure.querySelectorAll(`[data-key^="${start} "]:not([data-key$=" text"])`)];
  }

  write(key, text) {
    this.part(key).textContent = typeof text === "number" ? number(text) : text;
  }

  // What a cell holds: its meaning ("value", "gradient", "wrong", "muted") and its text.
  set(key, kind, text) {
    const cell = this.part(key);
    cell.classList.remove("value", "gradient", "wrong", "muted");
    cell.classList.add(kind);
    if (text !== undefined) this.write(`${key} text`, text);
  }

  // Only these parts have the class; "now" is what is spoken of.
  mark(keys, name = "now") {
    const chosen = new Set(keys);
    for (const part of this.figure.querySelectorAll(`[data-key].${name}`)) part.classList.remove(name);
    for (const key of chosen) this.part(key)?.classList.add(name);
  }

  say(text) {
    this.figure.querySelector(".says").textContent = text;
  }

  // Controls by name: the value of one (a number where it is a slider), and what happens when one is used.
  control(name) {
    return this.controls.querySelector(`[name="${name}"]:checked`) ?? this.controls.querySelector(`[name="${name}"]`);
  }
  value(name) {
    const one = this.control(name);
    return one.type === "range" ? Number(one.value) : one.value;
  }
  on(name, act) {
    for (const one of this.controls.querySelectorAll(`[name="${name}"]`)) {
      one.addEventListener(one.tagName === "BUTTON" ? "click" : "input", () => act(one.value));
    }
  }
  output(name, text) {
    this.controls.querySelector(`[data-value="${name}"]`).textContent = typeof text === "number" ? number(text) : text;
  }

  // Back, Next and the slider between them: `show(step)` for steps 0 to `count()` - 1.
  steps(count, show) {
    const slider = this.control("step");
    const [back, next] = this.controls.querySelectorAll(".stepper button");
    const go = (to) => {
      slider.max = count() - 1;
      slider.value = Math.max(0, Math.min(count() - 1, to));
      const step = Number(slider.value);
      back.disabled = step === 0;
      next.disabled = step === count() - 1;
      slider.setAttribute("aria-valuetext", `step ${step + 1} of ${count()}`);
      show(step);
    };
    slider.addEventListener("input", () => go(Number(slider.value)));
    this.on("by", (by) => go(Number(slider.value) + Number(by)));
    go(0);
    return go;
  }

  // Makes cells buttons: `rows` of keys; one of them is reached with Tab, the others with the arrow keys, which choose, too.
  touch(rows, act, label = (key) => this.part(`${key} text`).textContent) {
    rows.forEach((row, i) =>
      row.forEach((key, j) => {
        const cell = this.part(key);
        cell.setAttribute("role", "button");
        cell.setAttribute("tabindex", i || j ? "-1" : "0");
        cell.setAttribute("aria-label", label(key));
        cell.addEventListener("click", () => act(key));
        cell.addEventListener("keydown", (event) => {
          const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key] ?? [];
          if (event.key === "Enter" || event.key === " ") act(key);
          else if (down === undefined) return;
          event.preventDefault();
          const to = rows[i + down]?.[j + right];
          if (!to) return;
          for (const other of rows.flat()) this.part(other).setAttribute("tabindex", other === to ? "0" : "-1");
          this.part(to).focus();
          act(to);
        });
      }),
    );
  }

  // A circle that can be dragged: `act(x, y)` in the panel's pixels; with a label, arrow keys move it, too. "drag me" stands beside it
  // until it moves. `within(x, y)` says where a press takes it.
  drag(key, act, { label, within } = {}) {
    const handle = this.part(key);
    const panel = handle.closest("svg[role]");
    const place = () => ["cx", "cy"].map((one) => Number(handle.getAttribute(one)));
    within ??= (x, y) => Math.hypot(x - place()[0], y - place()[1]) < 24;
    const at = (event) => {
      const box = panel.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top].map((one) => (one * panel.viewBox.baseVal.width) / box.width);
    };
    let held = false;
    panel.addEventListener("pointerdown", (event) => {
      held = within(...at(event));
      if (held) panel.setPointerCapture(event.pointerId);
      if (held) act(...at(event));
    });
    panel.addEventListener("pointermove", (event) => held && act(...at(event)));
    for (const end of ["pointerup", "pointercancel"]) panel.addEventListener(end, () => (held = false));
    if (label) {
      for (const [name, value] of Object.entries({ role: "img", tabindex: 0, "aria-label": `${label}: the arrow keys move it` })) handle.setAttribute(name, value);
      handle.addEventListener("keydown", (event) => {
        const [across, down] = { ArrowDown: [0, 1], ArrowUp: [0, -1], ArrowRight: [1, 0], ArrowLeft: [-1, 0] }[event.key] ?? [];
        if (across === undefined) return;
        event.preventDefault();
        act(place()[0] + 11 * across, place()[1] + 11 * down);
      });
    }
    handle.classList.add("handle");
    svgText(panel, place()[0] + 14, place()[1] - 6, "drag me", { kind: "text on-line", anchor: "start" });
    const words = panel.lastChild;
    words.setAttribute("aria-hidden", "true");
    const first = String(place());
    new MutationObserver(() => String(place()) !== first && words.remove()).observe(handle, { attributeFilter: ["cx", "cy"] });
  }

  // Puts other panels in the place of those that are shown.
  show(panels) {
    this.figure.querySelector(".panels").replaceChildren(...panels);
  }
  variant(key) {
    this.show([this.figure.querySelector(`template[data-variant="${key}"]`).content.cloneNode(true)]);
  }
}

function drawing(name, start) {
  for (const figure of document.querySelectorAll(`[data-drawing="${name}"]`)) {
    const drawn = new Drawn(figure);
    const panels = figure.querySelector(".panels");
    const first = panels.cloneNode(true); // what is printed, with all steps below it
    addEventListener("beforeprint", () => panels.replaceWith(first));
    addEventListener("afterprint", () => first.replaceWith(panels));
    for (const fold of figure.querySelectorAll("details.answer")) fold.open = true;
    drawn.controls.hidden = false;
    figure.querySelector(".says").hidden = false;
    figure.classList.add("live");
    start(drawn);
  }
}

// New panels, where a reader's choice changes how many cells there are: SVG as `Panel` of book/drawings/figure.py writes it.
function svgPart(tag, attributes, text) {
  const part = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, value);
  if (text !== undefined) part.textContent = text;
  return part;
}

function svgPanel(name, title, description, width, height, touched = false) {
  const [labelledby, describedby] = [`${name}-title`, `${name}-desc`];
  const panel = svgPart("svg", { role: touched ? "group" : "img", width, height, viewBox: `0 0 ${width} ${height}` });
  panel.setAttribute("aria-labelledby", labelledby);
  panel.setAttribute("aria-describedby", describedby);
  panel.append(svgPart("title", { id: labelledby }, title), svgPart("desc", { id: describedby }, description));
  return panel;
}

function svgText(panel, x, y, text, { kind = "text", anchor = "middle", key } = {}) {
  const part = svgPart("text", { class: kind, x, y, "text-anchor": anchor }, typeof text === "number" ? number(text) : text);
  if (key) part.dataset.key = key;
  panel.append(part);
}

function svgCell(panel, x, y, text, { kind = "value", width = 40, height = 34, dashed = false, key } = {}) {
  const part = svgPart("rect", { class: `cell ${kind}`, x, y, width, height, rx: 3 });
  if (dashed) part.setAttribute("stroke-dasharray", "4 3");
  if (key) part.dataset.key = key;
  panel.append(part);
  if (key || text !== "") svgText(panel, x + width / 2, y + height / 2 + 4.5, text, { kind: dashed ? "muted" : "text", key: key && `${key} text` });
}
