// SPDX-License-Identifier: BSD-3-Clause
// os: each Linux facility that Tutti uses, wrapped once. It knows nothing of ranks.
// Words: docs/glossary.md.
#pragma once

#include "os/affinity.h"
#include "os/cgroup.h"
#include "os/futex.h"
#include "os/limits.h"
#include "os/mailbox.h"
#include "os/process.h"
#include "os/relatives.h"
#include "os/window.h"
