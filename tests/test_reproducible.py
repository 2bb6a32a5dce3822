"""같은 책을 두 번 지으면 바이트까지 같다."""

from small_book import API, LINE, Book

PAGE = """
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
        book.write(page=LINE.format(height=1) + PAGE, api=API)
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
