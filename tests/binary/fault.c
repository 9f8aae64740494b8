/* Preloaded into the daemon: makes the calls with which its files become durable fail, hang, or be its last.
 *
 * The file named by ONCED_FAULT says what: "<calls> <fault>", where calls is "sync" (fsync, fdatasync), "write" (write,
 * pwrite) or "all" (also opening for writing), and fault is "hang", or an errno, followed by "once" where it ends by
 * itself, or "kill" and a number: of these calls the process is killed before the one of that number. A call that hangs
 * says so by making the file "$ONCED_FAULT.hanging". Only files below ONCED_FAULT_DIR are touched. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static int below(const char *path) {
    const char *dir = getenv("ONCED_FAULT_DIR");
    return dir && strncmp(path, dir, strlen(dir)) == 0;
}

/* 0, or the errno with which a call of this kind has to fail now. */
static int fault(const char *call, const char *path) {
    const char *control = getenv("ONCED_FAULT");
    if (!control || !below(path)) return 0;
    for (;;) {
        char text[64] = {0}, calls[16], what[16], once[16] = "";
        int fd = syscall(SYS_openat, AT_FDCWD, control, O_RDONLY, 0);
        if (fd < 0) return 0;
        ssize_t length = read(fd, text, sizeof text - 1);
        close(fd);
        if (length <= 0 || sscanf(text, "%15s %15s %15s", calls, what, once) < 2) return 0;
        if (strcmp(calls, call) != 0 && strcmp(calls, "all") != 0) return 0;
        if (strcmp(what, "kill") == 0) {
            static atomic_int calls_made;
            if (atomic_fetch_add(&calls_made, 1) + 1 == atoi(once)) kill(getpid(), SIGKILL);
            return 0;
        }
        if (strcmp(what, "hang") != 0) {
            /* Of several threads only the one that removes the file fails. */
            if (strcmp(once, "once") == 0 && unlink(control) != 0) return 0;
            return atoi(what);
        }
        char hanging[4096];
        snprintf(hanging, sizeof hanging, "%s.hanging", control);
        int mark = syscall(SYS_openat, AT_FDCWD, hanging, O_CREAT | O_WRONLY, 0600);
        if (mark >= 0) close(mark);
        struct timespec pause = {0, 20 * 1000 * 1000};
        syscall(SYS_nanosleep, &pause, NULL);
    }
}

static int fault_of_fd(const char *call, int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fault(call, path);
}

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))
#define FAIL_ON(call, fd) do { int e = fault_of_fd(call, fd); if (e) { errno = e; return -1; } } while (0)

int fsync(int fd) {
    FAIL_ON("sync", fd);
    return REAL("fsync", int (*)(int))(fd);
}

int fdatasync(int fd) {
    FAIL_ON("sync", fd);
    return REAL("fdatasync", int (*)(int))(fd);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    FAIL_ON("write", fd);
    return REAL("write", ssize_t (*)(int, const void *, size_t))(fd, bytes, length);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
    FAIL_ON("write", fd);
    return REAL("pwrite64", ssize_t (*)(int, const void *, size_t, off64_t))(fd, bytes, length, at);
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    if (flags & (O_WRONLY | O_RDWR)) {
        int e = fault("open", path);
        if (e) {
            errno = e;
            return -1;
        }
    }
    return REAL("open64", int (*)(const char *, int, ...))(path, flags, mode);
}
