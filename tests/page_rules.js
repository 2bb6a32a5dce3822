// 지은 쪽의 규칙. 규칙마다 어긴 것을 글로 적은 목록을 냅니다. 폭과 밝기는 page_rules.py가
// 바꿉니다.
(() => {
const all = selector => [...document.querySelectorAll(selector)];
const article = selector => all(`.bd-article ${selector}`);
const tag = element => element.outerHTML.slice(0, 200);

return {
  // 그림에는 뜻이 적혀 있고 빠진 것이 없습니다. 이름 앞의 표는 꾸밈입니다.
  images: () => all("img:not(.logo__image)").filter(image => {
    const alt = image.getAttribute("alt") ?? "";
    return !alt.trim() || /\.(svg|png)$/.test(alt) || image.naturalWidth === 0;
  }).map(tag),

  mathematics: () => all("math merror, .math:not(:has(math))").map(tag),

  sideways: () => {
    const {scrollWidth} = document.documentElement;
    const wide = article("*").filter(
      element => element.getBoundingClientRect().right > innerWidth + 1);
    return scrollWidth <= innerWidth
      ? [] : [`${scrollWidth}픽셀 ${wide.slice(0, 5).map(tag).join("\n")}`];
  },

  scrolling_code: () => article("pre").filter(
    pre => pre.checkVisibility() && pre.scrollWidth > pre.clientWidth
  ).map(pre => pre.innerText.slice(0, 80)),

  // 벡터와 모양은 한 줄입니다.
  broken_cells: () => article("td").filter(cell => {
    const lines = document.createRange();
    lines.selectNodeContents(cell);
    return /^[^가-힣]{1,12}$/.test(cell.innerText.trim())
      && lines.getBoundingClientRect().height > 45;
  }).map(cell => cell.innerText),

  // 수식의 번호는 수식 위에 얹히지 않습니다.
  covered_equations: () => article("div.math .eqno").filter(number =>
    number.getBoundingClientRect().bottom
    > number.parentElement.querySelector("math").getBoundingClientRect().top + 1
  ).map(number => number.innerText),

  // 공백으로 칸을 맞춘 출력은 줄을 바꾸지 않고 옆으로 밉니다.
  wrapped_columns: () => all(".output.stream pre").filter(pre => {
    const lines = pre.textContent.trimEnd().split("\n");
    const aligned = lines.filter(line => /\S {2,}\S/.test(line));
    const {paddingTop, lineHeight} = getComputedStyle(pre);
    const height = pre.clientHeight - 2 * parseFloat(paddingTop);
    return lines.every(line => line.length < 80)
      && aligned.length > 2 && aligned.length * 2 > lines.length
      && height > (lines.length + 0.5) * parseFloat(lineHeight);
  }).map(pre => pre.textContent),

  // 조사는 수식과 한 줄에 있습니다.
  parted_particles: () => article("math").filter(formula => {
    const text = formula.nextSibling;
    if (text?.nodeType !== Node.TEXT_NODE || !/^\S/.test(text.data)) return false;
    const letter = document.createRange();
    letter.setStart(text, 0);
    letter.setEnd(text, 1);
    return letter.getBoundingClientRect().left < formula.getBoundingClientRect().left;
  }).map(formula => formula.nextSibling.data),

  // '실수 31'이나 '그림 6.4'의 가운데에서 줄을 바꾸지 않습니다.
  parted_numbers: () => article("span.std").filter(link =>
    /^[가-힣]{1,2} [\d.]+$/.test(link.textContent) && link.getClientRects().length > 1
  ).map(link => link.textContent),

  // [그림의 주소, 대체 텍스트의 앞, 그려진 배율]. 글자의 크기는 파일에 있습니다.
  figures: () => all(".cell_output img").map(image => {
    const room = image.clientWidth - 2 * parseFloat(getComputedStyle(image).paddingLeft);
    return [image.src, image.alt.slice(0, 40), room / image.naturalWidth];
  }),

  // 링크의 주소. SVG 안의 링크는 주소를 객체에 담습니다.
  links: () => [...new Set(all("a[href]").map(link =>
    link.href.baseVal === undefined
      ? link.href : new URL(link.href.baseVal, document.baseURI).href))],

  // axe는 요소의 수만큼 걸립니다. 코드의 낱말 수천 개는 보이는 것을 자리와 종류마다 셋만
  // 요소로 남기고 글로 바꿉니다.
  thin_code: () => {
    const seen = new Map();
    const many = all("pre span:not([id], :has(*))").filter(word => {
      let way = `${word.checkVisibility()}/`;
      for (let e = word; e; e = e.parentElement) way += `${e.className}/`;
      seen.set(way, (seen.get(way) ?? 0) + 1);
      return seen.get(way) > 3;
    });
    for (const word of many) word.replaceWith(word.textContent);
  },

  // 같은 바탕에 같은 색과 크기로 적힌 글은 셋까지만 표를 답니다. 코드의 낱말 수천 개에서
  // axe가 같은 명암비를 다시 재지 않게 합니다.
  mark_contrasts: () => {
    const grounds = new Map([[null, ""]]), seen = new Map();
    const ground = element => {
      if (!grounds.has(element)) {
        const style = getComputedStyle(element);
        const own = [style.backgroundColor, style.backgroundImage, style.opacity,
          style.filter].join();
        const plain = own === "rgba(0, 0, 0, 0),none,1,none";
        grounds.set(element, ground(element.parentElement) + (plain ? "" : `/${own}`));
      }
      return grounds.get(element);
    };
    for (const element of all("body *")) {
      element.removeAttribute("data-contrast");
      const written = element.matches("input, select, textarea")
        || [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
      const box = element.getBoundingClientRect();
      if (!written || !element.checkVisibility() || !(box.width * box.height)) continue;
      const {color, fontSize, fontWeight, textShadow} = getComputedStyle(element);
      const key = [color, fontSize, fontWeight, textShadow, ground(element)].join();
      seen.set(key, (seen.get(key) ?? 0) + 1);
      if (seen.get(key) <= 3) element.setAttribute("data-contrast", "");
    }
    axe.configure({rules: [{id: "color-contrast", selector: "[data-contrast]"}]});
  },
};
})()
