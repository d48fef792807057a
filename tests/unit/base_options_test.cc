// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "base/base.h"

namespace tutti {
namespace {

TEST(Options, BytesTakeSuffixes) {
  std::uint64_t value = 0;
  EXPECT_TRUE(parse_bytes("8", value));
  EXPECT_EQ(value, 8u);
  EXPECT_TRUE(parse_bytes("32K", value));
  EXPECT_EQ(value, 32768u);
  EXPECT_TRUE(parse_bytes("4m", value));
  EXPECT_EQ(value, 4u << 20);
}

TEST(Options, BadBytesLeaveTheValueAlone) {
  std::uint64_t value = 7;
  for (const char* text : {"", "K", "-1", "4X", "4MB", "99999999999G", "1.5M"})
    EXPECT_FALSE(parse_bytes(text, value)) << text;
  EXPECT_EQ(value, 7u);
}

TEST(Options, EveryRowHasAMeaning) {
  for (const OptionRow& row : option_rows()) EXPECT_GT(std::string(row.meaning).size(), 10u);
}

TEST(Options, UnknownVariablesAndValuesAreNamed) {
  ::setenv("TUTTI_COMMONS_BUGDET", "1M", 1);
  ::setenv("TUTTI_SPIN", "many", 1);
  ::setenv("TUTTI_PROGRESS", "nuam", 1);
  ::setenv("TUTTI_CHECK", "", 1);
  ::setenv("TUTTI_STORES", "stream", 1);
  ::setenv("TUTTI_LOG", "warn", 1);
  ::setenv("TUTTI_MEMORY", "commons,cmma", 1);
  ::setenv("TUTTI_TRACE", std::string(4096, 'x').c_str(), 1);
  testing::internal::CaptureStderr();
  warn_about_unknown_options();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("did you mean TUTTI_COMMONS_BUDGET?"), std::string::npos) << said;
  EXPECT_NE(said.find("TUTTI_SPIN=many cannot be read"), std::string::npos) << said;
  for (const char* sentence :
       {"tutti: TUTTI_PROGRESS=nuam is none of auto, bind, numa, odd-even, none; "
        "the default auto is used\n",
        "tutti: TUTTI_CHECK= is none of usual, strict; the default usual is used\n",
        "tutti: TUTTI_STORES=stream is none of auto, plain, streaming; "
        "the default auto is used\n",
        "tutti: TUTTI_MEMORY: cmma is none of commons, cma, bounce, and left out\n"})
    EXPECT_NE(said.find(sentence), std::string::npos) << said;
  EXPECT_NE(said.find("tutti: TUTTI_TRACE=xxx"), std::string::npos) << said;
  EXPECT_EQ(said.find("TUTTI_LOG"), std::string::npos) << said;
}

TEST(Options, AWordThatIsNoneOfThemIsTheDefault) {
  ::setenv("TUTTI_NODES", "on", 1);
  ::setenv("TUTTI_ORDER", "rank", 1);
  ::setenv("TUTTI_CHECK", "Strict", 1);
  EXPECT_STREQ(options().nodes, "auto");
  EXPECT_STREQ(options().order, "rank");
  EXPECT_STREQ(options().check, "usual");
}

}  // namespace
}  // namespace tutti
