/*
 * floor SRC DST: copies a tree with two threads and no system call that the
 * job of `cp -a` does not need. It is the measure the engine is held against,
 * not a tool: DST must not exist, holes and reflinks are left to chance, and
 * the first error ends it.
 *
 * A directory is the unit of work. A task names a directory beneath its
 * parent; the parent's descriptors stay open until its last child is done.
 * The last one out sets the directory's times.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { THREADS = 2, DENTS = 1 << 18, BUF = 1 << 20, CLONE = 1 << 12, LINKS = 1 << 12 };

struct dirent64_ {
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

struct dir {
	struct dir *parent, *next; /* next: in the stack of waiting tasks */
	int src, dst;
	atomic_int left; /* itself, its waiting children, its hard link records */
	struct stat st;
	char name[];
};

struct link {
	struct link *next;
	dev_t dev;
	ino_t ino;
	struct dir *dir;
	char name[];
};

struct worker {
	char *dents, *buf;
};

static pthread_mutex_t stack_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stack_more = PTHREAD_COND_INITIALIZER;
static struct dir *stack;
static int busy;

static pthread_mutex_t link_lock = PTHREAD_MUTEX_INITIALIZER;
static struct link *links[LINKS];

static atomic_int noclone;

static uid_t euid;
static gid_t egid;

static void die(const char *op, const char *name)
{
	fprintf(stderr, "floor: %s %s: %s\n", op, name, strerror(errno));
	exit(1);
}

static void push(struct dir *parent, const char *name)
{
	size_t n = strlen(name) + 1;
	struct dir *d = malloc(sizeof *d + n);
	if (!d)
		die("malloc", name);
	d->parent = parent;
	atomic_init(&d->left, 1);
	memcpy(d->name, name, n);
	if (parent)
		atomic_fetch_add(&parent->left, 1);
	pthread_mutex_lock(&stack_lock);
	d->next = stack;
	stack = d;
	if (busy < THREADS)
		pthread_cond_signal(&stack_more);
	pthread_mutex_unlock(&stack_lock);
}

/* pop returns NULL when nothing waits and nobody works. */
static struct dir *pop(int was_busy)
{
	struct dir *d;
	pthread_mutex_lock(&stack_lock);
	busy -= was_busy;
	while (!stack && busy)
		pthread_cond_wait(&stack_more, &stack_lock);
	d = stack;
	if (d) {
		stack = d->next;
		busy++;
	} else {
		pthread_cond_broadcast(&stack_more);
	}
	pthread_mutex_unlock(&stack_lock);
	return d;
}

/* leave drops one reference; the last sets the times, and so on upwards. */
static void leave(struct dir *d)
{
	while (d && atomic_fetch_sub(&d->left, 1) == 1) {
		struct dir *up = d->parent;
		struct timespec ts[2] = { d->st.st_atim, d->st.st_mtim };
		if ((d->st.st_mode & 0700) != 0700 && fchmod(d->dst, d->st.st_mode & 07777))
			die("fchmod", d->name);
		if (futimens(d->dst, ts))
			die("futimens", d->name);
		if (close(d->dst) || close(d->src))
			die("close", d->name);
		free(d);
		d = up;
	}
}

static void xattrs(int src, int dst, const char *name)
{
	char list[65536], value[65536];
	ssize_t n = flistxattr(src, list, sizeof list);
	if (n < 0 && errno != EOPNOTSUPP)
		die("flistxattr", name);
	for (char *a = list; n > 0 && a < list + n; a += strlen(a) + 1) {
		ssize_t v = fgetxattr(src, a, value, sizeof value);
		if (v < 0)
			die("fgetxattr", name);
		if (fsetxattr(dst, a, value, v, 0))
			die("fsetxattr", name);
	}
}

/* foreign: new inodes get the process's ids, or the group of a set-gid parent. */
static int foreign(const struct stat *st, const struct dir *in)
{
	return st->st_uid != euid || st->st_gid != egid || (in && in->st.st_mode & S_ISGID);
}

static void writeall(int fd, const char *p, size_t n, const char *name)
{
	while (n) {
		ssize_t w = write(fd, p, n);
		if (w < 0)
			die("write", name);
		p += w;
		n -= w;
	}
}

/*
 * content: a clone where the file system can, from one block up: it reads
 * nothing, which counts when the source is cold. Else the kernel copies large
 * files, and one read that proves the end does for a small one. The first
 * refusal of a clone is the last attempt.
 */
static void content(struct worker *w, int src, int dst, off_t size, const char *name)
{
	if (size >= CLONE && !noclone) {
		if (!ioctl(dst, FICLONE, src))
			return;
		noclone = 1;
	}
	while (size >= BUF) {
		ssize_t n = copy_file_range(src, NULL, dst, NULL, size, 0);
		if (n <= 0)
			break;
		size -= n;
	}
	if (size == 0)
		return;
	for (off_t done = 0;;) {
		size_t want = size + 1 - done < BUF ? size + 1 - done : BUF;
		ssize_t n = read(src, w->buf, want);
		if (n < 0)
			die("read", name);
		if (n == 0)
			return;
		writeall(dst, w->buf, n, name);
		done += n;
		if (done == size && (size_t)n < want)
			return;
	}
}


/*
 * linked: a file of several names is made under the lock, so that whoever
 * comes second finds it made. Returns 1 if a link did the job.
 */
static int linked(struct dir *d, const char *name, const struct stat *st)
{
	struct link **slot = &links[(st->st_ino ^ st->st_dev) % LINKS];
	for (struct link *l = *slot; l; l = l->next)
		if (l->ino == st->st_ino && l->dev == st->st_dev) {
			if (linkat(l->dir->dst, l->name, d->dst, name, 0))
				die("linkat", name);
			return 1;
		}
	size_t n = strlen(name) + 1;
	struct link *l = malloc(sizeof *l + n);
	if (!l)
		die("malloc", name);
	l->next = *slot;
	l->dev = st->st_dev;
	l->ino = st->st_ino;
	l->dir = d;
	memcpy(l->name, name, n);
	*slot = l;
	atomic_fetch_add(&d->left, 1);
	return 0;
}

static void regular(struct worker *w, struct dir *d, const char *name, int src, const struct stat *st)
{
	struct timespec ts[2] = { st->st_atim, st->st_mtim };
	int dst = openat(d->dst, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, st->st_mode & 0777);
	if (dst < 0)
		die("create", name);
	content(w, src, dst, st->st_size, name);
	if (foreign(st, d) && fchown(dst, st->st_uid, st->st_gid))
		die("fchown", name);
	if (st->st_mode & 07000 && fchmod(dst, st->st_mode & 07777))
		die("fchmod", name);
	xattrs(src, dst, name);
	if (futimens(dst, ts))
		die("futimens", name);
	if (close(dst))
		die("close", name);
}

static void file(struct worker *w, struct dir *d, const char *name)
{
	struct stat st;
	int src = openat(d->src, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (src < 0)
		die("open", name);
	if (fstat(src, &st))
		die("fstat", name);
	if (st.st_nlink == 1) {
		regular(w, d, name, src, &st);
	} else {
		pthread_mutex_lock(&link_lock);
		if (!linked(d, name, &st))
			regular(w, d, name, src, &st);
		pthread_mutex_unlock(&link_lock);
	}
	if (close(src))
		die("close", name);
}

/* special: what has no content: symlinks, FIFOs, sockets, devices. */
static void special(struct dir *d, const char *name, const struct stat *st)
{
	struct timespec ts[2] = { st->st_atim, st->st_mtim };
	if (S_ISLNK(st->st_mode)) {
		char target[4097];
		ssize_t n = readlinkat(d->src, name, target, sizeof target - 1);
		if (n < 0)
			die("readlinkat", name);
		target[n] = 0;
		if (symlinkat(target, d->dst, name))
			die("symlinkat", name);
	} else if (mknodat(d->dst, name, st->st_mode & (S_IFMT | 0777), st->st_rdev)) {
		die("mknodat", name);
	}
	if (foreign(st, d) && fchownat(d->dst, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW))
		die("fchownat", name);
	if (!S_ISLNK(st->st_mode) && st->st_mode & 07000 && fchmodat(d->dst, name, st->st_mode & 07777, 0))
		die("fchmodat", name);
	if (utimensat(d->dst, name, ts, AT_SYMLINK_NOFOLLOW))
		die("utimensat", name);
}

static void other(struct dir *d, const char *name)
{
	struct stat st;
	if (fstatat(d->src, name, &st, AT_SYMLINK_NOFOLLOW))
		die("fstatat", name);
	if (st.st_nlink == 1) {
		special(d, name, &st);
		return;
	}
	pthread_mutex_lock(&link_lock);
	if (!linked(d, name, &st))
		special(d, name, &st);
	pthread_mutex_unlock(&link_lock);
}

static unsigned char type(struct dir *d, const struct dirent64_ *e)
{
	struct stat st;
	if (e->type != DT_UNKNOWN)
		return e->type;
	if (fstatat(d->src, e->name, &st, AT_SYMLINK_NOFOLLOW))
		die("fstatat", e->name);
	return IFTODT(st.st_mode);
}

/* make opens the source directory and makes its twin, open. */
static void make(struct dir *d, const char *dst)
{
	int from = d->parent ? d->parent->src : AT_FDCWD;
	int to = d->parent ? d->parent->dst : AT_FDCWD;
	d->src = openat(from, d->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (d->parent ? O_NOFOLLOW : 0));
	if (d->src < 0)
		die("open", d->name);
	if (fstat(d->src, &d->st))
		die("fstat", d->name);
	if (mkdirat(to, dst, (d->st.st_mode & 0777) | 0700))
		die("mkdirat", dst);
	d->dst = openat(to, dst, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (d->dst < 0)
		die("open", dst);
	if (foreign(&d->st, d->parent) && fchown(d->dst, d->st.st_uid, d->st.st_gid))
		die("fchown", dst);
	if (d->st.st_mode & 07000 && fchmod(d->dst, (d->st.st_mode & 07777) | 0700))
		die("fchmod", dst);
	xattrs(d->src, d->dst, dst);
}

static void list(struct worker *w, struct dir *d)
{
	long n;
	while ((n = syscall(SYS_getdents64, d->src, w->dents, DENTS)) > 0)
		for (char *p = w->dents; p < w->dents + n;) {
			struct dirent64_ *e = (struct dirent64_ *)p;
			p += e->reclen;
			if (e->name[0] == '.' && (!e->name[1] || (e->name[1] == '.' && !e->name[2])))
				continue;
			switch (type(d, e)) {
			case DT_DIR:
				push(d, e->name);
				break;
			case DT_REG:
				file(w, d, e->name);
				break;
			default:
				other(d, e->name);
			}
		}
	if (n < 0)
		die("getdents64", d->name);
}

static const char *root_dst;

static void *work(void *arg)
{
	struct worker w = { malloc(DENTS), malloc(BUF) };
	struct dir *d;
	(void)arg;
	if (!w.dents || !w.buf)
		die("malloc", "buffers");
	for (int was_busy = 0; (d = pop(was_busy)); was_busy = 1) {
		make(d, d->parent ? d->name : root_dst);
		list(&w, d);
		leave(d);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	if (argc != 3) {
		fprintf(stderr, "usage: floor SRC DST\n");
		return 2;
	}
	umask(0);
	euid = geteuid();
	egid = getegid();
	root_dst = argv[2];
	push(NULL, argv[1]);
	for (int i = 1; i < THREADS; i++)
		if ((errno = pthread_create(&t[i], NULL, work, NULL)))
			die("pthread_create", "worker");
	work(NULL);
	for (int i = 1; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < LINKS; i++)
		for (struct link *l = links[i]; l; l = l->next)
			leave(l->dir);
	return 0;
}
