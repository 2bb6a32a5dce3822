/** 직접 쓰는 칸: 편집기, 확인하기, 판정. 문(workshop.js)을 누르면 읽습니다. */
(() => {
  const VERDICTS = {
    right: "맞습니다",
    known: "아는 실수입니다",
    wrong: "틀렸습니다. 아는 실수는 아닙니다",
    unjudged: "판정하지 못했습니다",
    unwritten: "아직 적지 않았습니다",
    failed: "실행하지 못했습니다",
    memory: "메모리가 모자랍니다",
  };
  const MASKED = ["attention", "multi_head_attention", "encoder_layer", "decoder_layer",
    "padding_mask", "look_ahead_mask"];
  let busy = false; // 파이썬은 쪽에 하나입니다

  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const button = (text, onclick) => make("button", { type: "button", textContent: text, onclick });
  const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

  globalThis.notesBench = (box) => {
    const { kind, name } = box.dataset;
    const shown = box.querySelector(".definition");
    const skeleton = box.querySelector("template").content.textContent;
    const solution = solutionAfter(box);
    let stop; // 실행하는 동안의 AbortController

    const place = make("div", { className: "editor" });
    const check = button("확인하기", () => run());
    check.className = "check";
    const halt = button("멈추기", () => stop.abort(new Error("멈추었습니다.")));
    const take = button("파일로 받기", download);
    const reset = button("처음부터", startOver);
    const masks = make("select", {}, new Option("봄", "attend"), new Option("가림", "hide"));
    const polarity = make("label", { hidden: !MASKED.includes(kind) }, "마스크의 True는 ", masks);
    const actions = make("p", { className: "actions" }, check, halt, take, reset, polarity);
    const progress = make("progress", { hidden: true, ariaLabel: "읽은 양" });
    const status = make("p", { className: "status", role: "status" });
    const printed = make("pre", { className: "printed", hidden: true, tabIndex: 0, ariaLabel: "출력" });
    const verdict = make("div", { className: "verdict", hidden: true });
    const keys = make("p", { className: "keys" },
      "Tab은 들여 씁니다. Esc를 누른 다음 Tab을 누르면 다음 자리로 갑니다.");
    halt.hidden = true;

    shown.replaceWith(place);
    box.querySelector(".write-start").replaceWith(keys, actions, progress, status, verdict, printed);
    const saved = notesSaved.get(kind);
    const editor = notesEditor(place, saved.text ?? skeleton, `${box.dataset.title} 편집기`, () => {
      notesSaved.set(kind, { text: editor.text });
    });
    openSolution();
    editor.focus();

    async function run() {
      if (busy) {
        status.textContent = "다른 칸의 코드를 실행하고 있습니다. 끝난 다음에 누르세요.";
        return;
      }
      busy = true;
      stop = new AbortController();
      check.disabled = true;
      halt.hidden = false;
      printed.hidden = verdict.hidden = true;
      printed.textContent = "";
      status.className = "status";
      editor.mark(0);
      try {
        const task = { source: editor.text, kind, name, maskTrue: masks.value };
        const answer = await notesPython(task, told, stop.signal);
        notesSaved.set(kind, { tried: true, ...(answer.verdict === "right" && { done: true }) });
        status.textContent = `${VERDICTS[answer.verdict]}.`;
        show(answer);
      } catch (error) {
        notesSaved.set(kind, { tried: true });
        status.textContent = error.message;
      } finally {
        busy = check.disabled = false;
        halt.hidden = progress.hidden = true;
        openSolution();
      }
    }

    function told({ loaded, total, starting, running, printed: text }) {
      if (text !== undefined) {
        printed.hidden = false;
        printed.append(text);
        return;
      }
      progress.hidden = loaded === undefined;
      if (total) {
        Object.assign(progress, { max: total, value: loaded });
        // 읽어 주는 글은 자주 바꾸지 않습니다
        if (!loaded) status.textContent = `파이썬을 읽습니다. ${megabytes(total)} MB, 쪽마다 한 번입니다.`;
        progress.title = `${megabytes(loaded)} / ${megabytes(total)} MB`;
        progress.dataset.read = progress.title;
      }
      if (starting) status.textContent = "파이썬을 켭니다.";
      if (running) status.textContent = "실행합니다.";
    }

    function show(answer) {
      verdict.className = `verdict ${answer.verdict}`;
      status.className = `status ${answer.verdict}`;
      verdict.replaceChildren();
      for (const [number, title, link] of answer.mistakes ?? []) {
        const root = document.documentElement.dataset.content_root;
        const where = make("a", { href: root + link }, `실수 ${number}: ${title}`);
        verdict.append(make("p", {}, where));
      }
      if (answer.line) {
        editor.mark(answer.line);
        verdict.append(make("p", {}, `${answer.line}번째 줄을 보세요. 편집기에 표시했습니다.`));
      }
      if (answer.given) {
        const inputs = Object.entries(answer.inputs).map(([key, value]) => draw(`넣은 ${key}`, value));
        const outputs = [draw("나와야 할 값", answer.expected, answer.given),
          draw("나온 값", answer.given, answer.expected)];
        verdict.append(make("div", { className: "grids" }, ...inputs, ...outputs));
      }
      const words = make("pre", { tabIndex: 0 }, answer.message);
      const told = make("details", {}, make("summary", {}, "검사기의 말 그대로"), words);
      told.open = answer.verdict !== "right" && !answer.given;
      verdict.append(told);
      verdict.hidden = false;
    }

    /** 배열 하나를 칸마다 칠한 표들로 그립니다. `other`와 다른 칸에는 테를 두릅니다. */
    function draw(title, value, other) {
      if (!value) return "";
      const figure = make("figure", {}, make("figcaption", {}, title));
      if (value.text !== undefined) {
        figure.append(make("code", {}, value.text));
        return figure;
      }
      const same = other?.slices && `${other.shape}` === `${value.shape}`;
      figure.firstChild.append(` (${value.shape.join(", ")})`, value.cut ? ", 앞부분" : "");
      const most = Math.max(...value.slices.flat(2).map((cell) => Math.abs(cell) || 0)) || 1;
      value.slices.forEach((rows, s) => {
        const table = make("table", { ariaLabel: title });
        rows.forEach((row, i) => {
          const line = table.insertRow();
          row.forEach((cell, j) => {
            const mark = make("td", {}, written(cell, value.kind));
            mark.style.setProperty("--part", Math.abs(cell) / most || 0);
            if (cell < 0) mark.classList.add("negative");
            if (same && !alike(cell, other.slices[s][i][j])) {
              mark.classList.add("differs");
              mark.title = "다른 값";
            }
            line.append(mark);
          });
        });
        figure.append(table);
      });
      return figure;
    }

    function download() {
      const file = new Blob([editor.text], { type: "text/x-python" });
      const link = make("a", { href: URL.createObjectURL(file), download: `my_${kind}.py` });
      link.click();
      URL.revokeObjectURL(link.href);
    }

    function startOver() {
      if (!confirm("쓴 것을 버리고 뼈대에서 다시 시작할까요?")) return;
      editor.text = skeleton;
      editor.mark(0);
      notesSaved.forget(kind);
      verdict.hidden = printed.hidden = true;
      status.textContent = "뼈대로 되돌렸습니다.";
    }

    /** 풀이는 한 번 확인한 다음에 보입니다. */
    function openSolution() {
      if (solution) solution.hidden = !notesSaved.get(kind).tried;
    }
  };

  const written = (cell, kind) => {
    if (typeof cell === "string") return cell;
    if (kind === "b") return cell ? "참" : "거짓";
    return kind === "f" ? `${Number(cell.toFixed(3))}` : `${cell}`;
  };
  const alike = (a, b) => a === b || Math.abs(a - b) <= 1e-4 * Math.max(1, Math.abs(b));

  /** 칸의 연습에 달린 풀이 상자 */
  function solutionAfter(box) {
    const next = (box.closest(".exercise") ?? box).nextElementSibling;
    return next?.classList.contains("solution") ? next : undefined;
  }
})();
