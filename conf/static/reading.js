// 그림을 누르면 크게 보입니다. Esc와 초점을 되돌리는 일은 dialog가 합니다.
const enlarged = document.createElement("dialog")
enlarged.className = "enlarged"
enlarged.addEventListener("click", () => enlarged.close())
document.body.append(enlarged)

for (const image of document.querySelectorAll(".bd-article .cell_output img")) {
  const button = document.createElement("button")
  button.type = "button"
  button.className = "enlarge"
  button.title = "그림 크게 보기"
  image.replaceWith(button)
  button.append(image)
  button.addEventListener("click", () => {
    const close = document.createElement("button")
    close.textContent = "닫기"
    enlarged.replaceChildren(close, image.cloneNode())
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
