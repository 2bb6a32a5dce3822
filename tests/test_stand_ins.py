"""자리표: 어떤 차례로 가져와도 장식자는 장식하려던 것을 돌려준다."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DECORATED = """
import sys
sys.path.insert(0, {extensions!r})
import stand_ins
stand_ins.install("keras")
{first}
import keras

@keras.saving.register_keras_serializable(package="notes")
class Layer(keras.layers.Layer):
    pass

@keras.saving.register_keras_serializable
def act(x):
    return x

print(Layer.__name__, act.__name__, act(3))
"""


def printed(first):
    code = DECORATED.format(extensions=str(ROOT / "conf" / "extensions"), first=first)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_a_name_imported_as_a_module_is_still_a_function():
    """링크를 찾는 확장은 이름을 모듈로도 가져와 봅니다. 그 뒤에도 같아야 합니다."""
    asked = "import keras.saving.register_keras_serializable, keras.layers.layer"
    assert printed(first=asked) == printed(first="") == "Layer act 3\n"


def test_a_type_of_either_kind_is_written_with_its_names():
    """파이썬의 타입과 `|`로 이은 주석도 모듈을 가져올 때 계산됩니다."""
    either = "import keras\nprint(keras.Tensor | float, float | keras.Tensor)"
    assert "keras.Tensor | float float | keras.Tensor\n" in printed(first=either)
