// 그림을 누르면 그림 전체가 화면을 채우고, 그 그림을 누르면 누른 곳이 두 배로 보입니다. Esc와
// 초점을 되돌리는 일은 dialog가 합니다.
const enlarged = document.createElement("dialog")
enlarged.className = "enlarged"
enlarged.innerHTML =
  '<form method="dialog"><button type="button">두 배로</button><button>닫기</button></form>'
enlarged.addEventListener("click", ({ target, offsetX, offsetY }) => {
  const image = enlarged.querySelector("img")
  if (target === enlarged) enlarged.close()
  else if (target === image || target.type === "button") {
    const grown = image.classList.toggle("zoomed")
    enlarged.querySelector("button").textContent = grown ? "전체 보기" : "두 배로"
    if (target === image)
      enlarged.scrollTo(2 * offsetX - innerWidth / 2, 2 * offsetY - innerHeight / 2)
  }
})
document.body.append(enlarged)

for (const image of document.querySelectorAll(".bd-article .cell_output img")) {
  const button = document.createElement("button")
  button.type = "button"
  button.className = "enlarge"
  button.title = "그림 크게 보기"
  image.replaceWith(button)
  button.append(image)
  button.addEventListener("click", () => {
    enlarged.querySelector("img")?.remove()
    const large = image.cloneNode()
    large.style.setProperty("--ratio", image.naturalWidth / image.naturalHeight)
    enlarged.append(large)
    enlarged.querySelector("button").textContent = "두 배로"
    enlarged.showModal()
  })
}

// 좁은 화면의 차례에서 절을 고르면 차례를 닫습니다.
document.addEventListener("click", ({ target }) =>
  target.closest("dialog a[href^='#']")?.closest("dialog").close())

// 좁은 화면의 목록은 지금 읽는 쪽에서 열립니다.
document.querySelector(".primary-toggle")?.addEventListener("click", () =>
  requestAnimationFrame(() =>
    document.querySelector("dialog[open] .current.active")
      ?.scrollIntoView({ block: "center" })))

// 오른쪽 차례는 읽는 곳을 따라 움직입니다. 테마는 읽는 곳을 표시하기만 합니다.
const contents = document.querySelector(".bd-sidebar-secondary")
const following = new MutationObserver(() => {
  const here = [...contents.querySelectorAll(".nav-link.active")].at(-1)
  const { top, bottom } = here?.getBoundingClientRect() ?? {}
  const shown = contents.getBoundingClientRect()
  if (top < shown.top || bottom > shown.bottom)
    contents.scrollBy(0, (top + bottom - shown.top - shown.bottom) / 2)
})
if (contents) following.observe(contents, { attributeFilter: ["class"], subtree: true })

// 테마는 제목이 화면의 위쪽을 지날 때에만 표시를 옮깁니다. 건너뛰거나 읽던 자리로 돌아와
// 표시한 제목이 보이지 않으면, 지나온 마지막 제목을 표시합니다.
const markPassed = () => {
  const links = [...(contents?.querySelectorAll(".nav-link[href^='#']") ?? [])]
  const top = (link) => document.querySelector(link.hash).getBoundingClientRect().top
  const shown = (link) => top(link) >= 0 && top(link) < innerHeight
  if (links.some((link) => link.classList.contains("active") && shown(link))) return
  const passed = links.filter((link) => top(link) < 0.3 * innerHeight).at(-1)
  for (const each of contents?.querySelectorAll(".nav-link, .toc-entry") ?? [])
    each.classList.toggle("active", each.contains(passed))
  for (const link of links) link.removeAttribute("aria-current")
  passed?.setAttribute("aria-current", "true")
}
let settling
addEventListener("scroll", () => {
  clearTimeout(settling)
  settling = setTimeout(markPassed, 150)
})

// 종이는 언제나 밝습니다.
const printing = matchMedia("print")
printing.addEventListener("change", () => {
  const root = document.documentElement
  if (printing.matches) {
    root.dataset.beforePrint = root.dataset.theme
    root.dataset.theme = "light"
  } else {
    root.dataset.theme = root.dataset.beforePrint
  }
})
