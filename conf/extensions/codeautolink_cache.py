"""sphinx-codeautolink 0.19의 캐시가 MyST 페이지도 기억하게 합니다.

``.rst``만 되읽기 때문에, 고치지 않은 MyST 페이지는 다음 빌드에서 링크를 잃습니다.
"""

import sphinx_codeautolink.extension as codeautolink


class _Pages:
    """``폴더 / "이름.rst"``를 확장자가 무엇이든 있는 페이지로 바꾸어 줍니다."""

    def __init__(self, folder):
        self.folder = folder

    def __truediv__(self, name):
        page = self.folder / name
        return page if page.exists() else page.with_suffix(".md")


class DataCache(codeautolink.DataCache):
    def __init__(self, cache_dir, src_dir):
        super().__init__(cache_dir, src_dir)
        self.src_dir = _Pages(self.src_dir)


def setup(app):
    codeautolink.DataCache = DataCache
    return {"parallel_read_safe": True}
