// 이 브라우저가 기억하는 것. 갈래마다 이름을 둡니다: missed는 틀린 문제입니다.
// 어디로도 보내지 않습니다. 저장하지 못하게 한 브라우저에서는 쪽을 떠나면 잊습니다.
const notesMemory = (() => {
  const KEY = "notes-memory"
  let kept = {}
  try {
    kept = JSON.parse(localStorage.getItem(KEY)) ?? {}
  } catch { /* 읽지 못하면 비어 있습니다. */ }

  const save = () => {
    try {
      localStorage.setItem(KEY, JSON.stringify(kept))
    } catch { /* 쓰는 데에는 지장이 없습니다. */ }
  }
  return {
    has: (kind, name) => Boolean(kept[kind]?.includes(name)),
    mark(kind, name, on) {
      const others = (kept[kind] ?? []).filter((one) => one !== name)
      kept[kind] = on ? [...others, name] : others
      save()
    },
    forget() {
      kept = {}
      save()
    },
  }
})()
