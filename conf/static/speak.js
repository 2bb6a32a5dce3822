/* 첫 쪽의 상자: 모델이 한 토큰씩 답을 쓰고, 그때 입력의 어디를 보았는지 선으로 잇습니다.
 *
 * 계산은 모두 transformer.js가 합니다. 길이는 모두 글자 하나(1em)가 단위입니다.
 */
"use strict";

(() => {
  const T = notesTransformer;
  const box = document.querySelector(".speak");
  const [form, stage, sheet, seen, status] =
    ["form", ".stage", ".sheet", ".seen", ".status"].map((s) => box.querySelector(s));
  const [read, written] = sheet.querySelectorAll("ol");
  const [svg, lines] = [sheet.querySelector("svg"), sheet.querySelector("g")];
  const { model: models, text } = form.elements;
  const HEIGHT = svg.viewBox.baseVal.height;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;

  let turn = 0; // 새로 물을 때마다 하나씩 늘어납니다
  let asked = null; // 지금 쓰고 있는 답의 물음
  let pace = 0; // 토큰마다 기다리는 밀리초
  let run = null; // 그려 둔 답

  // 그리기 ------------------------------------------------------------------------

  const shown = (token) => token.trim() || "␣";
  const mean = (heads) => heads[0].map((_, key) =>
    heads.reduce((sum, head) => sum + head[key], 0) / heads.length);

  /** 토큰의 줄을 놓습니다. 돌려주는 것은 줄의 너비와, 줄의 가운데에서 잰 칸의 자리. */
  function strip(list, tokens, least, fill) {
    const widths = tokens.map((token) => Math.max(least,
      [...token].reduce((sum, c) => sum + (c < "\u2e80" ? 0.6 : 1), 0.3)));
    list.replaceChildren(...tokens.map((token, i) => {
      const item = document.createElement("li");
      item.style.setProperty("--width", widths[i].toFixed(2));
      item.append(fill(token));
      return item;
    }));
    const total = widths.reduce((a, b) => a + b);
    let end = -total / 2;
    return [total, widths.map((width) => (end += width) - width / 2)];
  }

  const key = (token) => token;
  function query(token) {
    const made = document.createElement("button");
    made.type = "button";
    made.append(token);
    return made;
  }

  function draw({ tokenizer }, { ids, spans }, steps) {
    run = { weights: steps.map(({ cross }) => mean(cross.at(-1))) };
    const name = (id) => (id === T.EOS ? "끝" : shown(tokenizer.name(id, spans)));
    const [above, tops] = strip(read, run.read = ids.map(name), 0, key);
    run.written = steps.map(({ token }) => name(token));
    const [below, ends] = strip(written, run.written, 1.5, query);
    Object.assign(run, { tops, ends });
    const wide = Math.max(above, below);
    sheet.style.setProperty("--wide", wide.toFixed(2));
    svg.setAttribute("viewBox", `${(-wide / 2).toFixed(2)} 0 ${wide.toFixed(2)} ${HEIGHT}`);
  }

  /** 답의 토큰 하나를 고르고, 그것을 고를 때 본 곳으로 선을 긋습니다. */
  function select(at) {
    const [weights, x] = [run.weights[at], run.ends[at].toFixed(2)];
    [...written.children].forEach((item, i) => {
      item.classList.toggle("chosen", i === at);
      item.firstChild.tabIndex = i === at ? 0 : -1;
      item.firstChild.setAttribute("aria-pressed", i === at);
    });
    [...read.children].forEach((item, i) =>
      item.style.setProperty("--weight", weights[i].toFixed(3)));
    lines.innerHTML = run.tops.map((top, i) => {
      const to = top.toFixed(2);
      return `<path d="M${x} ${HEIGHT}C${x} 2 ${to} 2 ${to} 0"`
        + ` style="--weight:${weights[i].toFixed(3)}"/>`;
    }).join("");
    const most = T.largest(weights, 2)
      .map((i) => `‘${run.read[i]}’ ${weights[i].toFixed(2)}`).join(", ");
    seen.textContent = `‘${run.written[at]}’의 차례에 많이 본 토큰은 ${most}.`;
  }

  /** 답의 토큰 하나를 고르고, 줄이 상자보다 길면 그 자리로 갑니다. */
  function show(at) {
    select(at);
    stage.scrollLeft = written.children[at].offsetLeft - stage.clientWidth / 2;
  }

  /** 앞의 답을 지웁니다. */
  function clear() {
    run = null;
    for (const part of [read, written, lines, seen]) part.replaceChildren();
  }

  // 답하기 ------------------------------------------------------------------------

  const question = () => JSON.stringify([models.value, text.value]);

  async function answer() {
    const mine = (turn += 1);
    asked = question();
    pace = still ? 0 : 250;
    status.textContent = "";
    try {
      const model = await notesModel(models.value);
      if (mine !== turn) return;
      clear();
      const asking = T.read(model, text.value);
      const steps = [...T.generate(model, asking.ids)];
      draw(model, asking, steps);
      seen.ariaLive = "off"; // 쓰는 동안에는 다 쓴 답만 읽어 줍니다
      for (const item of written.children) item.classList.add("waiting");
      for (const [at, item] of [...written.children].entries()) {
        item.classList.remove("waiting");
        show(at);
        if (pace) await new Promise((done) => setTimeout(done, pace));
        if (mine !== turn) return;
      }
      const said = model.tokenizer.decode(steps.map(({ token }) => token), asking.spans);
      const logs = steps.map(({ token, log }) => log[token]);
      const certainty = Math.exp(logs.reduce((a, b) => a + b) / logs.length);
      const words = logs.slice(0, -1); // 가장 망설인 토큰을 골라 둡니다
      show(Math.max(0, words.indexOf(Math.min(...words))));
      const { held, asked: back } = T.judge(model, said, certainty, asking.text);
      status.textContent = [held || said, back, asking.warning].filter(Boolean).join(" ");
    } catch (error) {
      if (mine !== turn) return; // 그사이에 다른 것을 물었습니다
      status.textContent = error.message;
    }
    asked = null;
    seen.ariaLive = "polite";
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (asked === question()) pace = 0; // 남은 답을 바로 씁니다
    else answer();
  });
  for (const radio of models) {
    radio.addEventListener("change", () => {
      const examples = [...models].map(({ dataset }) => dataset.text);
      if (examples.includes(text.value)) text.value = radio.dataset.text;
      text.labels[0].textContent = radio.dataset.label;
      answer();
    });
  }

  const place = ({ target }) => [...written.children].indexOf(target.closest("li"));
  for (const type of ["click", "focusin", "mouseover"]) {
    written.addEventListener(type, (event) => {
      if (run && place(event) >= 0) select(place(event));
    });
  }
  written.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = by && written.children[place(event) + by];
    if (!next) return;
    event.preventDefault();
    next.firstChild.focus();
  });
  // 쪽이 다 보인 다음에 모델을 읽습니다.
  addEventListener("load", () => setTimeout(() => turn || answer()));
})();
