"""영화 감상평과 그 평가."""

from typing import NamedTuple

from transformer_notes.corpora import tables

OFFICIAL = "id", "document", "label"
RAW = "movie_id", "review_id", "rating", "document"
_OFFICIAL = {"0": 0, "1": 1}
#: 별점이 뜻하는 평가. 5부터 8까지는 어느 쪽도 아니어서 말뭉치에 없습니다.
_RAW = {"1": 0, "2": 0, "3": 0, "4": 0, "9": 1, "10": 1}


class Review(NamedTuple):
    """감상평 하나."""

    #: 감상평. 빈 글이 아닙니다.
    text: str
    #: 평가. 0은 부정, 1은 긍정입니다.
    label: int
    #: 영화의 번호. 모르면 None입니다.
    film: str | None


def load_reviews(path):
    """네이버 영화 감상평(e9t/nsmc)의 파일을 읽습니다.

    두 꼴을 읽습니다. 첫 줄이 어느 쪽인지 말합니다.

    - `id document label`: 공식 파일 `ratings_train.txt`와 `ratings_test.txt`. 어느
      영화의 것인지는 적혀 있지 않습니다.
    - `movie_id review_id rating document`: 모은 그대로의 별점. 말뭉치를 만든 사람의
      방법대로 1–4점은 부정, 9–10점은 긍정입니다.

    공식 파일에는 **글이 빈 줄**이 있습니다. 읽을 것이 없으므로 건너뜁니다. 그 밖에
    받아들이는 것은 `tables`에 적혀 있습니다.

    Args:
        path: 탭으로 나눈 파일의 경로.

    Returns:
        `Review`의 목록. 파일의 순서입니다.

    Raises:
        OSError: 읽지 못하는 파일.
        ValueError: 다른 첫 줄, 칸의 수가 다른 줄, 0과 1이 아닌 label, 5점부터 8점까지나
            점수가 아닌 rating.
    """
    found = []
    for number, row in tables.read_tsv(path, OFFICIAL, RAW):
        if "label" in row:
            given, labels, expected = row["label"], _OFFICIAL, "0이나 1인 label이"
        else:
            given, labels, expected = row["rating"], _RAW, "1–4나 9–10인 rating이"
        tables.require(given in labels, path, number, expected, given)
        if row["document"]:
            found.append(Review(row["document"], labels[given], row.get("movie_id")))
    return found
