"""위젯의 HTML: 요소, 조절 손잡이, 그리고 조각 하나로 묶는 일.

HTML이면서 XHTML입니다. EPUB에 실을 때에는 `<script>`만 지우면 됩니다.
"""

import html
import json
from importlib import resources

#: 스크립트와 CSS가 있는 폴더.
FILES = resources.files("transformer_notes.figures.widgets")
VOID = {"input"}


class Widget:
    """위젯의 부모. 자식은 `name`, `label`, `data`, `still`을 정합니다."""

    #: 스크립트 `<name>.js`의 이름.
    name: str
    #: 화면을 읽는 프로그램이 부르는 이름.
    label: str

    def data(self):
        """스크립트가 받을 자료, JSON이 되는 값."""
        raise NotImplementedError

    def still(self):
        """처음 상태의 HTML. 스크립트는 그 수와 클래스만 바꿉니다."""
        raise NotImplementedError

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def _repr_html_(self):
        css, loader, script = (
            (FILES / file).read_text(encoding="utf-8").strip()
            for file in ("widgets.css", "widgets.js", f"{self.name}.js")
        )
        data = json.dumps(self.data(), ensure_ascii=False, separators=(",", ":"))
        data = data.replace("<", "\\u003c").replace("&", "\\u0026")
        call = f"({loader})({json.dumps(self.name)}, {script})"
        return element(
            "div",
            # HTML의 본문에는 <style>을 두지 못하지만 SVG 안에는 둘 수 있습니다.
            element(
                "svg", element("style", css), class_="tn-style", aria_hidden="true"
            ),
            self.still(),
            element("script", data, type="application/json"),
            element("script", f"//<![CDATA[\n{call}\n//]]>"),
            class_="tn-widget",
            data_widget=self.name,
            role="group",
            aria_label=self.label,
        )


def element(tag, *inside, **attributes):
    """요소 하나의 HTML입니다. 글은 `text`로 이스케이프해 넘깁니다.

    Args:
        tag: 요소의 이름.
        *inside: 안에 차례로 들 HTML.
        **attributes: 속성. 이름의 밑줄은 줄표가 되고 끝의 밑줄은 빠집니다. True는 값이
            빈 속성이고, False와 None은 쓰지 않습니다.

    Examples:
        >>> element("p", text("a < b"), class_="tn-said", hidden=True)
        '<p class="tn-said" hidden="">a &lt; b</p>'
    """
    written = "".join(
        f' {_attribute(name)}="{"" if value is True else html.escape(str(value))}"'
        for name, value in attributes.items()
        if value is not False and value is not None
    )
    if tag in VOID:
        return f"<{tag}{written}/>"
    return f"<{tag}{written}>{''.join(inside)}</{tag}>"


def _attribute(name):
    return name.rstrip("_").replace("_", "-")


def text(value):
    """글을 HTML로 이스케이프합니다."""
    return html.escape(str(value), quote=False)


def drawing(width, height, *inside, label):
    """너비에 맞추어 늘고 주는 SVG. `label`은 그림을 읽어 주는 말입니다."""
    return element(
        "svg",
        *inside,
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=label,
    )


def letters(words, x, y, **attributes):
    """SVG의 글."""
    return element("text", text(words), x=x, y=y, **attributes)


def controls(*inside):
    """손잡이를 담는 양식. 스크립트가 살아 있을 때만 보입니다."""
    # 양식마다 라디오의 이름이 따로여서, 한 쪽에 위젯이 여럿이어도 섞이지 않습니다.
    return element(
        "form", *inside, class_="tn-controls", autocomplete="off", hidden=True
    )


def slider(name, label, value, most, least=0, step=1, shown=None):
    """미끄럼 손잡이. 이름 옆에 지금 값을 적습니다."""
    # <output>은 이름표가 가리키는 것이 손잡이가 아니라 제가 되게 합니다.
    now = element("b", out(name, value if shown is None else shown))
    bounds = {"min": least, "max": most, "step": step, "value": value}
    return element(
        "label",
        element("span", text(label), " ", now),
        element("input", type="range", name=name, **bounds),
        class_="tn-slider",
    )


def options(name, legend, names, chosen, kind="radio"):
    """하나(radio)나 여럿(checkbox)을 고르는 단추들. 값은 번호입니다.

    Args:
        name: 양식에서의 이름.
        legend: 무엇을 고르는지.
        names: 보일 이름들.
        chosen: 처음에 고른 번호들.
        kind: "radio" 또는 "checkbox".
    """
    return element(
        "fieldset",
        element("legend", text(legend)),
        *(
            element(
                "label",
                element(
                    "input",
                    type=kind,
                    name=name,
                    value=value,
                    checked=value in chosen,
                ),
                text(words),
            )
            for value, words in enumerate(names)
        ),
    )


def said(*inside):
    """지금 상태를 글로 적은 줄. 바뀌면 화면을 읽는 프로그램이 읽습니다."""
    return element("p", *inside, class_="tn-said", role="status")


def out(name, value):
    """스크립트가 고쳐 쓰는 글."""
    return element("span", text(value), data_out=name)


def number(value, digits=2):
    """음수의 부호를 빼기표로 적은 수.

    Examples:
        >>> number(-1.005, 1)
        '−1.0'
    """
    return f"{value:.{digits}f}".replace("-", "−")
