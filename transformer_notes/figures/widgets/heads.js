({ root, data, controls, say }) => {
  const make = (kind, name, children) => {
    const made = document.createElement(kind);
    made.className = name;
    made.append(...children);
    return made;
  };
  controls.oninput = () => {
    const { heads, stage } = controls.elements;
    const { blocks, tints, title, shape, said } = data.states[heads.value][stage.value];
    root.querySelector(".tn-blocks").replaceChildren(
      ...blocks.map((rows, at) =>
        make("div", "tn-block", [
          make("b", "", [title && `${title} ${at + 1}`]),
          ...rows.map((row, r) =>
            make("div", "tn-row", row.map((number, c) =>
              make("span", tints[at][r][c] ? "tn-token tn-see" : "tn-token", [number])))),
        ])),
    );
    say("shape", shape);
    say("said", said);
  };
}
