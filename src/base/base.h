// SPDX-License-Identifier: BSD-3-Clause
// base: what every layer may use. It knows no OS beyond write(2), and no ranks.
// Words: docs/glossary.md.
#pragma once

#include "base/bits.h"
#include "base/log.h"
#include "base/options.h"
#include "base/status.h"
