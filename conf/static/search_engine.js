/* 찾는 일: 서버도, 미리 만든 낱말표도 없습니다. 색인은 절마다의 글 그대로입니다.
 *
 *   찾는 말 → 뜻(용어의 여러 이름)과 낱말 → 정규식 → 절마다 센 횟수 → BM25F 점수
 *
 * 정규식이 띄어쓰기와 조사, 활용을 함께 다룹니다. '위치인코딩'은 글자 사이에 빈칸이 있어도
 * 되므로 '위치 인코딩'을 찾고, '나누'는 끝소리를 열어 두므로 '나눕니다'도 찾습니다.
 */
"use strict";

const notesSearch = (() => {
  // 점수의 무게. 제목에 있는 말은 본문에 있는 말보다 그 쪽이 무엇을 다루는지 잘 말합니다.
  const WEIGHT = {
    title: 0.4, heading: 0.5, phrases: 0.5, length: 0.6, saturation: 1.5,
    name: 1.6, word: 1.2, number: 2, short: 0.9, pair: 1.2, near: 0.4, phrase: 2, part: 0.5,
    exact: 8, definition: 14, lecture: 18, page: 0.1, api: 0.4, list: 0.9, term: 0.8,
  };

  // 뜻이 없거나 어느 절에나 있는 말
  const EMPTY = new Set(("왜 어떻게 무엇 무엇을 무엇이 뭐 뭔가 뭐야 뭐예요 뭔가요 뭔데 그냥 너무 좀 수 때 것 거 건 게 "
    + "안 못 더 다 잘 왜요 어떤 어디 어디서 언제 몇 그 이 저 및 또 또는 그리고 인데 이란 란 있나 있나요 있어 있음 "
    + "없나 하나 하나요 하죠 하나 해요 하는 하면 하는지 하려면 한 할 해 돼요 되나요 되나 되죠 안돼요 되는 되는지 "
    + "보 보면 보고 알 알아 알려 쓰 써 같 있 없 되 말 주 나 오 the a an of to is in for and or vs how why what with on by do does").split(" "));

  // 용어만 쳤거나 뜻을 물었는지
  const DEFINED = /^(?:\s|이?란|뜻|의미|무엇|뭐|뭔가요|인가요|이야|이?에요|예요|\?)*$/;

  // 낱말 뒤에서 떼는 말. 긴 것부터 봅니다.
  const PARTICLES = ("으로부터 에서부터 이라는 이라고 에서는 에서의 에게서 까지만 까지도 으로는 으로도 이라도 부터는 보다는 "
    + "에서 에게 까지 부터 보다 마다 처럼 만큼 대로 밖에 으로 이랑 이나 이란 이면 라는 라고 하고 한테 에는 에도 와는 과는 "
    + "이야 인가요 인가 인지 인데 이에요 예요 이죠 "
    + "은 는 이 가 을 를 의 에 와 과 도 만 로 랑 나 란 들 번").split(" ");
  const ENDINGS = ("하려면 하나요 하는지 하는법 합니다 하기 하는 하면 하고 해요 하죠 했다 했는데 "
    + "되나요 됩니다 되는지 되는 되면 돼요 되죠 "
    + "았다 었다 았는데 었는데 았어요 었어요 려면 나요 는지 는데 네요 아요 어요 여요 습니다 입니다 는가 은가 을까 지만 면서 거나 도록 "
    + "으면 으려면 아서 어서 니까 을때는 때는 을때 기는 기도 면 고 지 게 나 죠 기 는 은 을 던 다 요 네 음 며 자 라").split(" ");
  const byLength = (a, b) => b.length - a.length;
  PARTICLES.sort(byLength);
  ENDINGS.sort(byLength);

  const WORDS = /\d+(?:\.\d+)*e-\d+|[a-z가-힣\d.√]+/g;
  const HANGUL = /[가-힣]/;
  const GAP = "[\\s_-]*";
  const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  /** 대소문자와 붙여 쓴 이름을 고릅니다: MultiHeadAttention → multi head attention */
  const tidy = (text) => text.normalize("NFC")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/(\d),(?=\d{3}(?!\d))/g, "$1")
    .toLowerCase();

  /** 끝 글자의 받침과, 줄어든 홀소리를 열어 둡니다: 나누 → 나눠, 올리 → 올려 */
  function open(syllable) {
    const code = syllable.charCodeAt(0) - 0xac00;
    if (!HANGUL.test(syllable) || code % 28) return escape(syllable);
    const vowel = Math.floor(code / 28) % 21;
    const range = (first) => `${String.fromCharCode(first)}-${String.fromCharCode(first + 27)}`;
    const shortened = { 20: 6, 13: 14, 8: 9, 0: 1 }[vowel]; // ㅣ→ㅕ, ㅜ→ㅝ, ㅗ→ㅘ, ㅏ→ㅐ(하→해)
    const more = shortened === undefined ? "" : range(syllable.charCodeAt(0) + (shortened - vowel) * 28);
    return `[${range(syllable.charCodeAt(0))}${more}]`;
  }

  /** 줄어든 지난 일과 이름꼴을 줄기로 되돌립니다: 올렸 → 올리, 했 → 하, 다름 → 다르 */
  function unfold(word) {
    const code = word.charCodeAt(word.length - 1) - 0xac00;
    const [vowel, end] = [Math.floor(code / 28) % 21, code % 28];
    if (end !== 20 && end !== 16) return word; // ㅆ, ㅁ
    const full = end === 20 ? { 6: 20, 14: 13, 9: 8, 1: 0 }[vowel] ?? vowel : vowel;
    return word.slice(0, -1) + String.fromCharCode(code + 0xac00 - end + (full - vowel) * 28);
  }

  /** 말 하나를 띄어 썼든 붙여 썼든 찾는 정규식의 글 */
  function pattern(text, opened = false) {
    const units = text.match(/[가-힣]|[a-z]+|\d+(?:\.\d+)*|[^\s_\-가-힣a-z\d]/g) || [];
    const body = units.map((unit, i) =>
      opened && i === units.length - 1 ? open(unit) : escape(unit)).join(GAP);
    const letters = text.replace(/[^a-z가-힣]/g, "");
    const before = /^[a-z]/.test(text) ? "(?<![a-z])" : /^\d/.test(text) ? "(?<![\\d.])" : "";
    const after = /\d$/.test(text) ? "(?![\\d])"
      : /[a-z]$/.test(text) && letters.length <= 3 ? "(?![a-z])" : "";
    if (/^[가-힣]$/.test(text)) {
      return `(?<![가-힣])${text}(?:${PARTICLES.join("|")})?(?![가-힣])`;
    }
    return before + body + after;
  }

  // 색인 ----------------------------------------------------------------------

  let sections, names, average, counts, vocabulary;

  /** 색인 파일이 부릅니다. 절마다 찾을 글을 마련합니다. */
  function accept({ pages, names: groups }) {
    sections = pages.flatMap(([page, entries], order) =>
      entries.map(([anchor, heading, text, code, phrases = ""]) => ({
        page, order, anchor, heading, text, code, title: entries[0][1],
        first: anchor === entries[0][0],
        fields: [entries[0][1], heading, text, code, phrases].map(tidy),
      })));
    for (const section of sections) {
      section.size = section.fields[2].length + section.fields[3].length;
    }
    average = sections.reduce((sum, s) => sum + s.size, 0) / sections.length;
    counts = new Map();
    vocabulary = undefined;
    names = groups.flatMap((group) => {
      const all = group.map(tidy);
      return all.map((name) => ({ name, all }));
    }).sort((a, b) => b.name.replace(/\s/g, "").length - a.name.replace(/\s/g, "").length);
  }

  const times = (text, regex) => {
    let n = 0;
    regex.lastIndex = 0;
    while (regex.exec(text)) n += 1;
    return n;
  };

  /** 절마다 [제목, 절의 제목, 글, 코드, 찾는 말]에 몇 번 나오는지. 찾은 말은 다시 세지 않습니다. */
  function count(source) {
    if (!counts.has(source)) {
      const regex = new RegExp(source, "g");
      const titles = new Map();
      const found = [];
      sections.forEach((section, i) => {
        const [title, ...rest] = section.fields;
        if (!titles.has(title)) titles.set(title, times(title, regex));
        const n = [titles.get(title), ...rest.map((text) => times(text, regex))];
        if (n.some(Boolean)) found.push([i, n]);
      });
      if (counts.size > 300) counts.clear();
      counts.set(source, found);
    }
    return counts.get(source);
  }

  // 찾는 말 --------------------------------------------------------------------

  /** 조사나 어미를 뗀 줄기와, 그것이 움직임을 나타내는 말인지 */
  function stem(word) {
    const after = word.length > 2 && word.match(/(으로|에서|까지|부터|보다|마다|처럼)$/);
    if (after) return [word.slice(0, after.index), false];
    for (const list of [PARTICLES, ENDINGS]) {
      const end = list.find((e) => word.endsWith(e) && word.length - e.length >= 2);
      if (end) return [word.slice(0, -end.length), list === ENDINGS];
    }
    const end = word.length > 1
      && [...PARTICLES, ...ENDINGS].sort(byLength).find((e) => word.endsWith(e) && word.length > e.length);
    return end ? [word.slice(0, -end.length), false] : [word, false];
  }

  /** 찾는 말을 무게가 있는 정규식들로 바꿉니다. */
  function understand(query) {
    let rest = ` ${tidy(query).replace(/[ㄱ-ㅎㅏ-ㅣ]+/g, " ")} `;
    const fixed = [];
    rest = rest.replace(/[가-힣]+|[a-z]{4,}/g, (word) => {
      const better = mended(word);
      if (better !== word) fixed.push([word, better]);
      return better;
    });
    const whole = rest.trim();
    const terms = [];
    const add = (source, weight, shown, opened) => {
      const nothing = new RegExp(source).test(""); // 밑줄뿐인 말은 어디에나 있습니다
      if (nothing || terms.some((t) => t.source === source)) return;
      terms.push({ source, weight, shown, opened });
    };
    let concepts = 0;
    // 코드의 이름을 쳤다면 그 이름을 찾습니다. 이름 속의 낱말을 용어로 읽지 않습니다.
    const code = !HANGUL.test(query) && /[a-z]_[a-z]|[a-z][A-Z]|[=(]/.test(query);
    for (const { name, all } of code ? [] : names) {
      const syllables = name.replace(/[^가-힣]/g, "").length;
      const edge = syllables && syllables < 3 ? "(?<![가-힣])" : "";
      const inQuery = new RegExp(
        edge + pattern(name) + (/[a-z]$/.test(name) ? "(?![a-z])" : ""));
      if (!inQuery.test(rest)) continue;
      rest = rest.replace(inQuery, " ");
      add(all.map((n) => pattern(n)).join("|"), WEIGHT.name, all);
      concepts += 1;
    }
    rest = rest.replace(/[a-z]\w*_\w+/g, (name) => {
      add(pattern(name), WEIGHT.name, [name]);
      return " ";
    });
    const words = (rest.match(WORDS) || []).map((w) => w.replace(/^\.+|\.+$/g, ""))
      .filter((w) => w && !EMPTY.has(w) && !PARTICLES.includes(w));
    for (const word of words) {
      if (!HANGUL.test(word)) {
        const base = word.length > 4 ? word.replace(/(ies|ing|ed|es|s|e)$/, "") : word;
        const rare = /\d{3}|\d\.\d|e-\d/.test(word); // 65나 8은 흔하고 37000은 드뭅니다
        if (word.length > 1) add(pattern(base), rare ? WEIGHT.number : WEIGHT.word, [base]);
        continue;
      }
      const [base, verb] = stem(word);
      if (base.length === 1) {
        if (!EMPTY.has(base)) add(`(?<![가-힣])${base}`, WEIGHT.short, [base]);
        continue;
      }
      const root = unfold(base);
      add(pattern(root, verb || root !== base), WEIGHT.word, [root]);
      const syllables = base.match(/[가-힣]/g) || [];
      for (let i = 0; syllables.length > 2 && i + 1 < syllables.length; i += 1) {
        add(pattern(syllables[i] + syllables[i + 1]), WEIGHT.part, []);
      }
    }
    const only = concepts === 1 && DEFINED.test(rest);
    if (only) return { terms, fixed, whole, code, only };
    // 이웃한 말은 함께 나올 때 더 뜻이 있습니다.
    const all = whole.split(/\s+/).filter((w) => !EMPTY.has(w)).map((w) => (HANGUL.test(w) ? stem(w)[0] : w));
    for (let i = 0; i + 1 < all.length; i += 1) {
      add(pattern(`${all[i]} ${all[i + 1]}`, true), WEIGHT.pair, []);
    }
    for (let i = 0; i + 1 < all.length && all.length < 7; i += 1) {
      for (let j = i + 1; j < Math.min(all.length, i + 3); j += 1) {
        add(`${pattern(all[i])}[^.]{0,12}${pattern(all[j], true)}`, WEIGHT.near, []);
      }
    }
    if (all.length > 1 || /[_\d]/.test(whole)) add(pattern(whole), WEIGHT.phrase, [whole]);
    return { terms, fixed, whole, code, only };
  }

  const INITIALS = "rRseEfaqQtTdwWczxvg";
  const VOWELS = "k o i O j p u P h hk ho hl y n nj np nl b m ml l".split(" ");
  const FINALS = " r R rt s sw sg e f fr fa fq ft fx fv fg a q qt t T d w c z x v g".split(" ");
  const TYPED = /([ac-gq-tvwxz])(hk|ho|hl|nj|np|nl|ml|[h-puyb])((?:rt|sw|sg|f[raqtxvg]|qt|[ac-gq-tvwxz])(?![h-puyb]))?/y;

  /** 영문 자판으로 친 한글을 되돌립니다: xhzms → 토큰. 한글이 되지 않으면 undefined */
  function fromKeyboard(word) {
    let typed = "";
    TYPED.lastIndex = 0;
    for (let at = 0; at < word.length; at = TYPED.lastIndex) {
      const found = TYPED.exec(word);
      if (!found) return undefined;
      const [, first, vowel, last = ""] = found;
      typed += String.fromCharCode(
        0xac00 + (INITIALS.indexOf(first) * 21 + VOWELS.indexOf(vowel)) * 28 + FINALS.indexOf(last));
    }
    return typed;
  }

  const inBook = (word, base = word) => count(pattern(base, true)).length
    || names.some(({ name }) => name.replace(/[\s_-]/g, "").includes(word));

  /** 한 번도 나오지 않는 말은 자모나 글자 하나가 다른 말로 고쳐 봅니다. */
  function mended(word) {
    const hangul = HANGUL.test(word);
    if (EMPTY.has(word) || word.normalize("NFD").length < (hangul ? 6 : 4)) return word;
    const [base] = hangul ? stem(word) : [word];
    if (inBook(word, base)) return word;
    const typed = hangul ? undefined : fromKeyboard(word);
    if (typed && inBook(typed, stem(typed)[0])) return typed;
    vocabulary ??= wordsOfBook();
    const near = (text) => {
      const target = text.normalize("NFD");
      const allowed = hangul && target.length >= 9 ? 2 : 1;
      let best, least = allowed + 0.5;
      for (const [candidate, [spelled, often]] of vocabulary) {
        if (HANGUL.test(candidate) !== hangul) continue;
        if (Math.abs(spelled.length - target.length) > allowed) continue;
        const cost = distance(target, spelled, allowed) - Math.min(often, 999) / 2000;
        if (cost < least) [best, least] = [candidate, cost];
      }
      return best;
    };
    return near(word) ?? near(base) ?? word;
  }

  function wordsOfBook() {
    const words = new Map();
    const put = (word, n) => {
      const known = words.get(word);
      if (known) known[1] += n;
      else words.set(word, [word.normalize("NFD"), n]);
    };
    for (const { fields } of sections) {
      for (const word of fields.slice(1, 3).join(" ").match(/[가-힣]{2,}|[a-z]{4,}/g) || []) {
        put(HANGUL.test(word) ? stem(word)[0] : word, 1);
      }
    }
    for (const { name } of names) {
      for (const word of [name.replace(/\s/g, ""), ...name.split(/\s/)]) {
        if (word.length > 1) put(word, 50);
      }
    }
    return words;
  }

  /** 고친 자리의 수(레벤시테인 거리). limit을 넘으면 멈춥니다. */
  function distance(a, b, limit) {
    let row = Array.from({ length: b.length + 1 }, (_, j) => j);
    for (let i = 1; i <= a.length; i += 1) {
      const next = [i];
      for (let j = 1; j <= b.length; j += 1) {
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] !== b[j - 1]));
      }
      if (Math.min(...next) > limit) return limit + 1;
      row = next;
    }
    return row[b.length];
  }

  // 점수 ----------------------------------------------------------------------

  /** 쪽마다 가장 나은 절들. 점수가 높은 쪽부터입니다. */
  function find(query) {
    const { terms, fixed, whole, code, only } = understand(query);
    const scores = new Map();
    for (const term of terms) {
      const found = count(term.source);
      const rarity = (n) => Math.log(1 + (sections.length - n + 0.5) / (n + 0.5));
      const inText = rarity(found.length);
      const inHeading = rarity(found.filter(([, n]) => n[1]).length);
      const inTitle = rarity(found.filter(([, n]) => n[0]).length);
      const inPhrases = rarity(found.filter(([, n]) => n[4]).length);
      for (const [i, [title, heading, text, inCode, phrases]] of found) {
        const { size, first, order } = sections[i]; // 첫 쪽의 제목은 이 책의 이름입니다
        const long = 1 - WEIGHT.length + (WEIGHT.length * size) / average;
        const n = (text + inCode) / long;
        let gain = (inText * n) / (n + WEIGHT.saturation);
        if (heading) gain += WEIGHT.heading * inHeading;
        if (phrases) gain += WEIGHT.phrases * inPhrases;
        if (title && order) gain += WEIGHT.title * inTitle * (first ? 1 : 0.5);
        scores.set(i, (scores.get(i) || 0) + term.weight * gain);
      }
    }
    const flat = (text) => tidy(text).replace(/[\s_-]/g, "");
    const target = flat(whole);
    const pages = new Map();
    for (let [i, score] of scores) {
      const section = sections[i];
      const heading = flat(section.heading);
      const exact = heading === target || heading.split(".").pop() === target;
      const named = only && section.anchor.startsWith("term-")
        && terms[0].shown.some((name) => flat(name) === heading);
      const api = section.page === "reference/api";
      if (named) score += WEIGHT.definition;
      else if (only && section.first && terms[0].shown.some((name) =>
        flat(section.title).endsWith(flat(name)))) score += WEIGHT.lecture;
      else if (exact && (code || !api) && (section.first || section.text)) score += WEIGHT.exact;
      else if (api) score *= WEIGHT.api;
      else if (section.page === "paper/mistakes") score *= WEIGHT.list; // 가르치는 자리가 먼저입니다
      else if (section.anchor.startsWith("term-")) score *= WEIGHT.term;
      if (!pages.has(section.page)) pages.set(section.page, []);
      pages.get(section.page).push({ section, score });
    }
    const results = [...pages.values()].map((hits) => {
      hits.sort((a, b) => b.score - a.score || 0);
      const others = hits.slice(1, 6).reduce((sum, { score }) => sum + score, 0);
      return { hits, score: hits[0].score + WEIGHT.page * others };
    });
    results.sort((a, b) => b.score - a.score || a.hits[0].section.order - b.hits[0].section.order);
    return { results, terms, fixed };
  }

  return { accept, find, tidy, WEIGHT };
})();

/** 색인 파일(search_index.js)이 자기 내용을 넘기며 부릅니다. */
const openSearchIndex = notesSearch.accept;
