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
    title: 0.45, heading: 0.45, phrases: 0.46, length: 0.57, saturation: 0.9,
    name: 1.6, word: 1.2, whole: 1.2, number: 2, short: 1, loose: 0.5, part: 0.6,
    pair: 1.1, near: 0.45, phrase: 1.5,
    exact: 8, lesson: 18, taught: 1.6, page: 0.11, cover: 0.65, book: 0.5, side: 0.7, first: 0.83, sentence: 0.17,
  };
  // 가르치는 자리가 먼저입니다. 목록과 표와 더 깊은 쪽은 그 뒤입니다.
  const PLACES = {
    "reference/api": 0.4, "paper/mistakes": 0.9, "paper/questions": 0.92, "paper/conformance": 0.9,
    "paper/reading": 0.87, "deeper": 0.95,
  };
  const SIDE = /^(이 장에서 배우는 것|정리|연습문제|더 읽을 것)$/;
  const COMMANDS = "practice/command_line";
  // 겪은 일을 적은 말은 실수를 보인 절이, 까닭을 물은 말은 까닭을 말하는 절이 답합니다.
  const ASKED = [
    [/^(?!.*(얼마나|뭐|뭘|무엇|어디|어떻게|방법|차이)).*(더니|는데|(^| )[안못] |[가-힣][음함짐됨림옴남다]$|[^까나가죠예에줘]요$|오류|에러|이상|error|nan)/i, /break|mistake/, 1.25],
    [/왜|이유|까닭|why/i, /왜|까닭|questions/, 1.2],
  ];

  // 뜻이 없거나 어느 절에나 있는 말
  const EMPTY = new Set(("왜 어떻게 무엇 무엇을 무엇이 뭐 뭔가 뭐야 뭐예요 뭔가요 뭔데 그냥 너무 좀 수 때 것 거 건 게 "
    + "안 못 더 다 잘 왜요 어떤 어디 어디서 언제 몇 그 이 저 및 또 또는 그리고 인데 이란 란 있나 있나요 있어 있음 "
    + "없나 하나 하나요 하죠 하나 해요 하는 하면 하는지 하려면 한 할 해 돼요 되나요 되나 되죠 안돼요 되는 되는지 "
    + "보 보면 보고 알 알아 알려 쓰 써 같 있 없 되 말 주 나 오 the a an of to is in for and or vs how why what with on by do does").split(" "));

  // 용어만 쳤거나 뜻을 물었는지
  const DEFINED = /^(?:\s|이?란|[은는이가을를의]|뜻|의미|정의|개념|무엇|뭐|뭔|인지|인가요?|이?야|이?에요|예요|[죠요]|\?)*$/;

  // 낱말 뒤에서 떼는 말. 긴 것부터 봅니다.
  const PARTICLES = ("으로부터 에서부터 이라는 이라고 에서는 에서의 에게서 까지만 까지도 으로는 으로도 이라도 부터는 보다는 "
    + "에서 에게 까지 부터 보다 마다 처럼 만큼 대로 밖에 으로 이랑 이나 이란 이면 라는 라고 하고 한테 에는 에도 와는 과는 "
    + "이야 인가요 인가 인지 인데 이에요 예요 이죠 "
    + "은 는 이 가 을 를 의 에 와 과 도 만 로 랑 나 란 들 번").split(" ");
  const ENDINGS = ("하려면 하나요 하는지 하는법 합니다 하기 하는 하면 하고 해요 하죠 했다 했는데 "
    + "되나요 됩니다 되는지 되는 되면 돼요 되죠 "
    + "았더니 었더니 였더니 했더니 더니 아도 어도 여도 해도 해서 하려고 려고 아야 어야 해야 다가 을까요 까요 은데 "
    + "았다 었다 았는데 었는데 았어요 었어요 려면 나요 는지 는데 네요 아요 어요 여요 습니다 입니다 는가 은가 을까 지만 면서 거나 도록 "
    + "으면 으려면 으니 니 아서 어서 니까 을때는 때는 을때 기는 기도 면 고 지 게 나 죠 기 는 은 을 던 다 요 네 음 며 자 라").split(" ");
  const byLength = (a, b) => b.length - a.length;
  PARTICLES.sort(byLength);
  const ENDS = [...PARTICLES, ...ENDINGS].sort(byLength);

  const WORDS = /\d+(?:\.\d+)*e-\d+|[a-z가-힣\d.√]+/g;
  const HANGUL = /[가-힣]/;
  const GAP = "[\\s_–-]*";
  const SENTENCE_END = /[.?!] |$/g; // 문장이 끝나는 곳
  const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  /** 대소문자와 붙여 쓴 이름을 고릅니다: MultiHeadAttention → multi head attention */
  const tidy = (text) => text.normalize("NFC")
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/(\d),(?=\d{3}(?!\d))/g, "$1")
    .toLowerCase();

  const flat = (text) => tidy(text).replace(/[\s_-]/g, "");

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
  function unfold(word, finals = [20, 16]) { // ㅆ, ㅁ
    const code = word.charCodeAt(word.length - 1) - 0xac00;
    const [vowel, end] = [Math.floor(code / 28) % 21, code % 28];
    if (![0, ...finals].includes(end)) return word;
    const full = end === 20 || !end ? { 6: 20, 14: 13, 9: 8, 1: 0 }[vowel] ?? vowel : vowel;
    return word.slice(0, -1) + String.fromCharCode(code + 0xac00 - end + (full - vowel) * 28);
  }

  /** 말 하나를 띄어 썼든 붙여 썼든 찾는 정규식의 글 */
  function pattern(text, opened = false) {
    const units = text.replace(/[a-z]+/g, (word) => joined?.get(word) ?? word)
      .match(/[가-힣]|[a-z]+|\d+(?:\.\d+)*|[^\s_\-가-힣a-z\d]/g) || [];
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

  /** 찾는 말 안에서 이름을 알아보는 정규식의 글. 짧은 이름은 낱말의 처음에서만 알아봅니다. */
  function inQuery(name) {
    const syllables = name.replace(/[^가-힣]/g, "").length;
    const edge = syllables && syllables < 3 ? "(?<![가-힣])" : "";
    return edge + pattern(name) + (/[a-z]$/.test(name) ? "(?![a-z])" : "");
  }

  // 색인 ----------------------------------------------------------------------

  let sections, glossary, commands, names, joined, average, counts, vocabulary;

  /** 색인 파일이 부릅니다. 절마다 찾을 글을 마련합니다. */
  function accept({ pages, names: groups }) {
    const all = pages.flatMap(([page, entries], order) =>
      entries.map(([anchor, heading, text, code, phrases = ""]) => ({
        page, order, anchor, heading, text, code, title: entries[0][1],
        id: `${page}#${anchor}`, flat: flat(heading), first: anchor === entries[0][0],
        fields: [entries[0][1], heading, text, code, phrases].map(tidy),
      })));
    sections = all.filter(({ anchor }) => !anchor.startsWith("term-"));
    glossary = all.filter(({ anchor }) => anchor.startsWith("term-"));
    commands = new Set(sections.flatMap(({ code }) =>
      [...code.matchAll(/transformer-notes ([a-z]+)/g)].map(([, name]) => name)));
    for (const section of sections) {
      const { page, heading, fields } = section;
      section.shelf = page.split("/", 2).join("/"); // API의 쪽들은 한 쪽으로 셉니다
      section.size = fields[2].length + fields[3].length;
      section.ends = [...fields[2].matchAll(SENTENCE_END)].map(({ index }) => index);
      section.place = (PLACES[section.shelf] ?? PLACES[page.split("/")[0]] ?? 1) * (SIDE.test(heading) ? WEIGHT.side : section.first ? WEIGHT.first : 1);
    }
    // 붙여 친 이름: lora → lo ra. tidy가 LoRA를 그렇게 나눕니다.
    joined = new Map(sections.flatMap(({ text, code }) =>
      `${text} ${code}`.match(/[A-Za-z]+[a-z][A-Z][A-Za-z]*/g) ?? []).map((name) => [name.toLowerCase(), tidy(name)]));
    average = sections.reduce((sum, s) => sum + s.size, 0) / sections.length;
    counts = new Map();
    vocabulary = undefined;
    names = groups.flatMap((group) => {
      const all = group.map(tidy);
      return all.map((name, i) => ({
        written: group[i], all, flat: flat(name), inQuery: new RegExp(inQuery(name)),
      }));
    }).sort((a, b) => b.flat.length - a.flat.length);
  }

  const times = (text, regex) => {
    let n = 0;
    regex.lastIndex = 0;
    while (regex.exec(text)) n += 1;
    return n;
  };

  /** 말이 나오는 문장의 번호 */
  function sentencesWith(regex, { fields: [, , text], ends }) {
    const found = new Set();
    let at = 0;
    for (const { index } of text.matchAll(regex)) {
      while (ends[at] < index) at += 1;
      found.add(at);
    }
    return found;
  }

  /** 절마다 [제목, 절의 제목, 글, 코드, 찾는 말]에 몇 번, 글의 어느 문장에 나오는지. 한 번만 셉니다. */
  function count(source) {
    if (!counts.has(source)) {
      const regex = new RegExp(source, "g");
      const titles = new Map();
      const found = [];
      sections.forEach((section, i) => {
        const [title, ...rest] = section.fields;
        if (!titles.has(title)) titles.set(title, times(title, regex));
        const n = [titles.get(title), ...rest.map((text) => times(text, regex))];
        if (n.some(Boolean)) found.push([i, n, sentencesWith(regex, section)]);
      });
      if (counts.size > 300) counts.clear();
      counts.set(source, found);
    }
    return counts.get(source);
  }

  // 찾는 말 --------------------------------------------------------------------

  /** 조사나 어미를 뗀 줄기 */
  function stem(word) {
    const after = word.length > 2 && word.match(/(으로|에서|까지|부터|보다|마다|처럼)$/);
    if (after) return word.slice(0, after.index);
    const ends = ENDS.filter((e) => word.endsWith(e) && word.length > e.length);
    const end = ends.find((e) => word.length - e.length >= 2) ?? ends[0];
    const bare = end ? word.slice(0, -end.length) : word;
    // 이어서: '어서'를 떼면 뜻이 없는 '이'만 남습니다. 끝 글자만 뗍니다.
    return EMPTY.has(bare) && bare.length === 1 && word.length > 2 ? word.slice(0, -1) : bare;
  }

  /** 명령과 용어와 코드의 이름을 더하고, 남은 글을 냅니다. */
  function takeNames(text, code, add) {
    const concepts = [];
    let asked; // 명령의 이름
    let rest = commands.has(text.trim()) ? ` transformer-notes${text}${text}` : text;
    rest = rest.replace(/transformer-notes ([a-z]+)/g, (command, name) => {
      add(escape(command), WEIGHT.name, [command]);
      asked = name;
      return " ";
    });
    for (const { all, inQuery } of code ? [] : names) {
      if (!inQuery.test(rest)) continue;
      rest = rest.replace(inQuery, " ");
      add(all.map((name) => pattern(name)).join("|"), WEIGHT.name, all);
      concepts.push(all);
    }
    rest = rest.replace(/[a-z]\w*_\w+/g, (name) => {
      add(pattern(name), WEIGHT.name, [name]);
      return " ";
    });
    return { rest, concepts, asked };
  }

  function takeWord(word, add) {
    if (!HANGUL.test(word)) {
      const base = word.length > 4 ? word.replace(/(ies|ing|ed|es|s|e)$/, "") : word;
      const rare = /\d{3}|\d\.\d|e-\d/.test(word); // 65나 8은 흔하고 37000은 드뭅니다
      if (word.length > 1) add(pattern(base), rare ? WEIGHT.number : WEIGHT.word, [base]);
      if (/^[a-z]{4,}$/.test(word)) add(`(?<![a-z])${word}(?![a-z])`, WEIGHT.whole, []);
      return;
    }
    const base = stem(word);
    if (EMPTY.has(base)) return;
    if (base.length === 1) {
      add(`(?<![가-힣])${open(base)}`, WEIGHT.short, [base]);
      return;
    }
    const root = unfold(base);
    add(pattern(root, true), WEIGHT.word, [root]);
    const loose = unfold(base, [4, 8, 17]); // ㄴ, ㄹ, ㅂ: 배운, 배울, 배웁
    if (loose !== root && loose.length > 1) add(pattern(loose, true), WEIGHT.loose, []);
    const syllables = base.match(/[가-힣]/g) || [];
    for (let i = 0; syllables.length > 2 && i + 1 < syllables.length; i += 1) {
      add(pattern(syllables[i] + syllables[i + 1]), WEIGHT.part, []);
    }
  }

  /** 이웃한 말은 함께 나올 때 더 뜻이 있습니다. */
  function takeNeighbours(whole, add) {
    const all = whole.split(/\s+/).filter((w) => !EMPTY.has(w)).map((w) => (HANGUL.test(w) ? stem(w) : w));
    for (let i = 0; i + 1 < all.length; i += 1) {
      add(pattern(`${all[i]} ${all[i + 1]}`, true), WEIGHT.pair, []);
    }
    for (let i = 0; i + 1 < all.length && all.length < 7; i += 1) {
      for (let j = i + 1; j < Math.min(all.length, i + 3); j += 1) {
        add(`${pattern(all[i])}[^.]{0,12}${pattern(all[j], true)}`, WEIGHT.near, []);
      }
    }
    const phrase = all.join(" ");
    if (all.length > 1 || /[_\d]/.test(whole)) add(pattern(phrase, true), WEIGHT.phrase, [phrase]);
  }

  /** 찾는 말을 무게가 있는 정규식들로 바꿉니다. */
  function understand(query) {
    const terms = [];
    const add = (source, weight, shown) => {
      const nothing = new RegExp(source).test(""); // 밑줄뿐인 말은 어디에나 있습니다
      if (!nothing && terms.every((term) => term.source !== source)) terms.push({ source, weight, shown });
    };
    const fixed = [];
    const name = nearName(query);
    if (name) fixed.push([query, name]);
    const text = ` ${tidy(name ?? query).replace(/[ㄱ-ㅎㅏ-ㅣ]+/g, " ")} `
      .replace(/[가-힣]+|[a-z][a-z\d]{3,}/g, (word) => {
        const better = mended(word);
        if (!stripped(word).startsWith(stripped(better))) fixed.push([word, better]);
        return better;
      });
    const whole = text.trim();
    // 코드의 이름을 쳤다면 그 이름을 찾습니다. 이름 속의 낱말을 용어로 읽지 않습니다.
    const code = !HANGUL.test(query) && /[a-z]_[a-z]|[a-z][A-Z]|[=(]|-notes/.test(query)
      && !names.some(({ written }) => written === query.trim()); // ReLU는 용어입니다
    const single = code && /^\w+$/.test(query.trim()) && count(pattern(whole)).length > 0;
    if (single) add(pattern(whole), WEIGHT.name, [whole]);
    const { rest, concepts, asked } = takeNames(single ? "" : text, code, add);
    for (const word of rest.match(WORDS) || []) {
      const bare = word.replace(/^\.+|\.+$/g, "");
      if (bare && !EMPTY.has(bare) && !PARTICLES.includes(bare)) takeWord(bare, add);
    }
    const only = Boolean(asked) || (concepts.length === 1 && DEFINED.test(rest));
    if (!only && !single) takeNeighbours(whole, add);
    return { terms, fixed, whole, code, only, concepts, asked };
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
    || names.some(({ flat }) => flat.includes(word));

  /** 끝소리를 뗀 글. 이것으로 시작하는 말은 활용만 다르므로 고쳤다고 알리지 않습니다. */
  const stripped = (word) => word.normalize("NFD").replace(/[\u11a8-\u11c2]$/, "");

  /** 한 번도 나오지 않는 말은 자모나 글자 하나가 다른 말로 고쳐 봅니다. */
  function mended(word) {
    const hangul = HANGUL.test(word);
    const short = (text) => text.normalize("NFD").length < (hangul ? 6 : 4);
    if (EMPTY.has(word) || short(word)) return word;
    const base = hangul ? stem(word) : word;
    if (inBook(word, hangul ? unfold(base) : base)) return word;
    const typed = hangul ? undefined : fromKeyboard(word);
    if (typed && inBook(typed, stem(typed))) return typed;
    vocabulary ??= wordsOfBook();
    const often = (text) => vocabulary.get(text)?.[1] || 0;
    const [swapped] = [...base].slice(1)
      .map((letter, i) => base.slice(0, i) + letter + base[i] + base.slice(i + 2))
      .filter(often).sort((a, b) => often(b) - often(a));
    if (swapped) return swapped;
    return nearest(word, vocabulary) ?? (short(base) ? word : nearest(base, vocabulary) ?? word);
  }

  /** 자모나 글자 하나(길면 둘)만 다른 말 가운데 가장 가깝고 흔한 것 */
  function nearest(text, candidates) {
    const target = text.normalize("NFD");
    const hangul = HANGUL.test(text);
    const allowed = hangul && target.length >= 9 ? 2 : 1;
    let best, least = allowed + 0.5;
    for (const [candidate, [spelled, often]] of candidates) {
      if (HANGUL.test(candidate) !== hangul) continue;
      if (Math.abs(spelled.length - target.length) > allowed) continue;
      const cost = distance(target, spelled, allowed) - Math.min(often, 999) / 2000;
      if (cost < least) [best, least] = [candidate, cost];
    }
    return best;
  }

  /** 낱말로는 짧아서 고칠 수 없는 말도 이름 전체로는 알아봅니다: 교사 강료 → 교사 강요 */
  function nearName(text) {
    const typed = flat(text);
    if (!/^[가-힣]{4,}$/.test(typed) || inBook(typed)) return undefined;
    return nearest(typed, names.map(({ written, flat: name }) => [written, [name.normalize("NFD"), 0]]));
  }

  function wordsOfBook() {
    const words = new Map();
    const put = (word, n) => {
      const known = words.get(word);
      if (known) known[1] += n;
      else words.set(word, [word.normalize("NFD"), n]);
    };
    for (const { fields } of sections) {
      for (const word of fields.slice(1, 3).join(" ").match(/[가-힣]{2,}|[a-z][a-z\d]{3,}/g) || []) {
        put(HANGUL.test(word) ? stem(word) : word, 1);
      }
    }
    for (const { written } of names) {
      for (const word of [flat(written), ...tidy(written).split(/\s/)]) {
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

  /** 절마다 [낱말의 점수, 찾은 말의 무게, 문장마다 거기에 모인 말의 점수] */
  function weigh(terms, only) {
    const scores = new Map();
    for (const { source, weight, shown } of terms) {
      const found = count(source);
      const rarity = (n) => Math.log(1 + (sections.length - n + 0.5) / (n + 0.5));
      const rare = (field) => rarity(found.filter(([, n]) => n[field]).length);
      const [inTitle, inHeading, inText, inPhrases] = [rare(0), rare(1), rarity(found.length), rare(4)];
      // 책의 이름에 든 말은 어디에나 맞으므로 자리를 알려 주지 않습니다.
      const worth = !only && found[0]?.[0] === 0 && found[0][1][0] ? weight * WEIGHT.book : weight;
      for (const [i, [title, heading, text, code, phrases], sentences] of found) {
        const { size, first, order } = sections[i];
        const n = (text + code) / (1 - WEIGHT.length + (WEIGHT.length * size) / average);
        let gain = (inText * n) / (n + WEIGHT.saturation);
        if (heading) gain += WEIGHT.heading * inHeading;
        if (phrases) gain += WEIGHT.phrases * inPhrases;
        if (title && order) gain += WEIGHT.title * inTitle * (first ? 1 : 0.5);
        const [score, met, together] = scores.get(i) ?? [0, 0, new Map()];
        if (shown.length) {
          for (const at of sentences) together.set(at, (together.get(at) ?? 0) + worth * inText);
        }
        scores.set(i, [score + worth * gain, met + (shown.length ? weight : 0), together]);
      }
    }
    return scores;
  }

  /** 쪽마다 가장 나은 절들. 점수가 높은 쪽부터입니다. */
  function find(query) {
    const { terms, fixed, whole, code, only, concepts, asked } = understand(query);
    const meant = glossary.filter(({ fields }) => concepts.some((all) => all.includes(fields[1])));
    const lessons = new Set([...meant.map((term) => term.code), `${COMMANDS}#command-line-${asked}`]);
    const scores = weigh(terms, only);
    const total = terms.reduce((sum, { weight, shown }) => sum + (shown.length ? weight : 0), 0);
    const kinds = ASKED.filter(([asked]) => asked.test(query));
    const targets = only && concepts.length ? concepts[0].map(flat) : [flat(whole)];
    const pages = new Map();
    sections.forEach((section, i) => {
      const lesson = lessons.has(section.id);
      if (!scores.has(i) && !lesson) return;
      const [sum, met, together] = scores.get(i) ?? [0, 0, new Map()];
      const sentence = Math.max(0, ...together.values()); // 말이 가장 많이 모인 문장
      const exact = targets.includes(section.flat) && section.order
        && (code || section.shelf !== "reference/api");
      let score = (sum + WEIGHT.sentence * sentence) * (1 - WEIGHT.cover * (1 - met / total)) * section.place;
      for (const [, kind, more] of kinds) if (kind.test(section.id + section.heading)) score *= more;
      if (lesson) score += only ? WEIGHT.lesson : WEIGHT.taught;
      else if (only && !meant.length && section.first
        && targets.some((name) => section.flat.endsWith(name))) score += WEIGHT.lesson;
      else if (exact && (section.first || section.text)) score += WEIGHT.exact;
      if (!pages.has(section.shelf)) pages.set(section.shelf, []);
      pages.get(section.shelf).push({ section, score });
    });
    const results = [...pages.values()].map((hits) => {
      hits.sort((a, b) => b.score - a.score);
      const others = hits.slice(1, 6).reduce((sum, { score }) => sum + score, 0);
      return { hits, score: hits[0].score + WEIGHT.page * others };
    });
    results.sort((a, b) => b.score - a.score);
    return { results, terms, fixed, meant: only ? meant : [] };
  }

  return { accept, find };
})();

/** 색인 파일(search_index.js)이 자기 내용을 넘기며 부릅니다. */
const openSearchIndex = notesSearch.accept;
