/** 직접 쓰는 칸: 편집기, 확인하기, 판정. 문(workshop.js)을 누르면 읽습니다. */
(() => {
  const VERDICTS = {
    right: "맞습니다",
    known: "목록에 있는 실수입니다",
    wrong: "틀렸습니다. 목록에 있는 실수는 아닙니다",
    unjudged: "모르겠습니다",
    unwritten: "아직 적지 않았습니다",
    failed: "실행하지 못했습니다",
    memory: "메모리가 모자랍니다",
    ran: "실행했습니다",
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

  /**
   * 편집기 하나와 그것을 실행하는 단추들. `work()`가 파이썬에 시킬 일을 내고, `show`가 답을,
   * `changed`가 고친 글을 받습니다. 놓을 것은 `parts`에 있습니다.
   */
  function desk({ place, text, title, action, work, show, changed = () => {} }) {
    let stop; // 실행하는 동안의 AbortController
    const check = button(action, run);
    const halt = button("멈추기", () => stop.abort(new Error("멈추었습니다.")));
    const progress = make("progress", { hidden: true, ariaLabel: "읽은 양" });
    const status = make("p", { className: "status", role: "status" });
    const printed = make("pre", { className: "printed", hidden: true, tabIndex: 0, ariaLabel: "출력" });
    const keys = make("p", { className: "keys" },
      "Tab은 들여 씁니다. Esc를 누른 다음 Tab을 누르면 다음 자리로 갑니다.");
    check.className = "check";
    halt.hidden = true;
    const editor = notesEditor(place, text, `${title} 편집기`, () => changed(editor.text));
    // 쪽의 단축키가 편집기의 글자를 가져가지 않게 합니다. 빗금(/)은 검색을 엽니다
    place.addEventListener("keydown", (event) => event.stopPropagation());
    editor.focus();

    async function run() {
      if (busy) {
        say("다른 칸의 코드를 실행하고 있습니다. 끝난 다음에 누르세요.");
        return;
      }
      busy = check.disabled = true;
      stop = new AbortController();
      halt.hidden = false;
      clear();
      try {
        const answer = await notesPython(work(editor.text), told, stop.signal);
        say(`${VERDICTS[answer.verdict]}.`, answer.verdict);
        editor.mark(answer.line);
        show(answer);
      } catch (error) {
        say(error.message);
        show();
      } finally {
        busy = check.disabled = false;
        halt.hidden = progress.hidden = true;
      }
    }

    function told({ loaded, total, starting, running, printed: more }) {
      if (more !== undefined) {
        printed.hidden = false;
        printed.append(more);
        return;
      }
      progress.hidden = !total;
      if (total) {
        Object.assign(progress, { max: total, value: loaded });
        say(`파이썬을 읽습니다. ${megabytes(loaded)} / ${megabytes(total)} MB`);
      }
      if (starting) say("파이썬을 켭니다.");
      if (running) say("실행합니다.");
    }

    function say(words, verdict = "") {
      status.textContent = words;
      status.className = `status ${verdict}`;
    }

    function clear() {
      printed.hidden = true;
      printed.textContent = "";
      say("");
      editor.mark(0);
    }
    return { editor, say, clear, check, halt, keys, progress, status, printed };
  }

  /** 책의 셀을 고쳐 실행합니다. `setup`은 셀 앞에서 실행할 글입니다. */
  globalThis.notesLive = (cell, setup) => {
    const input = cell.querySelector(".cell_input");
    const output = cell.querySelector(".cell_output");
    const text = input.querySelector("pre").textContent.trimEnd();
    const place = make("div", { className: "write" });
    input.replaceWith(place);
    const bench = desk({
      place, text, title: "셀", action: "실행하기",
      work: (source) => ["run", setup, source],
      show(answer) {
        output.hidden = true; // 새 출력이 대신합니다
        if (answer?.message) bench.printed.append(answer.message);
        bench.printed.hidden = !bench.printed.textContent;
      },
    });
    const back = button("되돌리기", () => {
      bench.editor.text = text;
      bench.clear();
      output.hidden = false;
    });
    const actions = make("p", { className: "actions" }, bench.check, bench.halt, back);
    place.append(bench.keys, actions, bench.progress, bench.status, bench.printed);
  };

  /** 연습의 뼈대가 있던 자리를 칸으로 바꿉니다. */
  globalThis.notesBench = (box) => {
    const { kind, name, title } = box.dataset;
    const skeleton = box.querySelector("template").content.textContent;
    const solution = solutionAfter(box);
    const place = make("div");
    box.querySelector(".definition").replaceWith(place);

    const verdict = make("div", { className: "verdict", hidden: true });
    const masks = make("select", {}, new Option("봄", "attend"), new Option("가림", "hide"));
    const bench = desk({
      place, title, text: notesSaved.get(kind).text ?? skeleton, action: "확인하기",
      work(source) {
        verdict.hidden = true;
        return ["judge", source, kind, name, masks.value];
      },
      show(answer) {
        const right = answer?.verdict === "right";
        notesSaved.set(kind, { tried: true, ...(right && { done: true }) });
        if (right) notesMemory.solve(box.closest(".exercise").id);
        openSolution();
        if (answer) showVerdict(answer);
      },
      changed: (text) => notesSaved.set(kind, { text }),
    });
    const { editor } = bench;
    const polarity = make("label", { hidden: !MASKED.includes(kind) }, "마스크의 True는 ", masks);
    const actions = make("p", { className: "actions" }, bench.check, bench.halt,
      button("파일로 받기", download), button("처음부터", startOver), polarity);
    box.querySelector(".write-start").replaceWith(
      bench.keys, actions, bench.progress, bench.status, verdict, bench.printed);
    openSolution();

    function showVerdict(answer) {
      verdict.className = `verdict ${answer.verdict}`;
      verdict.replaceChildren();
      for (const [number, name, link] of answer.mistakes ?? []) {
        const root = document.documentElement.dataset.content_root;
        const where = make("a", { href: root + link }, `실수 ${number}: ${name}`);
        verdict.append(make("p", {}, where));
      }
      if (answer.why) verdict.append(make("p", {}, answer.why));
      if (answer.line) {
        verdict.append(make("p", {}, `${answer.line}번째 줄을 보세요. 편집기에 표시했습니다.`));
      }
      if (answer.verdict === "right") {
        const list = `${document.documentElement.dataset.content_root}practice/workshop.html`;
        const next = make("a", { href: list }, "작업장");
        verdict.append(make("p", {}, "다음에 쓸 것은 ", next, "에 있습니다."));
      }
      if (answer.given && answer.verdict !== "unwritten") {
        const given = answer.verdict === "failed" ? "난 오류" : "나온 값";
        const inputs = Object.entries(answer.inputs).map(([key, value]) => draw(`넣은 ${key}`, value));
        const outputs = [draw(answer.wanted, answer.expected, answer.given),
          draw(given, answer.given, answer.expected)];
        verdict.append(make("div", { className: "grids" }, ...inputs, ...outputs));
        const colors = "색이 진할수록 0에서 먼 수이고, 주황은 음수, 테두리는 다른 값입니다.";
        if (answer.given.slices) verdict.append(make("p", { className: "legend" }, colors));
      }
      const words = make("pre", { tabIndex: 0 }, answer.message);
      const whole = make("details", {}, make("summary", {}, "검사기의 말 그대로"), words);
      whole.open = answer.verdict !== "right" && !answer.given;
      verdict.append(whole);
      verdict.hidden = false;
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
      notesSaved.forget(kind);
      bench.clear();
      verdict.hidden = true;
      bench.say("뼈대로 되돌렸습니다.");
    }

    /** 풀이는 한 번 확인한 다음에 보입니다. */
    function openSolution() {
      if (solution) solution.hidden = !notesSaved.get(kind).tried;
    }
  };

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
