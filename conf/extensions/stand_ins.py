"""무거운 라이브러리의 자리표입니다.

Sphinx는 패키지의 이름, 서명, 독스트링만 봅니다. 그것을 읽는 데 TensorFlow가 필요하지는
않으므로, 몇 초가 걸리는 가져오기 대신 무엇이든 담고 있는 빈 모듈을 내줍니다.
"""

import importlib.abc
import importlib.machinery
import inspect
import sys


class _Anything:
    """어떤 속성도 있고, 장식자로 부르면 장식하려던 것을 돌려줍니다.

    모듈로 가져온 이름도, 실은 함수일 때도 있으므로, 이것입니다. API 쪽의 타입에는 진짜
    이름이 적힙니다.
    """

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return self._name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(f"{self._name}.{name}")

    def __call__(self, *args, **kwargs):
        decorates = len(args) == 1 and not kwargs
        if decorates and (inspect.isclass(args[0]) or inspect.isfunction(args[0])):
            return args[0]
        return self

    def __mro_entries__(self, bases):
        return ()

    def __or__(self, other):
        return _Anything(f"{self} | {getattr(other, '__name__', other)}")

    def __ror__(self, other):
        return _Anything(f"{getattr(other, '__name__', other)} | {self}")


class StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names):
        self.names = names

    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] in self.names:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Anything(spec.name)

    def exec_module(self, module):
        pass


def install(*names):
    sys.meta_path.insert(0, StandInFinder(names))
