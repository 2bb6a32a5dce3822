"""글을 나누기 전에 다듬는 정규화. 토크나이저의 파일에 함께 저장됩니다."""

import tokenizers
from tokenizers import normalizers

#: 정규화의 이름과 그 단계. 두 번 해도 한 번 한 것과 같습니다.
#:
#: - ``"nfc"``: 한글의 완성형과 조합형을 같은 글로 봅니다. 어느 표기였는지만 잃고 글은
#:   그대로입니다.
#: - ``"korean"``: NFC에 더해 전각 숫자를 ASCII로, 이어진 빈칸을 공백 하나로 바꾸고, 양
#:   끝의 빈칸을 뗍니다. ㅋ, ㅎ, ㅠ, ㅜ, !, ?, ., ~가 저마다 셋 이상 이어지면 둘만
#:   남깁니다. 말줄임표로 쓴 '...'도 '..'이 됩니다. 숫자의 폭, 빈칸의 종류와 수,
#:   되풀이한 횟수는 되돌리지 못합니다.
#:
#: :meta hide-value:
NORMALIZATIONS = {
    "nfc": normalizers.NFC(),
    "korean": normalizers.Sequence(
        [
            normalizers.NFC(),
            *map(normalizers.Replace, "０１２３４５６７８９", "0123456789"),
            normalizers.Replace(tokenizers.Regex(r"\s+"), " "),
            normalizers.Strip(),
            *(
                normalizers.Replace(tokenizers.Regex(f"[{mark}]{{3,}}"), mark * 2)
                for mark in "ㅋㅎㅠㅜ!?.~"
            ),
        ]
    ),
}
