({ root, data, controls, say }) => {
  const [, line] = root.querySelectorAll("polyline");
  const paper = root.querySelector("polyline");
  const dot = root.querySelector("path.tn-here");
  const count = (number) => number.toLocaleString("en-US");
  controls.oninput = () => {
    const { d_model, warmup, step } = controls.elements;
    const [d, w] = [data.d_models[d_model.value], data.warmups[warmup.value]];
    const s = data.places[step.value];
    const at = (model, warm) => (place) =>
      model ** -0.5 * Math.min(place ** -0.5, place * warm ** -1.5);
    const [mine, theirs] = [at(d, w), at(...data.paper)];
    const [peak, base] = [mine(w), theirs(data.paper[1])];
    const high = Math.max(peak, base);
    const draw = (to, rate) => to.setAttribute("points",
      data.places.map((p) => `${p / data.last},${rate(p) / high}`).join(" "));
    draw(line, mine);
    draw(paper, theirs);
    dot.setAttribute("d", `M${s / data.last} ${mine(s) / high}h0`);
    const shown = { d_model: d, warmup: count(w), step: count(s), at: count(s) };
    shown.now = mine(s).toFixed(6);
    shown.top = count(w);
    shown.peak = peak.toFixed(6);
    shown.times = (peak / base).toFixed(2);
    for (const what in shown) say(what, shown[what]);
  };
}
