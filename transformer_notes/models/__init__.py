"""함께 온 모델: 학습하지 않고 바로 씁니다.

모델마다 파일이 하나 있습니다. 무엇을 배웠고, 어느 명령이 만들었고, 8비트로 줄이며
점수가 얼마나 달라졌는지는 `Pretrained.card`에 적혀 있습니다.
"""

import dataclasses
from pathlib import Path

from transformer_notes import decoding
from transformer_notes.classification import Classifier, classify
from transformer_notes.models import files
from transformer_notes.tokenization import Tokenizer
from transformer_notes.transformer import Transformer

__all__ = ["FOLDER", "Pretrained", "available", "load"]

#: 함께 온 모델의 폴더.
#:
#: :meta hide-value:
FOLDER = Path(__file__).parent


@dataclasses.dataclass(frozen=True, eq=False)
class Pretrained:
    """학습한 모델과, 그것을 쓰는 데 드는 것.

    Examples:
        >>> dates = load("dates")
        >>> dates.translate(["2026년 11월 21일 토요일"])[0].text
        '2026-11-21'
    """

    #: `Transformer`. task가 "classify"이면 `Classifier`입니다.
    model: Transformer | Classifier
    #: 모델과 어휘 집합이 같은 토크나이저.
    tokenizer: Tokenizer
    #: 모델이 하는 일, `files.TASKS` 가운데 하나.
    task: str
    #: 모델의 내력. 명령, 데이터, 점수, 판이 파일에 적힌 그대로 있습니다.
    card: dict

    def translate(self, texts, **how):
        """글마다의 답입니다. `decoding.translate`와 같습니다.

        Args:
            texts: 문자열의 목록.
            **how: 답을 고르는 방법. `decoding.translate`가 받는 것입니다.

        Raises:
            AttributeError: 글을 분류하는 모델.
        """
        return decoding.translate(self.model, self.tokenizer, texts, **how)

    def classify(self, texts):
        """글마다 레이블의 확률입니다. 레이블의 이름은 `card["labels"]`에 있습니다.

        Args:
            texts: 문자열의 목록. 저마다 비어 있지 않아야 합니다.

        Returns:
            float32, (글의 수, 레이블의 수).

        Raises:
            ValueError: 글로 답하는 모델. 나머지는 `classification.classify`와 같습니다.
        """
        if self.task != "classify":
            raise ValueError(
                "classify에는 글을 분류하는 모델이 필요합니다. 받은 것: task가 "
                f"{self.task!r}인 모델. translate를 부르세요."
            )
        return classify(self.model, self.tokenizer, texts)


def available():
    """함께 온 모델의 이름을 늘어놓습니다.

    Examples:
        >>> "dates" in available()
        True
    """
    return sorted(path.stem for path in FOLDER.glob("*.safetensors"))


def load(name_or_path):
    """함께 온 모델이나 모델 파일을 읽습니다.

    Args:
        name_or_path: `available`에 있는 이름, 또는 `files.write`로 쓴 파일의 경로.

    Returns:
        `Pretrained`.

    Raises:
        OSError: 읽을 수 없는 파일.
        ValueError: 모르는 이름, 망가졌거나 다른 판이 쓴 파일.
    """
    path = Path(name_or_path)
    if str(name_or_path) in available():
        path = FOLDER / f"{name_or_path}.safetensors"
    elif not path.is_file():
        raise ValueError(
            f"{', '.join(available())} 가운데 하나나 모델 파일의 경로가 필요합니다. "
            f"받은 것: {str(name_or_path)!r}."
        )
    return Pretrained(*files.read(path))
