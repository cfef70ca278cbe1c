#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "checkmate/torch.h"
#include "support/torch_models.h"
#include "torch/capture.h"
#include "torch/costs.h"

namespace checkmate::torch {
namespace {

using torch_models::ClassLoss;
using torch_models::Mlp;

/// Of a perceptron, as tests/python/test_torch_costs.py has it.
std::vector<std::string> signatures_in_python() {
  std::ifstream file(CHECKMATE_SOURCE_DIR "/tests/data/unit_signatures.txt");
  return {std::istream_iterator<std::string>(file), {}};
}

TEST(UnitSignatures, AreThoseOfPythonWhichSharesTheCache) {
  Mlp model(16, 2);
  detail::Kept<Mlp> kept{model};
  const Model described = detail::model_of(kept);
  const Situation situation{
      described.parameters(), described.buffers(), {::torch::randn({8, 16}), ::torch::randint(0, 10, {8})}};
  const auto loss_fn = [&](const std::vector<at::Tensor>& batch) {
    return std::vector<at::Tensor>{ClassLoss()(model, batch[0], batch[1])};
  };
  Result<Captured> captured = capture(situation, loss_fn, {});
  ASSERT_TRUE(captured) << captured.error().message;
  const Program program = lower(std::make_shared<const Captured>(*std::move(captured)));
  std::vector<std::string> signatures;
  signatures.reserve(program.units.size());
  for (const Unit& unit : program.units) signatures.push_back(unit_signature(program, unit));
  EXPECT_THAT(signatures, ::testing::ElementsAreArray(signatures_in_python()));
}

}  // namespace
}  // namespace checkmate::torch
