package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gohaul/haul/internal/meta"
	"github.com/gohaul/haul/internal/plan"
	"github.com/gohaul/haul/internal/report"
	"github.com/gohaul/haul/internal/sys"
	"github.com/gohaul/haul/test/loopfs"
	"github.com/gohaul/haul/test/testtree"
)

// TestPrivacy: another user tries all the time to open what is being copied, and
// never can what it may not open at the end.
func TestPrivacy(t *testing.T) {
	needRoot(t)
	self := publicSelf(t)
	for _, kind := range []string{"tmpfs", "ext4"} {
		t.Run(kind, func(t *testing.T) {
			dir := loopfs.Mount(t, kind, 0)
			testtree.Build(t, dir+"/src", fmt.Sprintf(`
				d 0755 .
				f 0600 a{1..20} text:"secret"
				f 0640 b{1..20} text:"secret" uid=7 gid=8
				f 0604 c{1..20} text:"secret" uid=7 gid=%[1]d
				f 0640 e{1..20} text:"secret" acl=u:7:r--
				f 0644 g{1..20} text:"secret" acl=u:%[1]d:---
				f 4700 h{1..20} text:"secret" uid=7
				f 0600 big data:3M
				d 0700 private
				f 0644 private/i{1..20} text:"secret"
				d 0750 mine
				f 0644 mine/j{1..20} text:"secret"
				d 0751 listed uid=7 gid=8
				f 0600 listed/k{1..20} text:"secret"
			`, nobody))
			cmd := child(t, self, "reader", dir)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			must(t, cmd.Start())
			umask := syscall.Umask(0)
			defer syscall.Umask(umask)
			for round := range 18 {
				dst := fmt.Sprintf("%s/dst%d", dir, round)
				j := job(dst, dir+"/src")
				j.Dest.Write.Durability = durabilities[round%3]
				switch round / 3 % 6 {
				case 1: // beneath a directory whose default ACL lets the other in
					testtree.Build(t, dst, fmt.Sprintf("d 0755 . dacl=u:%d:rwx,g:%d:rwx", nobody, nobody))
				case 2: // over files that all may read
					testtree.Build(t, dst, "f 0644 a{1..20} text:\"public\"\nf 0666 b{1..20}\nf 0644 private/i{1..20}\nf 0666 big data:1M")
				case 3: // in place; who has the file open has it open
					testtree.Build(t, dst, "d 0755 .\nf 0644 inplace-a{1..20} text:\"public\"\nf 0644 big data:1M")
					testtree.Build(t, dir+"/placed", "d 0755 .\nf 0600 inplace-a{1..20} text:\"secret\"")
					must(t, os.Chmod(dir+"/placed", 0o700))
					j.Pairs[0].Src = dir + "/placed"
					j.Dest.InPlace, j.Rules.InPlace = true, true
					must(t, os.Chmod(dst, 0o755))
				case 4: // a set-gid directory of the reader's group
					testtree.Build(t, dst, fmt.Sprintf("d 2775 . gid=%d", nobody))
				case 5:
					j.Workers = 1
				}
				runJob(t, j)
				if round/3%6 != 3 {
					testtree.Equal(t, dir+"/src", dst, testtree.All)
				}
				time.Sleep(10 * time.Millisecond)
			}
			os.WriteFile(dir+"/stop", nil, 0o644)
			must(t, cmd.Wait())
			var denied int
			if n, err := fmt.Sscanf(out.String(), "denied %d", &denied); n != 1 || err != nil || denied < 500 {
				t.Errorf("%s", out.String())
			}
			if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) > 1 {
				t.Errorf("%s", strings.Join(lines[1:min(len(lines), 20)], "\n"))
			}
		})
	}
}

func init() { children["reader"] = reader }

// reader opens whatever stands beneath the directory given, again and again,
// until there is a file "stop".
func reader() int {
	root := os.Args[1]
	denied := 0
	var seen []string
	for i := 0; ; i++ {
		if _, err := os.Lstat(root + "/stop"); err == nil {
			break
		}
		tops, _ := filepath.Glob(root + "/dst*")
		for _, top := range tops[max(0, len(tops)-2):] {
			filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
				name := filepath.Base(p)
				if err != nil {
					if errors.Is(err, fs.ErrPermission) {
						denied++
					}
					return nil
				}
				if d.IsDir() {
					was := strings.ContainsAny(top[len(top)-1:], "678") && len(filepath.Base(top)) == 4 // public before
					if !was && name == "private" || name == "mine" || name == "listed" {
						if list, err := os.ReadDir(p); err == nil && len(list) > 0 {
							seen = append(seen, "listed "+p)
						}
					}
					return nil
				}
				f, err := os.Open(p)
				if err != nil {
					denied++
					return nil
				}
				defer f.Close()
				var buf [16]byte
				n, _ := f.Read(buf[:])
				st, _ := f.Stat()
				public := string(buf[:n]) == "public" || n == 0 && st != nil && st.Mode().Perm()&0o044 != 0
				if !public && !(name == "big" && st.Size() <= 1<<20) && !strings.HasPrefix(name, "i") {
					seen = append(seen, fmt.Sprintf("read %q of %s, mode %v", buf[:n], p, st.Mode()))
				}
				return nil
			})
		}
	}
	fmt.Println("denied", denied)
	slices.Sort(seen)
	for _, s := range slices.Compact(seen) {
		fmt.Println(s)
	}
	return 0
}

// TestUmask: the mask shows in nothing that is copied, and in all that is not.
func TestUmask(t *testing.T) {
	if out := asUser(t, "umask"); out != "" {
		t.Error(out)
	}
}

func init() {
	children["umask"] = func() int {
		for _, mask := range []int{0, 0o077, 0o777} {
			dir, err := os.MkdirTemp("/dev/shm", "haul-umask-")
			if err != nil {
				fmt.Println(err)
				return 1
			}
			defer os.RemoveAll(dir)
			tree := "f 0666 a text:\"a\"\nf 0444 b\nd 0777 d\nf 0640 d/x\nd 0555 e\nf 0604 e/x\np 0666 p\nl l -> a\nh h = a"
			if err := testtree.Make(dir+"/src", tree); err != nil {
				fmt.Println(err)
			}
			for _, d := range durabilities {
				j := job(fmt.Sprint(dir, "/dst", d), dir+"/src")
				j.Dest.Write.Durability = d
				old := syscall.Umask(mask)
				err := Run(context.Background(), j)
				syscall.Umask(old)
				diff, err2 := testtree.Diff(dir+"/src", j.Pairs[0].Dst, testtree.All)
				if err != nil || err2 != nil || diff != "" {
					fmt.Printf("umask %o: %v %v\n%s", mask, err, err2, diff)
				}
			}
			command("chmod", "-R", "u+rwX", dir)
			if mask == 0o777 {
				continue
			}
			command("chmod", "444", dir+"/src/b")
			command("chmod", "555", dir+"/src/e")
			j := job(dir+"/bare", dir+"/src")
			j.Dest.Meta.Which, j.Rules.Preserve = 0, plan.PreserveNothing
			old := syscall.Umask(mask)
			err = Run(context.Background(), j)
			syscall.Umask(old)
			if err != nil {
				fmt.Printf("umask %o: %v\n", mask, err)
			}
			for name, mode := range map[string]uint32{"a": 0o666, "b": 0o444, "d": 0o777, "d/x": 0o640, "e": 0o555, "p": 0o666} {
				var st syscall.Stat_t
				if syscall.Lstat(dir+"/bare/"+name, &st) != nil || st.Mode&0o7777 != mode&^uint32(mask) {
					fmt.Printf("umask %o: %s has %o\n", mask, name, st.Mode)
				}
			}
			command("chmod", "-R", "u+rwX", dir)
		}
		return 0
	}
}

// TestOrdinaryUser: what this user may not do is noted or told, once, and the
// rest is copied.
func TestOrdinaryUser(t *testing.T) {
	needRoot(t)
	dir := ram(t)
	testtree.Build(t, dir+"/src", `
		d 0755 .
		f 4755 suid text:"x"
		f 2755 sgid text:"x"
		f 0644 plain text:"x"
		d 0700 closed
		f 0644 closed/x
		d 0711 unlisted
		f 0644 unlisted/x
		f 0600 unreadable text:"x"
		d 0555 readonly
		f 0444 readonly/a text:"x"
		d 0555 readonly/deep
		f 0444 readonly/deep/b
		d 1777 sticky
		l link -> suid
		f 0644 z/last text:"x"
	`)
	must(t, os.Mkdir(dir+"/out", 0o777))
	must(t, os.Chmod(dir+"/out", 0o777))
	if out := asUser(t, "ordinary", dir); out != "" {
		t.Error(out)
	}
	testtree.Want(t, dir+"/out/dst", fmt.Sprintf(`
		d 0755 .
		f 0755 suid text:"x" uid=%[1]d gid=%[1]d
		f 0755 sgid text:"x" uid=%[1]d gid=%[1]d
		f 0644 plain text:"x" uid=%[1]d gid=%[1]d
		d 0555 readonly uid=%[1]d gid=%[1]d
		f 0444 readonly/a text:"x" uid=%[1]d gid=%[1]d
		d 0555 readonly/deep uid=%[1]d gid=%[1]d
		f 0444 readonly/deep/b uid=%[1]d gid=%[1]d
		d 1777 sticky uid=%[1]d gid=%[1]d
		l link -> suid uid=%[1]d gid=%[1]d
		d 0755 z uid=%[1]d gid=%[1]d
		f 0644 z/last text:"x" uid=%[1]d gid=%[1]d
	`, nobody), testtree.Mode|testtree.Owner|testtree.Content)
	testtree.Equal(t, dir+"/src/readonly", dir+"/out/dst/readonly", testtree.All&^testtree.Owner)
}

func init() {
	children["ordinary"] = func() int {
		root := os.Args[1]
		for round := range 2 { // the second updates what the first made
			j := job(root+"/out/dst", root+"/src")
			errs := j.goOn()
			notes := map[string]int{}
			j.OnItem = func(i report.Item) {
				if i.Action == report.Noted {
					notes[rel(root+"/out/dst", i.Target)]++
				}
			}
			err := Run(context.Background(), j)
			var partial *PartialError
			if !errors.As(err, &partial) || partial.Failed != 3 {
				fmt.Println(err, errs.errs)
			}
			for _, err := range errs.errs {
				if !errors.Is(err, fs.ErrPermission) || !names(err, root+"/src/") {
					fmt.Println(err)
				}
			}
			slices.Sort(errs.paths)
			if want := []string{root + "/src/closed", root + "/src/unlisted", root + "/src/unreadable"}; !slices.Equal(errs.paths, want) {
				fmt.Println(errs.paths)
			}
			for _, name := range []string{"suid", "sgid", "plain", "readonly", "readonly/a", "link", "z/last"} {
				if notes[name] != 1 {
					fmt.Printf("round %d: %d notes on %s\n", round, notes[name], name)
				}
			}
		}
		j := job(root+"/out/gone", root+"/out/dst")
		if err := Run(context.Background(), j); err != nil {
			fmt.Println("copying one's own:", err)
		}
		if diff, err := testtree.Diff(root+"/out/dst", root+"/out/gone", testtree.All); diff != "" || err != nil {
			fmt.Println(diff, err)
		}
		os.Mkdir(root+"/out/void", 0o755)
		j = job(root+"/out/gone", root+"/out/void")
		j.Delete = true
		if err := Run(context.Background(), j); err != nil {
			fmt.Println("deleting one's own:", err)
		}
		j = job(root+"/denied", root+"/src")
		if err := Run(context.Background(), j); !errors.Is(err, fs.ErrPermission) || !names(err, root+"/denied") {
			fmt.Println("making where one may not:", err)
		}
		return 0
	}
}

// TestRequire: parts of the metadata that must be set are errors where they
// cannot.
func TestRequire(t *testing.T) {
	dir := t.TempDir()
	testtree.Build(t, dir+"/src", "f 0644 a text:\"a\"\nd 0755 d")
	if os.Getuid() == 0 {
		must(t, os.Lchown(dir+"/src/a", 5, 6))
	} else {
		t.Skip("needs root")
	}
	inject(t, func(o sys.Op) (f sys.Fault) {
		if strings.Contains(o.Call, "chown") {
			f.Err = syscall.EPERM
		}
		return f
	})
	j := job(dir+"/dst", dir+"/src")
	j.Require = meta.Owner
	if err := Run(context.Background(), j); !errors.Is(err, fs.ErrPermission) || !names(err, dir+"/dst/a") {
		t.Errorf("%v", err)
	}
	j = job(dir+"/dst2", dir+"/src")
	told := j.items(t)
	runJob(t, j)
	if told.count(report.Noted) != 1 {
		t.Errorf("%v", told.list)
	}
}
