"""Keras가 텐서에 몰래 붙이는 마스크를 끊습니다."""


class StopsKerasMask:
    """마스크가 붙은 입력도 경고 없이 받되, 출력에는 붙이지 않는 층과 모델의 부모입니다.

    이 책에서는 마스크를 언제나 인자로 넘깁니다. 몰래 따라다니는 2차원 마스크가 손실까지
    가면 모양이 맞지 않거나, 아무도 모르게 다른 평균을 냅니다.
    """

    supports_masking = True

    def compute_mask(self, inputs, previous_mask=None):
        return None
