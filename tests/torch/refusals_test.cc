#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "checkmate/torch.h"
#include "support/torch_models.h"

namespace checkmate::torch {
namespace {

using ::testing::HasSubstr;
using torch_models::ClassLoss;
using torch_models::Cnn;
using torch_models::Mlp;

/// A model, and whether it is as it was before.
class RefusalTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    at::set_num_threads(1);
    setenv("XDG_CACHE_HOME", ::testing::TempDir().c_str(), 1);
  }

  RefusalTest() {
    ::torch::manual_seed(0);
    for (const at::Tensor& each : state()) before_.push_back(each.detach().clone());
  }

  /// Compiles with a loss function on the model's result, and tells why not.
  template <class Loss>
  std::string refusal(const Loss& loss, const std::vector<at::Tensor>& batch, Options options = {}) {
    const at::Tensor random = at::detail::getDefaultCPUGenerator().get_state();
    const auto step = compile(model_, loss, batch, std::move(options));
    EXPECT_TRUE(at::equal(random, at::detail::getDefaultCPUGenerator().get_state()));
    const std::vector<at::Tensor> after = state();
    for (std::size_t i = 0; i < after.size(); ++i) {
      EXPECT_TRUE(at::equal(before_[i], after[i])) << "a refusal changed tensor " << i;
    }
    for (const at::Tensor& parameter : model_->parameters()) EXPECT_FALSE(parameter.grad().defined());
    return step ? "" : step.error().message;
  }

  std::vector<at::Tensor> state() {
    std::vector<at::Tensor> all = model_->parameters();
    for (const at::Tensor& buffer : model_->buffers()) all.push_back(buffer);
    return all;
  }

  Cnn model_{4, 2};
  std::vector<at::Tensor> before_;
  at::Tensor x_ = ::torch::randn({2, 3, 8, 8});
};

TEST_F(RefusalTest, AModelWithoutAParameterToTrain) {
  for (at::Tensor& parameter : model_->parameters()) parameter.requires_grad_(false);
  EXPECT_THAT(refusal([](Cnn& m, const at::Tensor& x) { return m->forward(x).sum(); }, {x_}),
              HasSubstr("no parameter that requires a gradient"));
}

TEST_F(RefusalTest, ALossThatIsNoScalar) {
  EXPECT_THAT(refusal([](Cnn& m, const at::Tensor& x) { return m->forward(x); }, {x_}),
              HasSubstr("the loss has the shape [2, 10] and not one element"));
}

TEST_F(RefusalTest, ALossWithoutHistory) {
  EXPECT_THAT(refusal([](Cnn& m, const at::Tensor& x) { return m->forward(x).sum().detach(); }, {x_}),
              HasSubstr("does not depend on any parameter"));
}

TEST_F(RefusalTest, ValuesThatSteerTheStep) {
  const auto loss = [](Cnn& m, const at::Tensor& x) {
    const at::Tensor y = m->forward(x);
    return y.sum().item<float>() > 0 ? y.sum() : y.mean();
  };
  const std::string why = refusal(loss, {x_});
  EXPECT_THAT(
      why, HasSubstr(
               "branches on the values of tensors (aten::_local_scalar_dense, in or after the module head)"));
  EXPECT_THAT(why, HasSubstr("torch::where"));
}

TEST_F(RefusalTest, ShapesThatDependOnValues) {
  const auto loss = [](Cnn& m, const at::Tensor& x) {
    return m->forward(x).masked_select(x.mean({1, 2, 3}).gt(0).unsqueeze(1)).sum();
  };
  EXPECT_THAT(refusal(loss, {x_}), HasSubstr("the shape of a tensor depends on values (aten::masked_select"));
}

TEST_F(RefusalTest, ALossThatReadsMemory) {
  const auto loss = [](Cnn& m, const at::Tensor& x) {
    const at::Tensor y = m->forward(x).sum();
    return y * y.data_ptr<float>()[0];
  };
  EXPECT_THAT(refusal(loss, {x_}), HasSubstr("the step cannot be captured as a graph"));
}

TEST_F(RefusalTest, TensorsOnTwoDevices) {
  const auto loss = [](Cnn& m, const at::Tensor& x) { return m->forward(x).sum(); };
  EXPECT_THAT(refusal(loss, {x_.to(at::kMeta)}), HasSubstr("is on cpu and tensor 0 of the batch is on meta"));
}

TEST_F(RefusalTest, ALossFunctionThatThrows) {
  const auto loss = [](Cnn& m, const at::Tensor& x) -> at::Tensor {
    m->forward(x);
    throw std::runtime_error("no loss today");
  };
  EXPECT_THAT(refusal(loss, {x_}), HasSubstr("no loss today"));
  const auto odd = [](Cnn& m, const at::Tensor& x) -> at::Tensor {
    m->forward(x);
    throw 7;  // NOLINT(hicpp-exception-baseclass)
  };
  EXPECT_THAT(refusal(odd, {x_}), HasSubstr("no std::exception"));
}

TEST_F(RefusalTest, ARefusalThatTheLossFunctionSwallows) {
  const auto loss = [](Cnn& m, const at::Tensor& x) {
    const at::Tensor y = m->forward(x).sum();
    try {
      return y * y.item<float>();
    } catch (const std::exception&) {
      return y;
    }
  };
  EXPECT_THAT(refusal(loss, {x_}), HasSubstr("branches on the values"));
}

TEST_F(RefusalTest, ABatchThatIsWrittenInto) {
  const auto loss = [](Cnn& m, const at::Tensor& x) {
    const at::Tensor y = m->forward(x.clone()).sum();
    at::Tensor(x).zero_();
    return y;
  };
  EXPECT_THAT(refusal(loss, {x_}), HasSubstr("the step writes into tensor 0 of the batch"));
  EXPECT_GT(x_.abs().sum().item<float>(), 0) << "the batch is as it was";
}

TEST_F(RefusalTest, AParameterOfSomebodyElse) {
  const at::Tensor other = ::torch::randn({10}, at::TensorOptions().requires_grad(true));
  const auto loss = [other](Cnn& m, const at::Tensor& x) { return (m->forward(x) * other).sum(); };
  EXPECT_THAT(refusal(loss, {x_}), HasSubstr("requires a gradient and is not a parameter of the model"));
}

TEST_F(RefusalTest, WrongNumbersOfTensors) {
  EXPECT_THAT(refusal(ClassLoss(), {x_}), HasSubstr("takes 2 tensors after the model, and the batch has 1"));
}

TEST_F(RefusalTest, WrongOptions) {
  const auto loss = [](Cnn& m, const at::Tensor& x) { return m->forward(x).sum(); };
  EXPECT_THAT(refusal(loss, {x_}, {.budget = "much"}), HasSubstr("much"));
  EXPECT_THAT(refusal(loss, {x_}, {.budget = "60%", .reserve = "-1"}), HasSubstr("-1"));
  EXPECT_THAT(refusal(loss, {x_}, {.budget = "60%", .plan = "/no/such/plan.json"}),
              HasSubstr("/no/such/plan.json"));
}

TEST_F(RefusalTest, ABudgetThatIsTooSmall) {
  const auto loss = [](Cnn& m, const at::Tensor& x) { return m->forward(x).sum(); };
  const std::string why = refusal(loss, {x_}, {.budget = "1%", .time_limit = 1});
  EXPECT_THAT(why, HasSubstr("suffice"));
  EXPECT_THAT(why, HasSubstr("are parameters, buffers and the batch"));
}

}  // namespace
}  // namespace checkmate::torch
