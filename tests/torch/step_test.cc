#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkmate/torch.h"
#include "support/torch_models.h"

namespace checkmate::torch {
namespace {

using namespace torch_models;

/// All that a step leaves.
std::vector<at::Tensor> left_by(const at::Tensor& loss, ::torch::nn::Module& model) {
  std::vector<at::Tensor> all = {loss.detach().clone()};
  for (const at::Tensor& parameter : model.parameters()) {
    all.push_back(parameter.grad().defined() ? parameter.grad().clone() : at::Tensor());
  }
  for (const at::Tensor& buffer : model.buffers()) all.push_back(buffer.clone());
  return all;
}

void expect_same(const std::vector<at::Tensor>& ours, const std::vector<at::Tensor>& eager) {
  ASSERT_EQ(ours.size(), eager.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    ASSERT_EQ(ours[i].defined(), eager[i].defined()) << i;
    EXPECT_TRUE(!ours[i].defined() || at::equal(ours[i], eager[i]))
        << "tensor " << i << " of shape " << ours[i].sizes();
  }
}

template <class Model>
std::vector<std::vector<at::Tensor>> trained_eagerly(Model& model, const at::Tensor& x, const at::Tensor& y,
                                                     int steps) {
  ::torch::optim::SGD optimizer(model->parameters(), 0.05);
  std::vector<std::vector<at::Tensor>> left;
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    const at::Tensor loss = ClassLoss()(model, x, y);
    loss.backward();
    left.push_back(left_by(loss, *model));
    optimizer.step();
  }
  return left;
}

/// Trains the same model twice from the same state.
template <class Make>
void expect_eager_bits(const Make& make, const at::Tensor& x, const at::Tensor& y,
                       const std::string& budget) {
  ::torch::manual_seed(1);
  auto eager = make();
  ::torch::manual_seed(2);
  const auto wanted = trained_eagerly(eager, x, y, 3);
  ::torch::manual_seed(1);
  auto model = make();
  ::torch::manual_seed(2);
  auto step = compile(model, ClassLoss(), {x, y}, {.budget = budget, .time_limit = 2});
  ASSERT_TRUE(step) << step.error().message;
  ::torch::optim::SGD optimizer(model->parameters(), 0.05);
  for (const auto& expected : wanted) {
    optimizer.zero_grad();
    const at::Tensor loss = (*step)(x, y);
    expect_same(left_by(loss, *model), expected);
    optimizer.step();
  }
}

class StepTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    at::set_num_threads(1);
    setenv("XDG_CACHE_HOME", ::testing::TempDir().c_str(), 1);
  }
};

at::Tensor classes(std::int64_t count, std::int64_t limit = 10) {
  return ::torch::randint(0, limit, {count});
}

TEST_F(StepTest, TrainsAnMlp) {
  for (const char* budget : {"100%", "60%"}) {
    expect_eager_bits([] { return Mlp(32, 6); }, ::torch::randn({64, 32}), classes(64), budget);
  }
}
TEST_F(StepTest, TrainsACnnWithBatchNormAndDropout) {
  expect_eager_bits([] { return Cnn(8, 6); }, ::torch::randn({8, 3, 32, 32}), classes(8), "90%");
}
TEST_F(StepTest, TrainsAResNet) {
  expect_eager_bits([] { return ResNet(8, 4); }, ::torch::randn({4, 3, 16, 16}), classes(4), "60%");
}
TEST_F(StepTest, TrainsAUNet) {
  expect_eager_bits([] { return UNet(8, 2); }, ::torch::randn({2, 3, 16, 16}), classes(2), "60%");
}
TEST_F(StepTest, TrainsAnEncoder) {
  expect_eager_bits([] { return Encoder(20, 16, 3); }, ::torch::randint(0, 20, {8, 4}), classes(32), "60%");
}
TEST_F(StepTest, TrainsAGptWithTiedWeights) {
  expect_eager_bits([] { return Gpt(20, 16, 16, 3); }, ::torch::randint(0, 20, {4, 16}), classes(64), "60%");
}

}  // namespace
}  // namespace checkmate::torch
