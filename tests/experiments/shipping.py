"""쪽의 프로그램이 학습한 모델을 패키지에 싣습니다."""

import hashlib
import tempfile
from pathlib import Path

import measuring
from experiment import LIBRARIES, digest

from transformer_notes import models, training
from transformer_notes.models import files


def ship(
    name,
    model,
    tokenizer,
    task,
    program,
    data,
    batches,
    held_out,
    score=lambda model: {},
    **card,
):
    """모델 파일을 쓰고, 8비트로 줄이기 전과 뒤의 점수를 내력에 적습니다.

    돌려준 것을 실행의 결과에 넣으면 쪽의 결과가 파일의 해시를 압니다. 시험은 그것으로
    파일과 결과와 명령이 서로 맞는지 봅니다.

    Args:
        name: 모델의 이름. `models.load`가 찾는 이름입니다.
        model: 학습한 모델.
        tokenizer: 그 토크나이저.
        task: 모델이 하는 일, `files.TASKS` 가운데 하나.
        program: 프로그램의 `__file__`.
        data: 데이터의 이름과 해시와 라이선스: `name`, `sha256`, `license`의 사전.
        batches: 학습한 `Batches`. 가장 긴 글을 잽니다.
        held_out: 채점할 `Batches`.
        score: 모델을 받아 더 적을 점수의 사전을 내는 함수.
        **card: 내력에 더 적을 것. 분류이면 `labels`.

    Returns:
        실행에 넣을 사전.
    """

    def scores(model):
        return {**training.evaluate(model, held_out)._asdict(), **score(model)}

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        files.write(path, model, tokenizer, task, card)
        stored, *_ = files.read(path)
    found = {"scores": scores(model), "stored_scores": scores(stored)}
    path = models.FOLDER / f"{name}.safetensors"
    longest = max(inputs[0].shape[1] for inputs, _ in batches.epoch())
    card |= {
        "command": f"python tests/experiments/{Path(program).name}",
        "data": data,
        "digest": digest(program),
        **found,
        "longest_source": longest,
        "versions": measuring.versions(*LIBRARIES),
    }
    files.write(path, model, tokenizer, task, card)
    content = path.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    return {"model": name, "model_sha256": sha256, "model_bytes": len(content), **found}
