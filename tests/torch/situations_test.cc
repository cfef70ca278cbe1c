#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "checkmate/io.h"
#include "checkmate/torch.h"
#include "support/torch_models.h"

namespace checkmate::torch {
namespace {

using ::testing::HasSubstr;
using torch_models::ClassLoss;
using torch_models::Cnn;
using torch_models::Mlp;

std::filesystem::path temporary(const std::string& name) {
  return std::filesystem::path(::testing::TempDir()) / name;
}

class SituationsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    at::set_num_threads(1);
    setenv("XDG_CACHE_HOME", ::testing::TempDir().c_str(), 1);
  }
  void SetUp() override { ::torch::manual_seed(0); }
};

/// The step leaves what the model itself does, from the same state and the same random numbers.
template <class Model, class Loss>
void expect_eager(Step& step, Model& model, const Loss& loss_fn, const std::vector<at::Tensor>& batch) {
  std::vector<at::Tensor> state;
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& buffer : model->buffers()) state.push_back(buffer.clone());
  for (const at::Tensor& parameter : model->parameters()) {
    gradients.push_back(parameter.grad().defined() ? parameter.grad().clone() : at::Tensor());
  }
  ::torch::manual_seed(5);
  const Result<at::Tensor> loss = step.run(batch);
  ASSERT_TRUE(loss) << loss.error().message;
  std::vector<at::Tensor> ours = {*loss};
  std::vector<at::Tensor> made;
  for (at::Tensor& parameter : model->parameters()) {
    made.push_back(parameter.grad().defined() ? parameter.grad().clone() : at::Tensor());
  }
  for (const at::Tensor& buffer : model->buffers()) ours.push_back(buffer.clone());
  std::size_t next = 0;
  for (at::Tensor& parameter : model->parameters()) parameter.mutable_grad() = gradients[next++];
  next = 0;
  for (at::Tensor& buffer : model->buffers()) at::Tensor(buffer).copy_(state[next++]);

  ::torch::manual_seed(5);
  const at::Tensor eager = loss_fn(model, batch[0], batch[1]);
  eager.backward();
  EXPECT_TRUE(at::equal(ours[0], eager.detach()));
  next = 1;
  for (const at::Tensor& buffer : model->buffers()) EXPECT_TRUE(at::equal(ours[next++], buffer));
  next = 0;
  for (const at::Tensor& parameter : model->parameters()) {
    const at::Tensor& gradient = made[next++];
    ASSERT_EQ(gradient.defined(), parameter.grad().defined()) << next - 1;
    EXPECT_TRUE(!gradient.defined() || at::equal(gradient, parameter.grad())) << "parameter " << next - 1;
  }
}

std::pair<at::Tensor, at::Tensor> pictures(std::int64_t count, std::int64_t size = 8) {
  return {::torch::randn({count, 3, size, size}), ::torch::randint(0, 10, {count})};
}

TEST_F(SituationsTest, OtherShapesModesFrozenParametersAndGradientsToAddTo) {
  Cnn model(8, 4);
  auto [x, y] = pictures(8, 16);
  auto step = compile(model, ClassLoss(), {x, y}, {.budget = "90%", .time_limit = 1});
  ASSERT_TRUE(step) << step.error().message;
  const auto bytes = step->plan().budget;
  expect_eager(*step, model, ClassLoss(), {x, y});
  expect_eager(*step, model, ClassLoss(), {x, y});  // there are gradients to add to now
  model->zero_grad();
  std::tie(x, y) = pictures(6, 12);
  expect_eager(*step, model, ClassLoss(), {x, y});
  EXPECT_EQ(step->plan().budget, bytes) << "a share becomes bytes once";
  model->zero_grad();
  model->eval();
  expect_eager(*step, model, ClassLoss(), {x, y});
  model->zero_grad();
  model->body[0]->as<::torch::nn::Conv2d>()->weight.requires_grad_(false);
  expect_eager(*step, model, ClassLoss(), {x, y});
}

/// Writes into views, and reads around them.
TEST_F(SituationsTest, WritesIntoViews) {
  Mlp model(8, 2);
  const auto loss = [](Mlp& m, const at::Tensor& x, const at::Tensor& y) {
    at::Tensor hidden = m->forward(x).clone();
    const at::Tensor before = hidden.slice(0, 0, 2).exp();
    hidden.slice(0, 1, 3).mul_(2);
    hidden.select(0, 0).copy_(hidden.select(0, 3));
    at::Tensor mask = ::torch::zeros_like(hidden);
    mask.slice(1, 0, 4).fill_(1);
    mask.index_put_({::torch::indexing::Slice(), 7}, 3);
    hidden.add_(mask).sigmoid_();
    return (hidden * mask).sum() + before.sum() + y.sum();
  };
  const at::Tensor x = ::torch::randn({4, 8});
  const at::Tensor y = ::torch::randn({4});
  auto step = compile(model, loss, {x, y}, {.budget = "100%", .time_limit = 1});
  ASSERT_TRUE(step) << step.error().message;
  expect_eager(*step, model, loss, {x, y});
}

TEST_F(SituationsTest, ConstantsExtrasAndRandomNumbers) {
  Mlp model(8, 4);
  const at::Tensor scale = ::torch::rand({8});
  const auto loss = [scale](Mlp& m, const at::Tensor& x, const at::Tensor& y) {
    const at::Tensor noisy = x + 0.1 * ::torch::randn_like(x) + ::torch::rand({1, 8});
    const at::Tensor made = ::torch::dropout(m->forward(noisy) * scale, 0.5, true);
    return std::tuple(::torch::mse_loss(made, y), made.mean());
  };
  const at::Tensor x = ::torch::randn({4, 8});
  const at::Tensor y = ::torch::randn({4, 8});
  auto step = compile(model, loss, {x, y}, {.budget = "100%", .time_limit = 1});
  ASSERT_TRUE(step) << step.error().message;
  const auto first = [&](Mlp& m, const at::Tensor& in, const at::Tensor& out) {
    return std::get<0>(loss(m, in, out));
  };
  expect_eager(*step, model, first, {x, y});
  ASSERT_EQ(step->extras().size(), 1U);
  EXPECT_EQ(step->extras()[0].dim(), 0);
}

TEST_F(SituationsTest, AnExceptionInAStepLeavesTheModelAsItWas) {
  Mlp model(8, 2);
  const at::Tensor x = ::torch::randn({4, 8});
  auto step = compile(model, ClassLoss(), {x, ::torch::zeros({4}, at::kLong)});
  ASSERT_TRUE(step) << step.error().message;
  const Result<at::Tensor> loss = step->run({x, ::torch::full({4}, 99, at::kLong)});
  ASSERT_FALSE(loss);
  EXPECT_THAT(loss.error().message, HasSubstr("out of bounds"));
  for (const at::Tensor& parameter : model->parameters()) EXPECT_FALSE(parameter.grad().defined());
  expect_eager(*step, model, ClassLoss(), {x, ::torch::zeros({4}, at::kLong)});
}

TEST_F(SituationsTest, APlanOfTheCommandLineRunsInTheStep) {
  Cnn model(4, 4);
  const auto [x, y] = pictures(4);
  auto step = compile(model, ClassLoss(), {x, y}, {.budget = "70%", .measure = false, .time_limit = 1});
  ASSERT_TRUE(step) << step.error().message;
  ASSERT_TRUE(step->save_graph(temporary("graph.json")));
  const Result<Graph> graph = read_graph(temporary("graph.json"));
  ASSERT_TRUE(graph);
  const SolveOptions options{.budget = step->plan().budget, .time_limit = std::chrono::seconds(1), .seed = 9};
  const Result<SolveResult> found = solve(*graph, options);
  ASSERT_TRUE(found && found->plan);
  std::ofstream(temporary("plan.json")) << plan_to_json(*record_of(*graph, options, *found));
  auto given = compile(model, ClassLoss(), {x, y},
                       {.budget = "70%", .measure = false, .plan = temporary("plan.json")});
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_EQ(given->plan().method, "given");
  EXPECT_EQ(given->plan().plan.steps, found->plan->steps);
  expect_eager(*given, model, ClassLoss(), {x, y});
  ASSERT_TRUE(given->save_plan(temporary("again.json")));
  EXPECT_TRUE(read_plan(temporary("again.json"), given->plan().graph));
  ASSERT_TRUE(given->report(temporary("page.html")));
  EXPECT_GT(std::filesystem::file_size(temporary("page.html")), 100'000U);
}

TEST_F(SituationsTest, VerifyComparesWithEager) {
  Cnn model(8, 6);
  const auto [x, y] = pictures(8, 32);
  auto step = compile(model, ClassLoss(), {x, y}, {.budget = "90%", .time_limit = 2});
  ASSERT_TRUE(step) << step.error().message;
  const at::Tensor random = at::detail::getDefaultCPUGenerator().get_state();
  const auto seen = step->verify({x, y}, 1);
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_TRUE(seen->holds()) << to_string(*seen);
  EXPECT_EQ(seen->measured_peak, seen->predicted_peak);
  EXPECT_LE(seen->arena, seen->budget);
  EXPECT_LT(seen->measured_peak, seen->eager_peak);
  EXPECT_TRUE(at::equal(random, at::detail::getDefaultCPUGenerator().get_state()));
  for (const at::Tensor& parameter : model->parameters()) EXPECT_FALSE(parameter.grad().defined());
}

TEST_F(SituationsTest, AScriptFromAFileTrains) {
  ::torch::jit::Module script("Script");
  script.register_parameter("weight", ::torch::randn({8, 8}).requires_grad_(), false);
  script.register_parameter("bias", ::torch::zeros({8}).requires_grad_(), false);
  script.register_buffer("count", ::torch::zeros({}));
  script.define(R"(
    def forward(self, x):
        self.count += 1
        for i in range(4):
            x = torch.gelu(torch.addmm(self.bias, x, self.weight))
        return torch.dropout(x, 0.2, True)
  )");
  script.save(temporary("script.pt").string());
  const auto loss = [](::torch::jit::Module& m, const at::Tensor& x, const at::Tensor& y) {
    return ::torch::mse_loss(m.forward({x}).toTensor(), y);
  };
  const at::Tensor x = ::torch::randn({32, 8});
  const at::Tensor y = ::torch::randn({32, 8});
  ::torch::jit::Module eager = ::torch::jit::load(temporary("script.pt").string());
  ::torch::jit::Module ours = ::torch::jit::load(temporary("script.pt").string());
  auto step = compile(ours, loss, {x, y}, {.budget = "70%", .time_limit = 1});
  ASSERT_TRUE(step) << step.error().message;
  for (int i = 0; i < 3; ++i) {
    ::torch::manual_seed(i);
    const at::Tensor expected = loss(eager, x, y);
    expected.backward();
    ::torch::manual_seed(i);
    const at::Tensor got = (*step)(x, y);
    EXPECT_TRUE(at::equal(got, expected.detach())) << i;
    auto parameter = ours.parameters().begin();
    for (const at::Tensor& each : eager.parameters()) {
      EXPECT_TRUE(at::equal((*parameter).grad(), each.grad())) << i;
      ++parameter;
    }
    EXPECT_TRUE(at::equal(ours.attr("count").toTensor(), eager.attr("count").toTensor()));
  }
}

TEST_F(SituationsTest, CaptureTakesNoMemory) {
  // 1 TB of activations: who captures it computes nothing.
  Mlp model(1024, 4);
  const at::Tensor x = at::empty({1}).expand({std::int64_t{1} << 26, 1024});
  const auto loss = [](Mlp& m, const at::Tensor& in) { return m->forward(in).sum(); };
  const auto step = compile(model, loss, {x}, {.budget = "1GiB", .time_limit = 1});
  ASSERT_FALSE(step);
  EXPECT_THAT(step.error().message, HasSubstr("parameters, buffers and the batch"));
}

}  // namespace
}  // namespace checkmate::torch
