/**
 * 브라우저 속의 파이썬. 부를 때에만 읽고, 사이트 밖에는 아무것도 묻지 않습니다.
 *
 * 파일로 연 쪽은 다른 파일을 `fetch`하지 못하지만 스크립트는 읽습니다. 그래서 실행기의
 * 파일은 gzip을 base64로 적은 스크립트 조각으로 있습니다(conf/extensions/workshop.py).
 * 조각을 모아 워커에 넘기면, 워커는 그 안에서 파일을 찾아 Pyodide를 켭니다.
 */
(() => {
  const SECONDS = 20;
  let files; // 이름마다 gzip으로 줄인 Blob
  let worker; // 켜 둔 파이썬. 멈추면 버리고 새로 켭니다.

  /** 워커 안에서 실행되는 함수. 바깥의 이름을 쓰지 않습니다. */
  function inside() {
    const send = (text) => postMessage({ printed: text });
    let python;
    async function start(found) {
      const open = (name) => new Response(
        found[name].stream().pipeThrough(new DecompressionStream("gzip")),
        { headers: { "Content-Type": name.endsWith(".wasm") ? "application/wasm" : "" } });
      self.fetch = async (address) => open(`${address.url ?? address}`.split("/").pop());
      for (const name of ["pyodide.js", "pyodide.asm.js"]) {
        (0, eval)(await open(name).text());
      }
      // 있을 수 없는 주소입니다. 위의 fetch가 이름만 봅니다.
      const options = { indexURL: "https://runtime.invalid/", packages: ["numpy"] };
      python = await loadPyodide(options);
      const notes = await open("notes.zip").arrayBuffer();
      python.unpackArchive(notes, "zip", { extractDir: "/home/pyodide" });
    }
    self.onmessage = async ({ data: { found, task } }) => {
      try {
        if (found) await start(found);
        const page = python.pyimport("page");
        postMessage({ answer: task ? JSON.parse(page[task[0]](...task.slice(1), send)) : true });
      } catch (error) {
        postMessage({ failed: `${error.message ?? error}`.trim().split("\n").pop() });
      }
    };
  }

  // 여럿을 한꺼번에 읽어도 섞이지 않도록, 받은 것을 그 스크립트에 적어 둡니다.
  globalThis.notesRuntime = (value) => { document.currentScript.given = value; };

  /** 스크립트 하나를 읽고 그것이 `notesRuntime`에 넘긴 것을 돌려줍니다. */
  const read = globalThis.notesRead = async (name) => {
    const script = await notesScript(name);
    script.remove();
    return script.given;
  };

  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

  async function fetchAll(told, signal) {
    const list = await read("runtime/files.js");
    const total = list.reduce((sum, [, size]) => sum + size, 0);
    const found = {};
    let loaded = 0;
    for (const [name, , count] of list) {
      const parts = [];
      for (let i = 0; i < count; i += 1) {
        told({ loaded, total });
        parts.push(bytes(await read(`runtime/${name}.${i}.js`)));
        signal.throwIfAborted();
        loaded += parts.at(-1).length;
      }
      found[name] = new Blob(parts);
    }
    return found;
  }

  /** 워커에 일을 시키고 답을 기다립니다. 멈추거나 어긋나면 워커를 버립니다. */
  const ask = (message, told, signal, seconds) => new Promise((done, failed) => {
    const fail = (error) => {
      worker?.terminate();
      worker = undefined;
      end(failed, error);
    };
    const late = () => fail(new Error(`${seconds}초가 지나 멈추었습니다. 끝나지 않는 되풀이가 있는지 보세요.`));
    const timer = seconds && setTimeout(late, seconds * 1000);
    const stopped = () => fail(signal.reason);
    const end = (settle, value) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stopped);
      settle(value);
    };
    signal.addEventListener("abort", stopped);
    worker.onerror = (event) => fail(new Error(event.message));
    worker.onmessage = ({ data }) => {
      if (data.printed !== undefined) told(data);
      else if (data.failed) fail(new Error(`파이썬이 멈추었습니다: ${data.failed}`));
      else end(done, data.answer);
    };
    worker.postMessage(message);
  });

  /**
   * 일 하나(`page.py`의 함수의 이름과 인자들)를 파이썬에 맡기고 그 답을 돌려줍니다. `told`는 도중의 일을 듣습니다:
   * 읽은 바이트(`loaded`, `total`), 켜기(`starting`), 실행(`running`), `printed`.
   */
  globalThis.notesPython = async (task, told, signal, seconds = SECONDS) => {
    files ??= await fetchAll(told, signal);
    if (!worker) {
      told({ starting: true });
      const address = URL.createObjectURL(new Blob([`(${inside})()`]));
      worker = new Worker(address);
      URL.revokeObjectURL(address);
      await ask({ found: files }, told, signal);
    }
    told({ running: true });
    return ask({ task }, told, signal, seconds);
  };
})();
