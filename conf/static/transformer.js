/* 트랜스포머의 순전파: 글을 읽고 답을 한 토큰씩 씁니다.
 *
 *   글 → 토큰 번호 → 벡터 → 인코더 → 디코더 → 다음 토큰의 확률 → 하나를 고르기 → 글
 *
 * 한 번에 글 하나만 다룹니다. 그래서 배치의 축이 없고, 채울 패딩도 가릴 마스크도
 * 없습니다. 벡터는 Float64Array, 벡터의 나열은 그 목록입니다. 줄 끝에 모양을 적습니다.
 */
"use strict";

const notesTransformer = (() => {
  const [PAD, UNK, BOS, EOS] = [0, 1, 2, 3];
  const MAX_EXTRA = 50; // 입력보다 더 쓸 수 있는 토큰의 수 (논문 6.1절)

  // [토크나이저] -----------------------------------------------------------------

  const PUNCTUATION = "!-/:-@\\[-`{-~\\p{P}"; // ASCII의 부호와 유니코드의 문장 부호
  const PIECES = new RegExp(` ?[^ ${PUNCTUATION}]+| |[${PUNCTUATION}]`, "gu");
  const SPACE = "\\p{White_Space}"; // 자바스크립트의 \s와 몇 글자가 다릅니다
  const EDGES = new RegExp(`^${SPACE}+|${SPACE}+$`, "gu");
  const strip = (text) => text.replace(EDGES, "");

  /** 자리표를 조각으로 되돌립니다. 짝이 되는 조각이 없는 자리표는 지웁니다. */
  function show(text, spans) {
    const marks = [...notesRemarks.copied[1]];
    return Array.from(text, (letter) => {
      const place = marks.indexOf(letter);
      return place < 0 ? letter : spans[place] ?? "";
    }).join("");
  }

  /** tokenizer.json에 적힌 정규화의 한 단계를 함수로 만듭니다. */
  function normalization({ type, pattern, content, prepend }) {
    switch (type) {
      case "NFC": return (text) => text.normalize("NFC");
      case "Strip": return strip;
      case "Prepend": return (text) => text && prepend + text;
      case "Replace": {
        if (pattern.String) return (text) => text.replaceAll(pattern.String, content);
        const found = new RegExp(pattern.Regex.replace("\\s", SPACE), "gu");
        return (text) => text.replace(found, content);
      }
      default: throw new Error(`모르는 정규화입니다: ${type}.`);
    }
  }

  class Tokenizer {
    constructor({ normalizer, model: { vocab, merges } }) {
      this.ids = new Map(Object.entries(vocab));
      this.tokens = [];
      for (const [token, id] of this.ids) this.tokens[id] = token;
      this.steps = normalizer.normalizers.map(normalization);
      this.merges = new Map(merges.map(([left, right], rank) =>
        [this.pair(this.ids.get(left), this.ids.get(right)),
          { rank, merged: this.ids.get(left + right) }]));
    }

    pair(left, right) {
      return left * this.tokens.length + right;
    }

    normalize(text) {
      return this.steps.reduce((done, step) => step(done), text);
    }

    /** 글을 공백 앞과 부호의 양옆에서 자르고, 조각마다 글자를 합쳐 번호로 만듭니다. */
    encode(text) {
      const pieces = this.normalize(text).match(PIECES) ?? [];
      return [...pieces.flatMap((piece) => this.merge(piece)), EOS]; // (length_s,)
    }

    /** 이웃한 쌍 가운데 가장 먼저 배운 것부터, 더 없을 때까지 합칩니다. */
    merge(piece) {
      const ids = Array.from(piece, (letter) => this.ids.get(letter) ?? UNK);
      for (;;) {
        let best = null;
        for (let place = 0; place + 1 < ids.length; place += 1) {
          const found = this.merges.get(this.pair(ids[place], ids[place + 1]));
          if (found && !(best?.rank <= found.rank)) best = { ...found, place };
        }
        if (!best) return ids;
        ids.splice(best.place, 2, best.merged);
      }
    }

    decode(ids, spans = []) {
      const kept = ids.filter((id) => ![PAD, BOS, EOS].includes(id));
      return show(kept.map((id) => this.tokens[id]).join("").replace(/^ /, ""), spans);
    }

    /** 적을 토큰. 자리표는 그 자리의 조각입니다. */
    name = (id, spans = []) => show(this.tokens[id], spans);

    /** [베낄 조각을 자리표로 바꾼 글, 그 조각들]. 자리표를 배우지 않았으면 글 그대로. */
    hide(text) {
      const [pattern, marks] = notesRemarks.copied;
      const copied = new RegExp(pattern.replaceAll("\\s", SPACE), "gu");
      const known = [...marks].filter((mark) => this.ids.has(mark));
      const found = [...new Set(text.match(copied))];
      const isMark = (span) => marks.includes(span); // 글에 적힌 자리표부터 넣습니다
      const spans = found.sort((a, b) => isMark(b) - isMark(a)).slice(0, known.length);
      const hidden = text.replace(copied, (span) => known[spans.indexOf(span)] ?? span);
      return [hidden, spans];
    }

    /** <unk>가 될 글자들 */
    unknown(text) {
      return [...new Set(this.normalize(text))].filter((c) => !this.ids.has(c));
    }
  }

  // [모델 파일] ------------------------------------------------------------------

  /** 함께 온 모델의 파일(safetensors)을 base64로 받아 모델로 되살립니다. */
  async function open(base64) {
    const binary = atob(base64);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < bytes.length; i += 1) bytes[i] = binary.charCodeAt(i);
    const start = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
    const text = (part) => new TextDecoder().decode(part);
    const { __metadata__: notes, tokenizer, ...tensors } =
      JSON.parse(text(bytes.subarray(8, start)));
    const { task, config, card } = JSON.parse(notes.transformer_notes);
    const content = ({ data_offsets: [from, to] }) =>
      bytes.slice(start + from, start + to).buffer;
    const unpacked = new Response(new Blob([content(tokenizer)]).stream()
      .pipeThrough(new DecompressionStream("deflate")));

    // 이름은 층의 차례대로 번호가 붙어 있습니다: 000.embeddings, 001.query_kernel, …
    const names = Object.keys(tensors).filter((n) => !n.endsWith(".scale")).sort();
    const take = (kind) => {
      const name = names.shift();
      if (name?.slice(4) !== kind) {
        throw new Error(`모델 파일에 ${kind}이(가) 필요합니다. 받은 것: ${name}.`);
      }
      return [content(tensors[name]), tensors[name].shape, tensors[`${name}.scale`]];
    };
    const vector = (kind) => Float64Array.from(new Float32Array(take(kind)[0]));
    /** 8비트 정수에 행마다의 배율을 곱해, 행의 목록으로 되돌립니다. (rows, columns) */
    const rows = (kind) => {
      const [buffer, [count, width], scale] = take(kind);
      const [q, s] = [new Int8Array(buffer), new Float32Array(content(scale))];
      return Array.from({ length: count }, (_, row) =>
        filled(width, (c) => Math.fround(s[row] * q[row * width + c])));
    };
    /** 곱할 때에는 열마다 내적하므로 열의 목록으로 둡니다. (columns, rows) */
    const columns = (kind) => {
      const given = rows(kind);
      return Array.from(given[0], (_, c) => filled(given.length, (r) => given[r][c]));
    };
    const attention = () => ({
      query: columns("query_kernel"), key: columns("key_kernel"),
      value: columns("value_kernel"), output: columns("output_kernel"),
      heads: config.num_heads,
    });
    const norm = () => ({ gamma: vector("gamma"), beta: vector("beta") });
    const feedForward = () => ({
      w1: columns("w1"), b1: vector("b1"), w2: columns("w2"), b2: vector("b2"),
    });
    const stack = (crossing) => ({
      layers: Array.from({ length: config.num_layers }, () => ({
        self: attention(), selfNorm: norm(),
        ...(crossing && { cross: attention(), crossNorm: norm() }),
        feedForward: feedForward(), feedForwardNorm: norm(),
      })),
      norm: config.norm_first ? norm() : null,
    });
    const model = { task, config, card, embeddings: rows("embeddings") };
    model.encoder = stack(false);
    if (task !== "classify") model.decoder = stack(true);
    else model.head = { kernel: columns("kernel"), bias: vector("bias") };
    model.tokenizer = new Tokenizer(JSON.parse(await unpacked.text()));
    return model;
  }

  // [벡터] -----------------------------------------------------------------------

  /** 자리마다 valueAt(자리)를 넣은 벡터 */
  function filled(length, valueAt) {
    const made = new Float64Array(length);
    for (let i = 0; i < length; i += 1) made[i] = valueAt(i);
    return made;
  }

  /** from에서 to 앞까지의 내적. 합을 넷으로 나누면 덧셈이 서로를 기다리지 않습니다. */
  function dot(a, b, from, to) {
    let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (let i = from; i < to; i += 4) { // 차원은 모두 4의 배수입니다
      s0 += a[i] * b[i];
      s1 += a[i + 1] * b[i + 1];
      s2 += a[i + 2] * b[i + 2];
      s3 += a[i + 3] * b[i + 3];
    }
    return s0 + s1 + s2 + s3;
  }

  /** 행벡터마다 행렬을 곱합니다. (length, rows)에서 (length, columns) */
  function linear(x, matrix) {
    const { length } = x[0];
    return x.map((row) => {
      const made = new Float64Array(matrix.length);
      for (let c = 0; c < made.length; c += 1) made[c] = dot(row, matrix[c], 0, length);
      return made;
    });
  }

  const add = (a, b) => a.map((value, i) => value + b[i]);

  function softmax(scores) {
    const largest = scores.reduce((a, b) => Math.max(a, b));
    const powers = filled(scores.length, (i) => Math.exp(scores[i] - largest));
    const total = powers.reduce((a, b) => a + b);
    return powers.map((power) => power / total);
  }

  // [층] -------------------------------------------------------------------------

  /** 토큰의 벡터에 √d_model을 곱하고 위치의 사인과 코사인을 더합니다. */
  function embed({ embeddings, config: { d_model: size } }, ids, first = 0) {
    return ids.map((id, i) => embeddings[id].map((value, c) => {
      const angle = (first + i) * 10000 ** ((-2 * Math.floor(c / 2)) / size);
      return value * Math.sqrt(size) + (c % 2 ? Math.cos(angle) : Math.sin(angle));
    })); // (length, d_model)
  }

  function layerNorm(x, { gamma, beta }) {
    const mean = x.reduce((a, b) => a + b) / x.length;
    const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
    const scale = 1 / Math.sqrt(variance + 1e-5);
    return x.map((value, c) => (value - mean) * scale * gamma[c] + beta[c]);
  }

  /** 쿼리마다 키와 견주어 값을 섞습니다. 헤드는 벡터의 한 토막씩을 맡습니다. */
  function attend({ query, output, heads }, x, { keys, values }) {
    const depth = query.length / heads; // d_k
    const queries = linear(x, query); // (length_q, heads · d_k)
    const mixed = queries.map((row) => new Float64Array(row.length));
    const weights = Array.from({ length: heads }, (_, head) => {
      const [from, to] = [head * depth, (head + 1) * depth];
      return queries.map((row, i) => {
        const scores = keys.map((key) => dot(row, key, from, to) / Math.sqrt(depth));
        const weight = softmax(scores); // (length_k,)
        for (let j = 0; j < weight.length; j += 1) {
          for (let c = from; c < to; c += 1) mixed[i][c] += weight[j] * values[j][c];
        }
        return weight;
      });
    }); // (heads, length_q, length_k)
    return [linear(mixed, output), weights];
  }

  const keysValues = ({ key, value }, x) =>
    ({ keys: linear(x, key), values: linear(x, value) });

  function feedForward({ w1, b1, w2, b2 }, x) {
    const hidden = linear(x, w1) // (length, d_ff)
      .map((row) => add(row, b1).map((value) => Math.max(0, value)));
    return linear(hidden, w2).map((row) => add(row, b2)); // (length, d_model)
  }

  /** 하위 층을 감쌉니다. pre-norm은 x + f(LN(x)), post-norm은 LN(x + f(x))입니다. */
  function addAndNorm({ config }, x, norm, sublayer) {
    const normed = (rows) => rows.map((row) => layerNorm(row, norm));
    const changed = sublayer(config.norm_first ? normed(x) : x);
    const added = x.map((row, i) => add(row, changed[i]));
    return config.norm_first ? added : normed(added);
  }

  // [인코더] ---------------------------------------------------------------------

  /** 입력을 한꺼번에 읽습니다. weights는 층마다 (heads, length_s, length_s)입니다. */
  function encode(model, ids) {
    const weights = [];
    let x = embed(model, ids);
    for (const layer of model.encoder.layers) {
      x = addAndNorm(model, x, layer.selfNorm, (y) => {
        const [mixed, seen] = attend(layer.self, y, keysValues(layer.self, y));
        weights.push(seen);
        return mixed;
      });
      x = addAndNorm(model, x, layer.feedForwardNorm, (y) =>
        feedForward(layer.feedForward, y));
    }
    return { memory: atEnd(model.encoder, x), weights };
  }

  /** pre-norm의 스택은 끝에서 한 번 더 정규화합니다. */
  const atEnd = ({ norm }, x) => (norm ? x.map((row) => layerNorm(row, norm)) : x);

  /** 글을 분류합니다. 토큰의 벡터를 평균해 레이블마다 점수를 매깁니다. */
  function classify(model, ids) {
    const { memory, weights } = encode(model, ids);
    const mean = memory.reduce(add).map((value) => value / ids.length); // (d_model,)
    const [logits] = linear([mean], model.head.kernel);
    return { probabilities: softmax(add(logits, model.head.bias)), weights };
  }

  // [디코더] ---------------------------------------------------------------------

  /** 답을 쓸 채비: 입력을 읽고, 메모리의 키와 값을 층마다 한 번만 계산합니다. */
  function prepare(model, ids) {
    const { memory } = encode(model, ids);
    return {
      limit: ids.length + MAX_EXTRA,
      memory: model.decoder.layers.map(({ cross }) => keysValues(cross, memory)),
      cache: model.decoder.layers.map(() => ({ keys: [], values: [] })),
    };
  }

  /** 방금 고른 토큰 하나를 넣고, 다음 토큰의 로그 확률을 구합니다.
   *
   * 앞선 토큰의 키와 값은 캐시에 있습니다. 캐시는 고치지 않고 새로 이어 붙이므로,
   * 여러 빔이 한 캐시에서 갈라져도 서로를 건드리지 않습니다.
   */
  function next(model, memory, cache, token, position) {
    const [grown, self, cross] = [[], [], []];
    let x = embed(model, [token], position); // (1, d_model)
    model.decoder.layers.forEach((layer, place) => {
      x = addAndNorm(model, x, layer.selfNorm, (y) => {
        const { keys, values } = keysValues(layer.self, y);
        const old = cache[place];
        grown.push({
          keys: [...old.keys, ...keys], values: [...old.values, ...values],
        });
        const [mixed, seen] = attend(layer.self, y, grown[place]);
        self.push(seen.map(([row]) => row)); // (heads, position + 1)
        return mixed;
      });
      x = addAndNorm(model, x, layer.crossNorm, (y) => {
        const [mixed, seen] = attend(layer.cross, y, memory[place]);
        cross.push(seen.map(([row]) => row)); // (heads, length_s)
        return mixed;
      });
      x = addAndNorm(model, x, layer.feedForwardNorm, (y) =>
        feedForward(layer.feedForward, y));
    });
    const [logits] = linear(atEnd(model.decoder, x), model.embeddings); // (vocab_size,)
    const log = softmax(logits).map(Math.log);
    log[PAD] = -Infinity; // 패딩은 답의 토큰이 아닙니다
    return { log, cache: grown, self, cross };
  }

  // [고르기] ---------------------------------------------------------------------

  /** 큰 것부터 count개의 자리. 같으면 앞선 자리가 먼저입니다. */
  function largest(values, count) {
    const order = Array.from(values.keys()).sort((a, b) => values[b] - values[a]);
    return order.slice(0, count);
  }

  const mostLikely = (log) => log.indexOf(Math.max(...log));

  /** 온도로 나눈 확률대로 하나를 뽑습니다. */
  function draw(log, temperature, random = Math.random) {
    const chances = softmax(log.map((value) => value / temperature));
    let rest = random();
    const drawn = chances.findIndex((chance) => (rest -= chance) < 0);
    return drawn < 0 ? mostLikely(log) : drawn; // 합이 반올림으로 1보다 조금 작을 때
  }

  /** 한 토큰씩 답을 씁니다. choose가 mostLikely이면 그리디입니다. */
  function* generate(model, ids, choose = mostLikely) {
    const { memory, limit, cache } = prepare(model, ids);
    let step = { token: BOS, cache };
    for (let time = 0; time < limit && step.token !== EOS; time += 1) {
      const seen = next(model, memory, step.cache, step.token, time);
      step = { token: choose(seen.log), ...seen };
      yield step;
    }
  }

  /** 빔마다 이어 쓰고, log p / ((5 + 길이) / 6)^alpha가 큰 것부터 남깁니다. */
  function* searchBeams(model, ids, size, alpha = 0.6) {
    const { memory, limit, cache } = prepare(model, ids);
    let beams = [{ ids: [], steps: [], total: 0, cache }];
    const ended = (beam) => beam.ids.at(-1) === EOS || beam.ids.length >= limit;
    const grow = (beam) => {
      if (ended(beam)) return [beam]; // 끝난 답은 그대로 겨룹니다
      const time = beam.ids.length;
      const seen = next(model, memory, beam.cache, beam.ids.at(-1) ?? BOS, time);
      return largest(seen.log, size).map((token) => {
        const total = beam.total + seen.log[token];
        return {
          ids: [...beam.ids, token], steps: [...beam.steps, { token, ...seen }],
          cache: seen.cache, total, score: total / ((6 + time) / 6) ** alpha,
        };
      });
    };
    while (!beams.every(ended)) {
      const grown = beams.flatMap(grow);
      beams = largest(grown.map(({ score }) => score), size).map((i) => grown[i]);
      yield beams;
    }
  }

  // [받을 글] --------------------------------------------------------------------

  /** 할 말의 표(remarks.json)에서 한 마디를 찾아 값을 넣습니다. 표는 모델과 함께 옵니다. */
  const say = (key, values) =>
    notesRemarks.words[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);

  /** 글을 토큰 번호로 바꿉니다. 받을 수 없으면 까닭을, 믿기 어려우면 경고를 냅니다.
   *
   * spans는 옮기기 전에 자리표로 바꾼 조각입니다. 답을 글로 되돌릴 때 씁니다.
   */
  function read({ tokenizer, task, config, card }, text) {
    const given = strip(text);
    if (!given) throw new Error(say("empty"));
    // 모르는 글자는, 아는 글자로 된 같은 뜻의 꼴(NFKC)이 있으면 그것으로 읽습니다.
    const readable = tokenizer.unknown(given).reduce((done, letter) => {
      const plain = letter.normalize("NFKC");
      return tokenizer.unknown(plain).length ? done : done.replaceAll(letter, plain);
    }, given);
    const [hidden, spans] = tokenizer.hide(readable);
    const ids = tokenizer.encode(hidden);
    const unknown = tokenizer.unknown(hidden);
    const letters = Array.from(tokenizer.normalize(readable).replaceAll(" ", ""));
    const rules = notesRemarks.rules[task];
    const values = {
      name: "글", length: ids.length, longest: card.longest_source,
      most: config.max_length - (task === "classify" ? 0 : MAX_EXTRA),
      letters: shortened(unknown.join(" ")),
    };
    const missing = (rule) =>
      rule && !new RegExp(rule[0], "u").test(hidden) && rule[1];
    const strange = (letter) => letter === " " || unknown.includes(letter);
    const refusal = (values.length > values.most && "long")
      || (Array.from(tokenizer.normalize(hidden)).every(strange) && "strange")
      || missing(rules.refuse)
      || (isHeavy(rules, tokenizer.normalize(readable)) && "heavy")
      // 한두 글자에서는 맨 앞의 공백이 너무 무겁습니다.
      || (ids.length - 1 > rules.pieces * Math.max(letters.length, 3) && "broken");
    if (refusal) throw new Error(say(refusal, values));
    const long = values.length > values.longest && "longer";
    const notes = [unknown.length ? "unknown" : long, missing(rules.warn)];
    const warning = notes.filter(Boolean).map((key) => say(key, values)).join(" ");
    return { ids, warning, text: readable, spans };
  }

  /** 관용구를 지우고도 죽음, 병, 스스로 해침, 폭력의 말이 남는가. answers.py와 같습니다. */
  function isHeavy({ idioms = [], heavy = [] }, text) {
    const [but, words] = [idioms, heavy].map((all) =>
      all.join("|").replaceAll(" ", " ?"));
    const left = text.replace(new RegExp(but, "gu"), "");
    return words && new RegExp(`(?<![가-힣])(${words})`, "u").test(left);
  }

  const shortened = (text) => {
    const letters = Array.from(text);
    return letters.length > 40 ? `${letters.slice(0, 39).join("")}…` : text;
  };

  // [낸 답] ----------------------------------------------------------------------

  /** 답을 내놓지 않을 까닭(held)과, 내놓고 되물을 까닭(asked). 없으면 빈 글입니다. */
  function judge({ task }, text, certainty, source = "") {
    const rules = notesRemarks.rules[task];
    const { years: [first, last] = [], least, doubt } = rules;
    const lost = missingMarks(rules, source, text);
    const values = {
      name: "글", answer: text, certainty: written(certainty), least, doubt, first, last,
      lost: shortened(lost.join(" ")),
    };
    const held = (!text && "blank") || (first && notADay(text, first, last))
      || (certainty < least && "unsure");
    if (held) return { held: say(held, values), asked: "" };
    const reasons = [certainty < doubt && "doubtful", lost.length && "lost",
      missesNegation(rules, source, text) && "turned"];
    const asked = reasons.filter(Boolean).map((key) => say(key, values)).join(" ");
    return { held: "", asked };
  }

  const found = (pattern, text) => text.match(new RegExp(pattern, "gu")) ?? [];

  /** 원문보다 답에 적게 있는 부호, 이름, 수 */
  function missingMarks({ marks = "(?!)" }, source, text) {
    const [wanted, given] = [found(marks, source), found(marks, text)];
    const count = (all, mark) => all.filter((one) => one === mark).length;
    return [...new Set(wanted)].filter((mark) => count(wanted, mark) > count(given, mark));
  }

  /** 부정하는 말이 원문보다 답에 적은가 */
  const missesNegation = ({ negation = ["(?!)", "(?!)"] }, source, text) =>
    found(negation[0], source).length > found(negation[1], text).length;

  /** 확률을 네 자리로 적습니다. */
  const written = (chance) => chance.toPrecision(4);

  function notADay(text, first, last) {
    if (!/^\d{4}-\d\d-\d\d$/.test(text)) return "no_date";
    const day = new Date(`${text}T00:00Z`);
    if (Number.isNaN(+day) || !day.toISOString().startsWith(text)) return "no_day";
    return text < `${first}` || text > `${last + 1}` ? "other_year" : "";
  }

  /** 길이의 한도에서 끊긴 답에 할 말 */
  const cut = () => say("cut", { name: "글", extra: MAX_EXTRA });

  return {
    open, read, judge, cut, written, encode, classify, generate, searchBeams, draw,
    largest, embed, keysValues, attend, feedForward, addAndNorm, linear, softmax,
    PAD, UNK, BOS, EOS, MAX_EXTRA,
  };
})();
