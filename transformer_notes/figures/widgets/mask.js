({ root, data, controls, say, pick, mark }) => {
  const rows = [...root.querySelectorAll("tbody tr")];
  const buttons = rows.map((row) => row.querySelector("button"));
  const heads = [...root.querySelectorAll("thead th")].slice(1);
  let chosen = rows.findIndex((row) => row.className);
  controls.oninput = () => {
    const kind = Number(controls.elements.kind.value);
    const real = {};
    for (const side of ["source", "target"]) {
      real[side] = Number(controls.elements[side].value);
      say(side, real[side]);
    }
    const named = (side) =>
      data.tokens[side].map((token, place) => (place < real[side] ? token : data.pad));
    const { query, key } = data.kinds[kind];
    const queries = named(query);
    const keys = named(key);
    const mask = data.masks[data.names[kind]][real[key] - 1];
    chosen = Math.min(chosen, queries.length - 1);
    heads.forEach((head, place) => {
      head.hidden = place >= keys.length;
      head.textContent = keys[place];
    });
    rows.forEach((row, place) => {
      row.hidden = place >= queries.length;
      row.className = place === chosen ? "tn-chosen" : "";
      buttons[place].textContent = queries[place];
      [...row.querySelectorAll("td")].forEach((cell, column) => {
        const see = mask[place]?.[column];
        cell.hidden = see === undefined;
        cell.className = see === "1" ? "tn-see" : "tn-hidden";
        cell.textContent = see;
      });
    });
    const seen = keys.filter((_, place) => mask[chosen][place] === "1");
    say("query", queries[chosen]);
    say("count", seen.length);
    say("seen", seen.join(" · "));
    mark(buttons, buttons[chosen]);
  };
  pick(buttons, (button) => {
    chosen = buttons.indexOf(button);
    controls.oninput();
  });
}
