/* 검색에서 온 쪽: 찾은 말을 모두 칠하고, 칠한 것을 지우는 단추를 둡니다.
 *
 * 글을 고치지 않고 범위만 칠하므로(CSS Custom Highlight API) 그림 속의 글자에도 걸려 넘어지지
 * 않습니다. 이 길이 없는 브라우저에서는 칠하지 않습니다.
 */
"use strict";

(() => {
  const address = new URL(location.href);
  const words = (address.searchParams.get("highlight") || "").split(/\s+/).filter(Boolean);
  if (!words.length || !CSS.highlights) return;
  address.searchParams.delete("highlight");
  history.replaceState(history.state, "", address);

  const UNREAD = "script, style, noscript, title, desc, textarea, .headerlink";
  const sought = new RegExp(
    words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "gi");
  const article = document.querySelector("article.bd-article");
  const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  const found = new Highlight();
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (node.parentElement.closest(UNREAD)) continue;
    for (const { index, 0: { length } } of node.data.matchAll(sought)) {
      const range = new StaticRange({
        startContainer: node, startOffset: index, endContainer: node, endOffset: index + length,
      });
      found.add(range);
    }
  }
  if (!found.size) return;
  CSS.highlights.set("found", found);

  const clear = document.createElement("button");
  clear.type = "button";
  clear.className = "clear-marks";
  clear.textContent = `표시 ${found.size}개 지우기`;
  article.append(clear);
  const wipe = () => {
    CSS.highlights.delete("found");
    clear.remove();
  };
  clear.addEventListener("click", wipe);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") wipe();
  });
})();
