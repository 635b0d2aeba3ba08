/* SPDX-License-Identifier: MIT
 *
 * A library to preload into rest_fcgi. It lets pthread_create fail while a test asks for it:
 * support/limits.py maps the file in REST_FCGI_TEST_FAULTS and writes to it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct faults {
  volatile long no_threads; /* not 0: pthread_create fails */
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

int pthread_create(pthread_t* restrict thread, const pthread_attr_t* restrict attributes, void* (*run)(void*),
                   void* restrict argument) {
  int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) =
      (int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))dlsym(RTLD_NEXT, "pthread_create");
  return faults->no_threads ? EAGAIN : real(thread, attributes, run, argument);
}
