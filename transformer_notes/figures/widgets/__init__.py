"""위젯: 값을 바꾸어 보는 그림. 사이트에서도 노트북에서도 셀의 마지막 줄에 둡니다.

위젯마다 `_repr_html_`이 HTML 한 조각을 냅니다. 그 안에 멈춘 그림과 자료와 스크립트가
다 들어 있어 아무것도 더 내려받지 않습니다. 스크립트가 꺼져 있으면 멈춘 그림이 남습니다.
"""

from transformer_notes.figures.widgets.attention import AttentionExplorer
from transformer_notes.figures.widgets.decoding_tree import DecodingTree
from transformer_notes.figures.widgets.heads import HeadSplitter
from transformer_notes.figures.widgets.mask import MaskBuilder
from transformer_notes.figures.widgets.merge import MergeExplorer
from transformer_notes.figures.widgets.position import PositionExplorer
from transformer_notes.figures.widgets.schedule import ScheduleExplorer
from transformer_notes.figures.widgets.smoothing import SmoothingExplorer
from transformer_notes.figures.widgets.softmax import SoftmaxExplorer

__all__ = [
    "AttentionExplorer",
    "DecodingTree",
    "HeadSplitter",
    "MaskBuilder",
    "MergeExplorer",
    "PositionExplorer",
    "ScheduleExplorer",
    "SmoothingExplorer",
    "SoftmaxExplorer",
]
