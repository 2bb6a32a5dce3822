({ root, data, controls, say }) => {
  const bars = [...root.querySelectorAll("[data-bars]")].map((group) => [
    ...group.dataset.bars.split(" "),
    [...group.children],
  ]);
  controls.oninput = () => {
    const at = controls.elements.d_k.value;
    say("d_k", data.dimensions[at]);
    for (const [side, what, columns] of bars) {
      columns.forEach((column, key) => {
        const weight = data.weights[side][at][key];
        column.setAttribute("height", what === "weight" ? weight : weight * (1 - weight));
      });
    }
    for (const side in data.read) {
      for (const row in data.read[side]) say(`${side} ${row}`, data.read[side][row][at]);
    }
  };
}
