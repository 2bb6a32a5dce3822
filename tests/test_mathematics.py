"""수식은 지을 때 MathML이 됩니다."""

import re
import xml.etree.ElementTree as ElementTree

PAGE = """
글 속의 $\\sqrt{d_k}$ 하나.

```{math}
:label: eq-two
a &= b \\\\
c &= \\text{한글}
```

식 {eq}`eq-two`.
"""


def test_a_page_has_mathml_and_numbers_and_no_script(book):
    book.write(page=PAGE)
    assert book.build().returncode == 0
    page = (book.html / "page.html").read_text("utf-8")
    inline, display = (
        ElementTree.fromstring("<math" + part.split("</math>")[0] + "</math>")
        for part in page.split("<math")[1:]
    )
    assert inline.find(".//msqrt") is not None
    assert len(display.findall(".//mtr")) == 2
    assert "한글" in "".join(display.itertext())
    assert '<span class="eqno">(1)' in page and 'href="#equation-eq-two"' in page
    assert not re.search("<script[^>]*mathjax", page)


def test_what_cannot_be_set_fails_the_build_and_says_where(book):
    book.write(page="\n$\\nosuchcommand x$\n")
    done = book.build()
    assert done.returncode == 1
    assert "nosuchcommand" in done.stdout and "page.md" in done.stdout
