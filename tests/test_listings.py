"""소스를 설명하는 글은 그 소스를 따라간다."""

import re
from pathlib import Path

import package
import pytest
from listings import stale_fragments

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
LAYER = '''
class Layer:
    """층입니다.

    Args:
        units: 단위의 수.
    """

    def call(self, x):
        hidden = tf.tensordot(
            x, self.w1, axes=1
        )
        return tf.nn.relu(hidden)


def helper(flag=True):
    return flag
'''
MYST = "```{{definition}} {}\n```\n\n"


@pytest.fixture
def layer(tmp_path, monkeypatch):
    folder = tmp_path / "transformer_notes"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "layer.py").write_text(LAYER, encoding="utf-8")
    monkeypatch.setattr(package, "PACKAGE", folder)


def found(prose):
    text = re.sub(r"<(.*?)>", lambda m: MYST.format(m[1]), prose)
    return [(line, fragment) for line, fragment, _ in stale_fragments(text)]


def test_the_prose_of_this_book_describes_its_sources():
    stale = {str(page): [*stale_fragments(page.read_text("utf-8"))] for page in PAGES}
    assert {page: told for page, told in stale.items() if told} == {}


def test_honest_prose_passes(layer):
    for item in (
        "`tf.tensordot(x, self.w1, axes=1)`: 여러 줄에 걸친 코드입니다.",
        "`tf.tensordot(...)`: 줄인 코드입니다.",
        "`units`는 독스트링에 있습니다.",
        "`layer.Layer`는 정의의 이름입니다.",
        "``hidden``은 겹친 따옴표로 적었습니다.",
        "{src}`layer.nowhere`와 {term}`없는 말`은 코드가 아닙니다.",
        "`relu`에는 `helper(flag=True)`처럼 다른 소스를 부르는 예를 들 수 있습니다.",
        '`relu`에는 `Layer("anything")`처럼 글을 넘길 수 있습니다.',
    ):
        assert found(f"<layer.Layer>- {item}\n") == [], item


def test_a_fragment_that_left_the_source_is_found_with_its_line(layer):
    for item, fragment in (
        ('`"blm,mf->blf"`: 떠난 줄입니다.', '"blm,mf->blf"'),
        ("`helper`는 다른 소스에 있습니다.", "helper"),  # 항목의 머리
        ("`hid`는 이름의 일부입니다.", "hid"),
        ("`tf.einsum(...)`: 줄인 코드입니다.", "tf.einsum(...)"),
        ("이 줄은 `tf.einsum`이 없습니다.", "tf.einsum"),
        ("{ref}`앞 절`을 지나 `einsum`을 찾습니다.", "einsum"),
        ("`relu`입니다.\n\n  이어지는 문단의 `einsum`도 봅니다.", "einsum"),
    ):
        prose = (
            f"머리\n\n<layer.Layer>한 줄씩 봅니다.\n\n- `relu`: 남은 것.\n- {item}\n"
        )
        text = prose.replace("<layer.Layer>", MYST.format("layer.Layer"))
        (line,) = (
            n for n, row in enumerate(text.split("\n"), 1) if f"`{fragment}`" in row
        )
        assert found(prose) == [(line, fragment)]


def test_definitions_in_a_row_are_described_together_and_others_apart(layer):
    assert found("<layer.Layer><layer.helper>- `flag`\n- `relu`\n") == []
    assert found("<layer.Layer>글\n\n<layer.helper>- `relu`\n") == [(9, "relu")]


def test_a_list_that_does_not_follow_a_listing_is_left_alone(layer):
    assert found("- `einsum`\n") == []
    assert found("<layer.helper>## 다음 절\n\n- `einsum`\n") == []
    assert found("<layer.helper>(다음)=\n## 절\n\n- `einsum`\n") == []
    assert found("<layer.helper>글\n\n또 글\n\n- `einsum`\n") == []
    assert found("<layer.helper>- `flag`\n\n글\n\n- `einsum`\n") == []


def test_the_build_names_page_line_fragment_and_definition(book):
    book.write(
        page="```{definition} masking.padding_mask\n```\n\n- `tf.einsum`: 없음\n"
    )
    result = book.build()
    assert result.returncode != 0
    assert (
        f"{book.path('page')}:6: WARNING: 설명하는 코드가 소스에 없습니다: tf.einsum "
        "(masking.padding_mask)" in result.stdout
    )
