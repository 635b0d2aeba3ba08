/* SPDX-License-Identifier: MIT
 *
 * To be preloaded into the responder: what the system can do to it, and a test cannot do to the system. The file that
 * REST_FCGI_TEST_FAULTS names is mapped; support/limits.py writes into it while the responder runs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct faults {
  volatile long clock_offset; /* seconds that the clock is ahead of the system's */
  volatile long no_threads;   /* not 0: no thread can be started */
};

static struct faults none;
static struct faults* faults = &none;

__attribute__((constructor)) static void map_faults(void) {
  const char* path = getenv("REST_FCGI_TEST_FAULTS");
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void* memory = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (memory != MAP_FAILED) faults = memory;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    now->tv_sec += faults->clock_offset;
  }
  return result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  struct timespec precise;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}

int pthread_create(pthread_t* restrict thread, const pthread_attr_t* restrict attributes, void* (*run)(void*),
                   void* restrict argument) {
  int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) =
      (int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))dlsym(RTLD_NEXT, "pthread_create");
  return faults->no_threads ? EAGAIN : real(thread, attributes, run, argument);
}
