// SPDX-License-Identifier: BSD-3-Clause
// What is known of a predefined datatype by what the MPI says of it.
#include "mpi/predefined.h"

#include <gtest/gtest.h>

namespace tutti::mpi {
namespace {

DatatypeRow a_number() {
  DatatypeRow row{};
  row.type = reduce::Type::i16;
  row.arithmetic = Arithmetic::full;
  return row;
}

TEST(KnownType, OfTheUsualSize) {
  const Known known(a_number(), 2, 0, 2);
  EXPECT_EQ(known.sort, Known::Sort::dense);
  EXPECT_EQ(known.arithmetic, Arithmetic::full);
}

// MPI_UNDEFINED is negative. The MPI is to say the error of a reduction, too.
TEST(KnownType, ThatTheMpiDoesNotHave) {
  for (const std::int64_t size : {0, -1, -32766}) {
    const Known known(a_number(), size, 0, 0);
    EXPECT_EQ(known.sort, Known::Sort::absent);
    EXPECT_EQ(known.arithmetic, Arithmetic::none);
    EXPECT_FALSE(known.usable());
  }
}

}  // namespace
}  // namespace tutti::mpi
