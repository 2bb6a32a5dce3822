PYTHON ?= python3
RUN = .venv/bin/python

# 쪽과 시험을 여럿이 나누어 실행합니다. 프로세스마다 스레드를 또 나누면 서로 기다립니다.
html page test test-slow: export TF_NUM_INTRAOP_THREADS = 1

# 다른 가상 환경을 켜 둔 채로 불러도 .venv의 것만 씁니다.
unexport VIRTUAL_ENV

.PHONY: help environment html page serve epub pdf source test test-slow experiments bench mutants picture runtime clean

help:  ## 할 수 있는 일의 목록
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST)

environment: .venv/complete  ## 가상 환경 .venv를 만들고 패키지를 설치합니다

# complete는 끝까지 설치했다는 표시입니다. 없으면 중간에 끊긴 설치이므로 처음부터 합니다.
.venv/complete: conf/requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	{ echo "Python 3.11~3.13이 필요한데 $$($(PYTHON) -V 2>&1)입니다. 'make $(MAKECMDGOALS) PYTHON=python3.12'처럼 알려 주세요." >&2; exit 1; }
	@test -w . || { echo "이 폴더에 쓸 수 없습니다. 쓸 수 있는 곳에 복사해 주세요: $(CURDIR)" >&2; exit 1; }
	@echo "가상 환경 .venv를 만들고 패키지를 설치합니다. 처음 한 번만 몇 분이 걸립니다."
	@if test -e $@; then rm $@; else rm -rf .venv; fi
	@$(PYTHON) -m venv .venv
	@$(RUN) -m pip install -q --disable-pip-version-check --require-hashes -r conf/requirements.txt
	@$(RUN) -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

html: environment  ## 사이트를 build/html에 짓습니다
	@$(RUN) conf/build.py

page: environment  ## 쪽 하나만 지어 봅니다: make page PAGE=lectures/masking
	@$(RUN) -m sphinx -q -c conf -d build/page/doctrees -D root_doc=$(PAGE) -D include_patterns='$(PAGE).*' -D suppress_warnings=ref,bibtex docs build/page/html
	@$(RUN) -m webbrowser -n file://$(CURDIR)/build/page/html/$(PAGE).html

serve: environment  ## 사이트를 열어 두고, 고칠 때마다 다시 짓습니다
	@$(RUN) -m sphinx_autobuild -c conf -d build/serve/doctrees docs build/serve/html --watch transformer_notes --watch conf --re-ignore '\.mo$$|__pycache__'

epub: html  ## 책 한 권을 build/transformer-notes.epub으로 묶습니다
	@$(RUN) conf/epub.py

pdf: html  ## 책 한 권을 build/transformer-notes.pdf로 묶습니다. chromium을 씁니다
	@$(RUN) conf/pdf.py

source: html  ## 저장소 대신 받아 갈 소스 묶음을 build에 만들고 첫 쪽에서 잇습니다
	@$(RUN) -c "from setuptools.build_meta import build_sdist; build_sdist('build')" >/dev/null
	@$(RUN) conf/build.py

test: MARK = not slow
test: html  ## 모든 페이지와 패키지와 지은 사이트를 시험합니다
	@$(RUN) -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m "$(MARK)" docs tests

test-slow: MARK = slow
test-slow: html  ## 오래 걸리는 나머지를 시험합니다
	@$(RUN) -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m "$(MARK)" docs tests

experiments: environment  ## 쪽이 읽는 결과 가운데 없거나 낡은 것을 다시 만듭니다
	@set -e; for file in $$(grep -l '^EXPERIMENT = ' tests/experiments/*.py); do $(RUN) $$file; done

bench: html  ## 이 기계에서 사이트를 짓고 시험하고 여는 시간을 잽니다
	@$(RUN) tests/experiments/site_build.py
	@$(RUN) tests/experiments/first_view.py

mutants: environment  ## 코드를 한 곳씩 고장 내고 쪽과 시험이 알아차리는지 셉니다
	@$(RUN) tests/mutants.py

picture: html  ## README의 그림을 지은 사이트에서 다시 찍습니다
	@$(RUN) conf/picture.py

runtime: environment  ## 브라우저 속의 파이썬과 편집기를 npm과 pip로 다시 받습니다
	@$(RUN) conf/runtime/fetch.py

clean:  ## 지은 것과 환경을 지웁니다
	rm -rf build .venv *.egg-info
