/*
 * meter OUT PROGRAM [ARG...]: runs the program and writes one line to OUT:
 * nanoseconds from start to exit, user and system microseconds, peak resident
 * KiB. It exists because a child inherits the peak of whoever forked it, and
 * this one is small.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static long long micros(struct timeval t)
{
	return t.tv_sec * 1000000LL + t.tv_usec;
}

int main(int argc, char **argv)
{
	struct timespec a, b;
	struct rusage r;
	int status;
	pid_t pid;
	FILE *out;
	if (argc < 3) {
		fprintf(stderr, "usage: meter OUT PROGRAM [ARG...]\n");
		return 125;
	}
	clock_gettime(CLOCK_MONOTONIC, &a);
	errno = posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ);
	if (errno || wait4(pid, &status, 0, &r) < 0) {
		fprintf(stderr, "meter: %s: %s\n", argv[2], strerror(errno));
		return 125;
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	out = fopen(argv[1], "w");
	if (!out || fprintf(out, "%lld %lld %lld %ld\n",
			    (b.tv_sec - a.tv_sec) * 1000000000LL + b.tv_nsec - a.tv_nsec,
			    micros(r.ru_utime), micros(r.ru_stime), r.ru_maxrss) < 0 ||
	    fclose(out)) {
		fprintf(stderr, "meter: %s: %s\n", argv[1], strerror(errno));
		return 125;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}
