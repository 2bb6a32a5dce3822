/* 검색의 화면: 치는 동안 결과를 보이고, 글쇠로 고릅니다.
 *
 * 찾는 일(search_engine.js)과 색인(search_index.js)은 검색을 처음 열 때 읽습니다.
 */
"use strict";

(() => {
  const root = document.documentElement.dataset.content_root;
  const SHOWN = 12; // 결과를 이만큼만 보입니다
  let loading;

  /** 색인을 처음 찾을 때 한 번만 읽습니다. */
  function load() {
    loading ??= notesScript("search_engine.js")
      .then(() => notesScript("search_index.js"));
    return loading;
  }

  const element = (name, className, text = "") => {
    const made = document.createElement(name);
    made.className = className;
    made.textContent = text;
    return made;
  };

  /** 찾은 말에 표시를 한 글. 표시가 많이 모인 곳을 골라 자릅니다. */
  function snippet(section, terms, room = 150) {
    const has = (part) => part.search(marker(terms)) >= 0;
    const text = has(section.code) && !has(`${section.heading} ${section.text}`)
      ? section.code.split(" ").join(" · ") : section.text;
    const marks = [...text.matchAll(marker(terms))].map((m) => [m.index, m.index + m[0].length]);
    const within = (from) => new Set(marks.filter(([a, b]) => a >= from && b <= from + room)
      .map(([a, b]) => text.slice(a, b).toLowerCase())).size;
    const starts = marks.map(([a]) => Math.max(0, a - 30));
    let from = starts.reduce((best, at) => (within(at) > within(best) ? at : best), starts[0] ?? 0);
    if (from) from = text.indexOf(" ", from) + 1;
    const to = Math.min(text.length, from + room);
    const shown = element("span", "snippet", from ? "… " : "");
    let at = from;
    for (const [a, b] of marks.filter(([a, b]) => a >= from && b <= to)) {
      shown.append(text.slice(at, a), element("mark", "", text.slice(a, b)));
      at = b;
    }
    shown.append(text.slice(at, to), to < text.length ? " …" : "");
    return shown;
  }

  function marker(terms) {
    const sources = terms.filter(({ shown }) => shown.length).map(({ source }) => source);
    return new RegExp(sources.join("|") || "$^", "gi");
  }

  /** 절의 주소. 도착한 쪽이 찾은 말을 칠하도록 본문에 있는 그대로의 말을 덧붙입니다. */
  function address(section, terms, { text, heading, code } = section) {
    const words = [...`${text} ${heading} ${code}`.matchAll(marker(terms))]
      .flatMap(([found]) => found.toLowerCase().split(/\s+/)).filter((word) => word.length > 1);
    const marked = [...new Set(words)].slice(0, 6).join(" ");
    const query = marked ? `?highlight=${encodeURIComponent(marked)}` : "";
    return `${root}${section.page}.html${query}#${encodeURIComponent(section.anchor)}`;
  }

  function entry({ hits }, terms) {
    const item = element("li", "search-result");
    const [{ section: best }, ...others] = hits;
    const shown = best.text ? best : hits.map(({ section }) => section) // 글이 없는 장의 제목이면
      .find(({ text }) => text.search(marker(terms)) >= 0) ?? best; // 그 장에서 다음 절의 글
    const link = element("a", "");
    link.href = address(best, terms, shown);
    const where = element("span", "where", best.title);
    if (best.heading !== best.title) where.append(" — ", element("strong", "", best.heading));
    link.append(where, snippet(shown, terms));
    item.append(link);
    for (const { section, score } of others.slice(0, 2)) {
      if (score < hits[0].score / 2) break;
      const more = element("a", "more", section.heading);
      more.href = address(section, terms);
      item.append(more);
    }
    return item;
  }

  /** 용어의 뜻. 결과가 아니라 결과 위의 상자입니다. */
  function meaning({ heading, text, page, anchor }) {
    const box = element("p", "search-meaning");
    const link = element("a", "", heading);
    link.href = `${root}${page}.html#${anchor}`;
    box.append(link, ` ${text}`);
    return box;
  }

  function attach(form) {
    const input = form.querySelector("input");
    const status = element("p", "search-status");
    status.setAttribute("role", "status");
    status.setAttribute("aria-live", "polite");
    const list = element("ol", "search-results");
    const above = element("div", "");
    form.after(status, above, list);
    let timer, asked;

    async function show() {
      const query = (asked = input.value.trim());
      if (!query) {
        status.textContent = "";
        above.replaceChildren();
        list.replaceChildren();
        return;
      }
      try {
        await load();
      } catch {
        status.textContent = "검색에 쓰는 파일(_static/search_index.js)을 읽지 못했습니다. 쪽을 다시 열어 주세요.";
        return;
      }
      if (query !== asked) return; // 읽는 동안 더 쳤습니다
      const { results, terms, fixed, meant } = notesSearch.find(query);
      const mended = fixed.map(([from, to]) => `‘${from}’ 대신 ‘${to}’. `).join("");
      status.textContent = mended + (results.length
        ? `${results.length}개 쪽에서 찾았습니다.`
          + (results.length > SHOWN ? ` 앞의 ${SHOWN}개를 보입니다.` : "")
        : `‘${query}’이(가) 나오는 곳이 없습니다. 다른 이름이나 더 짧은 말로 찾아 보세요.`);
      above.replaceChildren(...meant.map(meaning));
      list.replaceChildren(...results.slice(0, SHOWN).map((result) => entry(result, terms)));
    }

    input.addEventListener("focus", () => load().catch(() => {}));
    input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(show, 120);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      clearTimeout(timer);
      show().then(() => list.querySelector("a")?.click());
    });
    // 화살표로 결과를 오가고, Enter로 엽니다. Esc는 창을 닫습니다.
    form.parentElement.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step || event.isComposing) return;
      const stops = [input, ...list.querySelectorAll("a")];
      const next = stops[stops.indexOf(document.activeElement) + step];
      if (stops.includes(document.activeElement) && next) {
        event.preventDefault();
        next.focus();
      }
    });
    return { input, show };
  }

  for (const form of document.querySelectorAll("form.bd-search")) {
    const { input, show } = attach(form);
    if (form.closest("dialog")) continue;
    input.value = new URLSearchParams(location.search).get("q") || ""; // search.html
    input.focus();
    show();
  }
})();
