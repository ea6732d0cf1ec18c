SHELL   := bash
GO      ?= go
PREFIX  ?= /usr/local
DESTDIR ?=
MANDIR  ?= $(PREFIX)/share/man/man1
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
DOCDIR  ?= $(PREFIX)/share/doc/haul

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
# Modules of their own, for what the library must not depend on.
MODULES     = test/bench test/continuity
TARGETS     = linux/amd64 linux/arm64 linux/386 darwin/arm64 freebsd/amd64 windows/amd64

# What the full test run needs, as program:package.
TOOLS = rsync:rsync mkfs.xfs:xfsprogs mkfs.btrfs:btrfs-progs mkfs.ext4:e2fsprogs \
        setfacl:acl setfattr:attr strace:strace gcc:gcc losetup:util-linux

.PHONY: all build demo help test short race tools bench man completions install uninstall lint cross clean

all: build

help:
	@echo 'make build        bin/haul'
	@echo 'make demo         copy a real tree and show that the copy is the same'
	@echo 'make test         every test; installs what they need if root'
	@echo 'make short        the tests that need nothing but Go and coreutils'
	@echo 'make bench        compare with cp, rsync and others; writes docs/bench'
	@echo 'make lint cross   gofmt, vet, staticcheck; builds for other systems'
	@echo 'make man completions   write docs/man and completions from the flag table'
	@echo 'make uninstall    take away what install put there'
	@echo 'make install      to $$DESTDIR$$PREFIX ($(PREFIX))'

build:
	$(GO) build -trimpath -o bin/haul ./cmd/haul

# Copies Go's own sources, or what SRC names, and compares both trees byte by byte.
SRC ?= $(shell $(GO) env GOROOT)/src
demo: build
	@to=$$(mktemp -d) && trap 'rm -rf "$$to"' EXIT && \
	echo "haul cp -a $(SRC) $$to/copy" && time bin/haul cp -a "$(SRC)" "$$to/copy" && \
	bin/haul du -sh "$(SRC)" "$$to/copy" && \
	bin/haul diff --content "$(SRC)" "$$to/copy" && echo "The copy is the same: content and all metadata."

test: tools
	$(GO) test -timeout 12m ./...
	@for m in $(MODULES); do echo "$(GO) -C $$m test ./..."; $(GO) -C $$m test ./... || exit 1; done
	$(MAKE) race

short:
	$(GO) test -short ./...

# The packages where goroutines meet, without what only takes long.
race:
	$(GO) test -race -short -timeout 25m . ./fs ./internal/... ./rsync/... ./cmd/...

tools:
	@missing=; for t in $(TOOLS); do \
		PATH="$$PATH:/usr/sbin:/sbin" command -v $${t%%:*} >/dev/null || missing="$$missing $${t##*:}"; done; \
	[ -z "$$missing" ] && exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	else echo "the tests need:$$missing (or run: make short)" >&2; exit 1; fi

bench: build
	$(GO) -C test/bench run . -out $(CURDIR)/docs/bench $(BENCHFLAGS)

man:
	$(GO) run ./cmd/haul generate man docs/man

completions:
	$(GO) run ./cmd/haul generate completions completions

install: build
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(MANDIR) $(DESTDIR)$(BASHDIR) $(DESTDIR)$(ZSHDIR) $(DESTDIR)$(FISHDIR) $(DESTDIR)$(DOCDIR)
	install -m 755 bin/haul $(DESTDIR)$(PREFIX)/bin/haul
	install -m 644 docs/man/*.1 $(DESTDIR)$(MANDIR)
	install -m 644 completions/haul.bash $(DESTDIR)$(BASHDIR)/haul
	install -m 644 completions/_haul $(DESTDIR)$(ZSHDIR)/_haul
	install -m 644 completions/haul.fish $(DESTDIR)$(FISHDIR)/haul.fish
	install -m 644 LICENSE docs/json.md $(DESTDIR)$(DOCDIR)

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/haul $(addprefix $(DESTDIR)$(MANDIR)/,$(notdir $(wildcard docs/man/*.1)))
	rm -f $(DESTDIR)$(BASHDIR)/haul $(DESTDIR)$(ZSHDIR)/_haul $(DESTDIR)$(FISHDIR)/haul.fish
	rm -rf $(DESTDIR)$(DOCDIR)

lint:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "not gofmt's: $$unformatted" >&2; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

cross:
	@for t in $(TARGETS); do echo "build and vet for $$t"; \
		CGO_ENABLED=0 GOOS=$${t%%/*} GOARCH=$${t##*/} $(GO) build ./... && \
		CGO_ENABLED=0 GOOS=$${t%%/*} GOARCH=$${t##*/} $(GO) vet ./... || exit 1; done

clean:
	rm -rf bin
