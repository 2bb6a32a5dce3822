"""「브라우저에서 써 보기」가 읽는 것: 브라우저의 모델이 답하기까지의 시간과 빠르기.

바퀴마다 새 쪽을 파일로 엽니다. 모델의 스크립트를 읽기 시작할 때부터 답을 다 쓸 때까지가
첫 답의 시간입니다. 이어서 같은 글에 거듭 답하며 빠르기를 잽니다. 바퀴 가운데 가장 빠른
것을 남깁니다. 끼어든 다른 일은 시간을 늘리기만 합니다.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from experiment import ROOT, Experiment
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(ROOT / "conf" / "extensions"))
import model_scripts  # noqa: E402

SETTINGS = {
    "rounds": 5,
    "repeats": 20,
    "texts": {
        "chatbot": "오늘 너무 피곤하다",
        "dates": "이천이십육년 십일월 이십일일 토요일",
        "reviews": "배우는 좋은데 이야기가 아쉽다",
        "translator": "If the key is not in the dictionary, KeyError is raised.",
    },
}
PLAN = [{"what": "speed", "model": name} for name in SETTINGS["texts"]]
MEASURE = """async ([name, text, repeats]) => {
  const T = notesTransformer
  const start = performance.now()
  await new Promise(done => {
    const script = document.createElement('script')
    script.src = `${name}.js`
    script.onload = done
    document.head.append(script)
  })
  const model = await T.open(notesModels[name])
  const {ids} = T.read(model, text)
  const answer = () => model.task === 'classify'
    ? Array.from(T.classify(model, ids).probabilities)
    : [...T.generate(model, ids)].map(({token}) => token)
  const first = answer()
  const first_answer = performance.now() - start
  const tokens = model.task === 'classify' ? ids.length : first.length
  let best = Infinity
  for (let i = 0; i < repeats; i += 1) {
    const begun = performance.now()
    answer()
    best = Math.min(best, performance.now() - begun)
  }
  return [first, first_answer / 1000, tokens * 1000 / best]
}"""


def answers(name, repeats, rounds):
    """바퀴마다 (답, 첫 답까지의 초, 1초에 쓴 토큰)."""
    code = (ROOT / "conf" / "static" / "transformer.js").read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder, "page.html")
        page_file.write_text(f"<meta charset='utf-8'><script>{code}</script>", "utf-8")
        script = model_scripts.script(model_scripts.MODELS / f"{name}.safetensors")
        Path(folder, f"{name}.js").write_text(script, "ascii")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for _ in range(rounds):
            page = browser.new_page()
            page.set_default_timeout(0)
            page.goto(page_file.as_uri())
            yield page.evaluate(MEASURE, [name, SETTINGS["texts"][name], repeats])
            page.close()
        browser.close()


def measure(what, model):
    """가장 빠른 바퀴의 첫 답까지의 초와 1초에 쓴 토큰."""
    found = list(answers(model, SETTINGS["repeats"], SETTINGS["rounds"]))
    return {
        "first_answer": round(min(seconds for _, seconds, _ in found), 3),
        "tokens_per_second": round(max(speed for *_, speed in found)),
    }


def probe():
    """모델마다 그 글의 답."""
    texts = SETTINGS["texts"]
    return {"answers": {name: next(answers(name, 0, 1))[0] for name in texts}}


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe)

if __name__ == "__main__":
    EXPERIMENT.main()
