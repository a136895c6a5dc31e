# make demo | make test: each sets everything up from a bare clone.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV     := $(BIN)/uv
export UV_LINK_MODE ?= copy
# Tests run side by side, and times are CPU times: threads inside matrix products would only get in the way.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test check quick pages bench peers docs soak mutants lock clean

demo: $(VENV)/.run           ## the main job, from a bare clone
	$(BIN)/discreet demo

test: $(VENV)/.dev           ## every test
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not soak"

check: $(VENV)/.dev          ## lint, format, types, import direction
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

quick: $(VENV)/.dev          ## what concerns one card, in less than a minute: make quick CARD=laplace
	$(BIN)/python tools/quick.py $(CARD)

pages: $(VENV)/.dev          ## the pages that are made from the source: the map and the index of algorithms
	$(BIN)/python tools/write_pages.py

soak: $(VENV)/.dev           ## the long checks
	DISCREET_CHANCE=system $(BIN)/python -m pytest -m soak
	DISCREET_CHANCE=system $(BIN)/python -m pytest -n auto -m "not soak" --hypothesis-profile=explore tests/property

mutants: $(VENV)/.dev        ## break the source on purpose; some test must notice every time
	$(BIN)/python tests/mutants/run.py

bench: $(VENV)/.bench        ## speed and accuracy against the peers, as ratios of one run
	$(BIN)/python -m benchmarks

peers: $(UV)                 ## the libraries to compare with, each in an environment of its own
	for pair in opendp:opendp[polars] smartnoise:smartnoise-sql pipelinedp:pipeline-dp tmlt:tmlt.analytics qrlew:pyqrlew mbi:mbi jax:jax-privacy; do \
	  $(UV) venv -q --allow-existing .peers/$${pair%%:*} && \
	  $(UV) pip install -q --python .peers/$${pair%%:*} "$${pair#*:}" pandas pyarrow duckdb; done
	$(UV) venv -q --allow-existing .peers/pure-ldp  # it names not all that it imports
	$(UV) pip install -q --python .peers/pure-ldp pure-ldp scikit-learn statsmodels "xxhash<4"
	$(UV) venv -q --allow-existing .peers/multi-freq-ldpy
	$(UV) pip install -q --python .peers/multi-freq-ldpy multi-freq-ldpy
	$(UV) venv -q --allow-existing .peers/lomas  # its own requirements admit what it does not run with
	$(UV) pip install -q --python .peers/lomas lomas-server "setuptools<80" "scikit-learn<1.6"
	$(UV) venv -q --allow-existing .peers/diffprivlib  # it does not import with a later scikit-learn
	$(UV) pip install -q --python .peers/diffprivlib diffprivlib "scikit-learn<1.6"
	$(UV) venv -q --allow-existing .peers/interpret
	$(UV) pip install -q --python .peers/interpret interpret-core

docs: $(VENV)/.docs          ## the site, in site/
	$(BIN)/zensical build --clean

$(UV):
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check uv
$(VENV)/.run: $(UV) pyproject.toml constraints.txt
	$(UV) pip install -q --python $(VENV) -c constraints.txt -e '.[server]'
	touch $@
$(VENV)/.dev: $(VENV)/.run
	$(UV) pip install -q --python $(VENV) -c constraints.txt --group dev -e '.[server,postgres,spark,graphs,accounting,learning]'
	touch $@
$(VENV)/.bench: $(VENV)/.dev
	$(UV) pip install -q --python $(VENV) -c constraints.txt --group bench
	touch $@
$(VENV)/.docs: $(VENV)/.dev
	$(UV) pip install -q --python $(VENV) -c constraints.txt --group docs
	touch $@

lock: $(UV)                  ## constraints.txt: versions only, no index addresses
	$(UV) pip compile -q --no-header --no-annotate --no-emit-index-url --all-extras \
	  --group dev --group docs --group bench pyproject.toml -o constraints.txt --upgrade

clean:
	rm -rf $(VENV) site demo-report
