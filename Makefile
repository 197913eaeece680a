# make app     open the page           make check   format, lint, types
# make test    the tests              make quick   those that need neither a browser nor a training run
# make thorough   what `make test` leaves out: the other screens, the longest forms
# make bench   the measurements behind the README's figures
# make docs    the API reference from the docstrings   make lock   the pinned versions again (needs uv)
# make site    the documentation site with its demo, in site/
# make notebooks    the notebooks from their scripts
# make catalogue    the languages of the course, brought up to date with its texts
# make reproduce MODEL=tiny-town       train a shipped model again, and compare its scores with the shipped ones
# Each target installs what it needs into .venv; Python 3.11 or newer is the only requirement.

PYTHON ?= $(shell for p in python3.12 python3.13 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
RUN := $(VENV)/bin/python
# The lock files leave torch out: its builds (CPU, each CUDA) differ in hash and in what they depend on.
PIP := $(RUN) -m pip install --quiet --disable-pip-version-check

# Two workers, each a file at a time; tests/conftest.py says which come first.
WORKERS := -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: app test thorough quick check bench docs site lock notebooks catalogue reproduce browser clean
.DEFAULT_GOAL := app

app: $(VENV)/.app
	@$(RUN) app.py $(ARGS)

test: $(VENV)/.test browser
	@HF_HUB_OFFLINE=1 $(RUN) -m pytest $(WORKERS) $(ARGS)

thorough: $(VENV)/.test browser
	@HF_HUB_OFFLINE=1 $(RUN) -m pytest $(WORKERS) -m thorough $(ARGS)

quick: $(VENV)/.test
	@HF_HUB_OFFLINE=1 $(RUN) -m pytest $(WORKERS) -m "not browser and not training and not slow and not thorough" --hypothesis-profile quick $(ARGS)

check: $(VENV)/.test
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy bertviz_lab app.py
	$(RUN) -m tests.lint_scripts

bench: $(VENV)/.test
	@$(RUN) -m benchmarks $(ARGS)

docs: $(VENV)/.test
	@$(RUN) docs/make_api.py

# The demo has the models of all lessons, the first of which opens; mkdocs empties the folder.
site: $(VENV)/.test
	$(RUN) -m mkdocs build --strict
	HF_HUB_OFFLINE=1 $(RUN) -m bertviz_lab publish --out site/demo --snapshots 12 \
		--model wiki-mini wiki-small wiki-tiny tiny-town tiny-town-mask-only sentiment-mini

notebooks: $(VENV)/.test
	@$(RUN) notebooks/build.py

catalogue: $(VENV)/.app
	@$(RUN) -m docs.make_catalogue $(ARGS)

reproduce: $(VENV)/.test
	@test -n "$(MODEL)" || { echo "Name a shipped model: make reproduce MODEL=tiny-town"; exit 1; }
	@$(RUN) -m benchmarks.reproduce $(MODEL) $(ARGS)

# Needs uv. Packages that only torch's CUDA builds need are left out with torch.
COMPILE := uv pip compile --universal --generate-hashes --python-version 3.11 --no-header --no-annotate -q pyproject.toml
CUDA_ONLY := $(patsubst %,--no-emit-package %,torch triton cuda-bindings cuda-pathfinder cuda-toolkit nvidia-cublas \
	nvidia-cuda-cccl nvidia-cuda-cupti nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cudnn-cu13 nvidia-cufft nvidia-cufile \
	nvidia-curand nvidia-cusolver nvidia-cusparse nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvjitlink nvidia-nvshmem-cu13 nvidia-nvtx)
lock:
	$(COMPILE) $(CUDA_ONLY) -c requirements.txt --extra onnx -o requirements.lock
	$(COMPILE) $(CUDA_ONLY) -c requirements.lock --extra test --extra docs -o requirements-dev.lock

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; install it, or name it: make app PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv"; exit 1; }

$(VENV)/.app: requirements.lock | $(VENV)/bin/python
	@echo "Setting up (once; PyTorch is large) ..."
	@$(PIP) torch==2.13.0
	@$(PIP) --no-deps --require-hashes -r requirements.lock
	@touch $@

$(VENV)/.test: pyproject.toml requirements-dev.lock $(VENV)/.app
	@$(PIP) --no-deps --require-hashes -r requirements-dev.lock
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

browser: $(VENV)/.test
	@$(RUN) tests/get_browser.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
