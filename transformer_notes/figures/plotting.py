"""이 책의 그림: 같은 색, 같은 글꼴, 같은 눈금.

그림은 pyplot을 거치지 않은 `matplotlib.figure.Figure`입니다. 닫을 것이 없고, 셀의
마지막 줄에 두면 그려집니다.
"""

import contextlib
import functools
from importlib import resources

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.figure import Figure

#: 모든 그림에서 같은 것을 뜻하는 색입니다. 색각 이상이 있어도 구별됩니다(Okabe-Ito).
COLORS = {
    "query": "#0072B2",
    "key": "#D55E00",
    "value": "#009E73",
    "mask": "#8A8A8A",
    "encoder": "#56B4E9",
    "decoder": "#CC79A7",
}
SEQUENTIAL = "Blues"  # 0에서 1까지의 가중치
DIVERGING = "RdBu_r"  # 0을 가운데 둔 부호 있는 값


@functools.cache
def _hangul_family():
    """책이 가져온 한글 글꼴을 matplotlib에 한 번 등록하고 그 이름을 돌려줍니다."""
    font = (
        resources.files("transformer_notes.figures")
        / "fonts"
        / "Pretendard-Regular.otf"
    )
    with resources.as_file(font) as path:
        font_manager.fontManager.addfont(path)
        return font_manager.FontProperties(fname=path).get_name()


def style():
    """그림의 글꼴과 색을 담은 `rcParams` 사전을 돌려줍니다.

    Examples:
        >>> style()["font.family"]
        ['Pretendard', 'DejaVu Sans']
    """
    return {
        "font.family": [_hangul_family(), "DejaVu Sans"],
        "font.size": 11,
        "axes.titlesize": 12,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.prop_cycle": matplotlib.cycler(
            color=[COLORS[n] for n in ("query", "key", "value", "decoder", "encoder")]
        ),
        "legend.frameon": False,
    }


@contextlib.contextmanager
def figure(width, height, rows=1, columns=1, **subplot_options):
    """책의 양식으로 그릴 빈 그림과 축을 엽니다.

    블록을 나갈 때 눈금과 글자를 확정합니다. 글꼴에 없는 글자는 여기서 경고를 냅니다.

    Args:
        width: 너비, 인치.
        height: 높이, 인치.
        rows: 축의 행 수.
        columns: 축의 열 수.
        **subplot_options: `matplotlib.figure.Figure.subplots`에 그대로 넘깁니다.

    Yields:
        `(figure, axes)`. `Figure.subplots`와 같은 모양입니다.

    Examples:
        >>> with figure(5, 3) as (fig, axes):
        ...     _ = axes.plot([1, 2, 3])
        ...     _ = axes.set(xlabel="스텝", ylabel="손실")
    """
    with matplotlib.rc_context(style()):
        drawn = Figure(figsize=(width, height), layout="constrained")
        yield drawn, drawn.subplots(rows, columns, **subplot_options)
        drawn.draw_without_rendering()


def attention_heatmap(weights, query_tokens, key_tokens, title=""):
    """어텐션 가중치 행렬을 그립니다. 행은 쿼리, 열은 키, 색은 0에서 1까지입니다.

    열이 여섯을 넘으면 칸을 좁히고 값을 적지 않습니다. 그래야 좁은 화면에서도 토큰을
    읽을 수 있습니다.

    Args:
        weights: 실수, (length_q, length_k).
        query_tokens: 문자열 length_q개.
        key_tokens: 문자열 length_k개.
        title: 그림의 제목.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: 행렬이 아닌 가중치, 토큰 수와 맞지 않는 모양.

    Examples:
        >>> few, many = (
        ...     attention_heatmap(np.full((1, n), 1 / n), ["나는"], ["글을"] * n)
        ...     for n in (6, 7)
        ... )
        >>> [len(drawn.axes[0].texts) for drawn in (few, many)]
        [6, 0]
    """
    weights = _weights_array(weights, 2, query_tokens, key_tokens)
    roomy = len(key_tokens) <= 6
    wide, high = (0.7, 0.55) if roomy else (0.35, 0.35)
    size = 1.8 + wide * len(key_tokens), 1.2 + high * len(query_tokens)
    with figure(*size) as (drawn, axes):
        image = _draw_weights(axes, weights, query_tokens, key_tokens, annotate=roomy)
        axes.set_title(title)
        drawn.colorbar(image, ax=axes, label="가중치")
    return drawn


def attention_heads(weights, query_tokens, key_tokens, titles=None):
    """여러 헤드의 가중치를 같은 눈금으로, 한 줄에 둘씩 그립니다.

    Args:
        weights: 실수, (num_heads, length_q, length_k).
        query_tokens: 문자열 length_q개.
        key_tokens: 문자열 length_k개.
        titles: 헤드마다의 제목. None이면 "헤드 1"부터 번호를 붙입니다.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: 3차원이 아닌 가중치, 토큰의 수와 맞지 않는 모양.

    Examples:
        >>> drawn = attention_heads(np.full((3, 1, 2), 0.5), ["나는"], ["책을", "글을"])
        >>> [axes.get_title() for axes in drawn.axes[:3]]
        ['헤드 1', '헤드 2', '헤드 3']
    """
    weights = _weights_array(weights, 3, query_tokens, key_tokens)
    num_heads = len(weights)
    titles = titles or [f"헤드 {head}" for head in range(1, num_heads + 1)]
    columns = min(num_heads, 2)  # 더 늘어놓으면 좁은 화면에서 글자를 읽을 수 없습니다
    rows = -(-num_heads // columns)
    size = 2.4 * columns + 0.8, 2.3 * rows + 0.4
    with figure(*size, rows, columns, squeeze=False) as (drawn, grid):
        for head, axes in enumerate(grid.flat):
            if head >= num_heads:
                axes.set_axis_off()
                continue
            image = _draw_weights(axes, weights[head], query_tokens, key_tokens)
            axes.set_title(titles[head])
        drawn.colorbar(image, ax=grid, label="가중치", shrink=0.8)
    return drawn


def positional_encoding_heatmap(encoding, title=""):
    """위치 인코딩 표를 그립니다. 행은 위치, 열은 차원이고 색은 0을 가운데 둡니다.

    Args:
        encoding: 실수, (length, d_model).
        title: 그림의 제목.

    Returns:
        `matplotlib.figure.Figure`.
    """
    encoding = np.asarray(encoding, dtype=np.float64)
    limit = np.abs(encoding).max()
    with figure(5.6, 3.6) as (drawn, axes):
        image = axes.imshow(
            encoding,
            cmap=DIVERGING,
            vmin=-limit,
            vmax=limit,
            aspect="auto",
            interpolation="nearest",
        )
        axes.set(xlabel="차원", ylabel="위치", title=title)
        drawn.colorbar(image, ax=axes, label="값")
    return drawn


def _weights_array(weights, ndim, query_tokens, key_tokens):
    weights = np.asarray(weights, dtype=np.float64)
    expected = (len(query_tokens), len(key_tokens))
    if weights.ndim != ndim or weights.shape[-2:] != expected or 0 in weights.shape:
        shape = (
            "(length_q, length_k)" if ndim == 2 else "(num_heads, length_q, length_k)"
        )
        raise ValueError(
            f"weights의 모양은 {shape}이고 토큰 수는 {expected}인데 "
            f"모양 {weights.shape}를 받았습니다."
        )
    return weights


def _draw_weights(axes, weights, query_tokens, key_tokens, annotate=False):
    image = axes.imshow(weights, cmap=SEQUENTIAL, vmin=0.0, vmax=1.0)
    axes.set_xticks(range(len(key_tokens)), key_tokens, rotation=45, ha="right")
    axes.set_yticks(range(len(query_tokens)), query_tokens)
    axes.set(xlabel="키", ylabel="쿼리")
    axes.xaxis.label.set_color(COLORS["key"])
    axes.yaxis.label.set_color(COLORS["query"])
    axes.spines[:].set_visible(False)
    if annotate:
        for (row, column), weight in np.ndenumerate(weights):
            # 클수록 어두우므로 큰 값 위의 글자는 밝게 둡니다.
            color = "white" if weight > 0.5 else "black"
            axes.text(
                column, row, f"{weight:.2f}", ha="center", va="center", color=color
            )
    return image
