// 먼저 맞혀 보는 문제. 답을 고르면 까닭을 말합니다. 쪽을 열고 처음 고른 답이 틀리면
// '다시 볼 문제'에 적고, 맞으면 거기에서 지웁니다.
for (const box of document.querySelectorAll(".ask")) {
  const [answers, reasons] = box.querySelectorAll(":scope > ol, :scope > details > ol")
  const said = document.createElement("div")
  said.role = "status"
  answers.after(said)
  box.role = "group"
  box.setAttribute("aria-label", box.querySelector("strong").textContent)
  let chosen = false
  for (const [place, item] of [...answers.children].entries()) {
    const button = document.createElement("button")
    button.type = "button"
    button.append(...item.firstElementChild.childNodes)
    item.replaceChildren(button)
    button.addEventListener("click", () => {
      const reason = reasons.children[place]
      const right = reason.textContent.startsWith("맞습니다")
      item.className = said.className = right ? "right" : "wrong"
      said.replaceChildren(...reason.cloneNode(true).childNodes)
      if (!chosen) notesMemory.mark("missed", box.id, !right)
      chosen = true
    })
  }
}

// 다시 볼 문제: 틀린 것만 남깁니다.
for (const list of document.querySelectorAll(".asked")) {
  const count = document.createElement("p")
  const forget = document.createElement("button")
  count.role = "status"
  forget.type = "button"
  forget.textContent = "모두 잊기"
  list.before(count)
  list.after(forget)
  const show = () => {
    const items = [...list.querySelectorAll("li li")]
    for (const item of items)
      item.hidden = !notesMemory.has("missed", item.firstChild.hash.slice(1))
    for (const group of list.children)
      group.hidden = !group.querySelector("li:not([hidden])")
    const missed = items.filter((item) => !item.hidden).length
    count.textContent = missed ? `다시 볼 문제가 ${missed}개 있습니다.` : "다시 볼 문제가 없습니다."
  }
  forget.addEventListener("click", () => {
    notesMemory.forget()
    show()
  })
  notesMemory.watch(show)
}
