"""논문 "Attention Is All You Need"의 모델을 장마다 한 모듈로 옮긴 코드입니다.

모듈 이름은 그것을 설명하는 장의 이름과 같습니다. 필요한 것을 모듈에서 직접 가져옵니다.

    >>> from transformer_notes.attention import scaled_dot_product_attention
"""
