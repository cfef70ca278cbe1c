#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <torch/csrc/distributed/c10d/FileStore.hpp>

#include "checkmate/torch.h"
#include "checkmate/torch_processes.h"
#include "support/torch_models.h"

namespace checkmate::torch {
namespace {

using torch_models::ClassLoss;
using torch_models::Mlp;

constexpr int kProcesses = 2;

Mlp same_model() {
  ::torch::manual_seed(3);
  return Mlp(16, 4);
}

std::pair<at::Tensor, at::Tensor> batch_of(int rank) {
  ::torch::manual_seed(10 + rank);
  return {::torch::randn({32, 16}), ::torch::randint(0, 10, {32})};
}

std::string folder() {
  static const std::string made = [] {
    std::string name = ::testing::TempDir() + "processes_XXXXXX";
    return std::string(mkdtemp(name.data()));
  }();
  return made;
}

using Text = std::vector<std::uint8_t>;

Text bytes_of(const at::Tensor& tensor) {
  Text bytes(tensor.nbytes());
  std::memcpy(bytes.data(), tensor.const_data_ptr(), bytes.size());
  return bytes;
}

void fill(at::Tensor& tensor, const Text& bytes) {
  std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
}

/// Processes that meet in a file. PyTorch's package brings no headers of gloo, with which a program makes its
/// group.
Processes processes_over(const std::string& meeting, int rank) {
  auto store = c10::make_intrusive<c10d::FileStore>(meeting, kProcesses);
  auto count = std::make_shared<int>(0);
  Processes processes{.rank = rank, .size = kProcesses};
  processes.broadcast = [=](at::Tensor& tensor) {
    const std::string key = "broadcast" + std::to_string((*count)++);
    if (rank == 0) store->set(key, bytes_of(tensor));
    fill(tensor, store->get(key));
  };
  processes.average = [=](std::vector<at::Tensor>& tensors) {
    for (at::Tensor& tensor : tensors) {
      const std::string key = "average" + std::to_string((*count)++) + "/";
      store->set(key + std::to_string(rank), bytes_of(tensor));
      at::Tensor other = at::empty_like(tensor);
      fill(other, store->get(key + std::to_string(1 - rank)));
      tensor.add_(other).div_(kProcesses);
    }
  };
  return processes;
}

/// What one process does: a step on its part of the batch. The gradients go to a file.
int run_process(int rank, std::int64_t width, const std::string& meeting) {
  at::set_num_threads(1);
  const Processes processes = processes_over(meeting, rank);
  Mlp model = same_model();
  auto [x, y] = batch_of(rank);
  x = x.slice(0, 0, width);
  y = y.slice(0, 0, width);
  auto step =
      compile(model, ClassLoss(), {x, y},
              {.budget = "70%", .time_limit = 1, .cache = folder() + "/cache", .processes = processes});
  if (!step) {
    std::cerr << "rank " << rank << ": " << step.error().message << "\n";
    return step.error().message.find("process") == std::string::npos ? 1 : 7;
  }
  (*step)(x, y);
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : model->parameters()) gradients.push_back(parameter.grad().clone());
  ::torch::save(gradients, folder() + "/gradients_" + std::to_string(rank));
  return 0;
}

/// The exit code of each process.
std::vector<int> run_processes(const std::vector<std::int64_t>& widths) {
  static int runs = 0;
  const std::string meeting = folder() + "/store" + std::to_string(runs++);
  std::vector<pid_t> children;
  for (int rank = 0; rank < kProcesses; ++rank) {
    const pid_t child = fork();
    if (child == 0) _exit(run_process(rank, widths[static_cast<std::size_t>(rank)], meeting));
    children.push_back(child);
  }
  std::vector<int> codes;
  codes.reserve(children.size());
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  return codes;
}

TEST(Processes, AverageTheirGradients) {
  folder();
  ASSERT_THAT(run_processes({32, 32}), ::testing::ElementsAre(0, 0));
  std::vector<std::vector<at::Tensor>> own;
  for (int rank = 0; rank < kProcesses; ++rank) {
    Mlp model = same_model();
    const auto [x, y] = batch_of(rank);
    ClassLoss()(model, x, y).backward();
    own.emplace_back();
    for (const at::Tensor& parameter : model->parameters()) own.back().push_back(parameter.grad());
  }
  for (int rank = 0; rank < kProcesses; ++rank) {
    std::vector<at::Tensor> averaged;
    ::torch::load(averaged, folder() + "/gradients_" + std::to_string(rank));
    ASSERT_EQ(averaged.size(), own[0].size());
    for (std::size_t i = 0; i < averaged.size(); ++i) {
      EXPECT_TRUE(at::equal(averaged[i], (own[0][i] + own[1][i]) / 2))
          << "rank " << rank << ", parameter " << i;
    }
  }
}

TEST(Processes, DifferentStepsAreAnErrorInAll) {
  EXPECT_THAT(run_processes({32, 16}), ::testing::ElementsAre(7, 7));
}

}  // namespace
}  // namespace checkmate::torch
