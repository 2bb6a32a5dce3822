(name, enliven) => {
  // 한 쪽에 위젯이 여럿이고 노트북이 스크립트를 언제 실행할지 모르므로, 아직 살아나지
  // 않은 것을 모두 찾습니다.
  for (const root of document.querySelectorAll(`[data-widget="${name}"]:not([data-live])`)) {
    root.dataset.live = "";
    const data = JSON.parse(root.querySelector("[type='application/json']").textContent);
    const controls = root.querySelector("form");
    controls.hidden = false;
    controls.onsubmit = () => false;
    const say = (what, text) => {
      root.querySelector(`[data-out="${what}"]`).textContent = text;
    };
    // -0.000은 0.000으로 적습니다.
    const number = (value, digits) =>
      value.toFixed(digits).replace(/^-(?=0\.0*$)/, "").replace("-", "−");
    // 단추 가운데 하나를 고릅니다: 가리키거나 누르거나 위아래 화살표로.
    const pick = (buttons, choose) => {
      const turn = (event, button) => {
        const shown = buttons.filter((b) => b.checkVisibility());
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        const next = step && shown[shown.indexOf(button) + step];
        if (step) event.preventDefault();
        if (next) next.focus();
      };
      for (const button of buttons) {
        button.onpointerenter = button.onfocus = button.onclick = () => choose(button);
        button.onkeydown = (event) => turn(event, button);
      }
    };
    const mark = (buttons, chosen) => {
      for (const button of buttons) {
        button.setAttribute("aria-pressed", button === chosen);
        button.tabIndex = button === chosen ? 0 : -1;
      }
    };
    enliven({ root, data, controls, say, number, pick, mark });
  }
}
