#include "checkmate/max_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graphs.h"

namespace checkmate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// late_use() for each batch: 50 bytes per sample to keep all, 40 with x twice, 40 for b with a alone.
Result<Graph> network(std::int64_t batch) { return testing::late_use(batch); }

MaxBatch found(std::int64_t memory, double extra_forward = 1) {
  return max_batch(network, {.memory = Bytes{memory}, .extra_forward = extra_forward, .solve = {}}).value();
}

TEST(MaxBatch, IsWhatTheLargestOpAllowsWhereAPlanReachesIt) {
  const MaxBatch result = found(140);  // 3 x 40 = 120, 4 x 40 = 160
  EXPECT_EQ(result.batch, 3);
  EXPECT_EQ(result.upper_limit, 3);
  EXPECT_TRUE(result.proven);
  EXPECT_DOUBLE_EQ(result.overhead, 1.25);  // 5 runs for 4 ops: 3 x 50 = 150 is too much
  EXPECT_THAT(result.certificate, HasSubstr("at batch 4, op 'b' alone needs more"));
}

TEST(MaxBatch, AllowsOnlyTheExtraWorkThatIsAskedFor) {
  const MaxBatch result = found(80, 0);  // no recomputation: 50 per sample
  EXPECT_EQ(result.batch, 1);
  EXPECT_DOUBLE_EQ(result.overhead, 1);
  EXPECT_TRUE(result.proven);
  EXPECT_THAT(result.certificate, HasSubstr("at batch 2, the lower bound exceeds the limit"));
  EXPECT_EQ(found(80).batch, 2);
}

TEST(MaxBatch, IsZeroWhereNotEvenOneSampleFits) {
  const MaxBatch result = found(39);
  EXPECT_EQ(result.batch, 0);
  EXPECT_TRUE(result.proven);
}

TEST(MaxBatch, IsAtMostTheLargestThatIsAskedFor) {
  const MaxBatch result = max_batch(network, {.memory = Bytes{1'000'000}, .solve = {}, .largest = 7}).value();
  EXPECT_EQ(result.batch, 7);
}

TEST(MaxBatch, TriesTheLimitOfTheLargestOpFirst) {
  std::vector<std::int64_t> probed;
  const auto on_probe = [&](std::int64_t batch, bool) { probed.push_back(batch); };
  ASSERT_TRUE(max_batch(network, {.memory = Bytes{400}, .solve = {}, .on_probe = on_probe}));
  EXPECT_THAT(probed, ElementsAre(10));  // and there it ends
}

TEST(MaxBatch, TakesABatchThatNoGraphCanHoldForTooLarge) {
  // 2^60 bytes per sample: a graph holds 2^62, so not 5 of them.
  const auto huge = [](std::int64_t batch) -> Result<Graph> {
    GraphBuilder b("huge");
    b.add_op_with_output({.name = "f", .cost = Cost{1}, .inputs = {}, .outputs = {}},
                         Bytes{batch} * (std::int64_t{1} << 60));
    return std::move(b).build();
  };
  EXPECT_EQ(max_batch(huge, {.memory = Bytes{INT64_MAX}, .solve = {}, .largest = 7})->batch, 4);
}

TEST(MaxBatch, HandsOnTheNetworksErrors) {
  const auto none = [](std::int64_t) -> Result<Graph> {
    return Error{ErrorCode::kInvalidArgument, "no such network"};
  };
  EXPECT_EQ(max_batch(none, {.memory = Bytes{9}, .solve = {}}).error().message, "no such network");
}

TEST(MaxBatch, ProvesNothingWhenItIsStopped) {
  std::stop_source stop;
  stop.request_stop();
  const MaxBatch result = max_batch(network, {.memory = Bytes{400}, .solve = {}}, stop.get_token()).value();
  EXPECT_EQ(result.batch, 0);
  EXPECT_EQ(result.upper_limit, 10);
  EXPECT_FALSE(result.proven);
  EXPECT_THAT(result.certificate, HasSubstr("not proven: a batch of up to 10"));
}

}  // namespace
}  // namespace checkmate
