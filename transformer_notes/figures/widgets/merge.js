({ root, data, controls, say }) => {
  const cells = [...root.querySelectorAll("tbody td")];
  controls.oninput = () => {
    const at = Number(controls.elements.merged.value);
    const { rows, made, ...read } = data.steps[at];
    rows.forEach((tokens, row) => {
      cells[row].replaceChildren(
        ...tokens.map((token) => {
          const piece = document.createElement("span");
          piece.className = token === made ? "tn-token tn-see" : "tn-token";
          piece.textContent = token;
          return piece;
        }),
      );
    });
    say("merged", at);
    for (const what in read) say(what, read[what]);
  };
}
