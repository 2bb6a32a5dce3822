/* 써 보기의 화면: 모델을 불러오고, 한 토큰씩 답하게 하고, 어디를 보았는지 그립니다.
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
  const FIRST_YEAR = 1950, LAST_YEAR = 2049, LEAST = 0.9; // 날짜의 답을 믿을 때

  /** 모델이 배운 글자와, 그 글자가 하나도 없는 글에 할 말 */
  const LEARNED = {
    translator: [/\p{Script=Latin}/u,
      "영어를 배운 모델입니다. 로마자가 없는 글의 답은 믿기 어렵습니다."],
    reviews: [/\p{Script=Hangul}/u,
      "한국어를 배운 모델입니다. 한글이 없는 글의 답은 믿기 어렵습니다."],
    chatbot: [/\p{Script=Hangul}/u, "한국어로 물어 주세요. 한글이 없는 글입니다."],
  };

  const element = (tag, content, attributes = {}) => {
    const made = document.createElement(tag);
    made.append(content);
    for (const name in attributes) made.setAttribute(name, attributes[name]);
    return made;
  };
  const shown = (token) => token.replaceAll(" ", "␣");
  /** 확률. 작은 것은 3.1e-7처럼 적습니다. */
  const readable = (p) => (p < 1e-4 ? p.toExponential(1) : p.toFixed(4));
  const frame = () => new Promise((done) => setTimeout(done));

  // 한 번의 답 --------------------------------------------------------------------

  let run = null; // 지금 쓰는 답

  function clear() {
    run = null;
    answer.textContent = status.textContent = "";
    paths.replaceChildren();
    attention.hidden = true;
  }

  const asked = () => JSON.stringify(
    [models.value, text.value, how.value, beams.value, temperature.value]);

  /** 모델을 열고 글을 읽어, 한 스텝씩 나아갈 답을 마련합니다. */
  async function begin() {
    clear();
    status.textContent = "모델을 읽는 중입니다.";
    const name = models.value;
    const model = await notesModel(name);
    if (name !== models.value) return; // 읽는 동안 다른 모델을 골랐습니다
    const { ids, warning: unknown } = T.read(model, text.value);
    const [letters, foreign] = LEARNED[name] ?? [/\S/];
    const learned = letters.test(text.value);
    if (!learned && model.task === "chat") throw new Error(foreign);
    const warning = [unknown, learned ? "" : foreign].join(" ").trim();
    status.textContent = warning;
    const iterator = {
      greedy: () => T.generate(model, ids),
      beam: () => T.searchBeams(model, ids, beams.valueAsNumber),
      sample: () => T.generate(model, ids, (log) =>
        T.draw(log, temperature.valueAsNumber)),
    }[how.value]();
    run = { asked: asked(), model, ids, warning, iterator, steps: [], milliseconds: 0 };
    chooseViews();
    if (model.task === "classify") label();
  }

  /** 토큰 하나만큼 나아갑니다. 다 썼으면 false입니다. */
  function advance() {
    const start = performance.now();
    const { value, done } = run.iterator.next();
    run.milliseconds += performance.now() - start;
    run.done = done;
    if (done) return false;
    if (Array.isArray(value)) {
      run.steps = value[0].steps;
      paths.replaceChildren(...value.map(({ ids, score }) => element("li",
        `${run.model.tokenizer.decode(ids) || "(아직 빈 답)"} (${score.toFixed(3)})`)));
      draw();
    } else {
      run.steps.push(value);
      draw(run.steps.length - 1);
    }
    answer.textContent = decoded();
    select(run.steps.length - 1);
    map.scrollTop = map.scrollHeight;
    run.done = value.token === T.EOS;
    return true;
  }

  const decoded = () => run.model.tokenizer.decode(run.steps.map(({ token }) => token));
  const chance = ({ token, log }) => Math.exp(log[token]);

  /** 답을 다 쓴 다음에 그 확률과 믿기 어려운 까닭을 적습니다. */
  function finish() {
    const probability = run.steps.map(chance).reduce((a, b) => a * b, 1);
    const notes = [run.warning];
    if (run.steps.at(-1)?.token !== T.EOS) notes.push("길이의 한도에서 끊긴 답입니다.");
    if (run.model.task === "dates") {
      const day = new Date(`${decoded()}T00:00Z`);
      if (Number.isNaN(+day) || day.toISOString().slice(0, 10) !== decoded()) {
        notes.push("달력에 없는 날입니다. 글을 살펴봐 주세요.");
      } else if (decoded() < `${FIRST_YEAR}` || decoded() > `${LAST_YEAR + 1}`) {
        notes.push(`배운 해(${FIRST_YEAR}–${LAST_YEAR})의 밖입니다. 믿기 어렵습니다.`);
      } else if (probability < LEAST) {
        notes.push(`확률이 ${LEAST}보다 낮습니다. 글을 살펴봐 주세요.`);
      }
    }
    const speed = (run.steps.length * 1000) / run.milliseconds;
    const said = `답 ‘${decoded()}’, 확률 ${readable(probability)}, `
      + `${run.steps.length}토큰, 1초에 ${speed.toFixed(0)}토큰.`;
    status.textContent = [said, ...notes].join(" ");
  }

  function label() {
    const { probabilities, weights } = T.classify(run.model, run.ids);
    Object.assign(run, { encoder: weights, done: true });
    const { labels } = run.model.card;
    const [best] = T.largest(probabilities, 1);
    answer.textContent = labels[best];
    const chances = labels.map((name, i) => `${name} ${readable(probabilities[i])}`);
    status.textContent = `답 ‘${labels[best]}’, 확률 ${chances.join(", ")}. ${run.warning}`;
    draw();
    select(0);
  }

  /** 답하기(끝까지)와 한 토큰씩이 함께 지나는 길 */
  async function go(untilEnd) {
    if (!stop.disabled || !form.reportValidity()) return;
    stop.disabled = false;
    try {
      if (!run || run.done || run.asked !== asked()) await begin();
      detail.ariaLive = "off"; // 쓰는 동안에는 답을 다 쓴 다음에만 읽어 줍니다
      while (!stop.disabled && !run.done && advance() && untilEnd) await frame();
      if (run?.done && run.steps.length) finish();
      else if (run && !run.done && untilEnd) {
        const said = `${run.steps.length}토큰까지 쓰고 멈추었습니다. 다시 누르면 이어서 씁니다.`;
        status.textContent = `${said} ${run.warning}`;
      }
    } catch (error) {
      status.textContent = error.message;
    } finally {
      stop.disabled = true;
      detail.ariaLive = "polite";
    }
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
    const name = (id) => shown(run.model.tokenizer.tokens[id]);
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
      const name = shown(run.model.tokenizer.tokens[id]);
      const item = element("li", element(id === token ? "strong" : "span", name));
      item.append(` ${readable(Math.exp(log[id]))}`);
      item.style.setProperty("--weight", Math.exp(log[id]).toFixed(3));
      return item;
    }));
    detail.append(list);
  }

  const rowOf = ({ target }) =>
    [...(table.tBodies[0]?.rows ?? [])].indexOf(target.closest("tr"));
  for (const type of ["click", "focusin", "mouseover"]) {
    table.addEventListener(type, (event) => rowOf(event) >= 0 && select(rowOf(event)));
  }
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
      select(0);
    });
  }

  // 고르기와 누르기 ---------------------------------------------------------------

  function showModel() {
    for (const part of box.querySelectorAll("[data-model]")) {
      part.hidden = part.dataset.model !== models.value;
    }
    find(".how").disabled = models.value === "reviews";
    step.disabled = models.value === "reviews";
  }
  const examples = [...box.querySelectorAll(".examples button")];
  for (const radio of models) {
    radio.addEventListener("change", () => {
      showModel();
      stop.disabled = true;
      clear();
      const untouched = examples.some(({ textContent }) => textContent === text.value);
      if (untouched) text.value = examples.find(({ hidden }) => !hidden).textContent;
    });
  }
  find(".examples").addEventListener("click", ({ target }) => {
    if (target.dataset.model) text.value = target.textContent;
  });
  for (const [number, value] of [[beams, "beam"], [temperature, "sample"]]) {
    number.addEventListener("input", () => { how.value = value; });
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    go(true);
  });
  step.addEventListener("click", () => go(false));
  stop.addEventListener("click", () => { stop.disabled = true; });
  // Enter로 답하고, Shift+Enter로 줄을 바꿉니다. 한글을 짜는 중이면 그대로 둡니다.
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
  showModel();
})();
