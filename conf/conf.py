"""사이트의 모든 설정."""

import gc
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build"
sys.path.insert(0, str(HERE / "extensions"))

gc.disable()  # 짧게 살고 끝나는 프로세스입니다. 켜 두면 빌드의 5분의 1을 씁니다.

import stand_ins  # noqa: E402
from snippets import MYST_EXTENSIONS  # noqa: E402
from source_links import linkcode_resolve  # noqa: E402, F401

stand_ins.install("tensorflow", "keras", "numpy", "matplotlib", "sklearn", "torch")

project = "트랜스포머 노트"
language = "ko"
locale_dirs = [os.path.relpath(HERE / "locale", HERE.parent / "docs")]
templates_path = ["templates"]
highlight_language = "none"
default_role = "code"
numfig = True
numfig_format = {"section": "{number}. {name}"}
nitpicky = True

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.linkcode",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_exercise",
    "sphinx_togglebutton",
    "sphinxcontrib.bibtex",
    # 우리 것 (conf/extensions)
    "cards",
    "chapters",
    "code_links",
    "definitions",
    "execution",
    "fonts",
    "korean",
    "later",
    "live_cells",
    "markup",
    "mathematics",
    "model_map",
    "model_scripts",
    "page_checks",
    "published",
    "reading_time",
    "search",
    "slimming",
    "source_links",
    "take_along",
    "tied_numbers",
    "whole",
    "workshop",
]

# 페이지와 셀
myst_enable_extensions = MYST_EXTENSIONS
nb_custom_formats = {".md": "notebooks.read_text"}
nb_execution_mode = "cache"
nb_execution_cache_path = str(BUILD / "executed")
nb_execution_timeout = 600
nb_code_prompt_show = "코드 펼치기"
nb_code_prompt_hide = "코드 접기"
nb_render_text_lexer = "none"
nb_render_error_lexer = "none"
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

# GitHub 저장소의 주소 하나로 저장소와 Colab의 링크, 노트북의 링크, 사이트맵이 생깁니다.
repository_url = os.environ.get("TRANSFORMER_NOTES_REPOSITORY", "").rstrip("/")
# GitHub이 그 저장소의 사이트를 올리는 곳입니다.
html_baseurl = re.sub(
    "https://github.com/(.+?)/(.+)", r"https://\1.github.io/\2/", repository_url
)

autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
autodoc_preserve_defaults = True
napoleon_use_rtype = False
napoleon_custom_sections = [("호출 인자", "params_style")]
nitpick_ignore_regex = [(r"py:.*", r"(tensorflow|tf|keras|matplotlib|numpy)\..*")]

bibtex_bibfiles = [os.path.relpath(HERE / "references.bib", HERE.parent / "docs")]

# 겉모습. 글꼴과 스크립트는 모두 사이트 안에 있고, 수식은 지을 때 조판합니다.
html_theme = "sphinx_book_theme"
html_title = project
html_logo = html_favicon = "static/mark.svg"
html_static_path = ["static"]
html_css_files = ["site.css", "icons.css", ("print.css", {"media": "print"})]
html_js_files = [
    # 앞의 둘은 다른 스크립트가 씁니다
    ("script.js", {"defer": "defer", "priority": 100}),
    ("memory.js", {"defer": "defer", "priority": 100}),
    ("reading.js", {"defer": "defer"}),
]
html_copy_source = False
html_use_index = False
html_additional_pages = {"search": "search.html"}
html_theme_options = {
    "logo": {"text": project},
    "navbar_persistent": [],
    "home_page_in_toc": True,
    "collapse_navbar": True,  # API의 모듈은 API의 쪽에서만 펼칩니다
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "use_repository_button": bool(repository_url),
    "repository_url": repository_url,
    "search_bar_text": "검색...",
    "toc_title": "이 장의 차례",
    "footer_content_items": ["extra-footer.html"],
    "extra_footer": "글과 그림은 CC BY 4.0, 코드는 MIT 허가서를 따릅니다."
    + f' <a href="{repository_url}/issues/new">오류 알리기</a>' * bool(repository_url),
}
html_context = {"default_mode": "auto"}
html_math_renderer = "mathml"
togglebutton_hint = "펼치기"
togglebutton_hint_hide = "접기"
