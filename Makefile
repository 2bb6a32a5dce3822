PYTHON ?= python3
RUN = .venv/bin/python

.PHONY: help html serve test bench clean environment

help:  ## 할 수 있는 일의 목록
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST)

html: environment  ## 사이트를 build/html에 짓습니다
	@$(RUN) conf/build.py

serve: environment  ## 사이트를 열어 두고, 고칠 때마다 다시 짓습니다
	@$(RUN) -m sphinx_autobuild -n -c conf -d build/serve/doctrees docs build/serve/html --watch transformer_notes --watch conf --re-ignore '\.mo$$|__pycache__'

test: html  ## 모든 페이지와 패키지와 지은 사이트를 시험합니다
	@$(RUN) -m pytest -n 2 --dist loadfile --no-loadscope-reorder docs tests

bench: environment  ## 빌드, 학습, 디코딩, 날짜를 재고 쪽이 읽는 결과를 다시 적습니다
	@set -e; for file in tests/benchmark_*.py; do echo "$$file"; $(RUN) $$file; done

clean:  ## 지은 것과 환경을 지웁니다
	rm -rf build .venv *.egg-info

environment:
	@$(PYTHON) conf/environment.py
