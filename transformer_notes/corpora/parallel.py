"""줄마다 짝인 두 파일."""

import itertools

from transformer_notes.corpora import tables


def load_parallel(source_path, target_path):
    """줄마다 서로의 번역인 두 파일을 읽습니다. Multi30k가 이 꼴입니다.

    두 파일에서 함께 빈 줄은 건너뜁니다. 받아들이는 것은 `tables`에 적혀 있습니다.

    Args:
        source_path: 원문의 파일.
        target_path: 번역의 파일.

    Returns:
        `(원문, 번역)`의 목록. 파일의 순서입니다.

    Raises:
        OSError: 읽지 못하는 파일.
        ValueError: 한쪽에만 있는 줄, UTF-8이 아닌 줄.
    """
    paths = source_path, target_path
    texts = [[text.strip() for _, text in tables.lines(path)] for path in paths]
    pairs = list(itertools.zip_longest(*texts, fillvalue=""))
    for number, pair in enumerate(pairs, start=1):
        empty = paths[bool(pair[0])]
        whole = any(pair) == all(pair)
        tables.require(whole, empty, number, "짝이 있는 글이", "")
    return [pair for pair in pairs if any(pair)]
