# `make` lists the targets.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# `make run` has its own data folder, so that tests never touch its data.
RAGSITE_DATA ?= $(CURDIR)/var/run
TEST_DATA := $(CURDIR)/var/test
# Processes start a third faster with cached bytecode.
unexport PYTHONDONTWRITEBYTECODE
# Also with a locale such as ISO-8859-1, in which "…" cannot be printed and pages would be read wrongly.
export PYTHONUTF8 := 1
LOCKS := requirements.txt requirements-wheels.txt requirements-excluded.txt constraints.txt

.DEFAULT_GOAL := help
.PHONY: help install install-local install-dev run test check audit schema fuzz prove chaos cluster upgrade syncs abuse clients integrations bench bench-peers eval guard
.PHONY: ingest-sample clean-data lock screenshots messages release restore offline

help:
	@echo "make install        install what a production server needs"
	@echo "make run            start everything (Ctrl-C stops it)"
	@echo "make ingest-sample  send a folder of files to the running product (FILES=folder)"
	@echo "make clean-data     delete the data of make run"
	@echo "make test           run the tests (ORDER=random for a random order, ARGS for pytest's own arguments)"
	@echo "make check          lint, types, migrations, deployment settings"
	@echo "make release        one archive with all packages, for machines without a network (OUT=folder)"
	@echo "make audit          known vulnerabilities in the locked versions (needs the network)"
	@echo "make fuzz           every operation of the API with generated requests, against the schema"
	@echo "make prove          both access layers against random organisations (PROVE_WORLDS)"
	@echo "make chaos          ingestion while processes are killed, beside an undisturbed run (CHAOS_SECONDS, CHAOS_SEED)"
	@echo "make cluster        several hosts under load while hosts are cut off and processes killed (CLUSTER_PARTS; root)"
	@echo "make upgrade        an upgrade from the oldest supported version, under reads and writes (UPGRADE_DOCUMENTS)"
	@echo "make restore        a backup, restored on an empty server, with the same answers (RESTORE_DOCUMENTS, PROVE_WORLDS)"
	@echo "make offline        a release that is installed, started and upgraded without a network (OFFLINE_FROM; root)"
	@echo "make syncs          a folder that is synced while it is edited and workers are killed (SYNC_EDITS, SYNC_SEED)"
	@echo "make abuse          the running product under faults, floods, slow clients and oversized requests (ABUSE_SCENARIOS)"
	@echo "make clients        supabase-js, generated clients, LangChain and LlamaIndex against the real server (Node, network)"
	@echo "make integrations   scim2-tester, oidc-provider and samlp with a browser, against the real server (Node, Chromium, network)"
	@echo "make messages       bring the translations up to date with the texts of templates and code"
	@echo "make schema         update the snapshot of the API schema"
	@echo "make bench          measure ingestion and search, write docs/performance-latest.md (BENCH=full, OUT=file)"
	@echo "make bench-peers    measure beside LangChain, LlamaIndex and Chroma, which get an environment in var/peers (network)"
	@echo "make eval           measure the quality of search and answers (EVAL_SETS=folder, EVAL_KINDS=answers, OUT=file)"
	@echo "make guard          compare quality on a few small sets with stored results (RENEW=1 stores new ones), then computing"
	@echo "make screenshots    pictures of the running demo's pages (ADDRESS, PASSWORD, OUT=folder)"
	@echo "make lock           renew the locked versions and their hashes (needs the network)"

install: $(VENV)/.installed
install-local: $(VENV)/.installed-local
install-dev: $(VENV)/.installed-dev

$(BIN)/uv:
	@./scripts/make-venv "$(PYTHON)" "$(VENV)"

$(VENV)/.installed: $(LOCKS) | $(BIN)/uv
	@./scripts/install "$(VENV)" requirements.txt
	@touch $@

$(VENV)/.installed-local: requirements-local.txt $(VENV)/.installed
	@./scripts/install "$(VENV)" requirements-local.txt
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed-local
	@./scripts/install "$(VENV)" requirements-dev.txt
	@touch $@

run: install-local
	@RAGSITE_DATA="$(RAGSITE_DATA)" exec $(BIN)/python -m ragsite.run.launch

ingest-sample: install-local
	@RAGSITE_DATA="$(RAGSITE_DATA)" exec $(BIN)/python manage.py ingest_sample $(FILES)

clean-data: install-local
	@$(BIN)/python -m ragsite.embedded "$(RAGSITE_DATA)" --delete && echo "Deleted: $(RAGSITE_DATA)"

# Files of tests go to three processes in the order that tests/conftest.py gives them: the long ones first.
PYTEST_DEFAULTS := -n 3 --dist loadfile --no-loadscope-reorder $(if $(filter random,$(ORDER)),--random-order)
test: install-dev
	@$(BIN)/python -m ragsite.embedded "$(TEST_DATA)" --throwaway $(BIN)/python -m pytest $(if $(ARGS),$(ARGS),$(PYTEST_DEFAULTS))

check: install-dev
	@./scripts/check "$(BIN)" "$(TEST_DATA)"

# One archive for machines without a network, of the last commit. OUT: the folder.
release: install
	@./scripts/release "$(VENV)" "$(or $(OUT),$(CURDIR)/var/release)"

audit: install-dev
	@$(BIN)/python scripts/audit "$(BIN)" constraints.txt

# Clients generate code from the schema: a test fails when it changes, and reviewers read the diff.
schema: install-dev
	@$(BIN)/python -m ragsite.embedded "$(TEST_DATA)" -- $(BIN)/python manage.py spectacular \
		--format openapi-json --validate --fail-on-warn --file tests/contracts/openapi.json

messages: install-dev
	@$(BIN)/python scripts/messages

fuzz: install-dev
	@$(BIN)/python -m ragsite.embedded "$(CURDIR)/var/fuzz" -- $(BIN)/python -m tests.system.fuzz

# PROVE_WORLDS: how many random worlds.
prove: install-dev
	@PROVE_WORLDS="$${PROVE_WORLDS:-300}" $(MAKE) --no-print-directory test ARGS="tests/access -q -p no:xdist"

chaos: install-dev
	@$(BIN)/python -m tests.system.chaos "$(CURDIR)/var/chaos"

cluster: install-dev
	@PYTHONPATH="$(CURDIR)/clients/python/src" $(BIN)/python -m tests.system.cluster "$(CURDIR)/var/cluster"

upgrade: install-dev
	@PYTHONPATH="$(CURDIR)/clients/python/src" $(BIN)/python -m tests.system.upgrade "$(CURDIR)/var/upgrade"

restore: install-dev
	@$(BIN)/python -m tests.system.restore "$(CURDIR)/var/restore"

offline: install-dev
	@PYTHONPATH="$(CURDIR)/clients/python/src" $(BIN)/python -m tests.system.offline "$(CURDIR)/var/offline"

syncs: install-dev
	@$(BIN)/python -m tests.system.syncs "$(CURDIR)/var/syncs"

abuse: install-dev
	@$(BIN)/python -m tests.system.abuse "$(CURDIR)/var/abuse"

clients: install-dev
	@$(BIN)/python -m ragsite.embedded "$(CURDIR)/var/clients" -- $(BIN)/python -m tests.system.clients

integrations: install-dev
	@$(BIN)/python -m ragsite.embedded "$(CURDIR)/var/integrations" -- $(BIN)/python -m tests.system.integrations

bench: install-dev
	@$(BIN)/python -m ragsite.embedded "$(CURDIR)/var/bench" -- $(BIN)/python -m benchmarks $(ARGS)

# The peers have an environment of their own. Each run starts with empty databases.
PEERS := $(CURDIR)/var/peers
$(PEERS)/venv/.installed: benchmarks/peers/requirements.txt
	@echo "Installing $< …"
	@rm -rf $(@D) && $(PYTHON) -m venv $(@D) && $(@D)/bin/python -m pip install --quiet --only-binary :all: --requirement $<
	@touch $@

bench-peers: install-dev $(PEERS)/venv/.installed
	@[ ! -e "$(PEERS)/data/services.lock" ] || $(BIN)/python -m ragsite.embedded "$(PEERS)/data" --delete
	@rm -rf "$(PEERS)/data"
	@$(ALONE) PEERS_PYTHON="$(PEERS)/venv/bin/python" $(BIN)/python -m ragsite.embedded "$(PEERS)/data" -- \
		$(BIN)/python -m benchmarks.peers

# Evaluations create an organisation and data sources, so they never use the services of the environment.
ALONE := env -u DATABASE_URL -u REDIS_URL -u RAGSITE_DATA

# Ingested data stays in var/eval, so that a second run only searches.
eval: install-local
	@EVAL_SETS="$(EVAL_SETS)" EVAL_KINDS="$(EVAL_KINDS)" EVAL_LANGUAGE_MODEL="$(EVAL_LANGUAGE_MODEL)" OUT="$(OUT)" $(ALONE) $(BIN)/python -m ragsite.embedded "$(CURDIR)/var/eval" --throwaway \
		$(BIN)/python -m benchmarks.eval

guard: install-local
	@$(ALONE) $(BIN)/python -m ragsite.embedded "$(CURDIR)/var/guard" --throwaway $(BIN)/python -m benchmarks.eval.quality_guard
	@$(ALONE) $(BIN)/python -m ragsite.embedded "$(CURDIR)/var/guard-speed" --throwaway $(BIN)/python -m benchmarks.speed.speed_guard

# Look at each one: no test sees what is ugly.
screenshots: install-dev
	@$(BIN)/python scripts/screenshots "$(or $(ADDRESS),http://127.0.0.1:3080)" "$(or $(PASSWORD),ragsite-demo)" "$(or $(OUT),var/screenshots)"

lock: $(BIN)/uv
	@./scripts/lock "$(BIN)/uv"
