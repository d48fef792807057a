// SPDX-License-Identifier: BSD-3-Clause
// In a file of its own, so that a test finds it in the library and changes it there.
#include "job/job.h"

namespace tutti::job {

const char protocol[] = TUTTI_VERSION "-4";

}  // namespace tutti::job
