// Steps through the drawn graph: the buttons, the slider, and the arrow keys on it. Without scripts the page shows the last state
// and every step in words.
for (const figure of document.querySelectorAll(".graph-steps")) {
  const steps = JSON.parse(figure.querySelector("script").textContent);
  const controls = figure.querySelector(".controls");
  const slider = controls.querySelector("input");
  const said = figure.querySelectorAll("li");

  const show = () => {
    const now = Number(slider.value);
    const step = steps[now];
    const backward = "loss" in step.grads;
    said.forEach((line, number) => line.classList.toggle("now", number === now));
    figure.querySelectorAll("[data-node]").forEach((node) => {
      const name = node.dataset.node;
      node.classList.toggle("now", step.at.includes(name));
      node.querySelector(".value").classList.toggle("unknown", !step.values.includes(name));
      node.querySelector(".grad").textContent = name in step.grads ? `grad ${step.grads[name]}` : "";
    });
    figure.querySelectorAll("[data-edge]").forEach((edge) => {
      const [from, to] = edge.dataset.edge.split(" ");
      const propagated = backward ? step.at[0] === to && step.at.includes(from) : step.at.includes(to);
      edge.classList.toggle("now", propagated);
    });
    controls.querySelector("[data-by='-1']").disabled = now === 0;
    controls.querySelector("[data-by='1']").disabled = now === steps.length - 1;
    slider.setAttribute("aria-valuetext", `step ${now + 1} of ${steps.length}`);
  };

  slider.max = steps.length - 1;
  slider.addEventListener("input", show);
  for (const button of controls.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      slider.value = Number(slider.value) + Number(button.dataset.by);
      show();
    });
  }
  controls.hidden = false;
  figure.classList.add("live");
  show();
}
