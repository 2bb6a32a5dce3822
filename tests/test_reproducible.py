"""같은 책을 두 번 지으면 바이트까지 같다."""

from conftest import Book

PAGE = """
```{code-cell}
---
mystnb:
  image:
    alt: 선 하나
  figure:
    name: fig-line
    caption: 선
---
from transformer_notes.figures import plotting
with plotting.figure(2, 2) as (fig, axes):
    axes.plot([0, 1], label="선")
    axes.legend()
fig
```

{numref}`fig-line`, $\\sqrt{x}$, {src}`masking.padding_mask`

```{exercise} 물음
:label: ask
무엇입니까?
```

```{solution} ask
:class: dropdown
답입니다.
```
"""


def test_two_folders_hold_the_same_bytes(tmp_path):
    sites = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        book = Book(tmp_path / name)
        book.write(
            page=PAGE,
            api_rst=".. automodule:: transformer_notes.masking\n   :members:\n",
        )
        result = book.build()
        assert result.returncode == 0, result.stdout
        sites.append(
            {
                path.relative_to(book.html): path.read_bytes()
                for path in book.html.rglob("*")
                if path.is_file()
            }
        )
    first, second = sites
    assert first.keys() == second.keys()
    assert [path for path in first if first[path] != second[path]] == []
