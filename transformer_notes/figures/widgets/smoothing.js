({ root, data, controls, say }) => {
  const [plain, smooth] = root.querySelectorAll("polyline");
  const dot = root.querySelector("path.tn-here");
  controls.oninput = () => {
    const { epsilon: share, gap: apart, vocab } = controls.elements;
    const epsilon = share.value / 20;
    const gap = apart.value / 4;
    const size = data.sizes[vocab.value];
    const others = size - 2; // 정답과 패딩을 뺀 토큰
    const total = (z) => Math.log(Math.exp(z) + others); // 패딩의 몫은 없습니다
    const loss = (z, e) => total(z) - (1 - e) * z;
    const high = Math.max(total(0), loss(12, epsilon));
    const draw = (line, e) => line.setAttribute("points",
      data.gaps.map((z) => `${z / 12},${loss(z, e) / high}`).join(" "));
    draw(plain, 0);
    draw(smooth, epsilon);
    dot.setAttribute("d", `M${gap / 12} ${loss(gap, epsilon) / high}h0`);
    const shown = { epsilon: epsilon.toFixed(2), gap: gap.toFixed(2), vocab: size };
    shown.q = (1 - epsilon).toFixed(3);
    shown["q-other"] = (epsilon / others).toFixed(3);
    shown.p = Math.exp(gap - total(gap)).toFixed(3);
    shown["p-other"] = Math.exp(-total(gap)).toFixed(3);
    shown.loss = loss(gap, epsilon).toFixed(3);
    const best = Math.log(((1 - epsilon) * others) / epsilon);
    shown.lowest = epsilon
      ? `차이가 ${best.toFixed(2)}일 때 가장 작아 ${loss(best, epsilon).toFixed(3)}입니다.`
      : "차이가 클수록 작아집니다.";
    for (const what in shown) say(what, shown[what]);
  };
}
