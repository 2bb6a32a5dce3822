({ root, data, controls, say, number }) => {
  const nodes = [...root.querySelectorAll(".tn-node")];
  const lines = [...root.querySelectorAll("ol li")];
  const { beam, alpha, step } = controls.elements;
  controls.oninput = () => {
    const penalty = data.alphas[alpha.value];
    const steps = data.steps[beam.value][alpha.value];
    const last = steps.length - 1;
    // 끝을 보고 있었으면 새 탐색의 끝을 봅니다.
    const now = step.value === step.max ? last : Math.min(step.value, last);
    step.max = last;
    step.value = now;
    say("alpha", penalty.toFixed(1));
    say("step", now);
    const score = (node) => {
      const factor = ((5 + data.lengths[node]) / 6) ** penalty;
      return number(data.log_p[node] / factor, 2);
    };
    const kept = steps[now];
    const passed = new Set(steps.slice(0, now).flat());
    nodes.forEach((node, place) => {
      const rank = kept.indexOf(place);
      const considered = passed.has(data.parents[place]);
      const state =
        rank >= 0 ? "tn-kept" : passed.has(place) ? "tn-passed" : considered ? "tn-dropped" : "";
      node.setAttribute("class", `tn-node ${state}`);
      const scored = rank >= 0 && now > 0;
      node.querySelector(".tn-number").textContent = scored ? score(place) : data.chances[place];
      node.querySelector(".tn-rank").textContent = scored ? rank + 1 : "";
    });
    lines.forEach((line, rank) => {
      const node = kept[rank];
      line.hidden = node === undefined || now === 0;
      line.textContent = line.hidden ? "" : `${data.answers[node]}: s = ${score(node)}`;
    });
  };
}
