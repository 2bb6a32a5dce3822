/**
 * 직접 쓰는 칸의 문. 누르기 전에는 아무것도 읽지 않습니다.
 *
 * 연습마다 쓴 글(`text`), 확인해 보았는지(`tried`), 맞았는지(`done`)를 이 브라우저에 둡니다.
 */
(() => {
  const { recall, store } = notesMemory;
  const saved = globalThis.notesSaved = {
    get: (kind) => recall(`write:${kind}`, {}),
    set: (kind, value) => store(`write:${kind}`, { ...saved.get(kind), ...value }),
    forget: (kind) => store(`write:${kind}`, {}),
  };

  let scripts;
  const readAll = () => Promise.all(["editor.js", "python.js", "bench.js"].map(notesScript));

  const old = typeof DecompressionStream !== "function";
  for (const box of document.querySelectorAll(".write")) {
    const button = box.querySelector(".write-start button");
    const note = box.querySelector(".write-start span");
    if (old) {
      note.textContent = "이 브라우저는 오래되어 여기에서 실행하지 못합니다. 아래의 명령줄로 확인하세요.";
      continue;
    }
    const { text, done } = saved.get(box.dataset.kind);
    if (text) button.textContent = "이어서 쓰기";
    note.textContent = done ? "맞게 쓴 적이 있습니다." : "설치할 것이 없습니다. 이 쪽에서 쓰고 확인합니다.";
    button.hidden = false;
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        await (scripts ??= readAll());
        notesBench(box);
      } catch (error) {
        scripts = undefined;
        button.disabled = false;
        note.textContent = `${error.message} 아래의 명령줄로 확인하세요.`;
      }
    });
  }

  // NumPy만으로 실행되는 셀마다 고쳐 보는 단추를 답니다
  const page = location.pathname.split("/").slice(-2).join("/").replace(/\.html$/, "");
  const cells = old ? [] : document.querySelectorAll(".cell.live");
  cells.forEach((cell, place) => {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "live-start", textContent: "고쳐 보기" });
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        await (scripts ??= readAll());
        const setups = await notesRead(`live/${page}.js`);
        button.remove();
        notesLive(cell, setups[place]);
      } catch (error) {
        scripts = undefined;
        button.disabled = false;
        button.title = error.message;
      }
    });
    cell.querySelector(".cell_input").append(button);
  });

  // 작업장의 차례: 무엇을 마쳤고 다음은 무엇인가
  let next;
  for (const item of document.querySelectorAll(".workshop li")) {
    const { text, done } = saved.get(item.dataset.kind);
    const state = item.querySelector(".state");
    if (done) item.classList.add("done");
    else next ??= item;
    state.textContent = done ? "✓ 맞음" : text ? "쓰는 중" : "";
    if (next === item) state.textContent = text ? "다음 · 쓰는 중" : "다음";
  }
  next?.classList.add("next");
})();
