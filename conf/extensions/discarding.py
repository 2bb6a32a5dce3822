"""무엇이 그 자리에 있든 치웁니다. 캐시를 버리는 빌드와 저장소가 함께 씁니다."""

import shutil


def discard(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
