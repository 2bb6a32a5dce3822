/* 모델의 상자: 한 토큰씩 답하게 하고, 무엇을 망설였고 어디를 보았는지 그립니다.
 *
 * 계산은 모두 transformer.js가 합니다. 친 글은 이 쪽을 떠나지 않습니다.
 */
"use strict";

(() => {
  const T = notesTransformer;
  const box = document.querySelector(".playground");
  const find = (selector) => box.querySelector(selector);
  const form = find("form");
  const { model: models, text, how, beams, temperature, step, stop } = form.elements;
  const [answer, status, paths] = [".answer", ".status", ".beams"].map(find);
  const [attention, map, table, detail] =
    [".attention", ".map", "table", ".detail"].map(find);
  const [kind, layer, head] = ["kind", "layer", "head"].map((n) => find(`[name=${n}]`));

  const element = (tag, content, attributes = {}) => {
    const made = document.createElement(tag);
    made.append(content);
    for (const name in attributes) made.setAttribute(name, attributes[name]);
    return made;
  };
  const shown = (token) => token.replaceAll(" ", "␣");
  const frame = () => new Promise((done) => setTimeout(done));
  /** 한 말을 모두 바꿉니다. 되묻는 말이 먼저입니다. */
  const tell = (...lines) => status.replaceChildren(
    ...lines.filter(Boolean).map((line) => element("p", line)));

  // 한 번의 답 --------------------------------------------------------------------

  let run = null; // 지금 쓰는 답
  let turn = 0; // 누를 때마다 늘어납니다. 늘어나면 앞서 누른 것은 그만둡니다

  function clear() {
    run = null;
    for (const place of [answer, status, paths]) place.replaceChildren();
    attention.hidden = true;
  }

  const asked = () => JSON.stringify(
    [models.value, text.value, how.value, beams.value, temperature.value]);

  /** 글을 읽어, 한 스텝씩 나아갈 답을 마련합니다. */
  function begin(model) {
    const { ids, warning, text: source, spans } = T.read(model, text.value);
    tell(warning);
    const iterator = {
      greedy: () => T.generate(model, ids),
      beam: () => T.searchBeams(model, ids, beams.valueAsNumber),
      sample: () => T.generate(model, ids, (log) =>
        T.draw(log, temperature.valueAsNumber)),
    }[how.value]();
    run = {
      asked: asked(), model, ids, warning, source, iterator, steps: [], milliseconds: 0,
      said: (tokens) => model.tokenizer.decode(tokens, spans),
      name: (token) => model.tokenizer.name(token, spans),
    };
    chooseViews();
    if (model.task === "classify") label();
  }

  /** 토큰 하나만큼 나아갑니다. */
  function advance() {
    const start = performance.now();
    const { value, done } = run.iterator.next();
    run.milliseconds += performance.now() - start;
    run.done = done;
    if (done) return;
    if (Array.isArray(value)) {
      run.steps = value[0].steps;
      paths.replaceChildren(...value.map(({ ids, score }) => element("li",
        `${run.said(ids) || "(아직 빈 답)"} (${score.toFixed(3)})`)));
      draw();
    } else {
      run.steps.push(value);
      draw(run.steps.length - 1);
    }
    answer.replaceChildren(...run.steps.filter(({ token }) => token !== T.EOS).map(word));
    show(run.steps.length - 1);
    run.done = value.token === T.EOS;
  }

  const chance = ({ token, log }) => Math.exp(log[token]);

  /** 답의 토큰 하나. 망설인 만큼 밑줄이 짙습니다. 누르면 그 행을 고릅니다. */
  function word(made, place) {
    const name = run.name(made.token);
    const p = chance(made);
    const drawn = element("span", place ? name : name.replace(/^ /, ""), {
      title: `${place + 1}번째 토큰 ‘${shown(name)}’, 확률 ${T.written(p)}`,
      style: `--doubt: ${(1 - p).toFixed(3)}`,
    });
    drawn.addEventListener("click", () => {
      if (kind.value !== "encoder") show(place);
    });
    return drawn;
  }

  /** 가장 망설인 토큰의 자리. 쓴 것이 있으면 <eos>는 보지 않습니다. */
  function weakest() {
    const written = run.steps.filter(({ token }) => token !== T.EOS);
    const chances = (written.length ? written : run.steps).map(chance);
    return chances.indexOf(Math.min(...chances));
  }

  /** 답을 다 쓴 다음에 확신을 적고, 믿기 어려우면 되묻습니다. */
  function finish() {
    const { model, steps, source, warning, milliseconds } = run;
    const said = run.said(steps.map(({ token }) => token));
    const logs = steps.map(({ token, log }) => log[token]);
    const certainty = Math.exp(logs.reduce((a, b) => a + b) / logs.length);
    const { held, asked: doubtful } = T.judge(model, said, certainty, source);
    const cut = steps.at(-1).token === T.EOS ? "" : T.cut();
    const place = weakest();
    const name = shown(run.name(steps[place].token));
    const speed = ((steps.length * 1000) / milliseconds).toFixed(0);
    if (held) answer.replaceChildren();
    tell(held, doubtful, warning, cut,
      `${held ? "" : `답 ‘${said}’. `}확신 ${T.written(certainty)}. 가장 망설인 토큰은 `
      + `‘${name}’ ${T.written(chance(steps[place]))}. `
      + `${steps.length}토큰, 1초에 ${speed}토큰.`);
    if (kind.value !== "encoder") show(place);
  }

  function label() {
    const { probabilities, weights } = T.classify(run.model, run.ids);
    Object.assign(run, { encoder: weights, done: true });
    const { labels } = run.model.card;
    const [best, ...others] = T.largest(probabilities, labels.length);
    const certainty = probabilities[best];
    answer.textContent = labels[best];
    const losers = others.map((i) => `${labels[i]} ${T.written(probabilities[i])}`);
    tell(T.judge(run.model, labels[best], certainty).asked, run.warning,
      `답 ‘${labels[best]}’. 확신 ${T.written(certainty)} (${losers.join(", ")}).`);
    draw();
    show(0);
  }

  /** 답하기(끝까지)와 한 토큰씩이 함께 지나는 길. 앞의 답을 쓰던 중이면 그만둡니다. */
  async function go(untilEnd) {
    if (!form.reportValidity()) return;
    const mine = (turn += 1);
    stop.disabled = false;
    detail.ariaLive = "off"; // 쓰는 동안에는 답을 다 쓴 다음에만 읽어 줍니다
    try {
      if (!run || run.done || run.asked !== asked()) {
        clear();
        tell("모델을 읽는 중입니다.");
        const model = await notesModel(models.value);
        if (mine !== turn) return;
        begin(model);
      }
      while (!run.done) {
        advance();
        if (!untilEnd) break;
        await frame();
        if (mine !== turn) return;
      }
      if (run.done && run.steps.length) finish();
    } catch (error) {
      if (mine !== turn) return;
      clear();
      tell(error.message);
    }
    rest();
  }

  function rest() {
    stop.disabled = true;
    detail.ariaLive = "polite";
  }

  /** 쓰던 답을 멈춥니다. 다시 누르면 이어서 씁니다. */
  function halt() {
    turn += 1;
    rest();
    if (!run) return clear();
    tell(`${run.steps.length}토큰까지 쓰고 멈추었습니다. 다시 누르면 이어서 씁니다.`,
      run.warning);
  }

  // 어텐션 ------------------------------------------------------------------------

  /** 고를 수 있는 종류, 층, 헤드를 모델에 맞춥니다. */
  function chooseViews() {
    const { task, config } = run.model;
    for (const option of kind.options) {
      option.hidden = task === "classify" && option.value !== "encoder";
    }
    kind.value = task === "classify" ? "encoder" : "cross";
    const numbers = (count, name) => Array.from({ length: count }, (_, i) =>
      new Option(`${i + 1}번째 ${name}`, i));
    layer.replaceChildren(...numbers(config.num_layers, "층"));
    layer.value = config.num_layers - 1;
    head.replaceChildren(
      new Option("모두의 평균", "mean"), ...numbers(config.num_heads, "헤드"));
  }

  /** 지금 고른 어텐션의 행과 열의 토큰, 그리고 행마다의 가중치 */
  function view() {
    const name = (id) => shown(run.name(id));
    const source = run.ids.map(name);
    const written = run.steps.map(({ token }) => name(token));
    const place = Number(layer.value);
    const mean = (rows) => rows[0].map((_, key) =>
      rows.reduce((sum, row) => sum + row[key], 0) / rows.length);
    const chosen = (rows) => (head.value === "mean" ? mean(rows) : rows[head.value]);
    if (kind.value === "encoder") {
      run.encoder ??= T.encode(run.model, run.ids).weights;
      const row = (i) => chosen(run.encoder[place].map((rows) => rows[i]));
      return { queries: source, keys: source, row };
    }
    const keys = kind.value === "cross" ? source : ["<bos>", ...written.slice(0, -1)];
    const row = (i) => chosen(run.steps[i][kind.value][place]);
    return { queries: written, keys, row };
  }

  /** 표를 그립니다. from이 있으면 그 행부터 덧붙입니다. */
  function draw(from = 0) {
    const { queries, keys, row } = view();
    attention.hidden = false;
    if (!from || kind.value === "encoder") table.replaceChildren(element("tbody", ""));
    table.tHead?.remove();
    const top = table.createTHead().insertRow();
    const heading = (key) => element("th", element("span", key), { scope: "col" });
    top.append(element("td", ""), ...keys.map(heading));
    const body = table.tBodies[0];
    for (let i = body.rows.length; i < queries.length; i += 1) {
      const line = body.insertRow();
      const button = element("button", queries[i], { type: "button", tabindex: -1 });
      line.append(element("th", button, { scope: "row" }));
      for (const weight of row(i)) {
        const cell = line.insertCell();
        cell.style.setProperty("--weight", weight.toFixed(3));
        cell.dataset.weight = weight.toFixed(2);
      }
    }
  }

  /** 행 하나를 고릅니다. 그 행에만 수를 적고, 후보와 많이 본 토큰을 글로 적습니다. */
  function select(place) {
    const rows = [...table.tBodies[0].rows];
    const picked = rows[Math.min(place, rows.length - 1)];
    if (!picked) return;
    for (const line of rows) {
      const on = line === picked;
      const button = line.querySelector("button");
      button.tabIndex = on ? 0 : -1;
      button.setAttribute("aria-pressed", on);
      for (const cell of line.querySelectorAll("td")) {
        cell.textContent = on ? cell.dataset.weight : "";
      }
    }
    const { queries, keys, row } = view();
    const at = rows.indexOf(picked);
    const weights = row(at);
    const most = T.largest(weights, 3)
      .map((i) => `‘${keys[i]}’ ${weights[i].toFixed(2)}`).join(", ");
    detail.replaceChildren(element("p", `‘${queries[at]}’의 행에서 많이 본 토큰은 ${most}.`));
    if (kind.value === "encoder") return;
    const { log, token } = run.steps[at];
    const list = element("ol", "", { "aria-label": "이 자리의 후보와 확률" });
    list.append(...T.largest(log, 5).map((id) => {
      const name = shown(run.name(id));
      const item = element("li", element(id === token ? "strong" : "span", name));
      item.append(` ${T.written(Math.exp(log[id]))}`);
      item.style.setProperty("--weight", Math.exp(log[id]).toFixed(3));
      return item;
    }));
    detail.append(list);
  }

  /** 행을 고르고, 표의 머리에 가리지 않게 표만 굴립니다. */
  function show(place) {
    select(place);
    const line = table.querySelector("[aria-pressed=true]").closest("tr");
    const { offsetTop: top, offsetHeight: height } = line;
    const least = top + height - map.clientHeight;
    const most = top - table.tHead.offsetHeight;
    map.scrollTop = Math.min(Math.max(map.scrollTop, least), most);
  }

  const rowOf = ({ target }) =>
    [...(table.tBodies[0]?.rows ?? [])].indexOf(target.closest("tr"));
  for (const type of ["click", "mouseover"]) {
    table.addEventListener(type, (event) => rowOf(event) >= 0 && select(rowOf(event)));
  }
  table.addEventListener("focusin", (event) => show(rowOf(event)));
  table.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = by && table.tBodies[0].rows[rowOf(event) + by];
    if (!next) return;
    event.preventDefault();
    next.querySelector("button").focus();
  });
  for (const choice of [kind, layer, head]) {
    choice.addEventListener("change", () => {
      draw();
      show(kind.value === "encoder" ? 0 : weakest());
    });
  }

  // 고르기와 누르기 ---------------------------------------------------------------

  function showModel() {
    for (const part of box.querySelectorAll("[data-model]")) {
      part.hidden = part.dataset.model !== models.value;
    }
    const labels = models.value === "reviews"; // 고를 토큰이 없습니다
    find(".how").hidden = step.hidden = find(".how fieldset").disabled = labels;
  }
  const examples = [...box.querySelectorAll(".examples button")];
  // 답하는 동안 모델이나 고르는 법을 바꾸면 처음부터 다시 답합니다.
  form.addEventListener("change", ({ target }) => {
    const answering = !stop.disabled;
    if (target.name === "model") {
      showModel();
      turn += 1;
      rest();
      clear();
      const untouched = examples.some(({ textContent }) => textContent === text.value);
      if (untouched) text.value = examples.find(({ hidden }) => !hidden).textContent;
    }
    if (answering && target !== text) go(true);
  });
  for (const [number, value] of [[beams, "beam"], [temperature, "sample"]]) {
    number.addEventListener("input", () => { how.value = value; });
  }
  // 접어 둔 수가 틀렸으면 펼쳐 보입니다.
  form.addEventListener("invalid", () => { find(".how").open = true; }, true);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go(true);
  });
  find(".examples").addEventListener("click", ({ target }) => {
    if (!target.dataset.model) return;
    text.value = target.textContent;
    go(true);
  });
  step.addEventListener("click", () => go(false));
  stop.addEventListener("click", halt);
  // Enter로 답하고, Shift+Enter로 줄을 바꿉니다. 한글을 짜는 중이면 그대로 둡니다.
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  showModel();
})();
