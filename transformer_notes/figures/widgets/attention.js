({ root, data, controls, say, pick, mark }) => {
  const kinds = Object.keys(data.weights);
  const panels = kinds.map((kind) => {
    const panel = root.querySelector(`[data-kind="${kind}"]`);
    const buttons = [...panel.querySelectorAll("button")];
    const chosen = buttons.findIndex((b) => b.getAttribute("aria-pressed") === "true");
    const lines = [...panel.querySelectorAll("line")];
    const keys = [...panel.querySelectorAll("ol:last-child li")];
    return { panel, buttons, chosen, lines, keys, kind };
  });
  controls.oninput = (event) => {
    const heads = controls.querySelectorAll("[name=head]:checked");
    if (heads.length === 0) event.target.checked = true; // 하나는 남깁니다
    draw();
  };
  const draw = () => {
    const form = new FormData(controls);
    const shown = panels[form.get("kind")];
    const heads = form.getAll("head");
    const { buttons, chosen, lines, keys, kind } = shown;
    const layer = data.weights[kind][form.get("layer")];
    const [queryTokens, keyTokens] = data.tokens[kind];
    const weights = keyTokens.map(
      (_, key) =>
        heads.reduce((sum, head) => sum + layer[head][chosen][key], 0) / heads.length / 1000,
    );
    for (const { panel } of panels) panel.hidden = panel !== shown.panel;
    mark(buttons, buttons[chosen]);
    weights.forEach((weight, key) => {
      lines[key].setAttribute("y1", chosen + 0.5);
      lines[key].style.setProperty("--weight", weight);
      keys[key].style.setProperty("--weight", weight);
      keys[key].lastChild.textContent = weight.toFixed(2);
    });
    const most = weights
      .map((weight, key) => ({ weight, key }))
      .sort((a, b) => b.weight - a.weight)
      .slice(0, 3);
    say("query", queryTokens[chosen]);
    say("read", most.map((m) => `${keyTokens[m.key]} ${m.weight.toFixed(2)}`).join(" · "));
  };
  for (const shown of panels) {
    pick(shown.buttons, (button) => {
      shown.chosen = shown.buttons.indexOf(button);
      draw();
    });
  }
}
