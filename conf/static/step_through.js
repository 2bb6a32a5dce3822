/* 「한 문장을 끝까지」의 상자: 글이 답이 될 때까지의 단계를 다 계산해 두고 하나씩 그립니다.
 *
 * 계산은 transformer.js의 층이 합니다. 단계 하나가 모델의 지도의 상자 하나입니다.
 */
"use strict";

/** 글 하나가 답이 될 때까지의 단계들. 벡터는 rows의 토큰마다 하나씩입니다. */
const notesStages = (() => {
  const T = notesTransformer;

  /** 번호를 벡터로: 표의 행에 √d_model을 곱하고, 위치를 더합니다. */
  function embed(model, ids, first, note) {
    const root = Math.sqrt(model.config.d_model);
    const before = ids.map((id) => model.embeddings[id].map((value) => value * root));
    const out = T.embed(model, ids, first);
    const changed = out.map((row, i) => row.map((value, c) => value - before[i][c]));
    note({ kind: "tokens" });
    note({ kind: "embedding", out: before });
    note({ kind: "position", before, changed, out });
    return out;
  }

  /** 층 하나를 지나며 하위 층마다 두 단계를 적습니다: 하위 층, 잔차와 정규화. */
  function pass(model, layer, x, sublayers, note) {
    for (const [kind, sublayer] of Object.entries(sublayers)) {
      let made;
      const out = T.addAndNorm(model, x, layer[`${kind}Norm`], (y) =>
        (made = sublayer(layer[kind], y)).out);
      note({ kind, ...made });
      note({ kind: "addNorm", of: kind, before: x, changed: made.out, out });
      x = out;
    }
    return x;
  }

  function attention(part, x, keysValues, seen) {
    const [out, weights] = T.attend(part, x, keysValues);
    return { out, weights, seen, ...keysValues };
  }

  function feedForward(part, x) {
    const hidden = T.linear(x, part.w1).map((row) =>
      row.map((value, i) => Math.max(0, value + part.b1[i])));
    return { out: T.feedForward(part, x), hidden };
  }

  function encode(model, ids, stages) {
    const shared = { side: "encoder", rows: ids };
    const note = (stage) => stages.push({ ...shared, ...stage });
    let x = embed(model, ids, 0, note);
    for (const layer of model.encoder.layers) {
      shared.layer = (shared.layer ?? 0) + 1;
      x = pass(model, layer, x, {
        self: (part, y) => attention(part, y, T.keysValues(part, y), ids),
        feedForward,
      }, note);
    }
    stages.at(-1).isMemory = true;
    return x;
  }

  /** 쓴 글의 끝 토큰을 넣고 다음 토큰을 고릅니다. cache는 한 줄씩 자랍니다. */
  function step(model, ids, memory, cache, written, stages) {
    const time = written.length - 1;
    const shared = { side: "decoder", rows: [written[time]], written, time };
    const note = (stage) => stages.push({ ...shared, ...stage });
    let x = embed(model, shared.rows, time, note);
    model.decoder.layers.forEach((layer, place) => {
      shared.layer = place + 1;
      x = pass(model, layer, x, {
        self: (part, y) => {
          const [old, made] = [cache[place], T.keysValues(part, y)];
          cache[place] = {
            keys: [...old.keys, ...made.keys], values: [...old.values, ...made.values],
          };
          return attention(part, y, cache[place], written);
        },
        cross: (part, y) => attention(part, y, memory[place], ids),
        feedForward,
      }, note);
    });
    delete shared.layer;
    const [logits] = T.linear(x, model.embeddings);
    const chances = T.softmax(logits);
    chances[T.PAD] = 0; // 패딩은 답의 토큰이 아닙니다
    const best = T.largest(chances, 5);
    note({ kind: "choice", out: x, logits, chances, best });
    return best[0];
  }

  return (model, ids) => {
    const stages = [];
    const read = encode(model, ids, stages);
    const memory = model.decoder.layers.map(({ cross }) => T.keysValues(cross, read));
    const cache = memory.map(() => ({ keys: [], values: [] }));
    let written = [T.BOS];
    while (written.at(-1) !== T.EOS && written.length <= ids.length + T.MAX_EXTRA) {
      written = [...written, step(model, ids, memory, cache, written, stages)];
    }
    return stages;
  };
})();

/** 단계마다 적을 글과 그릴 판. 화면의 크기와 색은 모릅니다. */
const notesTelling = (() => {
  const T = notesTransformer;
  /** 단계마다 [지도에서 그 쪽의 몇째 상자, 이름, 배우는 곳] */
  const SHARED = {
    tokens: [0, "토큰화", "tokenization.html#tokenization-code"],
    embedding: [1, "임베딩", "embedding.html#embedding-scale"],
    position: [2, "위치 인코딩", "positional_encoding.html#positional-encoding-formula"],
  };
  const ATTENTION = "multi_head_attention.html#multi-head-attention-uses";
  const FEED_FORWARD = "feed_forward.html#feed-forward-formula";
  const BOXES = {
    encoder: {
      ...SHARED,
      self: [3, "셀프 어텐션", ATTENTION],
      feedForward: [5, "피드포워드", FEED_FORWARD],
    },
    decoder: {
      ...SHARED,
      self: [3, "가린 셀프 어텐션", "masking.html#masking-where"],
      cross: [5, "크로스 어텐션", "decoder.html#decoder-formula"],
      feedForward: [7, "피드포워드", FEED_FORWARD],
      choice: [10, "소프트맥스", "linear_softmax.html#linear-softmax-tied"],
    },
  };
  const ADD_NORM = ["잔차와 정규화", "add_norm.html#add-norm-formula"];

  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  const cosine = (a, b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  const distance = (a, b) => Math.hypot(...a.map((value, i) => value - b[i]));
  const readable = (p) => (p < 1e-4 ? p.toExponential(1) : p.toFixed(4));

  /** 가장 여러 번 나오는 토큰의 자리들 */
  function repeated(ids) {
    const places = new Map();
    ids.forEach((id, i) => places.set(id, [...(places.get(id) ?? []), i]));
    return [...places.values()].reduce((a, b) => (b.length >= a.length ? b : a));
  }

  /** 가중치가 가장 큰 [헤드, 쿼리, 키] */
  function strongest(weights) {
    let best = [0, 0, 0];
    weights.forEach((rows, h) => rows.forEach((row, q) => row.forEach((weight, k) => {
      if (weight > weights[best[0]][best[1]][best[2]]) best = [h, q, k];
    })));
    return best;
  }

  /** 단계를 받아 { side, place, title, href, told, panels, columns }를 냅니다. */
  return ({ config: { d_model: size, d_ff: wide }, tokenizer, embeddings }) => {
    const label = (id) => ({ [T.BOS]: "시작", [T.EOS]: "끝", [T.UNK]: "모름" })[id]
      ?? tokenizer.tokens[id].replaceAll(" ", "␣");
    const quoted = (id) => `‘${label(id)}’`;
    const nth = (ids, i) => `${i + 1}번째 ${quoted(ids[i])}`;
    const vectors = (title, ids, values, marks = []) =>
      ({ title, rows: ids.map(label), values, marks, signed: true });

    const TELL = {
      tokens({ side, rows, written, time }) {
        const listed = written ?? rows;
        const told = side === "encoder"
          ? [`글을 토큰 ${rows.length}개로 나누고 저마다 번호를 붙였습니다.`,
            "␣는 공백이고, ‘끝’은 글이 끝났음을 알리는 <eos>입니다."]
          : time === 0
            ? ["답을 쓰기 시작합니다. ‘시작’은 맨 처음에 넣는 <bos>입니다.",
              "아직 쓴 글이 없으므로 캐시도 비어 있습니다."]
            : [`방금 고른 ${quoted(rows[0])}까지 쓴 글에 붙였습니다.`,
              `이 토큰 하나만 계산합니다. 앞선 ${time}개의 키와 값은 캐시에 있습니다.`];
        const marks = side === "decoder" ? [time] : [];
        return { told, panels: [{ rows: listed.map(label), ids: listed, marks }] };
      },
      embedding({ side, rows, out }) {
        const same = repeated(rows);
        const told = [`번호마다 표에서 ${size}차원의 행을 찾아 √${size}배로 키웠습니다.`,
          side === "decoder" ? "인코더가 쓴 것과 같은 표입니다."
            : same.length > 1
              ? `${quoted(rows[same[0]])} 토큰 ${same.length}개의 행은 서로 똑같습니다.`
              : "토큰이 모두 다르므로 행도 모두 다릅니다."];
        const marks = side === "encoder" && same.length > 1 ? same : [];
        return { told, panels: [vectors("임베딩 × √d", rows, out, marks)] };
      },
      position({ side, rows, time, before, changed, out }) {
        const [a, b] = repeated(rows);
        const told = ["자리마다 다른 사인과 코사인을 더했습니다.",
          side === "decoder" ? `0부터 세어 ${time}번 자리입니다.`
            : b === undefined ? "순서를 바꾸면 합도 달라집니다."
              : `똑같던 ${a + 1}번째와 ${b + 1}번째 ${quoted(rows[a])}의 거리는 `
                + `이제 ${distance(out[a], out[b]).toFixed(1)}입니다.`];
        const marks = b === undefined ? [] : [a, b];
        return { told, panels: added(rows, ["임베딩", before], ["위치", changed],
          ["합", out], marks) };
      },
      self(stage) {
        const { side, rows, weights, keys } = stage;
        const [head, q, k] = strongest(weights);
        const weight = weights[head][q][k].toFixed(2);
        if (side === "decoder") {
          return {
            told: [`이 토큰의 키와 값을 더해 캐시가 ${keys.length}줄이 되었습니다.`,
              `헤드 ${head + 1}에서 ${nth(stage.written, k)}의 가중치가 ${weight}입니다. `
              + "뒤의 토큰은 아직 없어서 볼 수 없습니다."],
            panels: looking(stage, "캐시의 키", "캐시의 값", [keys.length - 1], k, head),
          };
        }
        return {
          told: [`가장 큰 칸은 헤드 ${head + 1}에 있습니다. ${nth(rows, q)}의 행이 `
            + `${nth(rows, k)}의 열에 주는 가중치가 ${weight}입니다.`,
          "섞은 것에 행렬을 곱하면 다음 단계의 ‘더할 것’입니다."],
          panels: weights.map((values, h) => ({
            title: `헤드 ${h + 1}`, rows: rows.map(label), names: rows.map(label),
            values, marks: h === head ? [q] : [], cell: h === head ? [q, k] : null,
          })),
          columns: [4, 2],
        };
      },
      cross(stage) {
        const [head, , k] = strongest(stage.weights);
        const weight = stage.weights[head][0][k].toFixed(2);
        return {
          told: [`${quoted(stage.rows[0])}의 다음을 고르려고 글을 봅니다. `
            + `헤드 ${head + 1}에서 글의 ${nth(stage.seen, k)}의 가중치가 ${weight}입니다.`,
          "memory의 키와 값은 한 번 계산한 것을 스텝마다 다시 씁니다."],
          panels: looking(stage, "memory의 키", "memory의 값", [], k, head),
        };
      },
      feedForward({ rows, hidden, out }) {
        const cells = hidden.flatMap((row) => [...row]);
        const on = Math.round(100 * cells.filter((value) => value > 0).length
          / cells.length);
        return {
          told: [`행마다 ${size}차원을 ${wide}차원으로 넓히고, 음수를 0으로 바꾸고, `
            + "되돌립니다. 다른 행은 보지 않습니다.",
          `넓힌 성분의 ${on}%가 0보다 큽니다.`],
          panels: [{ ...vectors(`넓힌 것 (${wide}차원)`, rows, hidden), grow: 2 },
            vectors(`나온 것 (${size}차원)`, rows, out)],
        };
      },
      addNorm({ rows, of, before, changed, out, isMemory }) {
        const likeness = out.map((row, i) => cosine(row, before[i]));
        const least = likeness.indexOf(Math.min(...likeness));
        const name = of === "feedForward" ? "피드포워드" : "어텐션";
        const found = `들어온 것과 나온 것의 코사인은 ${likeness[least].toFixed(2)}`;
        return {
          told: [`들어온 벡터에 ${name}의 출력을 더하고 행마다 정규화했습니다.`,
            rows.length === 1 ? `${found}입니다.`
              : `가장 많이 바뀐 ${nth(rows, least)}의 행에서 ${found}입니다.`,
            isMemory ? "이것이 디코더가 볼 memory입니다." : ""],
          panels: added(rows, ["들어온 것", before], ["더할 것", changed],
            ["정규화한 합", out], rows.length > 1 ? [least] : []),
        };
      },
      choice({ written, out, logits, chances, best, rows }) {
        const [chosen] = best;
        const answer = [...written.slice(1), chosen];
        return {
          told: [`벡터를 표의 ${embeddings.length}행과 내적하고 소프트맥스를 씌웠습니다. `
            + `확률이 가장 큰 것은 ${quoted(chosen)}(${readable(chances[chosen])})입니다.`,
          chosen === T.EOS ? `답이 끝났습니다. 답은 ‘${tokenizer.decode(answer)}’입니다.`
            : `지금까지 쓴 글은 ‘${answer.map(label).join("")}’입니다.`],
          panels: [vectors("마지막 벡터", rows, out),
            { ...vectors("로짓 (어휘 집합의 순서)", rows, [logits]), cell: [0, chosen] },
            { title: "확률이 큰 토큰", rows: best.map(label), marks: [0],
              bars: best.map((id) => chances[id]) }],
          columns: [1, 1],
        };
      },
    };

    /** 더하기의 세 판 */
    function added(rows, ...parts) {
      const marks = parts.pop();
      return parts.map(([title, values]) => vectors(title, rows, values, marks));
    }

    /** 쿼리 하나가 보는 키와 값, 그리고 헤드마다의 비율 */
    function looking({ seen, keys, values, weights }, first, second, marks, k, head) {
      const seenBy = seen.map((_, i) => weights.map(([row]) => row[i]));
      return [
        vectors(first, seen, keys, marks), vectors(second, seen, values, marks),
        { title: "보는 비율", rows: seen.map(label), values: seenBy,
          names: weights.map((_, h) => `${h + 1}`), marks, cell: [k, head], grow: 0.6 },
      ];
    }

    return (stage) => {
      const { side, kind, of, layer, time } = stage;
      const box = BOXES[side][of ?? kind];
      const [name, href] = kind === "addNorm" ? ADD_NORM : box.slice(1);
      const shown = TELL[kind](stage);
      const lone = shown.panels.every(({ values }) => values?.length === 1);
      const where = side === "encoder" ? "인코더" : `디코더 ${time + 1}번째`;
      return {
        side, place: box[0] + (kind === "addNorm"), name, href,
        title: `${where}${layer ? ` · ${layer}층` : ""} · ${name}`,
        columns: Array(2).fill(lone ? 1 : shown.panels.length),
        ...shown, told: shown.told.filter(Boolean).join(" "),
      };
    };
  };
})();

/** 판을 캔버스에 그립니다. 칸마다 점 하나인 작은 그림을 만들어 늘립니다. */
const notesPaint = (() => {
  const COLORS = {
    light: { ground: [255, 255, 255], low: [33, 102, 172], high: [178, 24, 43],
      weight: [0, 90, 160], ink: "#1f2328", bar: "#a9cbe4" },
    dark: { ground: [18, 20, 26], low: [120, 180, 230], high: [250, 150, 110],
      weight: [86, 180, 233], ink: "#e6e8eb", bar: "#2c5b7c" },
  };
  const GAP = 6; // 판과 판 사이
  const mixed = (from, to, share) => from.map((c, i) => c + (to[i] - c) * share);

  /** 그릴 종이. 글자의 크기 letter에 나머지를 맞춥니다. */
  return class Paper {
    constructor(canvas) {
      Object.assign(this, { canvas, pen: canvas.getContext("2d") });
    }

    /** 폭에 맞추어 높이를 정합니다. lines는 판 하나의 줄 수입니다. */
    fit(lines) {
      const root = document.documentElement;
      this.family = getComputedStyle(root).getPropertyValue("--pst-font-family-base");
      this.width = this.canvas.clientWidth;
      const size = parseFloat(getComputedStyle(root).fontSize);
      this.narrow = this.width < 28 * size;
      this.letter = (this.narrow ? 0.6 : 0.7) * size;
      this.height = Math.round(this.letter * (1.8 + (this.narrow
        ? 2 * (2.7 + 0.94 * lines) : 2.7 + 1.35 * lines)));
      this.canvas.style.height = `${this.height}px`;
      this.canvas.width = this.width * devicePixelRatio;
      this.canvas.height = this.height * devicePixelRatio;
      this.pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      this.pen.imageSmoothingEnabled = false;
      this.pen.textBaseline = "middle";
    }

    draw({ panels, columns }) {
      const { pen, width, height, letter } = this;
      this.colors = COLORS[document.documentElement.dataset.theme] ?? COLORS.light;
      pen.clearRect(0, 0, width, height);
      this.limit = panels.filter((panel) => panel.signed)
        .flatMap(({ values }) => values.map((row) => row.reduce((a, b) =>
          Math.max(a, Math.abs(b)), 0))).reduce((a, b) => Math.max(a, b), 1e-9);
      const across = columns[Number(this.narrow)];
      const room = (height - 1.8 * letter) / Math.ceil(panels.length / across);
      const labels = 3 * letter;
      for (let first = 0; first < panels.length; first += across) {
        const beside = panels.slice(first, first + across);
        const total = beside.reduce((sum, { grow = 1 }) => sum + grow, 0);
        const free = width - labels - GAP * (beside.length - 1);
        let x = labels;
        beside.forEach((panel, place) => {
          const wide = (free * (panel.grow ?? 1)) / total;
          const area = { x, y: (first / across) * room, wide, room, labels };
          this.panel(panel, area, place === 0, beside.some(({ names }) => names));
          x += wide + GAP;
        });
      }
      this.legend(panels);
    }

    panel(panel, { x, y, wide, room, labels }, first, crowned) {
      const { letter } = this;
      if (panel.ids) {
        this.chips(panel, room);
        return;
      }
      this.write(panel.title, x, y + 0.7 * letter, { bold: true });
      const top = y + (crowned ? 2.7 : 1.5) * letter;
      panel.names?.forEach((name, c) => this.write(name,
        x + ((c + 0.5) * wide) / panel.names.length, top - 0.6 * letter,
        { align: "center" }));
      const most = panel.rows.length === 1 ? 4 : 2;
      const line = Math.min(most * letter, (y + room - top - 2) / panel.rows.length);
      if (first && line > 0.8 * letter) {
        panel.rows.forEach((name, r) => this.write(name, labels - 4,
          top + (r + 0.5) * line, { align: "right", bold: panel.marks.includes(r) }));
      }
      if (panel.bars) this.bars(panel, x, top, wide, line);
      else this.cells(panel, x, top, wide, line);
    }

    cells({ values, signed, marks, cell }, x, top, wide, line) {
      const { pen, colors: { ground, low, high, weight, ink }, limit } = this;
      const [width, height] = [values[0].length, values.length];
      const pixels = new ImageData(width, height);
      values.forEach((row, r) => row.forEach((value, c) => {
        const color = signed
          ? mixed(ground, value < 0 ? low : high, Math.abs(value) / limit)
          : mixed(ground, weight, value ** 0.6);
        pixels.data.set([...color, 255], 4 * (r * width + c));
      }));
      const dots = new OffscreenCanvas(width, height);
      dots.getContext("2d").putImageData(pixels, 0, 0);
      for (let r = 0; r < height; r += 1) {
        pen.drawImage(dots, 0, r, width, 1, x, top + r * line, wide, line - 1);
      }
      pen.strokeStyle = ink;
      pen.lineWidth = 0.5;
      pen.strokeRect(x, top - 0.5, wide, height * line);
      pen.lineWidth = 1.5;
      if (cell) {
        const [r, c] = cell;
        pen.strokeRect(x + (c * wide) / width, top + r * line - 1, wide / width, line + 1);
      } else if (height > 1) {
        for (const r of marks) pen.strokeRect(x, top + r * line - 1, wide, line + 1);
      }
    }

    bars({ bars }, x, top, wide, line) {
      const [{ pen, letter }, room] = [this, wide - 5 * this.letter];
      bars.forEach((share, r) => {
        pen.fillStyle = this.colors.bar;
        pen.fillRect(x, top + r * line, Math.max(1, room * share), line - 2);
        this.write(share.toFixed(4), x + room + letter, top + (r + 0.5) * line);
      });
    }

    /** 토큰과 번호를 한 줄로 늘어놓습니다. */
    chips({ rows, ids, marks }, room) {
      const { pen, letter, width } = this;
      const step = Math.min(4.5 * letter, width / rows.length);
      const top = room / 2 - 2 * letter;
      rows.forEach((name, i) => {
        const [left, bold] = [i * step, marks.includes(i)];
        const look = { align: "center", bold, size: 1.25 };
        pen.strokeStyle = this.colors.ink;
        pen.lineWidth = bold ? 2 : 0.75;
        pen.strokeRect(left + 1, top, step - 3, 2 * letter);
        this.write(name, left + step / 2, top + letter, look);
        this.write("↓", left + step / 2, top + 2.9 * letter, look);
        this.write(`${ids[i]}`, left + step / 2, top + 4.1 * letter, look);
      });
    }

    /** 색의 눈금 */
    legend(panels) {
      const { colors: { ground, low, high, weight }, limit, letter } = this;
      const scales = [];
      if (panels.some(({ signed }) => signed)) {
        scales.push([(-limit).toFixed(1).replace("-", "−"), limit.toFixed(1),
          [low, ground, high]]);
      }
      if (panels.some(({ signed, values }) => values && !signed)) {
        scales.push(["0", "1", [0, 0.125, 0.5, 1].map((w) =>
          mixed(ground, weight, w ** 0.6))]);
      }
      let right = this.width - 1;
      const y = this.height - 0.7 * letter;
      for (const [least, most, stops] of scales.reverse()) {
        this.write(most, right, y, { align: "right" });
        const long = 5 * letter;
        const from = right - this.pen.measureText(most).width - 4 - long;
        const ramp = this.pen.createLinearGradient(from, 0, from + long, 0);
        stops.forEach((color, i) =>
          ramp.addColorStop(i / (stops.length - 1), `rgb(${color})`));
        this.pen.fillStyle = ramp;
        this.pen.fillRect(from, y - 0.5 * letter, long, letter);
        this.write(least, from - 3, y, { align: "right" });
        right = from - 3.5 * letter;
      }
    }

    write(words, x, y, { bold = false, align = "left", size = 1 } = {}) {
      const { pen } = this;
      pen.font = `${bold ? 700 : 400} ${size * this.letter}px ${this.family}`;
      pen.textAlign = align;
      pen.fillStyle = this.colors.ink;
      pen.fillText(words, x, y);
    }
  };
})();

/** 상자: 손잡이가 놓인 단계를 그립니다. */
(() => {
  const T = notesTransformer;
  const form = document.querySelector(".stepper");
  const find = (selector) => form.querySelector(selector);
  const { text, at, back, forward } = form.elements;
  const [canvas, title, count, told, link, skips, status] =
    ["canvas", ".now", ".count", ".told", ".learn", ".skips", ".status"].map(find);
  const map = find(".overview-map");
  const boxes = Object.fromEntries(["encoder", "decoder"].map((side) =>
    [side, [...map.querySelectorAll(`a.${side}:not(.code, .title) rect`)]]));
  const paper = new notesPaint(canvas);

  let stages = []; // 지금 글의 단계들
  let tell; // 단계를 글과 판으로
  let starts = []; // 읽기와 토큰마다의 첫 단계
  let waiting = 0;

  function draw() {
    waiting = 0;
    const now = Number(at.value);
    const shown = tell(stages[now]);
    paper.draw(shown);
    title.textContent = shown.title;
    count.textContent = `${now + 1}/${stages.length}`;
    told.textContent = shown.told;
    link.href = `../lectures/${shown.href}`;
    link.textContent = `배우는 곳: ${shown.name}`;
    const names = shown.panels.map((panel) => panel.title ?? "토큰과 번호").join(", ");
    canvas.setAttribute("aria-label", `그림: ${names}`);
    at.setAttribute("aria-valuetext", `${now + 1}/${stages.length} ${shown.title}`);
    map.querySelector(".lit")?.classList.remove("lit");
    boxes[shown.side][shown.place].classList.add("lit");
    back.disabled = now === 0;
    forward.disabled = now === stages.length - 1;
    const turn = starts.findLastIndex((start) => start <= now);
    [...skips.children].forEach((button, i) => {
      button.setAttribute("aria-current", i === turn ? "step" : "false");
      const known = i === 0 || now >= (starts[i + 1] ?? stages.length) - 1;
      button.textContent = known ? button.dataset.token : "·";
    });
  }

  const redraw = () => { if (stages.length) waiting ||= requestAnimationFrame(draw); };
  const lay = () => {
    if (!stages.length) return;
    paper.fit(Math.max(stages[0].rows.length, 12));
    redraw();
  };

  function move(place) {
    at.value = place;
    redraw();
  }

  /** 앞이나 뒤의 토큰의 첫 단계로 */
  function skip(by) {
    const now = Number(at.value);
    move(by > 0 ? starts.find((start) => start > now) ?? stages.length - 1
      : starts.findLast((start) => start < now) ?? 0);
  }

  async function run() {
    try {
      const model = await notesModel("dates");
      const { ids, warning } = T.read(model, text.value);
      stages = notesStages(model, ids);
      tell = notesTelling(model);
      starts = [...stages.keys()].filter((i) => stages[i].kind === "tokens");
      const chosen = stages.filter(({ kind }) => kind === "choice")
        .map(({ best: [id] }) => id);
      const names = ["읽기", ...chosen.map((id) => (id === T.EOS ? "끝"
        : model.tokenizer.tokens[id].replaceAll(" ", "␣")))];
      skips.replaceChildren(...names.map((name, i) => {
        const button = document.createElement("button");
        button.type = "button";
        button.dataset.token = name;
        button.setAttribute("aria-label", i ? `답의 ${i}번째 토큰 쓰기` : "글 읽기");
        button.addEventListener("click", () => move(starts[i]));
        return button;
      }));
      at.max = stages.length - 1;
      status.textContent = warning;
      lay();
      move(0);
    } catch (error) {
      status.textContent = error.message;
    }
  }

  at.addEventListener("input", redraw);
  at.addEventListener("keydown", (event) => {
    const by = { PageUp: -1, PageDown: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    skip(by);
  });
  back.addEventListener("click", () => move(Number(at.value) - 1));
  forward.addEventListener("click", () => move(Number(at.value) + 1));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  map.parentElement.inert = true; // 지도는 자리만 보입니다. 링크는 글 옆에 있습니다
  form.hidden = false;
  new ResizeObserver(lay).observe(canvas.parentElement);
  new MutationObserver(redraw).observe(
    document.documentElement, { attributeFilter: ["data-theme"] });
  document.fonts.ready.then(redraw);
  run();
})();
