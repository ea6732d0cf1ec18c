package haul_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/gohaul/haul"

// walls says, for every package, which packages of this module it may import;
// bottom first. A package without a row fails: a new room must be argued for.
// Change this table in a commit of its own that gives the reason.
var walls = map[string]string{
	// The disk half: knows files, knows no protocol.
	"internal/sys":     "",
	"internal/report":  "",
	"internal/filter":  "",
	"internal/meta":    "internal/sys",
	"internal/infile":  "internal/sys",
	"internal/outfile": "internal/sys internal/report",
	"internal/tree":    "internal/sys internal/meta internal/filter",
	"internal/plan":    "internal/meta",
	"internal/dest":    "internal/sys internal/meta internal/infile internal/outfile internal/report",
	"internal/local":   "internal/sys internal/meta internal/infile internal/outfile internal/report internal/filter internal/tree internal/plan internal/dest",

	// The wire half: its pure rooms know bytes, no files and no peers.
	"rsync/internal/checksum": "",
	"rsync/internal/delta":    "rsync/internal/checksum",
	"rsync/internal/wire":     "",

	// What users import.
	".":  "internal/local internal/sys internal/report internal/filter internal/meta internal/outfile internal/tree internal/plan internal/dest",
	"fs": ". internal/sys internal/tree internal/meta internal/outfile",

	// The command. Its reading commands (du, diff, map) walk and read by themselves.
	"cmd/haul/cli": ". internal/sys internal/meta internal/tree internal/infile internal/filter",
	"cmd/haul":     "cmd/haul/cli",

	// What tests need in more than one package.
	"test/testtree": "",
	"test/loopfs":   "",
	"test/crash":    ".",
	"test/stock":    "",
}

// outsiders says which packages may import a module that is not ours, and why.
var outsiders = map[string][]string{
	"github.com/zeebo/xxh3":         {"rsync/internal/checksum"}, // sums of the wire, in assembly
	"github.com/cespare/xxhash/v2":  {"rsync/internal/checksum"},
	"github.com/klauspost/compress": {"rsync/internal/wire"}, // compressed tokens: zstd, deflate
	"github.com/pierrec/lz4/v4":     {"rsync/internal/wire"},
	"golang.org/x/sys":              {"internal/sys", "test/testtree", "test/loopfs"}, // one room speaks to the kernel
	"golang.org/x/term":             {"cmd/haul/cli"},                                 // is the output a terminal, how wide
}

// pure are packages that compute and touch nothing: bytes in, values out.
var pure = []string{"internal/filter", "internal/plan", "internal/report", "rsync/internal/checksum", "rsync/internal/delta", "rsync/internal/wire"}

// impure are the imports that no pure package has.
var impure = []string{"os", "net", "os/exec", "time"}

// printers are the imports that only the command has: libraries return and report.
var printers = []string{"log", "flag"}

func TestWalls(t *testing.T) {
	seen := map[string]bool{}
	eachSource(t, func(pkg, file string, f *ast.File) {
		allowed, known := walls[pkg]
		if !known {
			t.Errorf("%s: package %s has no row in walls", file, pkg)
			return
		}
		seen[pkg] = true
		for _, spec := range f.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			if reason := forbidden(pkg, imp, allowed); reason != "" {
				t.Errorf("%s: %s imports %s: %s", file, pkg, imp, reason)
			}
		}
		if pkg != "internal/sys" && hasBuildTag(file, f) && !strings.HasPrefix(pkg, "test/") {
			t.Errorf("%s: build tags belong in internal/sys", file)
		}
	})
	for pkg := range walls {
		if !seen[pkg] {
			t.Errorf("walls has a row for %s, which has no source", pkg)
		}
	}
}

// TestPackageDocs wants exactly one package comment a package.
func TestPackageDocs(t *testing.T) {
	docs := map[string]int{}
	eachSource(t, func(pkg, file string, f *ast.File) {
		if f.Doc != nil {
			docs[pkg]++
		} else {
			docs[pkg] += 0
		}
	})
	for pkg, n := range docs {
		if n != 1 {
			t.Errorf("package %s has %d package comments, want 1", pkg, n)
		}
	}
}

func forbidden(pkg, imp, allowed string) string {
	if imp == module || strings.HasPrefix(imp, module+"/") {
		name := "."
		if imp != module {
			name = strings.TrimPrefix(imp, module+"/")
		}
		if !slices.Contains(strings.Fields(allowed), name) {
			return "walls allows it only: " + allowed
		}
		return ""
	}
	for mod, who := range outsiders {
		if (imp == mod || strings.HasPrefix(imp, mod+"/")) && !slices.Contains(who, pkg) {
			return "only for " + strings.Join(who, ", ")
		}
	}
	if slices.Contains(pure, pkg) && slices.Contains(impure, imp) {
		return "this package is pure"
	}
	if slices.Contains(printers, imp) && !strings.HasPrefix(pkg, "test/") {
		return "libraries return and report, they do not log or parse flags"
	}
	return ""
}

func hasBuildTag(file string, f *ast.File) bool {
	for _, g := range f.Comments {
		for _, c := range g.List {
			if c.Pos() < f.Package && strings.HasPrefix(c.Text, "//go:build") {
				return true
			}
		}
	}
	base := strings.TrimSuffix(filepath.Base(file), ".go")
	for _, os := range []string{"_linux", "_darwin", "_freebsd", "_windows", "_unix"} {
		if strings.HasSuffix(base, os) {
			return true
		}
	}
	return false
}

// eachSource parses every Go file of this module that is not a test. It reads
// the files itself: a `go list` subprocess would be invisible to the test cache.
func eachSource(t *testing.T, visit func(pkg, file string, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != "." && (strings.HasPrefix(name, ".") || name == "testdata" || isModule(p)) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		visit(path.Clean(filepath.ToSlash(filepath.Dir(p))), p, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// isModule tells a nested module: it has walls of its own.
func isModule(dir string) bool {
	m, _ := filepath.Glob(filepath.Join(dir, "go.mod"))
	return len(m) > 0
}
