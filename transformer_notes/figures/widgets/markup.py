"""위젯의 HTML: 틀에 값을 넣고, 자료와 스크립트와 함께 조각 하나로 묶습니다.

HTML이면서 XHTML입니다. EPUB과 PDF에는 멈춘 그림만 실립니다.
"""

import html
import json
from importlib import resources
from string import Template


class Widget:
    """위젯의 부모. 자식은 `name`, `label`과 두 메서드를 정합니다.

    `data()`는 스크립트가 받을 자료, JSON이 되는 값입니다. `still()`은 처음 상태로, 틀의
    자리마다 넣을 HTML입니다. 스크립트는 손잡이를 옮길 때 그것을 바꿉니다.
    """

    #: 틀 `<name>.html`과 스크립트 `<name>.js`의 이름.
    name: str
    #: 화면을 읽는 프로그램이 부르는 이름.
    label: str

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def _repr_html_(self):
        # 태그 사이의 빈칸은 글이 됩니다. 틀은 줄마다 들여 써도 그 글이 없습니다.
        template = "".join(map(str.strip, _read(f"{self.name}.html").splitlines()))
        data = json.dumps(self.data(), ensure_ascii=False, separators=(",", ":"))
        return Template(_read("widget.html")).substitute(
            name=self.name,
            label=html.escape(self.label),
            css=_read("widgets.css"),
            still=Template(template).substitute(self.still()),
            data=data.replace("<", "\\u003c").replace("&", "\\u0026"),
            loader=_read("widgets.js"),
            script=_read(f"{self.name}.js"),
        )


def _read(file):
    folder = resources.files("transformer_notes.figures.widgets")
    return (folder / file).read_text(encoding="utf-8").strip()


def text(value):
    """글을 HTML로 이스케이프합니다."""
    return html.escape(str(value), quote=False)


def flag(name, on):
    """켜거나 끄는 속성. 꺼져 있으면 쓰지 않습니다."""
    return f' {name}=""' if on else ""


def options(name, legend, names, chosen, kind="radio"):
    """하나(radio)나 여럿(checkbox)을 고르는 단추들. 값은 번호입니다."""
    labels = "".join(
        f'<label><input type="{kind}" name="{name}" value="{value}"'
        f"{flag('checked', value in chosen)}/>{text(words)}</label>"
        for value, words in enumerate(names)
    )
    return f"<fieldset><legend>{legend}</legend>{labels}</fieldset>"


def slider(name, words, least, most, value, shown=None):
    """정수를 고르는 손잡이. `shown`은 그 자리가 뜻하는 것이고, 없으면 `value`입니다."""
    shown = value if shown is None else shown
    return (
        f'<label class="tn-slider"><span>{words} <b>'
        f'<span data-out="{name}">{shown}</span></b></span>'
        f'<input type="range" name="{name}" min="{least}" max="{most}" step="1" '
        f'value="{value}"/></label>'
    )


def token_button(token, chosen):
    """가리키거나 눌러 고르는 토큰."""
    return (
        f'<button type="button" aria-pressed="{"true" if chosen else "false"}" '
        f'tabindex="{0 if chosen else -1}">{text(token)}</button>'
    )


def number(value, digits=2):
    """음수의 부호를 빼기표로 적은 수. 반올림하여 0이면 부호가 없습니다.

    Examples:
        >>> number(-1.005, 1)
        '−1.0'
    """
    return f"{value:z.{digits}f}".replace("-", "−")
