"""읽는 이가 쓴 코드를 살펴, 맞는지 또는 어느 실수인지 말해 주는 검사기.

번호는 '사람들이 실제로 하는 실수'의 번호입니다. 후보를 무작위 입력에 실행하고, 실수를
하나씩 켤 수 있는 NumPy 기준과 견줍니다. 아무 실수도 켜지 않은 기준과 같으면 맞은
것이고, 몇 개를 켠 기준과 같으면 그것이 그 후보의 실수입니다. 어느 것과도 같지 않으면
아는 실수를 대지 않고 처음 어긋난 성질을 말합니다. 값을 견줄 수 없는데 어긋난 성질도
없으면 모른다고 합니다.
"""

from transformer_notes.checker.judging import check
from transformer_notes.checker.messages import TITLES, Example, Report
from transformer_notes.checker.registry import KINDS

__all__ = ["KINDS", "TITLES", "Example", "Report", "check"]
