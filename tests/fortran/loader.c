// SPDX-License-Identifier: BSD-3-Clause
// loader OBJECT: a program without MPI that opens a Fortran program made as a shared object, as
// Python opens its modules, and runs it.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* object = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*program)(int, char**) = object != NULL ? (int (*)(int, char**))dlsym(object, "main") : NULL;
  if (program == NULL) {
    printf("loader: %s\n", dlerror());
    return 1;
  }
  return program(argc, argv);
}
