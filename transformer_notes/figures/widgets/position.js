({ root, data, controls, say, number }) => {
  const plots = {};
  for (const group of root.querySelectorAll("[data-plot]")) {
    plots[group.dataset.plot] = {
      lines: [...group.querySelectorAll("polyline")],
      dots: ["here", "there"].map((which) => group.querySelector(`path.tn-${which}`)),
    };
  }
  const hands = ["here", "there"].map((which) =>
    root.querySelector(`[data-clock] .tn-${which}`),
  );
  // 다른 막대 때문에 줄었던 값은 자리가 다시 나면 고른 대로 돌아옵니다.
  const chosen = {};
  const limit = (name, most, moved) => {
    const slider = controls.elements[name];
    if (!(name in chosen) || moved === slider) chosen[name] = slider.value;
    slider.max = most;
    slider.value = chosen[name];
    return Number(slider.value);
  };
  const draw = (name, length, functions, places) => {
    const points = Array.from({ length }, (_, place) => place);
    functions.forEach((value, index) => {
      const path = points.map((p) => `${p / (length - 1)},${value(p)}`).join(" ");
      plots[name].lines[index].setAttribute("points", path);
    });
    places.forEach((place, index) => {
      const start = `M${place / (length - 1)} ${functions[0](place)}h0`;
      plots[name].dots[index].setAttribute("d", start);
    });
  };
  controls.oninput = ({ target }) => {
    const length = Number(controls.elements.positions.value);
    const model = data.models[controls.elements.model.value];
    const pair = limit("pair", model / 2 - 1, target);
    const here = limit("position", length - 1, target);
    const offset = limit("offset", length - 1 - here, target);
    const places = [here, here + offset];
    const rates = Array.from({ length: model / 2 }, (_, i) => 10000 ** ((-2 * i) / model));
    const rate = rates[pair];
    const sine = (place) => Math.sin(place * rate);
    const cosine = (place) => Math.cos(place * rate);
    const likeness = (place) =>
      rates.reduce((sum, r) => sum + Math.cos((place - here) * r), 0) / rates.length;
    draw("wave", length, [sine, cosine], places);
    draw("likeness", length, [likeness], places);
    places.forEach((place, index) => {
      hands[index].setAttribute("x2", cosine(place));
      hands[index].setAttribute("y2", sine(place));
    });
    const shown = { positions: length, model, pair, position: here, offset };
    shown.rate = number(rate, 4);
    shown.turn = number(rate * offset, 3);
    shown.sine = number(sine(here), 3);
    shown.cosine = number(cosine(here), 3);
    shown["moved-sine"] = number(sine(places[1]), 3);
    shown["moved-cosine"] = number(cosine(places[1]), 3);
    shown.likeness = number(likeness(places[1]), 3);
    for (const what in shown) say(what, shown[what]);
  };
}
