// 용어의 링크를 가리키거나 Tab으로 오면 뜻이 나오고, Esc로 닫힙니다.
// 손가락으로는 처음 누르면 뜻이 나오고, 다시 누르면 용어집으로 갑니다.
{
  const TERM = '.bd-article a.reference[href*="#term-"]'
  const tip = document.createElement("div")
  tip.id = tip.className = "definition-tip"
  tip.role = "tooltip"
  tip.hidden = true
  document.body.append(tip)

  let loading, wanted, shown, waiting

  const load = () => loading ??= new Promise((resolve, reject) => {
    window.notesDefinitions = resolve
    notesScript("definition_texts.js").catch(reject)
  })

  async function show(link, more = "") {
    wanted = link
    const texts = await load()
    if (wanted !== link) return // 읽는 동안 다른 곳으로 갔습니다
    hide()
    const [term, text] = texts[link.hash.slice(1)]
    tip.innerHTML = `<strong>${term}</strong>${text}${more}`
    tip.hidden = false
    const line = link.getClientRects()[0]
    const right = document.documentElement.clientWidth - tip.offsetWidth - 8
    const below = line.bottom + tip.offsetHeight + 8 < innerHeight
    tip.style.left = `${scrollX + Math.max(8, Math.min(line.left, right))}px`
    tip.style.top = `${scrollY + (below ? line.bottom + 4 : line.top - tip.offsetHeight - 4)}px`
    link.setAttribute("aria-describedby", tip.id)
    shown = wanted = link
  }

  function hide() {
    shown?.removeAttribute("aria-describedby")
    shown = wanted = null
    tip.hidden = true
  }

  const term = (event) => event.target.closest?.(TERM)
  const later = (act, milliseconds) => {
    clearTimeout(waiting)
    waiting = setTimeout(act, milliseconds)
  }

  document.addEventListener("pointerover", (event) => {
    const link = term(event)
    if (event.pointerType === "touch") return
    if (link && link !== shown) later(() => show(link), 150)
    else if (link || tip.contains(event.target)) clearTimeout(waiting)
    else later(hide, 200) // 뜻 위로 옮겨 갈 틈을 둡니다
  })
  document.addEventListener("focusin", (event) => {
    const link = term(event)
    if (link?.matches(":focus-visible")) show(link)
    else if (shown) hide()
  })
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide()
  })
  document.addEventListener("click", (event) => {
    const link = term(event)
    if (link && link !== shown && event.pointerType === "touch") {
      event.preventDefault()
      show(link, "<p>다시 누르면 용어집으로 갑니다.</p>")
        .catch(() => location.assign(link.href)) // 뜻을 읽지 못했습니다
    } else if (!tip.contains(event.target)) {
      hide()
    }
  })
}
