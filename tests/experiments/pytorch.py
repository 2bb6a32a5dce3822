"""「같은 모델을 PyTorch로」가 읽는 것: 딸린 모델을 옮기고 내보내 로짓을 견줍니다.

PyTorch와 ONNX가 있어야 합니다: ``pip install torch onnxscript onnxruntime``.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from experiment import Experiment

from transformer_notes import models

TEXTS = {
    "dates": [
        "2026년 11월 21일",
        "11/21/26",
        "이천이십육년 십일월 이십일일",
        "3월 1일, 1919",
    ],
    "translator": [
        "Return the number of items in the list.",
        "This is a list.",
        "The default value is None.",
        "Raised when a file is not found.",
    ],
    "chatbot": ["배고파", "오늘 너무 피곤해", "여행 가고 싶어", "심심해"],
}
SETTINGS = {"texts": TEXTS}
PLAN = [{"what": name} for name in TEXTS]
PACKAGES = "torch", "onnxscript", "onnxruntime"


def answered(name):
    """우리 모델의 그리디의 답을 디코더에 넣은 입력과, 그때의 로짓."""
    shipped = models.load(name)
    answers = [given.text for given in shipped.translate(TEXTS[name])]
    source_ids = shipped.tokenizer.encode(TEXTS[name])
    target_ids = shipped.tokenizer.encode(answers, bos=True)
    logits = shipped.model((source_ids, target_ids)).numpy()
    return shipped.model, source_ids, target_ids, logits


def measure(what):
    import torch

    from transformer_notes.pytorch import from_torch, to_torch

    model, source_ids, target_ids, logits = answered(what)
    module = to_torch(model)
    both = [np.int64(ids) for ids in (source_ids, target_ids)]
    with torch.inference_mode():
        theirs = module(*map(torch.from_numpy, both)).numpy()
    back = from_torch(module)
    real = np.asarray(target_ids) != 0

    def compared(found):
        same = found.argmax(-1) == logits.argmax(-1)
        gap = np.abs(found - logits)
        return {"same": int(same[real].sum()), "gap": float(gap[real].max())}

    return {
        "tokens": int(real.sum()),
        "largest": float(np.abs(logits)[real].max()),
        "torch": compared(theirs),
        "onnx": compared(exported(module)(*both)),
        "back": all(
            np.array_equal(a, b)
            for a, b in zip(model.weights, back.weights, strict=True)
        ),
    }


def exported(module):
    """쪽의 코드처럼 ONNX로 내보낸 것을, 다른 크기의 글을 받는 함수로."""
    import torch
    from onnxruntime import InferenceSession

    program = torch.onnx.export(
        module,
        (torch.ones(2, 3, dtype=torch.int64), torch.ones(2, 4, dtype=torch.int64)),
        dynamic_shapes=({0: "batch", 1: "length_s"}, {0: "batch", 1: "length_t"}),
    )
    session = InferenceSession(program.model_proto.SerializeToString())
    names = [given.name for given in session.get_inputs()]
    return lambda *both: session.run(None, dict(zip(names, both)))[0]


def probe():
    """로짓의 크기. 모델이나 계산이 달라지면 달라집니다."""
    return {name: float(np.abs(answered(name)[-1]).mean()) for name in TEXTS}


EXPERIMENT = Experiment(__file__, SETTINGS, PLAN, measure, probe, PACKAGES)

if __name__ == "__main__":
    EXPERIMENT.main()
