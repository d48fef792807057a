// SPDX-License-Identifier: BSD-3-Clause
// base: what every layer may use. No OS beyond write(2), no ranks.
#pragma once

#include "base/bits.h"
#include "base/log.h"
#include "base/options.h"
#include "base/status.h"
