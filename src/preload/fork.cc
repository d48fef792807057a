// SPDX-License-Identifier: BSD-3-Clause
// _Fork runs no pthread_atfork handlers, so the commons has to be told.
#include <unistd.h>

#include "commons/commons.h"
#include "preload/next.h"

extern "C" [[gnu::visibility("default")]] pid_t _Fork() noexcept {
  tutti::commons::before_fork();
  const pid_t child = tutti::preload::next.fork();
  if (child == 0)
    tutti::commons::after_fork_in_child();
  else
    tutti::commons::after_fork_in_parent();
  return child;
}
