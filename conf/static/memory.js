// 이 브라우저가 기억하는 것: 읽은 장(read), 풀어 본 연습(tried), 틀린 문제(missed), 마지막에
// 연 장(last). 어디로도 보내지 않고, 저장하지 못하게 한 브라우저에서는 기억하지 않습니다.
const notesMemory = (() => {
  const root = new URL(document.documentElement.dataset.content_root, location).href
  const pageOf = (address) => address.slice(root.length).replace(/(\.html)?([?#].*)?$/, "")
  const here = pageOf(location.href)

  // 가지마다 열쇠가 따로 있습니다. 하나에 모두 담으면, 열리며 last를 적는 문서가 그사이에 다른
  // 문서가 적은 것을 옛것으로 덮을 수 있습니다.
  function recall(kind, otherwise) {
    try {
      return JSON.parse(localStorage.getItem(`notes-${kind}`)) ?? otherwise
    } catch {
      return otherwise
    }
  }
  function store(kind, value) {
    try {
      localStorage.setItem(`notes-${kind}`, JSON.stringify(value))
    } catch { /* 읽고 쓰는 데에는 지장이 없습니다. */ }
  }
  const names = (kind) => recall(kind, [])
  function keep(kind, value) {
    store(kind, value)
    show()
  }
  function mark(kind, name, on = true) {
    const others = names(kind).filter((one) => one !== name)
    keep(kind, on ? [...others, name] : others)
  }
  function forget() {
    for (const kind of ["read", "tried", "missed", "last"]) keep(kind, [])
  }

  // 차례와 지도와 연습의 제목에 다는 표. 읽어 주는 글은 따로 있습니다.
  function sign(text, label) {
    const made = document.createElement("span")
    Object.assign(made, { className: "remembered", role: "img", textContent: text })
    made.setAttribute("aria-label", label)
    return made
  }
  const links = [...document.querySelectorAll(".bd-docs-nav a")]
  const maps = [...document.querySelectorAll(".overview-map a:not(.code)")]
  const finish = document.createElement("button")

  function show() {
    for (const old of document.querySelectorAll(".remembered")) old.remove()
    const read = names("read")
    const tried = names("tried")
    for (const link of links) {
      const page = pageOf(link.href)
      const count = tried.filter((name) => name.startsWith(`${page}#`)).length
      if (read.includes(page)) link.append(sign(" ✓", ", 읽었습니다"))
      if (count) link.append(sign(` 연습 ${count}`, `, 연습 ${count}개를 풀어 보았습니다`))
    }
    for (const link of maps) {
      const done = read.includes(pageOf(new URL(link.getAttribute("href"), location).href))
      link.removeAttribute("aria-label")
      if (!done) continue
      const written = [...link.querySelectorAll("text")].map((text) => text.textContent)
      link.setAttribute("aria-label", `${written.join(", ")}, 읽었습니다`)
      for (const { x, y, width } of link.querySelectorAll("rect")) {
        const made = document.createElementNS("http://www.w3.org/2000/svg", "text")
        made.setAttribute("class", "remembered")
        made.setAttribute("x", x.baseVal.value + width.baseVal.value - 8)
        made.setAttribute("y", y.baseVal.value + 12)
        made.textContent = "✓"
        link.append(made)
      }
    }
    for (const name of tried) {
      const [page, id] = name.split("#")
      const title = page === here && document.getElementById(id)?.querySelector(".admonition-title")
      if (title) title.append(sign(" ✓", ", 풀어 보았습니다"))
    }
    finish.setAttribute("aria-pressed", read.includes(here))
  }

  // 장의 끝: 다 읽었는지는 독자가 정합니다. 끝까지 내려 보았다고 읽은 것은 아닙니다.
  if (document.querySelector(".reading-time")) {
    Object.assign(finish, { type: "button", className: "finish", textContent: "다 읽었습니다" })
    finish.addEventListener("click", () => mark("read", here, !names("read").includes(here)))
    document.querySelector(".bd-article").append(finish)
    if (!here.startsWith("deeper/")) keep("last", [here])
  }

  // 해답을 펼치면 풀어 본 것입니다. 쓴 코드가 맞았을 때에는 bench.js가 알립니다.
  const solve = (id) => mark("tried", `${here}#${id}`)
  document.addEventListener("click", ({ target }) => {
    const solution = target.closest(".solution > .admonition-title")
    if (solution) solve(solution.querySelector("a").hash.slice(1))
  })

  // 첫 쪽: 마지막에 연 장이나, 그것을 다 읽었으면 그다음에 읽을 장
  const doors = document.querySelector(".doors")
  const chapters = links.filter((link) => /^\d/.test(link.textContent.trim()))
  const start = chapters.findIndex((link) => names("last").includes(pageOf(link.href)))
  const rest = start < 0 ? [] : chapters.slice(start)
  const next = rest.find((link) => !names("read").includes(pageOf(link.href)))
  if (doors && next) {
    const line = document.createElement("p")
    const link = document.createElement("a")
    Object.assign(link, { href: next.href, textContent: next.textContent.trim() })
    line.append("이어 읽기: ", link)
    doors.before(line)
  }

  // 다른 탭에서 바뀌었거나 뒤로 가기로 돌아온 쪽도 지금 기억하는 것을 보입니다.
  function watch(show) {
    show()
    for (const news of ["storage", "pageshow"]) addEventListener(news, show)
  }
  watch(show)
  const has = (kind, name) => names(kind).includes(name)
  return { has, mark, solve, forget, watch, recall, store }
})()
